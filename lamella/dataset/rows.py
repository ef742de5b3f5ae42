"""Rows: tuples of values, one for each column, and the Tensors that are made of them.

A value is a NumPy array, or a dict of Python objects, which operations hand on as it is.
"""

from __future__ import annotations

import collections.abc
from typing import Any

import numpy as np
import torch

from ..core import context
from ..device.transfer import sent
from ..tensors.tensor import Tensor, wrap
from .errors import in_pipeline
from .order import Row

_HELD = frozenset(map(np.dtype, "?bBhilqefdFD"))  # types that PyTorch holds as they are
_SINGLE = (np.ndarray, np.generic, bool, int, float, str, bytes, Tensor, dict)


def as_array(value: Any) -> np.ndarray:
    """The array of one value that a source or a function gave; lists and tuples become arrays.

    Raises:
        TypeError: if it is None or another object, or holds such.
        ValueError: if it is a list of values of several shapes.
    """
    if isinstance(value, np.ndarray):
        array = value
    elif isinstance(value, Tensor):
        array = value.asnumpy()
    else:
        array = np.asarray(value)
    if array.dtype == object:
        raise TypeError(f"Data type of the input or its converted Numpy array is expected to be "
                        f"int or float or str, but got object: a value must be a NumPy array, "
                        f"a Tensor, a number, str, bytes, a list of such, or a dict, but got "
                        f"{type(value).__name__}.")
    return array


def as_value(value: Any) -> Any:
    """The value of one column: a dict as it is, of all else an array; see `as_array`."""
    if isinstance(value, (np.ndarray, np.generic, int, float)):  # the most frequent, first
        array = np.asarray(value)
        return array if array.dtype.char != "O" else as_array(value)
    return value if isinstance(value, dict) else as_array(value)


def lent(value: Any) -> Any:
    """A value for a function of the program's, which may change it in place: a copy of an array.

    What the row, its source and the program hold stays as it is.
    """
    return value.copy() if isinstance(value, np.ndarray) else value


def as_row(raw: Any) -> Row:
    """A row of values from what a function gave: a tuple of values, or a single one."""
    if isinstance(raw, tuple):
        return tuple([as_value(value) for value in raw])
    return (as_value(raw),)


def source_row(raw: Any) -> Row:
    """A row from what a source gave: a single value, or values in any iterable."""
    if raw.__class__ is tuple:
        return tuple([as_value(value) for value in raw])
    if isinstance(raw, _SINGLE) or not isinstance(raw, collections.abc.Iterable) or (
            hasattr(raw, "__array__")):
        return (as_value(raw),)
    return tuple([as_value(value) for value in raw])


def stacked(column: str | int, values: Any) -> Any:
    """The values of one column, stacked; of dicts, a dict of what is stacked at each key.

    Raises:
        RuntimeError: if they differ in shape, type or keys.
    """
    first = values[0]
    if isinstance(first, dict):
        return _stacked_dicts(column, values)
    shape, kind = first.shape, first.dtype.kind
    for value in values:
        if isinstance(value, dict):
            raise in_pipeline(f"Cannot batch column {column!r}: some of its values are dicts, and "
                              f"others aren't.")
        if value.shape != shape:
            raise in_pipeline(
                f"Cannot batch tensors with different shapes in column {column!r}. First element "
                f"had shape {_sizes(shape)} and this element had shape {_sizes(value.shape)}.")
        if value.dtype != first.dtype and not (kind in "US" and value.dtype.kind == kind):
            raise in_pipeline(
                f"Cannot batch tensors with different types in column {column!r}. First element "
                f"had type {first.dtype} and this element had type {value.dtype}.")
    return np.stack(values)


def _sizes(shape: tuple[int, ...]) -> str:
    return f"<{','.join(map(str, shape))}>"


def merged(column: str | int, values: Any) -> dict[Any, list[Any]]:
    """Dicts with the same keys as one, whose values are lists.

    Raises:
        RuntimeError: if their keys differ.
    """
    first = values[0]
    for value in values:
        if not isinstance(value, dict):
            raise in_pipeline(f"Cannot batch column {column!r}: some of its values are dicts, and "
                              f"others aren't.")
        if len(value) != len(first):
            raise in_pipeline(f"Failed to create a batch since number of key/value pairs in "
                              f"dictionaries do not match. First row: {len(first)}, current row: "
                              f"{len(value)}")
        for key in value:
            if key not in first:
                raise in_pipeline(f"Python dictionary keys do not match when creating a batch: "
                                  f"{key} was not found in previous rows.")
    return {key: [value[key] for value in values] for key in first}


def _stacked_dicts(column: str | int, values: Any) -> dict[Any, np.ndarray]:
    out = {}
    for key, listed in merged(column, values).items():
        try:
            out[key] = as_array([v.asnumpy() if isinstance(v, Tensor) else v for v in listed])
        except (TypeError, ValueError) as error:
            raise in_pipeline(f"Failed to create a NumPy array of the values in column {column}, "
                              f"key: {key!r}: {error}\nIf you want a customized array, define a "
                              f"custom 'per_batch_map' function.") from error
    return out


def shape_of(value: Any) -> list[int | None]:
    """The shape of a value, as `output_shapes` says it."""
    return [0] if isinstance(value, dict) else list(value.shape)


def dtype_of(value: Any) -> np.dtype:
    """The type of a value; all dicts have one, and so have all strings."""
    if isinstance(value, dict):
        return np.dtype(object)
    return value.dtype if value.dtype.kind not in "US" else np.dtype(value.dtype.kind)


def as_given(value: Any, numpy: bool) -> Any:
    """A dict, or what is in one, as an iterator gives it.

    Args:
        value: a dict, list, tuple, array, Tensor, number or another object.
        numpy: whether arrays are given, not Tensors.
    """
    if isinstance(value, dict):
        return {key: as_given(one, numpy) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)([as_given(one, numpy) for one in value])
    if not isinstance(value, _SINGLE):
        return value
    array = as_array(value) if not isinstance(value, np.ndarray) else value
    if array.dtype == object:
        return value
    return np.array(array) if numpy else as_tensor(array)


def as_tensor(array: Any, fresh: bool = False) -> Any:
    """A Tensor of an array; strings stay what they are.

    Args:
        array: the array.
        fresh: whether nothing else holds its memory, so that the Tensor may.
    """
    if isinstance(array, dict):
        return as_given(array, False)
    if array.dtype not in _HELD:
        return array if array.dtype.kind in "US" else Tensor(array)
    flags = array.flags
    if not (fresh and flags.writeable and flags.c_contiguous):
        array = np.array(array, order="C")
    raw = torch.from_numpy(array)
    device = context.current_device()
    return wrap(raw if device.type == "cpu" else sent(raw, device))
