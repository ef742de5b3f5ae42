"""In PyTorch: `torch.save`, and safetensors."""

import functools
import os

import torch
from safetensors.torch import load_file, save_file

from . import path


def size(kind):
    return torch.tensor(float(os.path.getsize(path(kind)) // 2**20))


def write(_, *weights):
    torch.save({f"weight{i}": weight for i, weight in enumerate(weights)}, path("pt"))
    return size("pt")


def total(named):
    """Of all values: a file that is only mapped has not been read."""
    return sum(weight.sum() for weight in named.values())


@functools.cache
def written(kind, *weights):
    named = {f"weight{i}": weight for i, weight in enumerate(weights)}
    (torch.save if kind == "pt" else save_file)(named, path(kind))
    return path(kind)


def read(_, *weights):
    return total(torch.load(written("pt", *weights), weights_only=True))


def write_safetensors(_, *weights):
    named = {f"weight{i}": weight for i, weight in enumerate(weights)}
    save_file(named, path("pt.safetensors"))
    return size("pt.safetensors")


def read_safetensors(_, *weights):
    return total(load_file(written("pt.safetensors", *weights)))
