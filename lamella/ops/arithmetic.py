"""Elementwise arithmetic: add, mul, pow, abs, sqrt, ..."""

from __future__ import annotations

import operator
from typing import Any

import torch

from ..core.adapters import adapted
from ..core.docstrings import documented_like
from ..core.dtype import from_raw, is_integer, promote_types
from ..core.errors import op
from ..core.state import numbers
from ..tensors.inplace import apart, in_place
from ..tensors.kernels import complex_sign, minus, power
from ..tensors.operators import python_syntax
from ..tensors.overloads import shortcut
from ..tensors.tensor import Tensor, tensor_methods, wrap, wrap_view
from .operands import both, factors, operands, sides, spelled

__all__ = ["abs", "absolute", "add", "float_power", "inv", "mul", "multiply", "neg", "negative",
           "positive", "pow", "pows", "reciprocal", "rsqrt", "sgn", "sign", "signbit", "sqrt",
           "square", "sub", "subtract", "tensor_add", "tensor_mul", "tensor_muls", "tensor_pow",
           "tensor_sub"]


@op
def add(input: Tensor, other: Tensor | float) -> Tensor:
    """Sum of two tensors.

    Args:
        input: any shape.
        other: a Tensor that broadcasts with the first one, or a number.

    Returns:
        Tensor of the shape that the two broadcast to.

    Raises:
        ValueError: if the shapes don't broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.add(ms.Tensor([1, 2]), 0.5))
        [1.5 2.5]
    """
    a, b = operands(input, other)
    return wrap(a + b)


tensor_add = add


@documented_like(add)
@op
def sub(input: Tensor, other: Tensor | float) -> Tensor:
    """Difference of two tensors.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.sub(ms.Tensor([1, 2]), ms.Tensor([0.5, 1.0])))
        [0.5 1. ]
    """
    a, b = operands(input, other)
    return wrap(minus(a, b))


tensor_sub = sub


