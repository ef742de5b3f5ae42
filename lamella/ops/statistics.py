"""Statistics: var, std, median, quantile, histc, ..."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import axis_in
from .operands import axes, floating, spelled

__all__ = ["bincount", "cov", "histc", "median", "nanmedian", "nanquantile", "quantile", "std",
           "std_mean", "var", "var_mean"]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without PyTorch's warning about divisors of 0 or less: the result, nan or inf, says it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*degrees of freedom is <= 0")
        yield


def _var(input: Tensor, axis: Any, ddof: int, keepdims: bool) -> torch.Tensor:
    raw = floating(input._raw)
    if not isinstance(ddof, int):
        raise TypeError(f"'ddof' must be an int, but got {ddof!r} of type {type(ddof).__name__}.")
    dims = axes(axis, raw)
    rank = raw.dim()
    count = math.prod(raw.shape[d] for d in dims if -rank <= d < rank)
    with contextlib.nullcontext() if count > ddof else _quiet():
        return torch.var(raw, dims, correction=int(ddof), keepdim=keepdims)


def _mean(input: Tensor, axis: Any, keepdims: bool) -> Tensor:
    raw = floating(input._raw)
    return wrap(torch.mean(raw, axes(axis, raw), keepdims))


def _parts(name: str, q: Any, raw: torch.Tensor) -> torch.Tensor | float:
    if isinstance(q, Tensor):
        return q._raw.to(raw.dtype)
    parts = q if isinstance(q, (list, tuple)) else [q]
    if not all(0 <= part <= 1 for part in parts):
        raise ValueError(f"For '{name}', 'q' must be in [0, 1], but got {q}.")
    return torch.tensor(q, dtype=raw.dtype, device=raw.device)


@op
def var(input: Tensor, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Variance over axes.

    Args:
        input: any shape.
        axis: the axis or axes to reduce; None or () stands for all.
        ddof: what to subtract from the count in the divisor; False and True are 0 and 1.
        keepdims: whether reduced axes stay, with length 1.

    Returns:
        Tensor without the reduced axes, or with length 1 there.

    Raises:
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.var(ms.Tensor([1.0, 2.0, 4.0])))
        1.5555556
    """
    return wrap(_var(input, axis, ddof, keepdims))


@documented_like(var)
@op
def std(input: Tensor, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Standard deviation over axes.

    As in MindSpore the gradient is nan where all elements are equal.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.std(ms.Tensor([1.0, 2.0, 4.0]), ddof=1))
        1.5275252
    """
    if input._raw.dtype is torch.float16:  # which may not hold the variance
        wide = _var(wrap(input._raw.float()), axis, ddof, keepdims)
        return wrap(torch.sqrt(wide).half())
    return wrap(torch.sqrt(_var(input, axis, ddof, keepdims)))


@documented_like(var)
@op
def var_mean(input: Tensor, axis: Any = None, ddof: int = 0,
             keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Variance and mean over axes.

    Returns:
        (variance, mean)

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.var_mean(ms.Tensor([1.0, 2.0, 3.0])))
        0.6666667 2.0
    """
    return var(input, axis, ddof, keepdims), _mean(input, axis, keepdims)


@documented_like(var)
@op
def std_mean(input: Tensor, axis: Any = None, ddof: int = 0,
             keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over axes.

    Returns:
        (standard deviation, mean)

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.std_mean(ms.Tensor([1.0, 2.0, 3.0])))
        0.8164966 2.0
    """
    return std(input, axis, ddof, keepdims), _mean(input, axis, keepdims)


@op
def median(input: Tensor, axis: Any = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The median along an axis, of an even number the lower one, and where it is.

    Args:
        input: any shape.
        axis: the axis, an int.
        keepdims: whether the axis stays, with length 1.

    Returns:
        (medians, indices of int64)

    Raises:
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.median(ms.Tensor([[3.0, 1.0, 2.0]]), 1))
        [2.] [2]
    """
    axis = axis_in(axis, input._raw.dim() or 1, "median")
    values, indices = torch.median(input._raw, axis, keepdims)
    return wrap(values), wrap(indices)


@documented_like(median)
@op
def nanmedian(input: Tensor, axis: Any = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The median along an axis of the elements that are not nan, and where it is.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.nanmedian(ms.Tensor([3.0, float("nan"), 2.0, 4.0])))
        3.0 0
    """
    axis = axis_in(axis, input._raw.dim() or 1, "nanmedian")
    values, indices = torch.nanmedian(input._raw, axis, keepdims)
    return wrap(values), wrap(indices)


@op
def quantile(input: Tensor, q: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The values below which parts `q` of the elements lie, interpolated between the two
    nearest.

    Args:
        input: any shape.
        q: parts in [0, 1]: a number, a list of them or a Tensor of one dimension.
        axis: the axis, an int; None: the flattened tensor.
        keepdims: whether reduced axes stay, with length 1.

    Returns:
        Tensor without the reduced axis, or with length 1 there; for several parts, with a new
        first dimension for them

    Raises:
        ValueError: if a part is outside [0, 1], or there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.quantile(ms.Tensor([1.0, 2.0, 3.0, 4.0]), 0.5))
        2.5
    """
    raw = floating(input._raw)
    return wrap(torch.quantile(raw, _parts("quantile", q, raw), axis, keepdims))


