"""Writing, adding and combining of rows and elements at given indices.

The last dimension of `indices` has the leading coordinates of a position: with k of them each
update is a slice of rank ``input_x.ndim - k``. ``scatter_add`` and the like index dimension 0 only.
"""

from __future__ import annotations

from typing import Any

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
def tensor_scatter_add(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of `input_x` with `updates` added at the positions of `indices`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 2.0, 3.0])
        >>> print(ms.ops.tensor_scatter_add(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [9. 2. 7.]
    """
    return _new(input_x, indices, updates, "add", "tensor_scatter_add")


@op
def tensor_scatter_sub(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of `input_x` with `updates` subtracted at the positions of `indices`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 2.0, 3.0])
        >>> print(ms.ops.tensor_scatter_sub(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [-7.  2. -1.]
    """
    return _new(input_x, indices, updates, "sub", "tensor_scatter_sub")


@op
def tensor_scatter_mul(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of `input_x` with its elements at the positions of `indices` multiplied by `updates`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 2.0, 3.0])
        >>> print(ms.ops.tensor_scatter_mul(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [ 8.  2. 12.]
    """
    return _new(input_x, indices, updates, "mul", "tensor_scatter_mul")


@op
def tensor_scatter_div(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of `input_x` with its elements at the positions of `indices` divided by `updates`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 2.0, 3.0])
        >>> print(ms.ops.tensor_scatter_div(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [0.125 2.    0.75 ]
    """
    return _new(input_x, indices, updates, "div", "tensor_scatter_div")


@op
def tensor_scatter_max(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of `input_x` with the greater of element and update at the positions of `indices`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 2.0, 3.0])
        >>> print(ms.ops.tensor_scatter_max(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [8. 2. 4.]
    """
    return _new(input_x, indices, updates, "max", "tensor_scatter_max")


@op
def tensor_scatter_min(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of `input_x` with the lesser of element and update at the positions of `indices`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 2.0, 3.0])
        >>> print(ms.ops.tensor_scatter_min(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [1. 2. 3.]
    """
    return _new(input_x, indices, updates, "min", "tensor_scatter_min")


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


@op
def scatter_nd_add(input_x: Any, indices: Tensor, updates: Tensor,
                  use_locking: bool = False) -> Tensor:
    """`tensor_scatter_add` in place: a Parameter or Tensor gets the new value.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_nd_add(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [9. 2. 7.]
    """
    return _stored(input_x, indices, updates, "add", "scatter_nd_add")


@documented_like(scatter_update)
@op
def scatter_add(input_x: Any, indices: Tensor, updates: Tensor) -> Tensor:
    """`scatter_nd_add` with row numbers of any shape as `indices`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_add(x, ms.Tensor([0, 2]), ms.Tensor([8.0, 4.0])))
        [9. 2. 7.]
    """
    return _stored(input_x, indices, updates, "add", "scatter_add", rows=True)


@op
def scatter_nd_sub(input_x: Any, indices: Tensor, updates: Tensor,
                  use_locking: bool = False) -> Tensor:
    """`tensor_scatter_sub` in place: a Parameter or Tensor gets the new value.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_nd_sub(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [-7.  2. -1.]
    """
    return _stored(input_x, indices, updates, "sub", "scatter_nd_sub")


@documented_like(scatter_update)
@op
def scatter_sub(input_x: Any, indices: Tensor, updates: Tensor) -> Tensor:
    """`scatter_nd_sub` with row numbers of any shape as `indices`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_sub(x, ms.Tensor([0, 2]), ms.Tensor([8.0, 4.0])))
        [-7.  2. -1.]
    """
    return _stored(input_x, indices, updates, "sub", "scatter_sub", rows=True)


@op
def scatter_nd_mul(input_x: Any, indices: Tensor, updates: Tensor,
                  use_locking: bool = False) -> Tensor:
    """`tensor_scatter_mul` in place: a Parameter or Tensor gets the new value.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_nd_mul(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [ 8.  2. 12.]
    """
    return _stored(input_x, indices, updates, "mul", "scatter_nd_mul")


@documented_like(scatter_update)
@op
def scatter_mul(input_x: Any, indices: Tensor, updates: Tensor) -> Tensor:
    """`scatter_nd_mul` with row numbers of any shape as `indices`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_mul(x, ms.Tensor([0, 2]), ms.Tensor([8.0, 4.0])))
        [ 8.  2. 12.]
    """
    return _stored(input_x, indices, updates, "mul", "scatter_mul", rows=True)


@op
def scatter_nd_div(input_x: Any, indices: Tensor, updates: Tensor,
                  use_locking: bool = False) -> Tensor:
    """`tensor_scatter_div` in place: a Parameter or Tensor gets the new value.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_nd_div(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [0.125 2.    0.75 ]
    """
    return _stored(input_x, indices, updates, "div", "scatter_nd_div")


@documented_like(scatter_update)
@op
def scatter_div(input_x: Any, indices: Tensor, updates: Tensor) -> Tensor:
    """`scatter_nd_div` with row numbers of any shape as `indices`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_div(x, ms.Tensor([0, 2]), ms.Tensor([8.0, 4.0])))
        [0.125 2.    0.75 ]
    """
    return _stored(input_x, indices, updates, "div", "scatter_div", rows=True)


@op
def scatter_nd_max(input_x: Any, indices: Tensor, updates: Tensor,
                  use_locking: bool = False) -> Tensor:
    """`tensor_scatter_max` in place: a Parameter or Tensor gets the new value.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_nd_max(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [8. 2. 4.]
    """
    return _stored(input_x, indices, updates, "max", "scatter_nd_max")


@documented_like(scatter_update)
@op
def scatter_max(input_x: Any, indices: Tensor, updates: Tensor) -> Tensor:
    """`scatter_nd_max` with row numbers of any shape as `indices`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_max(x, ms.Tensor([0, 2]), ms.Tensor([8.0, 4.0])))
        [8. 2. 4.]
    """
    return _stored(input_x, indices, updates, "max", "scatter_max", rows=True)


@op
def scatter_nd_min(input_x: Any, indices: Tensor, updates: Tensor,
                  use_locking: bool = False) -> Tensor:
    """`tensor_scatter_min` in place: a Parameter or Tensor gets the new value.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_nd_min(x, ms.Tensor([[0], [2]]), ms.Tensor([8.0, 4.0])))
        [1. 2. 3.]
    """
    return _stored(input_x, indices, updates, "min", "scatter_nd_min")


@documented_like(scatter_update)
@op
def scatter_min(input_x: Any, indices: Tensor, updates: Tensor) -> Tensor:
    """`scatter_nd_min` with row numbers of any shape as `indices`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ms.ops.scatter_min(x, ms.Tensor([0, 2]), ms.Tensor([8.0, 4.0])))
        [1. 2. 3.]
    """
    return _stored(input_x, indices, updates, "min", "scatter_min", rows=True)


tensor_methods(scatter_sub=tensor_scatter_sub, scatter_mul=tensor_scatter_mul,
               scatter_div=tensor_scatter_div, scatter_max=tensor_scatter_max,
               scatter_min=tensor_scatter_min)
