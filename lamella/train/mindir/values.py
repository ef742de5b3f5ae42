"""Converts the messages of a MindIR file to Python's values and Tensors."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import torch

from ...core import context
from ...tensors.construction import flat_bytes
from ...tensors.tensor import wrap
from ..wire_format import Message
from . import messages as of

__all__ = ["MONAD", "Weights", "contents", "raw_type", "value"]

MONAD = object()  # by passing it on, nodes with side effects say what they come after


class Weights:
    """Reads the content of tensors, also from files that lie beside the one of the graph.

    Args:
        folder: where the other files lie; what lies outside of it is not read.
    """

    def __init__(self, folder: str):
        self.folder = os.path.realpath(folder)

    def tensor(self, message: Message) -> torch.Tensor:
        """The tensor of a message.

        Raises:
            ValueError: if it is of an unknown type, compressed, cut off, or lies elsewhere.
        """
        found: Any = message
        kind = raw_type(found.data_type)
        if found.compression_type:
            raise ValueError("it has compressed weights, which can't be read")
        if any(size < 0 for size in found.dims) or len(found.dims) > 32:
            raise ValueError(f"a tensor has the shape {tuple(found.dims)}")
        count = math.prod(found.dims)
        raw = self._content(found, count, kind)
        if raw.numel() != count:
            raise ValueError(f"a tensor of the shape {tuple(found.dims)} has {raw.numel()} "
                             f"elements")
        return raw.reshape(tuple(found.dims)).to(context.current_device())

    def _content(self, found: Any, count: int, kind: torch.dtype) -> torch.Tensor:
        for numbers in (found.float_data, found.int32_data, found.int64_data, found.double_data,
                        found.uint64_data):
            if numbers:
                return torch.tensor(numbers).to(kind)
        data = found.raw_data if found.external_data is None else self._beside(found.external_data)
        if len(data) != count * kind.itemsize:
            raise ValueError(f"a tensor of the shape {tuple(found.dims)} has {len(data)} bytes")
        raw = torch.empty(count, dtype=kind)
        flat_bytes(raw).numpy()[:] = np.frombuffer(data, np.uint8)
        return raw

    def _beside(self, where: Any) -> bytes:
        path = os.path.realpath(os.path.join(self.folder, where.location))
        if os.path.commonpath([path, self.folder]) != self.folder or not os.path.isfile(path):
            raise ValueError(f"its weights should lie in the file {where.location!r} beside it")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if where.offset < 0 or where.length < 0 or where.offset + where.length > size:
                raise ValueError(f"the file {where.location!r} with its weights is cut off")
            file.seek(where.offset)
            return file.read(where.length)


def raw_type(number: int) -> torch.dtype:
    """PyTorch's type of a number that names one in the file."""
    if number not in of.TENSORS:
        raise ValueError(f"it has tensors of type {number}, which is not known")
    return getattr(torch, of.TENSORS[number])


def contents(raw: torch.Tensor) -> memoryview:
    """A tensor's elements as the file has them."""
    return flat_bytes(raw.cpu()).numpy().data


def value(attribute: Message, weights: Weights) -> Any:
    """What an attribute holds.

    Raises:
        ValueError: if it is of a type that only graphs of a device have.
    """
    found: Any = attribute
    kind = found.type
    if kind == of.BOOL:
        return bool(found.ints[0] if found.ints else found.i)
    if kind in of.WHOLE:
        return _one_or_all(found.ints, found.i)
    if kind == of.FLOAT:
        return _one_or_all(found.floats, found.f)
    if kind == of.DOUBLE:
        return _one_or_all(found.doubles, found.d)
    if kind == of.STRING:
        return str(found.strings[0] if found.strings else found.s, "utf-8")
    if kind in (of.TUPLE, of.LIST):
        inner = [value(each, weights) for each in found.values]
        return tuple(inner) if kind == of.TUPLE else inner
    if kind in (of.TENSOR_VALUE, of.SOME_TENSORS):
        tensors = [wrap(weights.tensor(each)) for each in found.tensors] or [
            wrap(weights.tensor(found.t))]
        return tensors[0] if len(tensors) == 1 else tuple(tensors)
    if kind in (of.UMONAD, of.IOMONAD):
        return MONAD
    if kind == of.NONE:
        return None
    raise ValueError(f"its attribute {found.name!r} is of type {kind}, which is not known")


def _one_or_all(several: list[Any], one: Any) -> Any:
    """A number, or in older files all of a sequence of numbers."""
    return one if not several else several[0] if len(several) == 1 else tuple(several)