@documented_like(quantile)
@op
def nanquantile(input: Tensor, q: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """`quantile` of the elements that are not nan.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.nanquantile(ms.Tensor([1.0, float("nan"), 3.0]), 0.5))
        2.0
    """
    raw = floating(input._raw)
    return wrap(torch.nanquantile(raw, _parts("nanquantile", q, raw), axis, keepdims))


@op
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number occurs, or the sum of its weights.

    Args:
        input: integers, none negative, of one dimension.
        weights: a weight for each element.
        minlength: the least length of the result.

    Returns:
        Float32 Tensor, one element for each number from 0 to the largest

    Raises:
        TypeError: if `input` is floating.
        ValueError: if `input` has not one dimension.
        RuntimeError: if `input` has negative elements.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.bincount(ms.Tensor([1, 2, 2]), minlength=4))
        [0. 1. 2. 0.]
    """
    if minlength < 0:
        raise ValueError(f"For 'bincount', 'minlength' must be 0 or more, but got {minlength}.")
    if input._raw.dim() != 1:
        raise ValueError(f"For 'bincount', 'input' must have one dimension, "
                         f"but got shape {input.shape}.")
    given = None if weights is None else weights._raw
    if given is not None and given.is_complex():
        raise TypeError(f"For 'bincount', 'weights' must be real, but got {given.dtype}.")
    counted = input._raw
    if counted.dtype is torch.bool:
        counted = counted.long()
    if counted.is_floating_point():  # numbers that aren't whole are in no bin
        whole = counted == counted.trunc()
        counted, given = counted[whole].long(), None if given is None else given[whole]
    if given is None or not given.requires_grad:  # PyTorch's kernel has no gradient
        return wrap(torch.bincount(counted, given, minlength).float())
    bins = max(torch.bincount(counted).numel(), minlength)
    return wrap(given.double().new_zeros(bins).index_add(0, counted.long(), given.double()).float())


@op
def histc(input: Tensor, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """How many elements fall into each of `bins` equal parts of [`min`, `max`].

    Args:
        input: any shape.
        bins: how many parts.
        min: the lower end; with `max` equal, both come from the data.
        max: the upper end; elements outside are not counted.

    Returns:
        Tensor of one dimension, of length `bins`, in the type of `input`

    Raises:
        ValueError: if `bins` is not positive or `min` is above `max`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.histc(ms.Tensor([1.0, 2.0, 1.0, 4.0]), 4, 0.0, 3.0))
        [0. 2. 1. 0.]
    """
    if bins <= 0 or min > max:
        raise ValueError(f"For 'histc', 'bins' must be positive and 'min' at most 'max', "
                         f"but got bins={bins}, min={min}, max={max}.")
    kind = input._raw.dtype
    kind = torch.float32 if kind in (torch.float16, torch.bfloat16) else kind
    raw = floating(input._raw)
    if not raw.is_cpu and raw.dtype in (torch.float16, torch.bfloat16):
        raw = raw.float()  # only CPUs have kernels for 16 bits
    return wrap(torch.histc(raw, bins, min, max).to(kind))


@op
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None,
        aweights: Tensor | None = None) -> Tensor:
    """The matrix of covariances between variables (rows) over observations (columns).

    Args:
        input: of one or two dimensions.
        correction: what to subtract from the count in the divisor.
        fweights: how often each observation counts, integers.
        aweights: the weight of each observation.

    Returns:
        Tensor of shape (rows, rows), or of rank 0

    Raises:
        ValueError: if `input` has more than two dimensions.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cov(ms.Tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])))
        [[ 1. -1.]
         [-1.  1.]]
    """
    given = [None if w is None else w._raw for w in (fweights, aweights)]
    with _quiet():
        raw = floating(input._raw)
        raw = raw.float() if raw.dtype in (torch.float16, torch.bfloat16) else raw
        if raw.dim() == 0:
            raw = raw.clone()  # else PyTorch changes a view of the argument in place
        return wrap(torch.cov(raw, correction=correction, fweights=given[0],
                              aweights=given[1]))


_SPELLINGS = {"dim": "axis", "correction": "ddof", "keepdim": "keepdims"}
tensor_methods(var=spelled(var, **_SPELLINGS), std=spelled(std, **_SPELLINGS),
               median=spelled(median, dim="axis", keepdim="keepdims"), nanmedian=nanmedian,
               quantile=quantile, nanquantile=nanquantile, bincount=bincount, histc=histc, cov=cov)
