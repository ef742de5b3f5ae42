"""Writing, adding and combining of rows and elements at given indices.

The last dimension of `indices` has the leading coordinates of a position: with k of them each
update is a slice of rank ``input_x.ndim - k``. ``scatter_add`` and the like index dimension 0 only.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch

from ..core.docstrings import documented_like
from ..core.dtype import is_inexact
from ..core.errors import op
from ..tensors.kernels import trunc_quotient
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import as_shape, indices_of, raw_of, raw_or_number
from .assign import store

__all__ = [
    "scatter_add", "scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_nd",
    "scatter_nd_add", "scatter_nd_div", "scatter_nd_max", "scatter_nd_min", "scatter_nd_mul",
    "scatter_nd_sub", "scatter_nd_update", "scatter_sub", "scatter_update", "tensor_scatter_add",
    "tensor_scatter_div", "tensor_scatter_max", "tensor_scatter_min", "tensor_scatter_mul",
    "tensor_scatter_sub", "tensor_scatter_update",
]


def scattered_rows(raw: torch.Tensor, positions: torch.Tensor, updates: torch.Tensor, how: str,
                   where: str) -> torch.Tensor:
    """A new raw tensor: `raw` with `updates` combined at the positions in the rows of `positions`.

    Raises:
        ValueError: if the shapes do not fit.
        RuntimeError: if an index is out of range.
    """
    k = positions.shape[-1] if positions.dim() else 0
    if not 0 < k <= raw.dim():
        raise ValueError(f"For '{where}', the rows of 'indices' must have 1 to {raw.dim()} "
                         f"numbers, but 'indices' has shape {tuple(positions.shape)}.")
    expected = (*positions.shape[:-1], *raw.shape[k:])
    if tuple(updates.shape) != expected:
        raise ValueError(f"For '{where}', 'updates' must have shape {expected} with 'indices' of "
                         f"shape {tuple(positions.shape)} and 'input_x' of shape "
                         f"{tuple(raw.shape)}, but got {tuple(updates.shape)}.")
    updates, at = updates.to(raw.dtype), positions.unbind(-1)
    if how == "update":
        return raw.index_put(at, updates)
    if how in ("add", "sub"):
        return raw.index_put(at, updates if how == "add" else -updates, accumulate=True)
    rows = raw.reshape(-1, *raw.shape[k:])
    # through a table of row numbers, so that the kernel checks each coordinate
    number = torch.arange(rows.shape[0], device=raw.device).reshape(raw.shape[:k])[at].reshape(-1)
    updates = updates.reshape(number.numel(), *raw.shape[k:])
    position = number.reshape(-1, *[1] * (rows.dim() - 1)).expand(updates.shape)
    if how == "div":
        by = torch.ones_like(rows).scatter_reduce(0, position, updates, "prod")
        whole = not is_inexact(raw.dtype)
        out = trunc_quotient(rows, by, _least) if whole else rows / by
    else:
        kind = {"mul": "prod", "max": "amax", "min": "amin"}[how]
        out = rows.scatter_reduce(0, position, updates, kind)
    return out.reshape(raw.shape)


def _least(raw: torch.Tensor) -> torch.Tensor:
    return torch.full_like(raw, torch.iinfo(raw.dtype).min)


def _new(x: Any, indices: Any, updates: Any, how: str, where: str) -> Tensor:
    raw = raw_of(x, where, "input_x")
    return wrap(scattered_rows(raw, indices_of(indices, where), raw_of(updates, where, "updates"),
                               how, where))


def _stored(x: Any, indices: Any, updates: Any, how: str, where: str, rows: bool = False) -> Tensor:
    positions = indices_of(indices, where)
    positions = positions.unsqueeze(-1) if rows else positions
    return store(x, lambda old: scattered_rows(old, positions, raw_or_number(updates, old), how,
                                               where), where)


@documented_like(scattered_rows)
@op
def scatter_nd(indices: Tensor, updates: Tensor, shape: Any) -> Tensor:
    """Zeros of the given shape with `updates` added at the positions in the rows of `indices`.

    Args:
        indices: integers, of shape ``(..., k)``.
        updates: of shape ``indices.shape[:-1] + shape[k:]``.
        shape: a tuple of ints.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.scatter_nd(ms.Tensor([[0], [2]]), ms.Tensor([9.0, 8.0]), (4,)))
        [9. 0. 8. 0.]
    """
    values = raw_of(updates, "scatter_nd", "updates")
    if not raw_of(indices, "scatter_nd", "indices").dim():
        raise RuntimeError("For 'scatter_nd', 'indices' must have at least 1 dimension, but it is "
                           "a scalar.")
    blank = torch.zeros(as_shape(shape, "scatter_nd"), dtype=values.dtype, device=values.device)
    return wrap(scattered_rows(blank, indices_of(indices, "scatter_nd"), values, "add",
                               "scatter_nd"))


@documented_like(scattered_rows)
@op
def tensor_scatter_update(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of `input_x` with rows `updates` at the positions of `indices`.

    Args:
        input_x: any shape.
        indices: integers, of shape ``(..., k)``.
        updates: of shape ``indices.shape[:-1] + input_x.shape[k:]``.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 2.0, 3.0])
        >>> print(ms.ops.tensor_scatter_update(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [8. 2. 4.]
    """
    return _new(input_x, indices, updates, "update", "tensor_scatter_update")


