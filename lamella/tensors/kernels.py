"""Kernels for Python's operators, where PyTorch's own differ from MindSpore's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from ..core.dtype import is_inexact, is_integer
from ..core.state import is_nested

# at a bound, PyTorch up to 2.13 passes a clamped number's gradient as MindSpore does, later
# versions stop it; where both sides of `fmax` are equal, MindSpore shares the gradient
STOPS_AT_BOUNDS = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 14)



def of_rank_0(number: Any, other: torch.Tensor) -> torch.Tensor:
    """A number as a tensor of the type that it leaves `other`, converted as kernels convert it.

    Integers outside of the type wrap around, floats become infinite.
    """
    kind = torch.result_type(other, number)
    try:
        return torch.full((), number, dtype=kind, device=other.device)
    except RuntimeError:
        wide = torch.float64 if isinstance(number, float) else (
            torch.complex128 if isinstance(number, complex) else torch.int64)
        return torch.full((), number, dtype=wide, device=other.device).to(kind)


def minus(a: Any, b: Any) -> torch.Tensor:
    """`a` - `b`, also of booleans, for which PyTorch raises an error.

    The difference of two booleans is a boolean; with a number they count as 0 and 1.
    """
    try:
        return a - b
    except RuntimeError:
        if torch.bool not in (getattr(a, "dtype", None), getattr(b, "dtype", None)) and not (
                isinstance(a, bool) or isinstance(b, bool)):
            raise
    if _is_bool(a) and _is_bool(b):
        differs: Any = a ^ b
        return differs
    return _count(a) - _count(b)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or getattr(value, "dtype", None) is torch.bool


def _count(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.long() if value.dtype is torch.bool else value
    return int(value) if isinstance(value, bool) else value


def complex_sign(a: torch.Tensor) -> torch.Tensor:
    """Each of the two parts of `a`, divided by its magnitude; 0 where that is 0.

    PyTorch's `sgn` gives infinity two answers: its vector kernel divides the parts, its scalar one
    (older processors, and the last elements on all others) complex numbers.
    """
    size = a.abs()
    nothing = size == 0
    parts = torch.view_as_real(a.resolve_conj()) / size.masked_fill(nothing, 1).unsqueeze(-1)
    return torch.view_as_complex(parts).masked_fill(nothing, 0)


def power(a: Any, b: Any) -> torch.Tensor:
    """`a` ** `b`; of two tensors with derivatives of any order.

    PyTorch's derivatives beyond the first in reverse mode multiply 0 by the logarithm of a negative
    base, and by infinity where the base is 0.
    """
    if not (is_nested() and isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
            and is_inexact(a.dtype)):
        if type(b) is int and b < 0 and not is_inexact(a.dtype):
            return integer_power(a, b)
        if type(a) is bool and isinstance(b, torch.Tensor) and is_inexact(b.dtype):
            a = int(a)  # PyTorch can't differentiate with a bool as the base (2.13)
        return a ** b
    return _power_of_any_order(a, b)


_power_of_any_order: Any = None


def register_power(function: Any) -> None:
    """Have powers whose derivatives matter computed by a function of two tensors."""
    global _power_of_any_order
    _power_of_any_order = function


def integer_power(a: torch.Tensor, b: Any) -> torch.Tensor:
    """Integers to a negative power: 0 except for 1 and -1; for 0 the value of `lowest`."""
    kind = torch.result_type(a, b)
    signed = a.to(kind if kind.is_signed else torch.int64)
    out = signed ** torch.as_tensor(b, device=a.device).to(signed.dtype)
    return torch.where((a == 0) & torch.as_tensor(b < 0), lowest(signed), out).to(kind)


def left_shift(a: Any, b: Any) -> torch.Tensor:
    """`a` shifted left by `b` bits, modulo the width of the type, at least 32."""
    return _shifted(torch.bitwise_left_shift, a, b)


def right_shift(a: Any, b: Any) -> torch.Tensor:
    """`a` shifted right by `b` bits, modulo the width of the type, at least 32."""
    return _shifted(torch.bitwise_right_shift, a, b)


def _shifted(kernel: Callable[[Any, Any], torch.Tensor], a: Any, b: Any) -> torch.Tensor:
    if not isinstance(a, torch.Tensor):
        a = of_rank_0(a, b)
    kind = torch.result_type(a, b)
    if not is_integer(kind):
        return kernel(a, b)
    if kind is torch.uint32:
        bits = torch.as_tensor(a).to(kind).long()
        return kernel(bits, torch.as_tensor(b).long() & 31).to(kind)
    if kind is torch.uint64:
        amount = torch.as_tensor(b & 63 if isinstance(b, int) else b).to(kind).view(torch.int64)
        amount = amount & 63
        bits = torch.as_tensor(a).to(kind).view(torch.int64)
        moved = kernel(bits, amount)
        if kernel is torch.bitwise_right_shift:  # a logical shift: without copies of the sign bit
            moved = torch.where(amount == 0, bits, moved & ~(-1 << (64 - amount.clamp_min(1))))
        return moved.view(kind)
    if kind.itemsize < 4:  # as processors do: shifted in 32 bits, then truncated
        return kernel(a.int(), (b.int() if isinstance(b, torch.Tensor) else b) & 31).to(kind)
    return kernel(a, b & (8 * kind.itemsize - 1))


def _comparison(kernel: Callable[[Any, Any], Any], mirrored: Callable[[Any, Any], Any],
                ) -> Callable[[Any, Any], torch.Tensor]:
    """`kernel`, also for integers and a number outside of their type, which PyTorch wraps around.

    ``mirrored(b, a)`` is ``kernel(a, b)``.
    """
    def compare(a: Any, b: Any) -> torch.Tensor:
        if type(b) is int and not 0 <= b < 128:
            return by_value(kernel, a, b)
        return by_value(mirrored, b, a) if type(a) is int else kernel(a, b)

    def by_value(kernel: Callable[[Any, Any], Any], a: Any, b: int) -> torch.Tensor:
        kind = a.dtype
        if is_integer(kind) and not torch.iinfo(kind).min <= b <= torch.iinfo(kind).max:
            return torch.full_like(a, kernel(0, b), dtype=torch.bool)
        return kernel(a, b)

    compare.__name__ = compare.__qualname__ = kernel.__name__
    return compare


less, less_equal = _comparison(operator.lt, operator.gt), _comparison(operator.le, operator.ge)
greater = _comparison(operator.gt, operator.lt)
greater_equal = _comparison(operator.ge, operator.le)
equal, not_equal = _comparison(operator.eq, operator.eq), _comparison(operator.ne, operator.ne)


def quotient(a: Any, b: Any) -> torch.Tensor:
    """`a` / `b`, rounded once, where PyTorch multiplies a number by the reciprocal."""
    if not isinstance(a, torch.Tensor):
        a = of_rank_0(float(a) if isinstance(a, int) else a, b)
        b = b.to(a.dtype)
    return a / b


def floor_quotient(a: Any, b: Any) -> torch.Tensor:
    """`a` // `b`, with gradient zero, which PyTorch's own ``//`` lacks.

    An integer divided by 0 is the largest or the least number of the type, by its sign; 0 / 0 is 0.
    """
    if not isinstance(a, torch.Tensor):
        a = of_rank_0(a, b)
    return _divided(_floor, a, b, saturated)


def trunc_quotient(a: Any, b: Any, by_zero: Callable[[torch.Tensor], torch.Tensor] | None = None,
                   ) -> torch.Tensor:
    """`a` / `b` rounded towards 0; an integer divided by 0 is ``by_zero(a)``, by default `lowest`.

    The least number of an integer type divided by -1 wraps around to itself; PyTorch's kernel
    kills the process there, by a trap of the processor.
    """
    if not isinstance(a, torch.Tensor):
        a = of_rank_0(a, b)
    return _divided(_trunc, a, b, by_zero or lowest)


def floor_remainder(a: Any, b: Any) -> torch.Tensor:
    """The remainder of `a` // `b`, with the sign of `b`; `a` itself where `b` is 0."""
    return _divided(torch.remainder, a, b, _itself)


