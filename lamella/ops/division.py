"""Division and what it leaves: div, floor_divide, remainder, gcd, ..."""

from __future__ import annotations

from typing import Any

import torch

from ..core.adapters import adapted
from ..core.docstrings import documented_like
from ..core.dtype import from_raw, is_inexact, is_integer
from ..core.errors import op
from ..tensors.inplace import apart, in_place
from ..tensors.kernels import (
    floor_quotient,
    floor_remainder,
    modulo,
    quotient,
    saturated,
    trunc_quotient,
    trunc_remainder,
)
from ..tensors.operators import python_syntax
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arithmetic import add
from .operands import both, factors, floats, operands, sides, spelled

__all__ = ["div", "divide", "floor_div", "floor_divide", "floor_mod", "floordiv", "floormod",
           "fmod", "gcd", "lcm", "remainder", "tensor_div", "tensor_floordiv", "tensor_mod",
           "true_divide", "truncate_div", "truncate_mod", "xdivy"]


@op
def div(input: Tensor, other: Tensor | float, *, rounding_mode: str | None = None) -> Tensor:
    """Quotient of two tensors; of integers too it is floating, unless it is rounded.

    Args:
        input: any shape.
        other: a Tensor that broadcasts with the first one, or a number.
        rounding_mode: ``"floor"`` or ``"trunc"`` to round the quotient down or towards 0; then
            it keeps the type of the two.

    Returns:
        Tensor of the shape that the two broadcast to.

    Raises:
        ValueError: if the shapes don't broadcast, or `rounding_mode` is another word.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.div(ms.Tensor([4.0, 5.0]), 2))
        [2.  2.5]
        >>> print(ms.ops.div(ms.Tensor([4, -5]), 2, rounding_mode="floor"))
        [ 2 -3]
    """
    if rounding_mode not in (None, "floor", "trunc"):
        raise ValueError(f"For 'div', 'rounding_mode' must be None, 'floor' or 'trunc', "
                         f"but got {rounding_mode!r}.")
    if rounding_mode is None:
        return wrap(quotient(*factors(input, other)))
    a, b = factors(input, other)
    return wrap((trunc_quotient if rounding_mode == "trunc" else floor_quotient)(a, b))


divide = div


@op
def true_divide(dividend: Tensor, divisor: Tensor | float) -> Tensor:
    """Quotient of two tensors; of integers too it is floating.

    Args:
        dividend: any shape.
        divisor: a Tensor that broadcasts with the dividend, or a number.

    Returns:
        Tensor of the shape that the two broadcast to

    Raises:
        ValueError: if the shapes don't broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.true_divide(ms.Tensor([4, 5]), 2))
        [2.  2.5]
    """
    return wrap(quotient(*factors(dividend, divisor)))


@documented_like(add)
@op
def floor_divide(input: Tensor, other: Tensor | float) -> Tensor:
    """Quotient of two tensors, rounded down.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.floor_divide(ms.Tensor([7.0, -7.0]), 2))
        [ 3. -4.]
    """
    return wrap(floor_quotient(*operands(input, other)))


floor_div = adapted(floor_divide, "x:input, y:other", "floor_div")
floordiv = floor_divide
tensor_floordiv = floor_divide


@documented_like(floor_divide)
@op
def remainder(input: Tensor, other: Tensor | float) -> Tensor:
    """What is left of `input` after floor division by `other`; it has the sign of `other`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.remainder(ms.Tensor([7.0, -7.0]), 3))
        [1. 2.]
    """
    return wrap(floor_remainder(*sides(input, other)))


@documented_like(floor_divide)
@op
def floor_mod(x: Tensor, y: Tensor | float) -> Tensor:
    """What is left of `x` after floor division by `y`; it has the sign of `y`.

    As `remainder`; integers by 0 leave the least number of int32 and int64, and 0 otherwise.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.floor_mod(ms.Tensor([7.0, -7.0]), 3))
        [1. 2.]
    """
    return wrap(modulo(*operands(x, y)))


floormod = floor_mod
tensor_mod = floor_mod


@documented_like(floor_divide)
@op
def fmod(input: Tensor, other: Tensor | float) -> Tensor:
    """What is left of `input` after division by `other` rounded towards 0; it has the sign of
    `input`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fmod(ms.Tensor([7.0, -7.0]), 3))
        [ 1. -1.]
    """
    # a Tensor of rank 0 has no say as the divisor, as in MindSpore
    pair = factors if isinstance(input, Tensor) and isinstance(other, Tensor) and (
        not other.ndim) else sides
    return wrap(trunc_remainder(*pair(input, other)))