@op
def scatter_nd_update(input_x: Any, indices: Tensor, updates: Tensor,
                  use_locking: bool = True) -> Tensor:
    """`tensor_scatter_update` in place: a Parameter or Tensor gets the new value.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_nd_update(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [8. 2. 4.]
    """
    return _stored(input_x, indices, updates, "update", "scatter_nd_update")


@op
def scatter_update(input_x: Any, indices: Tensor, updates: Tensor) -> Tensor:
    """`scatter_nd_update` with row numbers of any shape as `indices`.

    Args:
        input_x: a Parameter or Tensor, which is changed.
        indices: numbers of rows.
        updates: of shape ``indices.shape + input_x.shape[1:]``.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_update(x, ms.Tensor([0, 2]), ms.Tensor([8.0, 4.0])))
        [8. 2. 4.]
    """
    return _stored(input_x, indices, updates, "update", "scatter_update", rows=True)


class OfCopy(Protocol):
    """A function that changes a copy."""

    def __call__(self, input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor: ...


class InPlace(Protocol):
    """A function that changes its first argument."""

    def __call__(self, input_x: Any, indices: Tensor, updates: Tensor,
                 use_locking: bool = False) -> Tensor: ...


class OfRows(Protocol):
    """A function that changes rows of its first argument."""

    def __call__(self, input_x: Any, indices: Tensor, updates: Tensor) -> Tensor: ...


# of each way to combine: what it does with an element and an update, and [1, 2, 3] after it with
# 8 at the first place and 4 at the last
_WAYS = {
    "add": ("updates added", "[9. 2. 7.]"),
    "sub": ("updates subtracted", "[-7.  2. -1.]"),
    "mul": ("elements multiplied by updates", "[ 8.  2. 12.]"),
    "div": ("elements divided by updates", "[0.125 2.    0.75 ]"),
    "max": ("the greater of element and update", "[8. 2. 4.]"),
    "min": ("the lesser of element and update", "[1. 2. 3.]"),
}


def _copying(how: str) -> OfCopy:
    name = f"tensor_scatter_{how}"

    def combined(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return _new(input_x, indices, updates, how, name)

    words = f"A copy of `input_x` with {_WAYS[how][0]} at the positions of `indices`."
    return documented_like(tensor_scatter_update)(_shown(
        combined, name, words, "ms.Tensor([1.0, 2.0, 3.0])", "[[0], [2]]", how))


def _in_place(how: str) -> InPlace:
    name = f"scatter_nd_{how}"

    def combined(input_x: Any, indices: Tensor, updates: Tensor,
                 use_locking: bool = False) -> Tensor:
        return _stored(input_x, indices, updates, how, name)

    words = f"`tensor_scatter_{how}` in place: a Parameter or Tensor gets the new value."
    return documented_like(tensor_scatter_update)(_shown(
        combined, name, words, 'ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")', "[[0], [2]]",
        how))


def _in_rows(how: str) -> OfRows:
    name = f"scatter_{how}"

    def combined(input_x: Any, indices: Tensor, updates: Tensor) -> Tensor:
        return _stored(input_x, indices, updates, how, name, rows=True)

    words = f"`scatter_nd_{how}` with row numbers of any shape as `indices`."
    return documented_like(scatter_update)(_shown(
        combined, name, words, 'ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")', "[0, 2]", how))


def _shown(combined: Any, name: str, words: str, begins: str, places: str, how: str) -> Any:
    """A function of this family with its name, and a docstring with an example."""
    combined.__name__ = combined.__qualname__ = name
    combined.__doc__ = f"""{words}

    Examples:
        >>> import lamella as ms
        >>> x = {begins}
        >>> print(ms.ops.{name}(x, ms.Tensor({places}), ms.Tensor([8.0, 4.0])))
        {_WAYS[how][1]}
    """
    return op(combined)


tensor_scatter_add, tensor_scatter_sub = _copying("add"), _copying("sub")
tensor_scatter_mul, tensor_scatter_div = _copying("mul"), _copying("div")
tensor_scatter_max, tensor_scatter_min = _copying("max"), _copying("min")
scatter_nd_add, scatter_nd_sub = _in_place("add"), _in_place("sub")
scatter_nd_mul, scatter_nd_div = _in_place("mul"), _in_place("div")
scatter_nd_max, scatter_nd_min = _in_place("max"), _in_place("min")
scatter_add, scatter_sub = _in_rows("add"), _in_rows("sub")
scatter_mul, scatter_div = _in_rows("mul"), _in_rows("div")
scatter_max, scatter_min = _in_rows("max"), _in_rows("min")

tensor_methods(scatter_sub=tensor_scatter_sub, scatter_mul=tensor_scatter_mul,
               scatter_div=tensor_scatter_div, scatter_max=tensor_scatter_max,
               scatter_min=tensor_scatter_min)