def modulo(a: Any, b: Any) -> torch.Tensor:
    """``a % b``, as `floor_remainder`, but `lowest` where `b` is 0."""
    return _divided(torch.remainder, a, b, lowest)


def trunc_remainder(a: Any, b: Any, by_zero: Callable[[torch.Tensor], torch.Tensor] | None = None,
               ) -> torch.Tensor:
    """The remainder of division rounded towards 0, with the sign of `a`; `a` where `b` is 0."""
    if type(b) is int and b < 0:
        b = -b  # the sign doesn't matter, and unsigned types can't hold a negative number
    return _divided(torch.fmod, a, b, by_zero or _itself)


def lowest(a: torch.Tensor) -> torch.Tensor:
    """What 2.10 gives for the remainder of a division of integers by 0.

    It is the least number in int32 and int64, and 0 in the other types: what processors convert NaN
    to.
    """
    wide = a.dtype in (torch.int32, torch.int64)
    return torch.full_like(a, torch.iinfo(a.dtype).min if wide else 0)


def _floor(a: Any, b: Any) -> torch.Tensor:
    return torch.div(a, b, rounding_mode="floor")


def _trunc(a: torch.Tensor, b: Any) -> torch.Tensor:
    kind = torch.result_type(a, b)
    if is_inexact(kind) or not kind.is_signed or kind is torch.bool:
        return torch.div(a, b, rounding_mode="trunc")
    if not isinstance(b, torch.Tensor):
        return -a.to(kind) if b == -1 else torch.div(a, b, rounding_mode="trunc")
    by_minus_one = b == -1
    quotient = torch.div(a, b.masked_fill(by_minus_one, 1), rounding_mode="trunc")
    return torch.where(by_minus_one, -quotient, quotient)


