"""Joining arrays and taking them apart."""

from __future__ import annotations

import functools
from typing import Any

from .. import ops
from ..ops.arguments import axis_in
from ..tensors.tensor import Tensor
from .types import as_tensor, cast, promoted

__all__ = ["append", "array_split", "column_stack", "concatenate", "dsplit", "dstack", "hsplit",
           "hstack", "split", "stack", "vsplit", "vstack"]

_MOST = 32  # an `axis` from here on stands for None


def _parts(arrays: Any, where: str, name: str) -> list[Tensor]:
    """Arrays to join, in the one type that they meet in."""
    if not isinstance(arrays, (tuple, list)):
        raise TypeError(f"For '{where}', '{name}' must be a Tensor, or a tuple or list of Tensors, "
                        f"but got {arrays!r} of type {type(arrays).__name__}.")
    if not arrays:
        raise ValueError(f"For '{where}', '{name}' must hold at least one Tensor, but it is empty.")
    parts = [as_tensor(a, where, name) for a in arrays]
    kind = functools.reduce(promoted, [p.dtype for p in parts])
    return [cast(p, kind) for p in parts]


def concatenate(arrays: Any, axis: int | None = 0) -> Tensor:
    """As `ops.cat`, in the arrays' common type; without `axis` of flattened arrays.

    The slices of a Tensor along its first axis count as arrays.

    Raises:
        ValueError: if the shapes differ elsewhere than along `axis`, or there is no such axis.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.concatenate((np.array([1, 2]), np.array([0.5]))))
        [1.  2.  0.5]
    """
    whole = isinstance(arrays, Tensor)
    parts = list(ops.unbind(arrays)) if whole else _parts(arrays, "concatenate", "arrays")
    if axis is None or axis >= _MOST:
        return ops.ravel(arrays) if whole else ops.cat([ops.ravel(p) for p in parts])
    axis = axis_in(axis, parts[0].ndim, "concatenate")
    return ops.cat(parts, axis)


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """`arr` followed by `values` along an axis; without `axis` both are flattened."""
    a, b = as_tensor(arr, "append", "arr"), as_tensor(values, "append", "values")
    if axis is not None and a.ndim != b.ndim:
        raise ValueError(f"For 'append', 'arr' and 'values' must have as many dimensions, "
                         f"but got {a.ndim} and {b.ndim}.")
    return concatenate((a, b), axis)


def stack(arrays: Any, axis: int = 0) -> Tensor:
    """As `ops.stack`, in the arrays' common type; the slices of a Tensor count too.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.stack([ms.Tensor([1, 2]), ms.Tensor([3, 4])]))
        [[1 2]
         [3 4]]
    """
    if isinstance(arrays, Tensor):
        return ops.movedim(arrays, 0, axis_in(axis, arrays.ndim, "stack"))
    if not isinstance(arrays, (tuple, list)):
        raise ValueError(f"For 'stack', 'arrays' must be a Tensor, a tuple or a list, "
                         f"but got {arrays!r}.")
    return ops.stack(_parts(arrays, "stack", "arrays"), axis)


def vstack(tup: Any) -> Tensor:
    """As `ops.vstack`, in the arrays' common type."""
    return tup if isinstance(tup, Tensor) else ops.vstack(_parts(tup, "vstack", "tup"))


def hstack(tup: Any) -> Tensor:
    """As `ops.hstack`, in the arrays' common type."""
    return tup if isinstance(tup, Tensor) else ops.hstack(_parts(tup, "hstack", "tup"))


def dstack(tup: Any) -> Tensor:
    """As `ops.dstack`, in the arrays' common type."""
    return tup if isinstance(tup, Tensor) else ops.dstack(_parts(tup, "dstack", "tup"))


def column_stack(tup: Any) -> Tensor:
    """As `ops.column_stack`, in the arrays' common type."""
    return tup if isinstance(tup, Tensor) else ops.column_stack(_parts(tup, "column_stack", "tup"))


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Parts of an array along an axis.

    Args:
        x: any shape.
        indices_or_sections: the number of equal parts, or where each next part begins.
        axis: the axis to cut.

    Returns:
        a tuple of Tensors for a number, a list for positions.

    Raises:
        TypeError: if `indices_or_sections` is no int, tuple or list of ints.
        ValueError: if there is no such axis, the length isn't a multiple of the number, or a part
            would be empty.

    Examples:
        >>> import lamella.numpy as np
        >>> print(*np.split(np.arange(6), 3))
        [0 1] [2 3] [4 5]
    """
    return _split(x, indices_or_sections, axis, "split")


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """As `split`, but the first parts are one longer where the length is no multiple.

    Examples:
        >>> import lamella.numpy as np
        >>> print(*np.array_split(np.arange(5), 2))
        [0 1 2] [3 4]
    """
    return _split(x, indices_or_sections, axis, "array_split")


def _split(x: Any, sections: Any, axis: int, where: str) -> Any:
    x = as_tensor(x, where)
    axis = axis_in(axis, x.ndim, where)
    length = x.shape[axis]
    if isinstance(sections, int) and not isinstance(sections, bool):
        if not 0 < sections <= max(length, 1) or where == "split" and length % sections:
            raise ValueError(f"For '{where}', 'indices_or_sections' must be at most {length}, the "
                             f"length of axis {axis}"
                             f"{', and divide it' if where == 'split' else ''}, "
                             f"but got {sections}.")
        return tuple(ops.tensor_split(x, sections, axis))
    if not isinstance(sections, (list, tuple)) or not all(isinstance(i, int) for i in sections):
        raise TypeError(f"For '{where}', 'indices_or_sections' must be an int, or a tuple or list "
                        f"of ints, but got {sections!r}.")
    ends = [i + length if i < 0 else i for i in sections] + [length]
    begins = [0, *ends[:-1]]
    if any(end <= begin for begin, end in zip(begins, ends, strict=True)):
        raise ValueError(f"For '{where}', no part may be empty, but got positions {sections} for "
                         f"length {length}.")
    return [ops.narrow(x, axis, begin, min(end, length) - begin)
            for begin, end in zip(begins, ends, strict=True)]


def vsplit(x: Any, indices_or_sections: Any) -> Any:
    """As `split` along the first axis."""
    return split(x, indices_or_sections, 0)


def hsplit(x: Any, indices_or_sections: Any) -> Any:
    """As `split` along the second axis."""
    return split(x, indices_or_sections, 1)


def dsplit(x: Any, indices_or_sections: Any) -> Any:
    """As `split` along the third axis."""
    return split(x, indices_or_sections, 2)