@op
def truncate_div(x: Tensor, y: Tensor) -> Tensor:
    """Quotient of two tensors, rounded towards 0.

    Args:
        x: any shape.
        y: a Tensor that broadcasts with `x`, or a number.

    Returns:
        Tensor of the shape of `x`.

    Raises:
        ValueError: if the shapes don't broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.truncate_div(ms.Tensor([7, -7]), 2))
        [ 3 -3]
    """
    return wrap(trunc_quotient(*sides(x, y)))


@documented_like(truncate_div)
@op
def truncate_mod(x: Tensor, y: Tensor) -> Tensor:
    """What is left of `x` after division by `y` rounded towards 0; it has the sign of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.truncate_mod(ms.Tensor([7, -7]), 3))
        [ 1 -1]
    """
    return wrap(trunc_remainder(*sides(x, y), torch.zeros_like))


@documented_like(truncate_div)
@op
def tensor_div(x: Tensor, y: Tensor) -> Tensor:
    """Quotient of two tensors in their own type: integers stay whole, rounded towards 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tensor_div(ms.Tensor([7, -7]), 2))
        [ 3 -3]
    """
    a, b = both(x, y)
    whole = not is_inexact(a.dtype)
    return wrap(trunc_quotient(a, b, saturated) if whole else torch.div(a, b))


def _both_integers(input: Any, other: Any, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Both sides, if they are of integers."""
    a, b = both(input, other)
    if not is_integer(a.dtype):
        raise TypeError(f"For '{name}', the tensors must hold integers, but got "
                        f"{from_raw.get(a.dtype, a.dtype)}.")
    if a.dtype is torch.uint64 and bool(wrap((a.long() | b.long()).lt(0).any())):
        raise TypeError(f"For '{name}', uint64 numbers of 2**63 and above are more than it "
                        f"computes with; convert them to float64 first.")
    return a, b


def _divisor(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    # in int64: PyTorch's kernel takes absolute values in the type itself, where the least number
    # has none, and ends the process in `lcm`
    return torch.gcd(a.long(), b.long()).abs()


@documented_like(floor_divide)
@op
def gcd(input: Tensor, other: Tensor | float) -> Tensor:
    """Greatest common divisor of integers.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.gcd(ms.Tensor([12, 18]), ms.Tensor([8, 27])))
        [4 9]
    """
    a, b = _both_integers(input, other, "gcd")
    return wrap(_divisor(a, b).to(a.dtype))


@documented_like(floor_divide)
@op
def lcm(input: Tensor, other: Tensor | float) -> Tensor:
    """Least common multiple of integers.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.lcm(ms.Tensor([4, 6]), ms.Tensor([6, 10])))
        [12 30]
    """
    a, b = _both_integers(input, other, "lcm")
    divisor = _divisor(a, b)
    return wrap((a.long().abs() // torch.where(divisor == 0, 1, divisor) * b.long().abs())
                .to(a.dtype))


@documented_like(truncate_div)
@op
def xdivy(x: Tensor, y: Tensor) -> Tensor:
    """`x` / `y`, and 0 where `x` is 0, whatever `y` is.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.xdivy(ms.Tensor([2.0, 0.0]), ms.Tensor([4.0, 0.0])))
        [0.5 0. ]
    """
    a, b = floats(x, y)
    # where x is 0 nothing flows back either, as in MindSpore
    return wrap(torch.where(a == 0, 0, a / torch.where(a == 0, 1, b)))


def _tensor_div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    value = getattr(other, "_raw", other)
    if rounding_mode == "trunc":
        return in_place(self, lambda raw: raw.copy_(trunc_quotient(raw, value)))
    return in_place(self, lambda raw: raw.div_(apart(raw, value), rounding_mode=rounding_mode))


def _tensor_remainder_(self: Tensor, other: Any) -> Tensor:
    return in_place(self, lambda raw: raw.remainder_(apart(raw, getattr(other, "_raw", other))))


def _tensor_floor_divide_(self: Tensor, other: Any) -> Tensor:
    value = getattr(other, "_raw", other)
    return in_place(self, lambda raw: raw.div_(apart(raw, value), rounding_mode="floor"))


tensor_methods(div=div, divide=div, true_divide=true_divide, floor_divide=floor_divide,
               remainder=spelled(remainder, divisor="other"), fmod=fmod, gcd=gcd, lcm=lcm,
               xdivy=xdivy, div_=_tensor_div_, remainder_=_tensor_remainder_,
               floor_divide_=_tensor_floor_divide_)
python_syntax(truediv=(quotient, div), floordiv=(floor_quotient, floor_divide),
              mod=(modulo, floor_mod))
