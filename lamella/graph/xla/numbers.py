"""Inputs that hold one constant number throughout: they are compiled in.

The ones that a backward pass begins with, and what is computed of them alone, are constants of the
graph. As inputs each costs a microsecond a call, and XLA can't compute with them beforehand.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from ..ir.metadata import TensorMetadata, meta_of_value

NO_NUMBERS: Mapping[int, Number] = types.MappingProxyType({})
MOST_READ = 2**16  # elements of a constant that are compared
_TYPES = (torch.bool, torch.int32, torch.int64, torch.float32, torch.float64)


class Number(NamedTuple):
    """A tensor whose elements are all one number.

    Attributes:
        value: the number.
        meta: the tensor's metadata: its elements lie row by row; dimensions may repeat.
    """

    value: bool | int | float
    meta: TensorMetadata


def numbers_of(constants: Mapping[int, torch.Tensor]) -> dict[int, Number]:
    """Those of some tensors whose elements are all one finite number.

    Examples:
        >>> found = numbers_of({2: torch.ones(2, 3), 5: torch.tensor([1.0, 2.0])})
        >>> {i: number.value for i, number in found.items()}
        {2: 1.0}
    """
    found = {}
    for i, tensor in constants.items():
        meta = meta_of_value(tensor)
        if meta is None or meta.device.type != "cpu" or meta.dtype not in _TYPES or not meta.size:
            continue
        once = tensor[tuple(slice(0, n) for n in _once(meta))]  # without repeated elements
        if not once.is_contiguous() or once.numel() > MOST_READ:
            continue
        first = once.reshape(-1)[0]
        value = first.item()
        is_one = (once == first) & (once.signbit() == first.signbit())  # 0.0 and -0.0 are two
        if math.isfinite(value) and bool(is_one.all()):
            found[i] = Number(value, meta)
    return found


def words_of(number: Number, to: int) -> list[dict[str, Any]]:
    """The operations that make a tensor of one number, with its metadata, in words of JSON.

    Args:
        number: the tensor.
        to: the number of the first value that they make; the last is the tensor.
    """
    meta, kind = number.meta, str(number.meta.dtype)[6:]
    shape = list(meta.shape)
    first = shape if meta.contiguous else _once(meta)
    made = [{"op": "full.default", "to": to, "aval": [first, kind],
             "args": [first, number.value, {"dtype": kind}, None, None, None]}]
    if not meta.contiguous:
        made.append({"op": "expand.default", "to": to + 1, "aval": [shape, kind],
                     "args": [{"n": to}, shape, False]})
    return made


def _once(meta: TensorMetadata) -> list[int]:
    """The shape without repeated elements."""
    return [1 if step == 0 else n for n, step in zip(meta.shape, meta.stride, strict=True)]
