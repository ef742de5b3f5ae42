"""Rows of reading and writing elements at places that tensors name."""

from __future__ import annotations

from typing import Any

from .later import jnp
from .table import Aval, NotLowered, of_type, row, wide


def _whole(index: Any, length: int) -> Any:
    """Indices from 0 on, since negative ones count from the end."""
    return jnp.where(index < 0, index + length, index)


def _places(x: Any, indices: list[Any]) -> tuple[Any, ...]:
    """The index of `x` for a list of tensors, one for each dimension, or None for all of it."""
    if any(i is not None and i.dtype == bool for i in indices):
        raise NotLowered("an index by a mask, whose number of elements depends on values")
    return tuple(slice(None) if i is None else _whole(i.astype("int64"), x.shape[axis])
                 for axis, i in enumerate(indices))


row("index.Tensor", "_unsafe_index.Tensor")(lambda aval, x, indices: x[_places(x, indices)])


@row("index_put", "_unsafe_index_put", "_index_put_impl")
def _index_put(aval: Aval, x: Any, indices: list[Any], values: Any, accumulate: bool,
               *_: Any) -> Any:
    if any(i is not None and i.dtype == bool for i in indices):
        return _masked_put(x, indices, values, accumulate)
    at = x.at[_places(x, indices)]
    return at.add(values) if accumulate else at.set(values)


def _masked_put(x: Any, indices: list[Any], values: Any, accumulate: bool) -> Any:
    """One value put where a mask of the leading dimensions is set."""
    mask, *others = indices
    if any(i is not None for i in others) or values.ndim:
        raise NotLowered("several values put by a mask")
    mask = mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim))
    return jnp.where(mask, x + values if accumulate else values, x)


@row("index_select")
def _index_select(aval: Aval, x: Any, dim: int, index: Any) -> Any:
    if not x.ndim:
        return x.reshape(aval.shape)
    return jnp.take(x, index.reshape(-1), dim, mode="clip")


row("embedding")(lambda aval, weight, index, *_: jnp.take(weight, index, 0, mode="clip"))


@row("embedding_dense_backward")
def _embedding_backward(aval: Aval, g: Any, index: Any, count: int, padding: int, scale: bool
                        ) -> Any:
    if scale:
        raise NotLowered("gradients by frequency")
    rows, at = g.reshape(-1, g.shape[-1]).astype(wide(aval.dtype)), index.reshape(-1)
    if padding >= 0:
        rows = jnp.where((at == padding)[:, None], 0, rows)
    return jnp.zeros(aval.shape, rows.dtype).at[at].add(rows).astype(aval.dtype)


@row("take")
def _take(aval: Aval, x: Any, index: Any) -> Any:
    return jnp.take(x.reshape(-1), _whole(index, x.size), mode="clip").reshape(aval.shape)


@row("gather")
def _gather(aval: Aval, x: Any, dim: int, index: Any, sparse: bool) -> Any:
    if not x.ndim:
        return jnp.broadcast_to(x, aval.shape)
    if not index.ndim:
        return x[index].reshape(aval.shape)
    return x[_along(index, dim)]


def _along(index: Any, dim: int) -> tuple[Any, ...]:
    """The places that `index` names along a dimension, as indices of all dimensions."""
    axis = dim % index.ndim
    grid = jnp.meshgrid(*[jnp.arange(n) for n in index.shape], indexing="ij", sparse=True)
    return tuple(index if i == axis else its for i, its in enumerate(grid))


def _scatter_at(x: Any, dim: int, index: Any) -> Any:
    if not x.ndim or not index.ndim:
        raise NotLowered("a scatter without dimensions")
    return x.at[_along(index, dim)]


@row("scatter.src", "scatter.value")
def _scatter(aval: Aval, x: Any, dim: int, index: Any, source: Any) -> Any:
    return _scatter_at(x, dim, index).set(_of_index(source, index, aval))


@row("scatter_add", "scatter.reduce", "scatter.value_reduce")
def _scatter_add(aval: Aval, x: Any, dim: int, index: Any, source: Any, reduce: str = "add") -> Any:
    at, values = _scatter_at(x, dim, index), _of_index(source, index, aval)
    return at.add(values) if reduce == "add" else at.multiply(values)


@row("scatter_reduce.two")
def _scatter_reduce(aval: Aval, x: Any, dim: int, index: Any, source: Any, reduce: str,
                    include: bool) -> Any:
    if not include or reduce not in ("sum", "prod", "amax", "amin"):
        raise NotLowered(f"scatter_reduce by {reduce}")
    at, values = _scatter_at(x, dim, index), _of_index(source, index, aval)
    return {"sum": at.add, "prod": at.multiply, "amax": at.max, "amin": at.min}[reduce](values)


def _of_index(source: Any, index: Any, aval: Aval) -> Any:
    """The source's part that the index covers."""
    if not getattr(source, "ndim", 0):
        return of_type(source, aval.dtype)
    return source[tuple(slice(0, n) for n in index.shape)].astype(aval.dtype)


@row("index_add")
def _index_add(aval: Aval, x: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    if not x.ndim:
        raise NotLowered("index_add without dimensions")
    kind = wide(aval.dtype)
    at = (slice(None),) * (dim % x.ndim) + (index.reshape(-1),)
    values = source.astype(kind) * of_type(alpha, kind) if alpha != 1 else source.astype(kind)
    return x.astype(kind).at[at].add(values).astype(aval.dtype)


@row("index_copy")
def _index_copy(aval: Aval, x: Any, dim: int, index: Any, source: Any) -> Any:
    if not x.ndim:
        raise NotLowered("index_copy without dimensions")
    return x.at[(slice(None),) * (dim % x.ndim) + (index.reshape(-1),)].set(source)


@row("index_fill.int_Scalar", "index_fill.int_Tensor")
def _index_fill(aval: Aval, x: Any, dim: int, index: Any, value: Any) -> Any:
    if not x.ndim:
        raise NotLowered("index_fill without dimensions")
    return x.at[(slice(None),) * (dim % x.ndim) + (index.reshape(-1),)].set(
        of_type(value, aval.dtype))
