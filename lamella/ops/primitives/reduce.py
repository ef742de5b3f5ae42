"""Primitive classes of reductions and scans."""

from __future__ import annotations

from typing import Any

import torch

from ...core.dtype import int32, to_raw
from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..arguments import as_int
from ..extrema import amax, amin, max, min
from ..operands import axes, floating
from ..primitive import primitive
from ..reduce import _prod, _reduce_sum, all, any, count_nonzero, mean
from ..scan import cummax, cummin
from ..statistics import histc, median, nanmedian, nanquantile, quantile, std
from .attributes import with_attributes

__all__ = ["ArgMaxWithValue", "ArgMinWithValue", "Argmax", "Argmin", "Bincount", "CountNonZero",
           "CumProd", "CumSum", "Cummax", "Cummin", "CumulativeLogsumexp", "EuclideanNorm",
           "Histogram", "HistogramFixedWidth", "L2Normalize", "LpNorm", "Median", "NuclearNorm",
           "Quantile", "ReduceAll", "ReduceAny", "ReduceMax", "ReduceMean", "ReduceMin",
           "ReduceProd", "ReduceStd", "ReduceSum", "SquareSumAll"]


@op
def reduce_sum(x: Tensor, axis: Any = (), *, keep_dims: bool, skip_mode: bool) -> Tensor:
    """The sum over axes, in the type of `x`; with `skip_mode` and no axes `x` itself.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ReduceSum(keep_dims=True)(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [[3.]
         [7.]]
    """
    if skip_mode and isinstance(axis, (tuple, list)) and not axis:
        return x
    return _reduce_sum(x, axis, keep_dims)


@op
def reduce_prod(x: Tensor, axis: Any = (), *, keep_dims: bool) -> Tensor:
    """The product over axes, in the type of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ReduceProd()(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [3. 8.]
    """
    return wrap(_prod(x._raw, axes(axis, x._raw), keep_dims).to(x._raw.dtype))


@op
def reduce_mean(x: Tensor, axis: Any = (), *, keep_dims: bool) -> Tensor:
    """The mean over axes, in the type of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ReduceMean()(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [1.5 3.5]
    """
    return mean(x, axis, keep_dims)


@op
def reduce_max(x: Tensor, axis: Any = (), *, keep_dims: bool) -> Tensor:
    """The largest elements over axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ReduceMax(keep_dims=True)(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [[3. 4.]]
    """
    return amax(x, axis, keep_dims)


@op
def reduce_min(x: Tensor, axis: Any = (), *, keep_dims: bool) -> Tensor:
    """The smallest elements over axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ReduceMin()(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [1. 3.]
    """
    return amin(x, axis, keep_dims)


@op
def reduce_all(input: Tensor, axis: Any = None, *, keep_dims: bool) -> Tensor:
    """Whether all elements over axes are true.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ReduceAll()(ms.Tensor([[True, False], [True, True]]), 1))
        [False  True]
    """
    return all(input, axis, keep_dims)


@op
def reduce_any(x: Tensor, axis: Any = (), *, keep_dims: bool) -> Tensor:
    """Whether any element over axes is true.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ReduceAny()(ms.Tensor([[True, False], [False, False]]), 1))
        [ True False]
    """
    return any(x, axis, keep_dims)