@documented_like(add)
@op
def subtract(input: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """`input` - `alpha` * `other`.

    Args:
        input: a Tensor or a number.
        other: a Tensor that broadcasts with the first one, or a number.
        alpha: factor of `other`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.subtract(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 1.0]), alpha=2))
        [-1.  0.]
    """
    a, b = sides(input, other)
    if a.dtype is torch.bool:
        a = a.long()
    return wrap(minus(a, b if alpha == 1 else b * alpha))


@documented_like(add)
@op
def mul(input: Tensor, other: Tensor | float) -> Tensor:
    """Product of two tensors, element by element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.mul(ms.Tensor([1, 2]), 1.5))
        [1.5 3. ]
    """
    a, b = factors(input, other)
    return wrap(a * b)


multiply = mul
tensor_mul = mul
tensor_muls = mul


@op
def neg(input: Tensor) -> Tensor:
    """Each element with its sign changed.

    Args:
        input: any shape.

    Returns:
        Tensor of the shape of `input`.

    Raises:
        TypeError: if `input` is not a Tensor, or holds booleans.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.neg(ms.Tensor([1.0, -2.0])))
        [-1.  2.]
    """
    if input._raw.dtype is torch.bool:
        raise TypeError("For 'neg', 'input' must hold numbers, but got Bool.")
    return wrap(torch.neg(input._raw))


negative = neg


@documented_like(neg)
@op
def positive(input: Tensor) -> Tensor:
    """The tensor itself.

    Raises:
        TypeError: if `input` is not a Tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.positive(ms.Tensor([1, -2])))
        [ 1 -2]
    """
    return wrap_view(input._raw.view_as(input._raw))


@documented_like(positive)
@op
def abs(input: Tensor) -> Tensor:
    """Magnitude of each element; its gradient at 0 is 0.

    Returns:
        Tensor of the shape and type of `input`, complex ones too

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.abs(ms.Tensor([-1.5, 0.0, 2.0])))
        [1.5 0.  2. ]
    """
    raw = input._raw
    if raw.is_complex():
        return wrap(torch.abs(raw).to(raw.dtype))
    return wrap(raw.clone() if raw.dtype is torch.bool else torch.abs(raw))


absolute = abs


@documented_like(positive)
@op
def sign(input: Tensor) -> Tensor:
    """The sign of each element, as -1, 0 or 1; complex ones are divided by their magnitude.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.sign(ms.Tensor([-1.5, 0.0, 2.0])))
        [-1.  0.  1.]
    """
    raw = input._raw
    return wrap(complex_sign(raw) if raw.is_complex() else torch.sign(raw))


sgn = sign


@documented_like(positive)
@op
def signbit(input: Tensor) -> Tensor:
    """Whether the sign bit of each element is set; that of -0.0 is.

    Returns:
        Bool Tensor of the shape of `input`

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.signbit(ms.Tensor([-1.5, 0.0, -0.0])))
        [ True False  True]
    """
    return wrap(torch.signbit(input._raw))


@documented_like(positive)
@op
def square(input: Tensor) -> Tensor:
    """Square of each element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.square(ms.Tensor([1.0, -2.0])))
        [1. 4.]
    """
    return wrap(torch.square(input._raw))


@documented_like(positive)
@op
def sqrt(x: Tensor) -> Tensor:
    """Square root of each element; that of a negative one is nan.

    Args:
        x: any shape; integers are computed in float32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.sqrt(ms.Tensor([1.0, 4.0])))
        [1. 2.]
    """
    return wrap(torch.sqrt(x._raw))


@documented_like(sqrt)
@op
def rsqrt(input: Tensor) -> Tensor:
    """One over the square root of each element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.rsqrt(ms.Tensor([1.0, 4.0])))
        [1.  0.5]
    """
    return wrap(torch.rsqrt(input._raw))


@documented_like(sqrt)
@op
def reciprocal(input: Tensor) -> Tensor:
    """One over each element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.reciprocal(ms.Tensor([1.0, 4.0])))
        [1.   0.25]
    """
    return wrap(torch.reciprocal(input._raw))


@documented_like(positive)
@op
def inv(x: Tensor) -> Tensor:
    """One over each element, in the type of `x`: integers stay whole.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.inv(ms.Tensor([0.25, 4.0])))
        [4.   0.25]
    """
    return wrap(torch.reciprocal(x._raw).to(x._raw.dtype))


@documented_like(add)
@op
def pow(input: Tensor, exponent: Tensor | float) -> Tensor:
    """`input` to the power of `exponent`.

    Args:
        input: any shape.
        exponent: a Tensor that broadcasts with the base, or a number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.pow(ms.Tensor([1.0, 2.0, 4.0]), 3))
        [ 1.  8. 64.]
    """
    a, b = operands(input, exponent)
    return wrap(power(a, b))


pows = pow
tensor_pow = pow


@documented_like(pow)
@op
def float_power(input: Tensor, exponent: Tensor | float) -> Tensor:
    """`input` to the power of `exponent`, computed in double precision.

    Returns:
        Tensor of float64, or complex128, of the shape that the two broadcast to

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.float_power(ms.Tensor([2, 3]), -1))
        [0.5        0.33333333]
    """
    if type(exponent) is int:
        exponent = float(exponent)  # unsigned types don't hold numbers below 0
    a, b = both(input, exponent)
    return wrap(torch.float_power(a, b))


def _times_alpha(name: str, input: Any, other: Any, alpha: Any) -> tuple[Any, Any]:
    """The operands of a sum, `other` times `alpha`, in the type that they have without `alpha`.

    Raises:
        TypeError: if `alpha` isn't a number, is a bool and the sum is not of booleans, or is a
            float and the sum is of integers.
    """
    a, b = both(input, other)
    kind = promote_types(a.dtype, b.dtype)
    factor = numbers(alpha._raw) if isinstance(alpha, Tensor) and not alpha.shape else alpha
    if not isinstance(factor, (int, float, complex)):
        raise TypeError(f"For '{name}', 'alpha' must be a number, but got {alpha!r}.")
    needed = ("boolean" if isinstance(factor, bool) and kind is not torch.bool else
              "floating" if isinstance(factor, float) and is_integer(kind) else "")
    if needed:
        raise TypeError(f"For '{name}', {needed} alpha need {needed} input and other, but got "
                        f"{from_raw[a.dtype]} and {from_raw[b.dtype]}.")
    return a, (b if factor == 1 else (b * factor).to(kind))


@shortcut(add, 2)
def add_scaled(self: Tensor, other: Tensor | float, *, alpha: Any = 1) -> Tensor:
    """`self` + `alpha` * `other`."""
    if type(alpha) is int and alpha == 1:
        return add(self, other)
    a, b = _times_alpha("add", self, other, alpha)
    return wrap(a + b)


@shortcut(sub, 2)
def sub_scaled(self: Tensor, other: Tensor | float, *, alpha: Any = 1) -> Tensor:
    """`self` - `alpha` * `other`."""
    if type(alpha) is int and alpha == 1:
        return sub(self, other)
    a, b = _times_alpha("sub", self, other, alpha)
    return wrap(minus(a, b))


def _tensor_add_(self: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    return in_place(self, lambda raw: raw.add_(apart(raw, _value(other)), alpha=alpha))


def _tensor_sub_(self: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    return in_place(self, lambda raw: raw.sub_(apart(raw, _value(other)), alpha=alpha))


def _tensor_mul_(self: Tensor, other: Tensor | float) -> Tensor:
    return in_place(self, lambda raw: raw.mul_(apart(raw, _value(other))))


def _tensor_sign_(self: Tensor) -> Tensor:
    return in_place(self, torch.Tensor.sign_)


def _value(other: Any) -> Any:
    return getattr(other, "_raw", other)


tensor_methods(add=add_scaled, sub=spelled(sub_scaled, y="other"), subtract=sub_scaled,
               mul=mul,
               multiply=adapted(mul, "self:input, value:other", "multiply"), neg=neg,
               negative=neg, positive=positive, abs=abs, absolute=abs, sign=sign, sgn=sign,
               signbit=signbit, square=square, sqrt=sqrt, rsqrt=rsqrt, reciprocal=reciprocal,
               inv=inv, pow=pow, float_power=adapted(float_power, "self:input, other:exponent"),
               add_=_tensor_add_, sub_=spelled(_tensor_sub_, y="other"), mul_=_tensor_mul_,
               sign_=_tensor_sign_)
python_syntax(add=(operator.add, add), sub=(minus, sub), mul=(operator.mul, mul),
              pow=(power, pow))
