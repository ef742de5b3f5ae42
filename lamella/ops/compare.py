"""Comparisons and logic."""

from __future__ import annotations

import torch

from ..core.adapters import adapted
from ..core.docstrings import documented_like
from ..core.dtype import is_inexact
from ..core.errors import op
from ..tensors import kernels
from ..tensors.operators import python_syntax
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .classify import isnan
from .operands import both, operands, spelled

__all__ = ["approximate_equal", "eq", "equal", "ge", "greater", "greater_equal", "gt", "isclose",
           "le", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor",
           "lt", "ne", "not_equal", "tensor_ge", "tensor_gt", "tensor_le", "tensor_lt"]


@op
def equal(input: Tensor, other: Tensor | float) -> Tensor:
    """Whether two elements are equal.

    Args:
        input: any shape.
        other: a Tensor that broadcasts with the first one, or a number.

    Returns:
        Bool Tensor of the shape that the two broadcast to

    Raises:
        ValueError: if the shapes don't broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.equal(ms.Tensor([1, 2]), 2))
        [False  True]
    """
    return wrap(kernels.equal(*operands(input, other)))


eq = equal


@documented_like(equal)
@op
def not_equal(input: Tensor, other: Tensor | float) -> Tensor:
    """Whether two elements differ.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.not_equal(ms.Tensor([1, 2]), 2))
        [ True False]
    """
    return wrap(kernels.not_equal(*operands(input, other)))


ne = not_equal


@documented_like(equal)
@op
def less(input: Tensor, other: Tensor | float) -> Tensor:
    """Whether elements of the first are less.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.less(ms.Tensor([1, 2]), 2))
        [ True False]
    """
    return wrap(kernels.less(*operands(input, other)))


lt = less
tensor_lt = less


@documented_like(equal)
@op
def less_equal(input: Tensor, other: Tensor | float) -> Tensor:
    """Whether elements of the first are less or equal.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.less_equal(ms.Tensor([1, 2]), 1))
        [ True False]
    """
    return wrap(kernels.less_equal(*operands(input, other)))


le = less_equal
tensor_le = less_equal


@documented_like(equal)
@op
def greater(input: Tensor, other: Tensor | float) -> Tensor:
    """Whether elements of the first are greater.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.greater(ms.Tensor([1, 2]), 1))
        [False  True]
    """
    return wrap(kernels.greater(*operands(input, other)))


gt = greater
tensor_gt = greater


@documented_like(equal)
@op
def greater_equal(input: Tensor, other: Tensor | float) -> Tensor:
    """Whether elements of the first are greater or equal.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.greater_equal(ms.Tensor([1, 2]), 2))
        [False  True]
    """
    return wrap(kernels.greater_equal(*operands(input, other)))


ge = greater_equal
tensor_ge = greater_equal


@documented_like(equal)
@op
def logical_and(input: Tensor, other: Tensor | float) -> Tensor:
    """Whether both elements are true; numbers other than 0 are.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logical_and(ms.Tensor([True, True]), ms.Tensor([True, False])))
        [ True False]
    """
    return wrap(torch.logical_and(*both(input, other)))


@documented_like(equal)
@op
def logical_or(input: Tensor, other: Tensor | float) -> Tensor:
    """Whether one of two elements is true; numbers other than 0 are.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logical_or(ms.Tensor([True, False]), ms.Tensor([False, False])))
        [ True False]
    """
    return wrap(torch.logical_or(*both(input, other)))


@documented_like(equal)
@op
def logical_xor(input: Tensor, other: Tensor | float) -> Tensor:
    """Whether exactly one of two elements is true; numbers other than 0 are.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logical_xor(ms.Tensor([True, True]), ms.Tensor([True, False])))
        [False  True]
    """
    return wrap(torch.logical_xor(*both(input, other)))


@documented_like(isnan)
@op
def logical_not(input: Tensor) -> Tensor:
    """Whether elements are false; only the number 0 is.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logical_not(ms.Tensor([True, False])))
        [False  True]
    """
    return wrap(torch.logical_not(input._raw))


@documented_like(equal)
@op
def isclose(input: Tensor, other: Tensor | float, rtol: float = 1e-05,
            atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether |`input` - `other`| <= `atol` + `rtol` * |`other`|.

    Args:
        input: any shape.
        other: a Tensor that broadcasts with the first one, or a number.
        rtol: the tolerance relative to `other`.
        atol: the absolute tolerance.
        equal_nan: whether two nan count as close.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.isclose(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 2.1])))
        [ True False]
    """
    return wrap(torch.isclose(*both(input, other), rtol, atol, equal_nan))


@documented_like(equal)
@op
def approximate_equal(x: Tensor, y: Tensor, tolerance: float = 1e-05) -> Tensor:
    """Whether two elements differ by less than `tolerance`.

    Args:
        x: any shape.
        y: a Tensor that broadcasts with `x`, or a number.
        tolerance: the least difference that counts.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.approximate_equal(ms.Tensor([1.0, 2.0]), ms.Tensor([1.1, 2.5]), 0.2))
        [ True False]
    """
    a, b = both(x, y)
    if not is_inexact(a.dtype):  # whose difference their type may not hold
        a, b = a.double(), b.double()
    return wrap(torch.abs(a - b) < tolerance)


def _tensor_allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08,
                     equal_nan: bool = False) -> bool:
    """Whether all elements are as near to those of `other` as `isclose` demands."""
    return bool(torch.isclose(*both(self, other), rtol, atol, equal_nan).all())


tensor_methods(equal=equal, eq=equal, not_equal=not_equal, ne=not_equal, less=less, lt=less,
               less_equal=less_equal, le=less_equal, greater=greater, gt=greater,
               greater_equal=greater_equal, ge=greater_equal,
               logical_and=spelled(logical_and, y="other"),
               logical_or=spelled(logical_or, y="other"), logical_xor=logical_xor,
               logical_not=logical_not,
               isclose=spelled(isclose, x2="other"), allclose=_tensor_allclose,
               approximate_equal=adapted(approximate_equal, "self:x, other:y, tolerance=1e-05"))
python_syntax(eq=(kernels.equal, equal), ne=(kernels.not_equal, not_equal),
              lt=(kernels.less, less), le=(kernels.less_equal, less_equal),
              gt=(kernels.greater, greater), ge=(kernels.greater_equal, greater_equal))
