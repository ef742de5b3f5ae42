"""Running sums, products and extremes along an axis."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from ..autodiff.level import batching
from ..core.docstrings import documented_like
from ..core.dtype import int32
from ..core.errors import op
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import as_int, kind_or
from .operands import floating, spelled

_MOST_FACTORS = 64  # that are multiplied one by one

__all__ = ["cummax", "cummin", "cumprod", "cumsum", "diff", "logcumsumexp", "trapz"]


@op
def cumsum(x: Tensor, axis: Any, dtype: Any = None) -> Tensor:
    """Sums of the elements up to each one along an axis.

    Args:
        x: any shape.
        axis: the axis, an int or a Tensor of one.
        dtype: the type to sum in and return; default: that of `x`, integers too.

    Returns:
        Tensor of the shape of `x`

    Raises:
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cumsum(ms.Tensor([[1, 2], [3, 4]]), 0))
        [[1 2]
         [4 6]]
    """
    raw = x._raw
    kind = kind_or(dtype, raw.dtype, "cumsum")
    return wrap(torch.cumsum(raw, as_int(axis, "cumsum"), dtype=kind))


@documented_like(cumsum)
@op
def cumprod(input: Tensor, dim: Any, dtype: Any = None) -> Tensor:
    """Products of the elements up to each one along an axis.

    Args:
        input: any shape.
        dim: the axis, an int.
        dtype: the type to multiply in and return; default: that of `input`, int64 for integers.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cumprod(ms.Tensor([1.0, 2.0, 3.0]), 0))
        [1. 2. 6.]
    """
    raw, kind = input._raw, kind_or(dtype, None, "cumprod")
    if kind is not None and kind.is_complex:
        raw = raw.to(kind)  # PyTorch's gradient of a real product in a complex type raises (2.13)
    axis = as_int(dim, "cumprod", "dim")
    if batching() and raw.ndim and raw.is_floating_point() and kind in (None, raw.dtype) and (
            0 < raw.shape[axis] <= _MOST_FACTORS):  # PyTorch has no rule for gradients of examples
        return wrap(torch.stack([*itertools.accumulate(raw.unbind(axis), torch.mul)], axis))
    return wrap(torch.cumprod(raw, axis, dtype=kind))


@op
def cummax(input: Tensor, axis: Any) -> tuple[Tensor, Tensor]:
    """The largest of the elements up to each one along an axis and where it is.

    Args:
        input: any shape.
        axis: the axis, an int.

    Returns:
        (values, indices of int64), of the shape of `input`

    Raises:
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.cummax(ms.Tensor([1.0, 3.0, 2.0]), 0))
        [1. 3. 3.] [0 1 1]
    """
    values, indices = _extremes(torch.cummax, input._raw, as_int(axis, "cummax"))
    return wrap(values), wrap(indices)


def _extremes(kernel: Any, raw: torch.Tensor, axis: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The running extremes and where they are."""
    if batching():  # PyTorch has no rule for gradients of examples
        indices = kernel(raw.detach(), axis)[1]
        return torch.gather(raw, axis, indices), indices
    values, indices = kernel(raw, axis)
    return values, indices


@documented_like(cummax)
@op
def cummin(input: Tensor, axis: Any) -> tuple[Tensor, Tensor]:
    """The smallest of the elements up to each one along an axis and where it is.

    Returns:
        (values, indices of int32), of the shape of `input`

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.cummin(ms.Tensor([3.0, 1.0, 2.0]), 0))
        [3. 1. 1.] [0 1 1]
    """
    values, indices = _extremes(torch.cummin, input._raw, as_int(axis, "cummin"))
    return wrap(values), wrap(indices.int())


@documented_like(cummax)
@op
def logcumsumexp(input: Tensor, axis: int) -> Tensor:
    """log of the sums of e^x of the elements up to each one along an axis.

    Returns:
        Tensor of the shape of `input`

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logcumsumexp(ms.Tensor([1.0, 2.0, 3.0]), 0))
        [1.        2.3132617 3.407606 ]
    """
    return wrap(torch.logcumsumexp(floating(input._raw), as_int(axis, "logcumsumexp")))


@op
def diff(x: Tensor, n: int = 1, axis: Any = -1, prepend: Tensor | None = None,
         append: Tensor | None = None) -> Tensor:
    """Differences of neighbours along an axis.

    Args:
        x: any shape.
        n: how many times to take them.
        axis: the axis, an int.
        prepend: elements to put before the first ones.
        append: elements to put after the last ones.

    Returns:
        Tensor, shorter by `n` along `axis`

    Raises:
        ValueError: if there is no such axis or `n` is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.diff(ms.Tensor([1, 4, 9, 16])))
        [3 5 7]
    """
    given = [None if t is None else t._raw for t in (prepend, append)]
    return wrap(torch.diff(x._raw, n, axis, given[0], given[1]))


@op
def trapz(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The integral along an axis by the trapezoidal rule.

    Args:
        y: the values to integrate.
        x: the points they belong to; default: `dx` apart.
        dx: the distance between points.
        dim: the axis.

    Returns:
        Tensor without that axis

    Raises:
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.trapz(ms.Tensor([1.0, 2.0, 4.0])))
        4.5
    """
    raw = floating(y._raw)
    raw = raw.float() if raw.dtype is torch.bfloat16 else raw
    if x is None:
        return wrap(torch.trapezoid(raw, dx=dx, dim=dim))
    return wrap(torch.trapezoid(raw, floating(x._raw), dim=dim))


_NARROW = (torch.bool, torch.int8, torch.int16, torch.uint8)


def _tensor_cumsum(self: Tensor, axis: Any = None, dtype: Any = None) -> Tensor:
    if axis is None:
        self, axis = wrap(self._raw.reshape(-1)), 0
    return cumsum(self, axis, int32 if dtype is None and self._raw.dtype in _NARROW else dtype)


tensor_methods(cumsum=spelled(_tensor_cumsum, dim="axis"), cumprod=cumprod, cummax=cummax,
               cummin=cummin, logcumsumexp=logcumsumexp, diff=diff)
