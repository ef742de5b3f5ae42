"""Rows of sums, extremes and other reductions, scans and sorting."""

from __future__ import annotations

import math
from typing import Any

from .best import greatest
from .later import jnp, lax
from .table import Aval, NotLowered, common, is_inexact, of_type, row, wide


def axes_of(x: Any, dim: Any) -> tuple[int, ...]:
    """The axes that a `dim` names: all for None or an empty list, and for the type of the result,
    which stands at its place in the overloads without one."""
    if dim is None or dim == [] or isinstance(dim, str):
        return tuple(range(x.ndim))
    named = [dim] if isinstance(dim, int) else dim
    return tuple(d % x.ndim for d in named) if x.ndim else ()


@row("sum", "sum.dim_IntList")
def _sum(aval: Aval, x: Any, dim: Any = None, keep: bool = False, dtype: Any = None) -> Any:
    return x.astype(wide(aval.dtype)).sum(axes_of(x, dim), keepdims=keep).astype(aval.dtype)


@row("mean", "mean.dim")
def _mean(aval: Aval, x: Any, dim: Any = None, keep: bool = False, dtype: Any = None) -> Any:
    return x.astype(wide(aval.dtype)).mean(axes_of(x, dim), keepdims=keep).astype(aval.dtype)


row("amax")(lambda aval, x, dim, keep: x.max(axes_of(x, dim), keepdims=keep))
row("amin")(lambda aval, x, dim, keep: x.min(axes_of(x, dim), keepdims=keep))
row("max")(lambda aval, x: x.max())
row("min")(lambda aval, x: x.min())
row("max.dim")(lambda avals, x, dim, keep: _extreme(avals, x, dim, jnp.argmax))
row("min.dim")(lambda avals, x, dim, keep: _extreme(avals, x, dim, jnp.argmin))


def _extreme(avals: list[Aval], x: Any, dim: int, place: Any) -> list[Any]:
    if x.ndim == 0:
        return [x, jnp.zeros((), "int64")]
    at = place(x, dim, keepdims=True)
    return [jnp.take_along_axis(x, at, dim).reshape(avals[0].shape),
            at.astype(avals[1].dtype).reshape(avals[1].shape)]


row("argmax")(lambda aval, x, dim, keep: _argument(aval, x, dim, jnp.argmax))
row("argmin")(lambda aval, x, dim, keep: _argument(aval, x, dim, jnp.argmin))


def _argument(aval: Aval, x: Any, dim: Any, place: Any) -> Any:
    at = place(x.reshape(-1)) if dim is None or x.ndim == 0 else place(x, dim)
    return at.astype(aval.dtype).reshape(aval.shape)


@row("prod", "prod.dim_int")
def _prod(aval: Aval, x: Any, dim: Any = None, keep: bool = False, dtype: Any = None) -> Any:
    made = x.astype(wide(aval.dtype)).prod(axes_of(x, dim))
    return made.astype(aval.dtype).reshape(aval.shape)


@row("any", "any.dim", "any.dims")
def _any(aval: Aval, x: Any, dim: Any = None, keep: bool = False) -> Any:
    return x.astype(bool).any(axes_of(x, dim)).astype(aval.dtype).reshape(aval.shape)


@row("all", "all.dim", "all.dims")
def _all(aval: Aval, x: Any, dim: Any = None, keep: bool = False) -> Any:
    return x.astype(bool).all(axes_of(x, dim)).astype(aval.dtype).reshape(aval.shape)


def _variance(x: Any, dim: Any, correction: Any) -> tuple[Any, Any]:
    """Variance and mean; that has the reduced dimensions."""
    wider, axes = x.astype(wide(str(x.dtype))), axes_of(x, dim)
    mean = wider.mean(axes, keepdims=True)
    count = math.prod(x.shape[a] for a in axes)
    left = count - (1 if correction is None else correction)
    squares = (jnp.abs(wider - mean) ** 2).sum(axes)  # of complex numbers, too
    return (squares / left if left > 0 else squares / 0.0), mean


@row("var.correction")
def _var(aval: Aval, x: Any, dim: Any, correction: Any, keep: bool) -> Any:
    found, _ = _variance(x, dim, correction)
    return found.astype(aval.dtype).reshape(aval.shape)


@row("std.correction")
def _std(aval: Aval, x: Any, dim: Any, correction: Any, keep: bool) -> Any:
    found, _ = _variance(x, dim, correction)
    return jnp.sqrt(found).astype(aval.dtype).reshape(aval.shape)


@row("var_mean.correction")
def _var_mean(avals: list[Aval], x: Any, dim: Any, correction: Any, keep: bool) -> list[Any]:
    return [value.astype(aval.dtype).reshape(aval.shape) for aval, value in zip(
        avals, _variance(x, dim, correction), strict=True)]


@row("std_mean.correction")
def _std_mean(avals: list[Aval], x: Any, dim: Any, correction: Any, keep: bool) -> list[Any]:
    variance, mean = _variance(x, dim, correction)
    return [value.astype(aval.dtype).reshape(aval.shape) for aval, value in zip(
        avals, (jnp.sqrt(variance), mean), strict=True)]


