"""Reductions: sum, mean, prod, any, all, ..."""

from __future__ import annotations

import math
from builtins import any as any_of
from typing import Any

import torch

from ..core.docstrings import documented_like
from ..core.dtype import int32, is_inexact, promote_types, to_raw
from ..core.errors import op
from ..tensors.overloads import shortcut
from ..tensors.tensor import Tensor, tensor_methods, wrap
from ..tensors.unsigned import SIGNED
from .arguments import kind_or, varargs
from .operands import axes, flag, floating, floats, spelled

__all__ = ["all", "any", "cosine_similarity", "count_nonzero", "logsumexp", "mean", "nanmean",
           "nansum", "prod", "reduce_mean", "reduce_sum", "sum"]


def _prod_type(raw: torch.Tensor, axis: Any) -> torch.dtype:
    # over a tuple of axes MindSpore stays in the integer type, over one axis it does not
    kept = is_inexact(raw.dtype) or isinstance(axis, (tuple, list)) or raw.dtype in SIGNED
    return raw.dtype if kept else torch.int64


def _prod(raw: torch.Tensor, dims: tuple[int, ...], keep: bool) -> torch.Tensor:
    """Product over several axes, which PyTorch multiplies along one."""
    if len(dims) == 1:
        return torch.prod(raw, dims[0], keep)
    if not dims:
        return raw.clone()
    for d in dims:
        if not -raw.dim() <= d < raw.dim():
            raise ValueError(f"For 'prod', 'axis' must be in [{-raw.dim()}, {raw.dim()}), but got "
                             f"{dims}.")
    gone = sorted({d % raw.dim() for d in dims})
    if len(gone) < len(dims):
        raise RuntimeError(f"For 'prod', the axes must differ, but got {dims}.")
    kept = [d for d in range(raw.dim()) if d not in gone]
    out = raw.permute(*kept, *gone).reshape([raw.shape[d] for d in kept] + [-1]).prod(-1)
    shape = [1 if d in gone else n for d, n in enumerate(raw.shape)]
    return out.reshape(shape) if keep else out


def _reduce_sum(x: Tensor, axis: Any, keep_dims: bool) -> Tensor:
    raw = x._raw
    if raw.dtype is torch.bool:
        return any(x, axis, keep_dims)
    return wrap(torch.sum(raw, axes(axis, raw), keep_dims, dtype=raw.dtype))