def saturated(a: torch.Tensor) -> torch.Tensor:
    """The largest or the least number of the type, by the sign of `a`; 0 for 0."""
    info = torch.iinfo(a.dtype)
    return torch.where(a > 0, info.max, torch.where(a < 0, info.min, 0)).to(a.dtype)


def _itself(a: torch.Tensor) -> torch.Tensor:
    return a


def _divided(kernel: Callable[[Any, Any], torch.Tensor], a: Any, b: Any,
             by_zero: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """The quotient or remainder by PyTorch's `kernel`; of integers ``by_zero(a)`` where `b` is 0.

    There the kernels of CPUs raise an error, and those of accelerators give any number.
    """
    is_cpu = (a if isinstance(a, torch.Tensor) else b).is_cpu
    if not is_cpu and is_integer(kind := torch.result_type(a, b)) and kind is not torch.uint64 and (
            not isinstance(b, int) or b == 0):
        return _divide_integers(kernel, a, b, None, by_zero)
    try:
        return kernel(a, b)
    except RuntimeError as error:
        return _divide_integers(kernel, a, b, error, by_zero)


def _divide_integers(kernel: Callable[[Any, Any], torch.Tensor], a: Any, b: Any,
                     error: RuntimeError | None,
                     by_zero: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """The quotient or remainder of integers or booleans where PyTorch's `kernel` raised `error`.

    Where `b` is 0 it is ``by_zero(a)``.

    Raises:
        RuntimeError: `error`, if that was about something else.
    """
    kind = torch.result_type(a, b)
    is_bool = kind is torch.bool and "'Bool'" in str(error)
    is_uint64 = kind is torch.uint64 and "'UInt64'" in str(error)
    if error is not None and not (is_bool or is_uint64 or "ZeroDivision" in str(error)):
        raise error
    a = a.to(kind) if isinstance(a, torch.Tensor) else of_rank_0(a, b)
    b = b.to(kind) if isinstance(b, torch.Tensor) else of_rank_0(b, a)
    if is_bool:
        a, b = a.byte(), b.byte()
    if is_uint64:
        a, b = torch.broadcast_tensors(a.view(torch.int64), b.view(torch.int64))
        kernel = _unsigned(kernel)
    zero = b == 0
    out = torch.where(zero, by_zero(a), kernel(a, b.masked_fill(zero, 1)))
    if is_uint64:
        out = torch.where(zero & (a != 0), -1, out) if by_zero is saturated else out
        return torch.where(zero, 0, out).view(kind) if by_zero is lowest else out.view(kind)
    return out.to(kind)


def _unsigned(kernel: Callable[[Any, Any], torch.Tensor]) -> Callable[[Any, Any], torch.Tensor]:
    """The quotient or remainder of unsigned 64-bit integers, which are passed as int64."""
    def quotient(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        least = torch.iinfo(torch.int64).min
        half = ((a >> 1) & ~least) // b.masked_fill(b < 0, 1) << 1  # exact, or one too small
        more = ((a - half * b) ^ least) >= (b ^ least)
        return torch.where(b < 0, ((a ^ least) >= (b ^ least)).long(), half + more)

    if kernel in (_floor, _trunc):
        return quotient
    return lambda a, b: a - quotient(a, b) * b
