"""Which docstrings run on the simulated device, and which can't."""

from __future__ import annotations

from typing import Any

import torch

from lamella.tensors.tensor import Tensor

ROOMS = ("amp", "autodiff", "boost", "common", "core", "experimental", "mint", "nn", "numpy", "ops",
         "parallel", "scipy", "sparse", "tensors", "train", "graph", "insight.gradients",
         "insight.gradcheck", "dataset")  # what measures the machine takes long

# by the name without ``lamella.``, with the reason
DIFFERENT = {
    "tensors.random.get_rng_state": "the state of a generator lies on the CPU",
    "ops.window.kaiser_window": "PyTorch's kernel is closed to other back ends",
}


def on_the_cpu(names: dict[str, Any]) -> list[str]:
    """Which variables of an example hold Tensors of the CPU."""
    return [name for name, value in names.items() if any(map(_lies_there, _parts(value)))]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [part for each in value for part in _parts(each)]
    return [value]


def _lies_there(value: Any) -> bool:
    return (isinstance(value, Tensor) and isinstance(value._raw, torch.Tensor)
            and value._raw.device.type == "cpu")
