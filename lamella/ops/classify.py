"""Tests of what elements and data types are: NaN, infinite, real, complex, signed."""

from __future__ import annotations

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..tensors.tensor import Tensor, tensor_methods, wrap

__all__ = ["is_complex", "is_floating_point", "isfinite", "isinf", "isnan", "isneginf",
           "isposinf", "isreal"]


@op
def isnan(input: Tensor) -> Tensor:
    """Whether elements are nan.

    Args:
        input: any shape.

    Returns:
        Bool Tensor of the shape of `input`.

    Raises:
        TypeError: if `input` is not a Tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.isnan(ms.Tensor([1.0, float("nan")])))
        [False  True]
    """
    return wrap(torch.isnan(input._raw))


@documented_like(isnan)
@op
def isinf(input: Tensor) -> Tensor:
    """Whether elements are infinite.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.isinf(ms.Tensor([1.0, float("-inf")])))
        [False  True]
    """
    return wrap(torch.isinf(input._raw))


@documented_like(isnan)
@op
def isfinite(input: Tensor) -> Tensor:
    """Whether elements are neither infinite nor nan.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.isfinite(ms.Tensor([1.0, float("inf")])))
        [ True False]
    """
    return wrap(torch.isfinite(input._raw))


@documented_like(isnan)
@op
def isposinf(input: Tensor) -> Tensor:
    """Whether elements are positive infinity.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.isposinf(ms.Tensor([float("inf"), float("-inf")])))
        [ True False]
    """
    return wrap(torch.isposinf(input._raw))


@documented_like(isnan)
@op
def isneginf(input: Tensor) -> Tensor:
    """Whether elements are negative infinity.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.isneginf(ms.Tensor([float("inf"), float("-inf")])))
        [False  True]
    """
    return wrap(torch.isneginf(input._raw))


@documented_like(isnan)
@op
def isreal(input: Tensor) -> Tensor:
    """Whether elements have no imaginary part.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.isreal(ms.Tensor([1 + 0j, 1 + 1j])))
        [ True False]
    """
    return wrap(torch.isreal(input._raw))


@documented_like(isnan)
@op
def is_floating_point(input: Tensor) -> bool:
    """Whether the type of `input` is floating.

    Returns:
        bool

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.is_floating_point(ms.Tensor([1.0])))
        True
    """
    return input._raw.is_floating_point()


@documented_like(is_floating_point)
@op
def is_complex(input: Tensor) -> bool:
    """Whether the type of `input` is complex.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.is_complex(ms.Tensor([1j])))
        True
    """
    return input._raw.is_complex()


def _tensor_is_signed(self: Tensor) -> bool:
    """Whether the data type has negative numbers."""
    return self._raw.is_signed()


tensor_methods(isnan=isnan, isinf=isinf, isfinite=isfinite, isposinf=isposinf, isneginf=isneginf,
               isreal=isreal, is_floating_point=is_floating_point, is_complex=is_complex,
               is_signed=_tensor_is_signed)
