"""Rows: tuples of NumPy arrays, one for each column, and the Tensors that are made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..core import context
from ..tensors.tensor import Tensor, wrap
from .errors import in_pipeline
from .order import Row

_HELD = frozenset(map(np.dtype, "?bBhilqefdFD"))  # types that PyTorch holds as they are
_PLAIN = (np.ndarray, np.generic, bool, int, float, str, bytes)


def as_array(value: Any) -> np.ndarray:
    """The array of one value that a source or a function gave.

    Raises:
        TypeError: if it is a list, a dict, None or another object.
    """
    if isinstance(value, np.ndarray):
        array = value
    elif isinstance(value, Tensor):
        array = value.asnumpy()
    elif isinstance(value, _PLAIN):
        array = np.asarray(value)
    elif type(value).__module__.startswith("PIL."):
        array = np.asarray(value)
    else:
        raise TypeError(f"a value must be a NumPy array, a Tensor, a number, str or bytes, but got "
                        f"{type(value).__name__}")
    if array.dtype == object:
        raise TypeError("a value must be an array of numbers or strings, but got one of objects")
    return array


def as_row(raw: Any) -> Row:
    """A row of arrays from what a source or a function gave: a tuple of values, or a single one."""
    if isinstance(raw, tuple):
        return tuple([as_array(value) for value in raw])
    return (as_array(raw),)


def stacked(column: str | int, values: Any) -> np.ndarray:
    """The values of one column, stacked.

    Raises:
        RuntimeError: if they differ in shape or type.
    """
    first = values[0]
    shape, kind = first.shape, first.dtype.kind
    for value in values:
        if value.shape != shape:
            raise in_pipeline(
                f"Cannot batch tensors with different shapes in column {column!r}. First element "
                f"had shape {list(shape)} and this element had shape {list(value.shape)}.")
        if value.dtype != first.dtype and not (kind in "US" and value.dtype.kind == kind):
            raise in_pipeline(
                f"Cannot batch tensors with different types in column {column!r}. First element "
                f"had type {first.dtype} and this element had type {value.dtype}.")
    return np.stack(values)


def as_tensor(array: np.ndarray, fresh: bool = False) -> Any:
    """A Tensor of an array; strings stay what they are.

    Args:
        array: the array.
        fresh: whether nothing else holds its memory, so that the Tensor may.
    """
    if array.dtype not in _HELD:
        return array if array.dtype.kind in "US" else Tensor(array)
    flags = array.flags
    if not (fresh and flags.writeable and flags.c_contiguous):
        array = np.array(array, order="C")
    raw = torch.from_numpy(array)
    device = context.current_device()
    return wrap(raw if device.type == "cpu" else raw.to(device))