@op
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over axes.

    Args:
        input: any shape.
        dim: the axis or axes to reduce; None or () stands for all.
        keepdim: whether reduced axes stay, with length 1.
        dtype: the type to sum in and return; default: that of `input`, int64 for integers.

    Returns:
        Tensor without the reduced axes, or with length 1 there.

    Raises:
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.sum(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        10.0
        >>> print(ms.ops.sum(ms.Tensor([[1, 2], [3, 4]]), 0))
        [4 6]
    """
    raw = input._raw
    if dim is None and dtype is None and keepdim is False and raw.is_floating_point():
        return wrap(torch.sum(raw))  # its gradient takes half the time of one that names axes
    if dtype is None and raw.dtype in SIGNED:  # these stay, where other integers widen
        return wrap(torch.sum(raw.long(), axes(dim, raw), keepdim).to(raw.dtype))
    kind = kind_or(dtype, None, "sum")
    if kind is not None and kind.is_complex:
        raw = raw.to(kind)  # PyTorch's gradient of a real sum in a complex type raises (2.13)
    return wrap(torch.sum(raw, axes(dim, raw), keepdim, dtype=kind))


@documented_like(sum)
@op
def mean(x: Tensor, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Mean over axes; of integers it is whole, rounded towards 0.

    Args:
        x: any shape.
        axis: the axis or axes to reduce; None or () stands for all.
        keep_dims: whether reduced axes stay, with length 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.mean(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=1))
        [1.5 3.5]
    """
    raw = floating(x._raw) if x._raw.dtype is torch.bool else x._raw
    if axis is None and keep_dims is False and raw.is_floating_point():
        return wrap(torch.mean(raw))  # as `sum` has it
    dims = axes(axis, raw)
    if is_inexact(raw.dtype):
        return wrap(torch.mean(raw, dims, keep_dims))
    total = torch.sum(raw, dims, keep_dims)
    count = math.prod(raw.shape[d] for d in dims) or 1  # of no numbers it is 0
    return wrap(torch.div(total, count, rounding_mode="trunc").to(raw.dtype))


@documented_like(sum)
@op
def prod(input: Tensor, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Tensor:
    """Product over axes.

    Args:
        input: any shape.
        axis: the axis or axes to reduce; None or () stands for all.
        keep_dims: whether reduced axes stay, with length 1.
        dtype: the type to multiply in and return; default: that of `input`, int64 for integers.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.prod(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0))
        [3. 8.]
    """
    raw = input._raw
    kind = to_raw(dtype, "prod") if dtype is not None else _prod_type(raw, axis)
    flag(keep_dims, "prod", "keep_dims")
    factors = raw.long() if kind in SIGNED else raw.to(kind)
    out = _prod(factors, axes(axis, raw), keep_dims)
    return wrap(out if dtype is None and is_inexact(kind) else out.to(kind))


@documented_like(mean)
@op
def all(input: Tensor, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Whether all elements over the axes are true; numbers other than 0 are.

    Returns:
        Bool Tensor without the reduced axes, or with length 1 there

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.all(ms.Tensor([[True, False], [True, True]]), 1))
        [False  True]
    """
    return wrap(torch.all(input._raw, axes(axis, input._raw), keep_dims).bool())


@documented_like(all)
@op
def any(input: Tensor, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Whether any element over the axes is true; numbers other than 0 are.

    Returns:
        Bool Tensor (UInt8 of UInt8) without the reduced axes, or with length 1 there

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.any(ms.Tensor([[True, False], [False, False]]), 1))
        [ True False]
    """
    return wrap(torch.any(input._raw, axes(axis, input._raw), keep_dims))


@documented_like(sum)
@op
def count_nonzero(x: Tensor, axis: Any = (), keep_dims: bool = False, dtype: Any = int32) -> Tensor:
    """How many elements are not 0.

    Args:
        x: any shape.
        axis: the axis or axes to reduce; None or () stands for all.
        keep_dims: whether reduced axes stay, with length 1.
        dtype: the type of the counts.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.count_nonzero(ms.Tensor([[0, 1], [2, 3]]), 0))
        [1 2]
    """
    raw = x._raw.ne(0)
    return wrap(torch.sum(raw, axes(axis, raw), keep_dims, dtype=to_raw(dtype, "count_nonzero")))


@documented_like(mean)
@op
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """log of the sum of e^x over axes, without overflow in between.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logsumexp(ms.Tensor([[1.0, 1.0], [1000.0, 1000.0]]), 1))
        [   1.6931472 1000.6932   ]
    """
    raw = floating(input._raw)
    return wrap(torch.logsumexp(raw, axes(dim, raw), keepdim))


@documented_like(sum)
@op
def nansum(input: Tensor, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over axes, with nan counted as 0.

    Args:
        input: any shape.
        axis: the axis or axes to reduce; None or () stands for all.
        keepdims: whether reduced axes stay, with length 1.
        dtype: the type to return; default: that of the input.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.nansum(ms.Tensor([1.0, float("nan"), 2.0])))
        3.0
    """
    raw = input._raw
    kind = kind_or(dtype, None if raw.dtype is torch.bool else raw.dtype, "dtype")
    total = torch.nansum(raw, axes(axis, raw), keepdims,
                         dtype=raw.dtype if is_inexact(raw.dtype) else kind)
    return wrap(total if kind is None else total.to(kind))


@documented_like(nansum)
@op
def nanmean(input: Tensor, axis: Any = None, keepdims: bool = False, *,
            dtype: Any = None) -> Tensor:
    """Mean over axes of the elements that are not nan.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.nanmean(ms.Tensor([1.0, float("nan"), 2.0])))
        1.5
    """
    raw = input._raw
    if not raw.is_floating_point():
        raise TypeError(f"For 'nanmean', 'input' must be of a floating type, but got "
                        f"{input.dtype}.")
    return wrap(torch.nanmean(raw, axes(axis, raw), keepdims, dtype=kind_or(dtype, None, "dtype")))


@documented_like(sum)
@op
def reduce_sum(x: Tensor, axis: Any = ()) -> Tensor:
    """Sum over axes, in the type of `x`; of booleans, whether any is true.

    Args:
        x: any shape.
        axis: the axis or axes to reduce; None or () stands for all.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.reduce_sum(ms.Tensor([[1, 2], [3, 4]]), 0))
        [4 6]
    """
    return _reduce_sum(x, axis, False)


@documented_like(reduce_sum)
@op
def reduce_mean(x: Tensor, axis: Any = ()) -> Tensor:
    """Mean over axes, in the type of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.reduce_mean(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [1.5 3.5]
    """
    return mean(x, axis)


@op
def cosine_similarity(x1: Tensor, x2: Tensor, dim: Any = 1, eps: Any = 1e-08) -> Tensor:
    """Cosine of the angle between vectors along `dim`.

    Args:
        x1: any shape.
        x2: a Tensor that broadcasts with `x1`.
        dim: the axis of the vectors.
        eps: the least value of the lengths' product that is divided by.

    Returns:
        Tensor of the shape that the two broadcast to, without `dim`

    Raises:
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cosine_similarity(ms.Tensor([[1.0, 0.0]]), ms.Tensor([[1.0, 1.0]])))
        [0.70710677]
    """
    x, y = torch.broadcast_tensors(*floats(x1, x2))
    kind = promote_types(x.dtype, y.dtype)
    wide = promote_types(kind, torch.float32)
    x, y = x.to(wide), y.to(wide)
    # PyTorch's own function bounds each length by `eps` instead of their product
    lengths = torch.linalg.vector_norm(x, dim=dim) * torch.linalg.vector_norm(y, dim=dim)
    return wrap(((x * y).sum(dim) / lengths.clamp_min(eps)).to(kind))


@shortcut(sum, 2)
def _tensor_sum(self: Tensor, dim: Any = None, keepdim: Any = False, keepdims: bool = False,
                initial: Any = None, *, dtype: Any = None) -> Tensor:
    if not isinstance(keepdim, bool):  # the overload (axis, dtype, keepdims, initial)
        keepdim, dtype = keepdims, keepdim
    out = sum(self, dim, keepdim, dtype=dtype)
    return out if initial is None else out + initial


@shortcut(mean, 3)
def _tensor_mean(self: Tensor, dim: Any = None, keepdim: bool = False, *,
                 dtype: Any = None) -> Tensor:
    return mean(self if dtype is None else wrap(self._raw.to(to_raw(dtype, "mean"))), dim, keepdim)


def _tensor_sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The tensor summed over the axes that broadcasting `size` to its shape would stretch."""
    raw, shape = self._raw, varargs(size, "Tensor.sum_to_size", "size")
    lead = raw.dim() - len(shape)
    if lead < 0 or any_of(b not in (1, n) for n, b in zip(raw.shape[lead:], shape, strict=False)):
        raise ValueError(f"For 'Tensor.sum_to_size', 'size' must broadcast to the shape "
                         f"{self.shape}, but got {shape}.")
    if raw.dtype in SIGNED:
        return wrap(raw.long().sum_to_size(shape).to(raw.dtype))
    return wrap(raw.sum_to_size(shape))


_KEPT = {"dim": "axis", "keepdim": "keep_dims", "keepdims": "keep_dims"}
tensor_methods(sum=spelled(_tensor_sum, axis="dim", keepdims="keepdim", keep_dims="keepdim"),
               mean=spelled(_tensor_mean, axis="dim", keepdims="keepdim", keep_dims="keepdim"),
               prod=spelled(prod, **_KEPT), all=spelled(all, **_KEPT), any=spelled(any, **_KEPT),
               count_nonzero=spelled(count_nonzero, **_KEPT),
               logsumexp=spelled(logsumexp, axis="dim", keepdims="keepdim"),
               nansum=spelled(nansum, dim="axis", keepdim="keepdims"), nanmean=nanmean,
               sum_to_size=_tensor_sum_to_size)