@op
def reduce_std(x: Tensor, *, axis: Any, unbiased: bool, keep_dims: bool) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over axes."""
    return std(x, axis, int(unbiased), keep_dims), mean(x, axis, keep_dims)


@op
def arg_max(input_x: Tensor, *, axis: int, output_type: Any) -> Tensor:
    """Where the largest element along an axis is, in the type `output_type`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Argmax()(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [1 1]
    """
    return wrap(torch.argmax(input_x._raw, axis).to(to_raw(output_type, "Argmax")))


@op
def arg_min(x: Tensor, *, axis: int, output_type: Any) -> Tensor:
    """Where the smallest element along an axis is, in the type `output_type`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Argmin(axis=0)(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [0 0]
    """
    return wrap(torch.argmin(x._raw, axis).to(to_raw(output_type, "Argmin")))


@op
def arg_max_with_value(input: Tensor, *, axis: int, keep_dims: bool) -> tuple[Tensor, Tensor]:
    """Where the largest element along an axis is, and the element.

    Examples:
        >>> import lamella as ms
        >>> index, value = ms.ops.ArgMaxWithValue(axis=1)(ms.Tensor([[1.0, 5.0, 2.0]]))
        >>> print(index, value)
        [1] [5.]
    """
    values, indices = max(input, axis, keep_dims)
    return indices, values


@op
def arg_min_with_value(input: Tensor, *, axis: int, keep_dims: bool) -> tuple[Tensor, Tensor]:
    """Where the smallest element along an axis is, and the element.

    Examples:
        >>> import lamella as ms
        >>> index, value = ms.ops.ArgMinWithValue(axis=1)(ms.Tensor([[3.0, 5.0, 2.0]]))
        >>> print(index, value)
        [2] [2.]
    """
    values, indices = min(input, axis, keep_dims)
    return indices, values


def _scan(raw: torch.Tensor, axis: Any, exclusive: bool, reverse: bool, start: float,
          kernel: Any) -> Tensor:
    """`kernel` along an axis; with `reverse` from its end, with `exclusive` without the element."""
    axis = as_int(axis, "scan")
    if exclusive and not raw.dim():
        raise ValueError("For 'exclusive' scans, the input must have 1 dimension or more, but got "
                         "shape ().")
    if reverse:
        raw = raw.flip(axis)
    if exclusive:
        first = torch.full_like(raw.narrow(axis, 0, 1), start)
        raw = torch.cat([first, raw.narrow(axis, 0, raw.shape[axis] - 1)], axis)
    out = kernel(raw, axis)
    return wrap(out.flip(axis) if reverse else out)


@op
def cum_sum(input: Tensor, axis: Any, *, exclusive: bool, reverse: bool) -> Tensor:
    """Running sums, in the type of `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.CumSum(exclusive=True)(ms.Tensor([1.0, 2.0, 3.0]), 0))
        [0. 1. 3.]
    """
    return _scan(input._raw, axis, exclusive, reverse, 0,
                 lambda raw, d: torch.cumsum(raw, d, dtype=raw.dtype))


@op
def cum_prod(x: Tensor, axis: Any, *, exclusive: bool, reverse: bool) -> Tensor:
    """Running products, in the type of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.CumProd(reverse=True)(ms.Tensor([1.0, 2.0, 3.0]), 0))
        [6. 6. 3.]
    """
    return _scan(x._raw, axis, exclusive, reverse, 1,
                 lambda raw, d: torch.cumprod(raw, d, dtype=raw.dtype))


@op
def cumulative_logsumexp(x: Tensor, axis: Any, *, exclusive: bool, reverse: bool) -> Tensor:
    """Logarithms of running sums of e^x; an empty sum gives the least value of the type."""
    raw = floating(x._raw)
    return _scan(raw, axis, exclusive, reverse, torch.finfo(raw.dtype).min, torch.logcumsumexp)


@op
def l2_normalize(input_x: Tensor, *, axis: Any, epsilon: float) -> Tensor:
    """`input_x` divided by its 2-norm along an axis, or by sqrt(`epsilon`) if that is more.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.L2Normalize()(ms.Tensor([3.0, 4.0])))
        [0.6 0.8]
    """
    raw = input_x._raw
    square = torch.square(raw).sum(axes(axis, raw), keepdim=True)
    return wrap(raw * torch.rsqrt(square.clamp(min=epsilon)))


@op
def lp_norm(input: Tensor, *, axis: Any, p: int, keep_dims: bool, epsilon: float) -> Tensor:
    """The `p`-norm over axes."""
    raw = floating(input._raw)
    return wrap(torch.linalg.vector_norm(raw, p, axes(axis, raw), keep_dims))


@op
def euclidean_norm(x: Tensor, axes_: Any, *, keep_dims: bool) -> Tensor:
    """The 2-norm over axes."""
    raw = floating(x._raw)
    out = torch.linalg.vector_norm(raw, 2, axes(axes_, raw), keep_dims)
    return wrap(out.to(x._raw.dtype))


@op
def nuclear_norm(x: Tensor, *, dim: Any, keepdim: bool) -> Tensor:
    """The sum of singular values of matrices."""
    return wrap(torch.linalg.matrix_norm(x._raw, "nuc", (-2, -1) if dim is None else tuple(dim),
                                         keepdim))


@op
def median_of(x: Tensor, *, global_median: bool, axis: int, keep_dims: bool,
              ignore_nan: bool) -> tuple[Tensor, Tensor]:
    """The median along an axis, or of the whole tensor with index 0."""
    if global_median:
        raw = x._raw
        middle = torch.nanmedian(raw) if ignore_nan else torch.median(raw)
        return wrap(middle), wrap(torch.zeros((), dtype=torch.int64, device=raw.device))
    return (nanmedian if ignore_nan else median)(x, axis, keep_dims)


@op
def quantile_of(x: Tensor, q: Any, *, dim: Any, keep_dims: bool, ignore_nan: bool) -> Tensor:
    """The values below which parts `q` of the elements lie."""
    return (nanquantile if ignore_nan else quantile)(x, q, dim, keep_dims)


@op
def count_non_zero(x: Tensor, *, dims: Any) -> Tensor:
    """How many elements are not 0, in int64."""
    return wrap(count_nonzero(x, dims)._raw.long())


@op
def histogram_fixed_width(x: Tensor, range: Tensor, *, nbins: int, dtype: Any) -> Tensor:
    """How many elements fall into each of `nbins` parts of `range`; the ends take those outside."""
    low, high = range._raw[0], range._raw[1]
    position = ((x._raw - low) / (high - low) * nbins).floor().clamp(0, nbins - 1).long()
    return wrap(torch.bincount(position.reshape(-1), minlength=nbins).to(to_raw(dtype)))


@op
def bin_count(array: Tensor, size: Tensor, weights: Tensor) -> Tensor:
    """The sums of the weights of each number below `size`."""
    count, raw = as_int(size, "Bincount", "size"), array._raw.long()
    kept = (raw >= 0) & (raw < count)
    out = torch.zeros(count, dtype=weights._raw.dtype, device=raw.device)
    return wrap(out.index_add(0, raw[kept], weights._raw[kept]))


@op
def square_sum_all(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The sums of the squares of two tensors of one shape and type, float16 or float32."""
    if x.dtype != y.dtype or x._raw.dtype not in (torch.float16, torch.float32):
        raise TypeError(f"For 'SquareSumAll', 'x' and 'y' must both be float16 or float32, but got "
                        f"{x.dtype} and {y.dtype}.")
    if x.shape != y.shape:
        raise ValueError(f"For 'SquareSumAll', 'x' and 'y' must have one shape, but got {x.shape} "
                         f"and {y.shape}.")
    return wrap(torch.square(x._raw).sum()), wrap(torch.square(y._raw).sum())


ReduceSum = with_attributes("ReduceSum", reduce_sum, keep_dims=False, skip_mode=False)
ReduceMean = with_attributes("ReduceMean", reduce_mean, keep_dims=False)
ReduceMax = with_attributes("ReduceMax", reduce_max, keep_dims=False)
ReduceMin = with_attributes("ReduceMin", reduce_min, keep_dims=False)
ReduceProd = with_attributes("ReduceProd", reduce_prod, keep_dims=False)
ReduceAll = with_attributes("ReduceAll", reduce_all, keep_dims=False)
ReduceAny = with_attributes("ReduceAny", reduce_any, keep_dims=False)
ReduceStd = with_attributes("ReduceStd", reduce_std, axis=(), unbiased=True, keep_dims=False)
Argmax = with_attributes("Argmax", arg_max, axis=-1, output_type=int32)
Argmin = with_attributes("Argmin", arg_min, axis=-1, output_type=int32)
ArgMaxWithValue = with_attributes("ArgMaxWithValue", arg_max_with_value, axis=0, keep_dims=False)
ArgMinWithValue = with_attributes("ArgMinWithValue", arg_min_with_value, axis=0, keep_dims=False)
CumSum = with_attributes("CumSum", cum_sum, exclusive=False, reverse=False)
CumProd = with_attributes("CumProd", cum_prod, exclusive=False, reverse=False)
CumulativeLogsumexp = with_attributes("CumulativeLogsumexp", cumulative_logsumexp,
                                      exclusive=False, reverse=False)
Cummax = with_attributes("Cummax", cummax, "axis")
Cummin = with_attributes("Cummin", cummin, "axis")
L2Normalize = with_attributes("L2Normalize", l2_normalize, axis=0, epsilon=1e-4)
LpNorm = with_attributes("LpNorm", lp_norm, "axis", p=2, keep_dims=False, epsilon=1e-12)
EuclideanNorm = with_attributes("EuclideanNorm", euclidean_norm, keep_dims=False)
NuclearNorm = with_attributes("NuclearNorm", nuclear_norm, dim=None, keepdim=False)
Median = with_attributes("Median", median_of, global_median=False, axis=0, keep_dims=False,
                         ignore_nan=False)
Quantile = with_attributes("Quantile", quantile_of, dim=None, keep_dims=False, ignore_nan=False)
CountNonZero = with_attributes("CountNonZero", count_non_zero, dims=None)
Histogram = with_attributes("Histogram", histc, bins=100, min=0.0, max=0.0)
HistogramFixedWidth = with_attributes("HistogramFixedWidth", histogram_fixed_width, "nbins",
                                      dtype="int32")
Bincount = primitive("Bincount", bin_count)
SquareSumAll = primitive("SquareSumAll", square_sum_all)
