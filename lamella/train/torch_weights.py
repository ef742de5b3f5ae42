"""Weights of PyTorch's and Hugging Face's files, put into a network in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ..core.reading import read_json
from ..core.require import of_type
from ..nn.cell import Cell
from ..tensors.parameter import Parameter
from ..tensors.tensor import wrap
from .checkpoint_net import load_param_into_net
from .renaming import one_for_each
from .safetensors_format import read_safetensors

__all__ = ["WeightsReport", "load_torch_weights"]

# what MindSpore's layers call what PyTorch's call otherwise
_NAMES = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean",
          "moving_variance": "running_var", "embedding_table": "weight", "w": "weight"}
_LAYERS = {"dense1": "linear1", "dense2": "linear2"}  # of a TransformerEncoderLayer
_UNNEEDED = ("num_batches_tracked",)
_INDEX = ".index.json"


@dataclass
class WeightsReport:
    """What `load_torch_weights` did; printed, it is a table.

    Attributes:
        loaded: by Parameter of the network, the name in the file.
        missing: Parameters that the file has no weight for; they keep their values.
        unused: names in the file that no Parameter has.
    """

    loaded: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)

    @property
    def renamed(self) -> dict[str, str]:
        """Those of `loaded` whose names differ."""
        return {own: name for own, name in self.loaded.items() if own != name}

    def __str__(self) -> str:
        rows = [("network", "file", "note")]
        rows += [(own, name, "renamed") for own, name in self.renamed.items()]
        rows += [(own, "", "missing in the file") for own in self.missing]
        rows += [("", name, "not used") for name in self.unused]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        lines = [f"{own:<{widths[0]}}  {name:<{widths[1]}}  {note}".rstrip()
                 for own, name, note in rows]
        same = len(self.loaded) - len(self.renamed)
        return "\n".join([f"{len(self.loaded)} loaded, {same} of them under the same name",
                          *(lines if len(lines) > 1 else ())])


def load_torch_weights(net: Cell, source: Any,
                       rename: Mapping[str, str] | Callable[[str], str] | None = None,
                       strict: bool = False) -> WeightsReport:
    """Give a network the weights of a PyTorch or Hugging Face model.

    Names are matched as they are, else by what layers call them here: PyTorch's ``weight`` of a
    batch norm is ``gamma``, its ``running_mean`` ``moving_mean``, an embedding's ``weight``
    ``embedding_table``. ``module.`` before all names is taken off. A weight (O, C, K) of a
    ``Conv1d`` becomes (O, C, 1, K). Nothing is changed unless all shapes fit. Nothing in a file
    is run: tensors are read, and else the file is refused.

    Args:
        net: the network.
        source: a file ``.pth``, ``.pt``, ``.bin`` or ``.safetensors``, an index of several
            (``model.safetensors.index.json``), a folder with one of these, a ``state_dict``, or
            a ``torch.nn.Module``.
        rename: names in the file to names in the network, or beginnings of names that end in a
            dot (``{"encoder.": "backbone."}``); or a function of the name.
        strict: whether missing or unused weights are an error.

    Returns:
        A report; ``print`` shows it as a table.

    Raises:
        TypeError: if `net` is no Cell, or `source` none of these.
        FileNotFoundError: if there is no such file.
        ValueError: if a file can't be read, or isn't a ``state_dict``.
        ValueError: if `rename` gives one name to two weights.
        RuntimeError: if a shape doesn't fit; with `strict` also if a weight is missing or unused.

    Examples:
        >>> import torch
        >>> import lamella as ms
        >>> net = ms.nn.SequentialCell(ms.nn.Dense(3, 2), ms.nn.BatchNorm1d(2))
        >>> theirs = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        >>> print(ms.train.load_torch_weights(net, theirs))
        6 loaded, 2 of them under the same name
        network            file            note
        1.moving_mean      1.running_mean  renamed
        1.moving_variance  1.running_var   renamed
        1.gamma            1.weight        renamed
        1.beta             1.bias          renamed
    """
    of_type(net, Cell, "net", "load_torch_weights")
    named = one_for_each("load_torch_weights", lambda name: _renamed(name, rename))
    given = {named(name): (name, value) for name, value in _read(source).items()
             if not name.endswith(_UNNEEDED)}
    report, values = WeightsReport(), {}
    for own, parameter in net.parameters_and_names():
        found = next((name for name in _candidates(own) if name in given), None)
        if found is None:
            report.missing.append(own)
            continue
        report.loaded[own], raw = given.pop(found)
        values[parameter.name] = Parameter(wrap(_shaped(raw, parameter.shape)), parameter.name)
    report.unused = [name for name, _ in given.values()]
    if strict and (report.missing or report.unused):
        raise RuntimeError(f"For 'load_torch_weights', weights are missing or not used, and "
                           f"'strict' is True:\n{report}")
    load_param_into_net(net, values)
    return report


def _candidates(own: str) -> list[str]:
    """The names that a Parameter may have in the file, the likeliest first."""
    path, dot, last = own.rpartition(".")
    other = path + dot + _NAMES.get(last, last)
    layers = ".".join(_LAYERS.get(part, part) for part in other.split("."))
    return [own, other, layers]


def _shaped(raw: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    if raw.dim() == 3 and len(shape) == 4 and shape[2] == 1:  # convolutions over sequences
        return raw.unsqueeze(2)
    return raw


def _renamed(name: str, rename: Any) -> str:
    if rename is None:
        return name
    if not isinstance(rename, Mapping):
        return rename(name)
    if name in rename:
        return rename[name]
    for old, new in rename.items():
        if old.endswith(".") and name.startswith(old):
            return new + name[len(old):]
    return name


def _read(source: Any) -> dict[str, torch.Tensor]:
    """The tensors by name, without ``module.``, which data parallel training puts before all."""
    if isinstance(source, torch.nn.Module):
        source = source.state_dict()
    if isinstance(source, Mapping):
        values = _tensors(source, "the dict")
    elif isinstance(source, (str, os.PathLike)):
        values = _read_path(os.fspath(source))
    else:
        raise TypeError(f"For 'load_torch_weights', 'source' must be a path, a state_dict or a "
                        f"torch.nn.Module, but got {type(source).__name__}.")
    if values and all(name.startswith("module.") for name in values):
        return {name[len("module."):]: value for name, value in values.items()}
    return values


def _read_path(path: str) -> dict[str, torch.Tensor]:
    if not os.path.exists(path):
        raise FileNotFoundError(f"For 'load_torch_weights', there is no file '{path}'.")
    if os.path.isdir(path):
        return _read_path(_inside(path))
    if path.endswith(_INDEX):
        return _read_parts(path)
    if path.endswith(".safetensors"):
        return _tensors({k: v for k, v in read_safetensors(path).items()
                         if isinstance(v, torch.Tensor)}, f"'{path}'")
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # PyTorch raises many kinds for a damaged file
        raise ValueError(f"For 'load_torch_weights', '{path}' can't be read as a file of weights: "
                         f"{str(error).splitlines()[0]}") from error
    if isinstance(loaded, Mapping) and isinstance(loaded.get("state_dict"), Mapping):
        loaded = loaded["state_dict"]  # a training checkpoint, with an optimizer beside it
    return _tensors(loaded, f"'{path}'")


def _inside(folder: str) -> str:
    """The file of weights in a folder as Hugging Face lays it out."""
    names = sorted(os.listdir(folder))
    for ending in (".safetensors" + _INDEX, ".safetensors", ".bin" + _INDEX, ".bin", ".pth", ".pt"):
        found = [name for name in names if name.endswith(ending)]
        if len(found) == 1:
            return os.path.join(folder, found[0])
    raise ValueError(f"For 'load_torch_weights', the folder '{folder}' must hold one file of "
                     f"weights or one index of several, but has {names}.")


def _read_parts(index: str) -> dict[str, torch.Tensor]:
    """The tensors of the files that an index names, all of which lie beside it."""
    try:
        places = read_json("load_torch_weights", index)["weight_map"]
        parts = sorted({str(part) for part in places.values()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"For 'load_torch_weights', '{index}' is no index of files of weights."
                         ) from error
    values: dict[str, torch.Tensor] = {}
    for part in parts:
        if os.path.basename(part) != part or not part:
            raise ValueError(f"For 'load_torch_weights', '{index}' names '{part}', which doesn't "
                             f"lie beside it.")
        values |= _read_path(os.path.join(os.path.dirname(index), part))
    return values


def _tensors(values: Any, where: str) -> dict[str, torch.Tensor]:
    if not isinstance(values, Mapping) or not all(
            isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in values.items()):
        raise ValueError(f"For 'load_torch_weights', {where} must hold tensors by name, as a "
                         f"state_dict does.")
    return {name: value.detach() for name, value in values.items()}