@row("logsumexp")
def _logsumexp(aval: Aval, x: Any, dim: Any, keep: bool) -> Any:
    wider, axes = x.astype(wide(aval.dtype)), axes_of(x, dim)
    most = wider.max(axes, keepdims=True, initial=-jnp.inf)
    most = jnp.where(jnp.isfinite(most), most, 0)
    found = jnp.log(jnp.exp(wider - most).sum(axes, keepdims=True)) + most
    return found.astype(aval.dtype).reshape(aval.shape)


@row("linalg_vector_norm")
def _vector_norm(aval: Aval, x: Any, order: float, dim: Any, keep: bool, dtype: Any) -> Any:
    wider, axes = jnp.abs(x).astype(wide(aval.dtype)), axes_of(x, dim)
    if order == 2:
        found = jnp.sqrt((wider * wider).sum(axes))
    elif order == 1:
        found = wider.sum(axes)
    elif order == math.inf:
        found = wider.max(axes)
    elif order == -math.inf:
        found = wider.min(axes)
    elif order == 0:
        found = (wider != 0).sum(axes)
    else:
        found = (wider**order).sum(axes) ** (1 / order)
    return found.astype(aval.dtype).reshape(aval.shape)


@row("norm.ScalarOpt_dim", "norm.Scalar", "norm.ScalarOpt_dim_dtype")
def _norm(aval: Aval, x: Any, order: Any, dim: Any = None, *rest: Any) -> Any:
    return _vector_norm(aval, x, 2 if order is None else order, dim, False, None)


@row("cumsum")
def _cumsum(aval: Aval, x: Any, dim: int, dtype: Any) -> Any:
    wider = x.astype(wide(aval.dtype))
    return (jnp.cumsum(wider, dim) if x.ndim else wider).astype(aval.dtype)


@row("cumprod")
def _cumprod(aval: Aval, x: Any, dim: int, dtype: Any) -> Any:
    wider = x.astype(wide(aval.dtype))
    return (jnp.cumprod(wider, dim) if x.ndim else wider).astype(aval.dtype)


row("count_nonzero", "count_nonzero.dim_IntList")(
    lambda aval, x, dim=None: (x != 0).sum(axes_of(x, dim), dtype="int64"))


@row("sort", "sort.stable")
def _sort(avals: list[Aval], x: Any, *args: Any) -> list[Any]:
    *_, dim, descending = args
    if x.ndim == 0:
        return [x, jnp.zeros((), "int64")]
    at = _order(x, dim, descending)
    return [jnp.take_along_axis(x, at, dim), at.astype("int64")]


@row("argsort", "argsort.stable")
def _argsort(aval: Aval, x: Any, *args: Any) -> Any:
    *_, dim, descending = args
    return _order(x, dim, descending).astype("int64") if x.ndim else jnp.zeros((), "int64")


def _order(x: Any, dim: int, descending: bool) -> Any:
    if x.dtype == bool:
        x = x.astype("int8")
    return jnp.argsort(x, dim, stable=True, descending=descending)


@row("topk")
def _topk(avals: list[Aval], x: Any, k: int, dim: int, largest: bool, is_sorted: bool
          ) -> list[Any]:
    if not is_inexact(str(x.dtype)) or not x.ndim:
        raise NotLowered("topk of integers, whose equal elements come in another order")
    if largest:
        return greatest(x, k, dim)
    at = lax.slice_in_dim(_order(x, dim, False), 0, k, axis=dim)
    return [jnp.take_along_axis(x, at, dim), at.astype("int64")]


@row("searchsorted.Tensor", "searchsorted.Scalar")
def _searchsorted(aval: Aval, ordered: Any, x: Any, out_int32: bool, right: bool,
                  side: Any, sorter: Any) -> Any:
    if sorter is not None:
        raise NotLowered("a search in a sequence that comes with its order")
    return _found_in(aval, ordered, x, right or side == "right")


@row("bucketize.Tensor", "bucketize.Scalar")
def _bucketize(aval: Aval, x: Any, ordered: Any, out_int32: bool, right: bool) -> Any:
    return _found_in(aval, ordered, x, right)


def _found_in(aval: Aval, ordered: Any, x: Any, right: bool) -> Any:
    """Where values would stand in ordered rows, by the halving that PyTorch does, which decides
    where a NaN is met."""
    kind = common([ordered, x])
    ordered, x = ordered.astype(kind), of_type(x, kind)
    rows = jnp.broadcast_to(ordered, (*x.shape[:-1], ordered.shape[-1])) if x.ndim else ordered
    low, high = jnp.zeros(x.shape, "int64"), jnp.full(x.shape, ordered.shape[-1], "int64")
    for _ in range(ordered.shape[-1].bit_length()):
        middle = (low + high) // 2
        found = (jnp.take(ordered, middle, mode="clip") if ordered.ndim == 1
                 else jnp.take_along_axis(rows, middle, -1, mode="clip"))
        below = ~(found > x if right else found >= x)
        is_open = low < high
        low, high = jnp.where(is_open & below, middle + 1, low), jnp.where(
            is_open & ~below, middle, high)
    return low.astype(aval.dtype)
