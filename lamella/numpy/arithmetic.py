"""Elementwise arithmetic of one and two arrays.

Every function is the one of `ops` of that name or meaning; numbers and lists become Tensors as
`types.as_tensor` says, and `dtype` is the type of the result.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.dtype import is_inexact
from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .faces import in_one_float, in_one_type, of_one, of_two
from .types import (
    as_tensor,
    as_tensors,
    bool_,
    cast,
    float32,
    float64,
    floating,
    int64,
    promoted,
    together,
    typed,
)

__all__ = ["abs", "absolute", "add", "cbrt", "clip", "copysign", "divide", "divmod", "fabs",
           "float_power", "floor_divide", "fmod", "gcd", "heaviside", "hypot", "lcm", "maximum",
           "minimum", "mod", "multiply", "negative", "positive", "power", "reciprocal",
           "remainder", "sign", "sqrt", "square", "subtract", "true_divide"]


def _quotient(where: str, **values: Any) -> list[Tensor]:
    """Numbers to divide: two of whole numbers as float32, whatever type they meet in."""
    a, b = as_tensors(where, **values)
    if not (is_inexact(a._raw.dtype) or is_inexact(b._raw.dtype)):
        return [cast(a, float32), cast(b, float32)]
    return together(a, b)


subtract = of_two(ops.sub, name="subtract")
multiply = of_two(ops.mul, in_one_type, "multiply",
                  ", but a Tensor of rank 0 counts in the type of the result as any other")
divide = of_two(ops.div, _quotient, "divide", ": integers are divided as float32")
power = of_two(ops.pow, in_one_type, name="power")
square = of_one(ops.square)


def absolute(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.abs`."""
    x = as_tensor(x, "absolute")
    return typed(ops.abs(x) if x._raw.dtype.is_signed else wrap(x._raw.clone()), dtype)


abs = fabs = absolute


def add(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.add`.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.add(np.array([1, 2]), [[3], [4]]))
        [[4 5]
         [5 6]]
    """
    return typed(ops.add(*as_tensors("add", x1=x1, x2=x2)), dtype)


true_divide = divide


def floor_divide(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.floor_divide`."""
    a, b = together(*as_tensors("floor_divide", x1=x1, x2=x2))
    if a.dtype is bool_:
        return typed(ops.logical_and(a, b), dtype)
    return typed(ops.floor_divide(a, b), dtype)


def remainder(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """What `floor_divide` leaves, with the sign of the divisor; 0 for integers over 0."""
    return typed(_left_over("remainder", torch.remainder, x1, x2), dtype)


mod = remainder


def fmod(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """What a division towards 0 leaves, with the sign of the dividend; 0 for integers over 0.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.fmod(np.array([-3, -2, 3]), 2), np.remainder(np.array([-3, -2, 3]), 2))
        [-1  0  1] [1 0 1]
    """
    return typed(_left_over("fmod", torch.fmod, x1, x2), dtype)


@op
def _left_over(where: str, kernel: Any, x1: Any, x2: Any) -> Tensor:
    a, b = together(*as_tensors(where, x1=x1, x2=x2))
    x, y = a._raw, b._raw
    if x.is_floating_point():
        return wrap(kernel(x, y))
    wide = torch.int32 if x.dtype is torch.bool else \
        torch.int64 if x.dtype in (torch.uint16, torch.uint32, torch.uint64) else x.dtype
    zero = (y == 0)
    out = kernel(x.to(wide), torch.where(zero, 1, y.to(wide)))
    return wrap(torch.where(zero, 0, out).to(x.dtype))


def divmod(x1: Any, x2: Any, dtype: Any = None) -> tuple[Tensor, Tensor]:
    """(`floor_divide`, `remainder`) of the same two; a number leaves a quotient its type."""
    if isinstance(x1, Tensor) is isinstance(x2, Tensor):
        return floor_divide(x1, x2, dtype), remainder(x1, x2, dtype)
    return typed(ops.floor_divide(x1, x2), dtype), remainder(x1, x2, dtype)


def float_power(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.pow` in float32, or in float64 if one of the two is that."""
    a, b = as_tensors("float_power", x1=x1, x2=x2)
    kind = float64 if float64 in (a.dtype, b.dtype) else float32
    return typed(ops.pow(cast(a, kind), cast(b, kind)), dtype)


def minimum(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.minimum`, nan where one of the two is; a Tensor of rank 0 yields in the type."""
    return _extremum("minimum", ops.minimum, x1, x2, dtype)


def maximum(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.maximum`, nan where one of the two is; a Tensor of rank 0 yields in the type."""
    return _extremum("maximum", ops.maximum, x1, x2, dtype)


def _extremum(where: str, function: Any, x1: Any, x2: Any, dtype: Any) -> Tensor:
    a, b = as_tensors(where, x1=x1, x2=x2)
    if (a.ndim == 0) is not (b.ndim == 0):
        dtype = (b if a.ndim == 0 else a).dtype
    a, b = together(a, b)
    if a.dtype is bool_:
        return typed((ops.logical_and if where == "minimum" else ops.logical_or)(a, b), dtype)
    return typed(function(a, b), dtype)


def clip(x: Any, xmin: Any, xmax: Any, dtype: Any = None) -> Tensor:
    """`x` with what is below `xmin` or above `xmax` replaced by that; None stands for no bound.

    Integers stay whole.

    Raises:
        ValueError: if both bounds are None.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.clip(np.array([1, 2, 3, 8]), 0.5, 2.5))
        [1 2 2 2]
    """
    if xmin is None and xmax is None:
        raise ValueError("For 'clip', 'xmin' or 'xmax' must be given, but got None for both.")
    x = as_tensor(x, "clip")
    if xmin is not None:
        x = maximum(x, xmin, dtype)
    return x if xmax is None else minimum(x, xmax, dtype)


@op
def heaviside(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """0 where `x1` is below 0, 1 where it is above, `x2` where it is 0.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.heaviside(np.array([-1.5, 0.0, 2.0]), 0.5))
        [0.  0.5 1. ]
    """
    a, b = together(*as_tensors("heaviside", x1=x1, x2=x2))
    x, y = torch.broadcast_tensors(a._raw, b._raw)
    step = torch.where(x < 0, torch.zeros_like(y), y)
    return typed(wrap(torch.where(x > 0, torch.ones_like(y), step)), dtype)


def copysign(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """`x1` with the signs of `x2`, in the type of `x1`."""
    a, b = as_tensors("copysign", x1=x1, x2=x2)
    if bool_ in (a.dtype, b.dtype):
        raise TypeError(f"For 'copysign', 'x1' and 'x2' must be numbers, "
                        f"but got {a.dtype} and {b.dtype}.")
    size = ops.abs(a)
    return typed(ops.where(b < 0, -size, size), dtype)


def _real(where: str, x1: Any, x2: Any) -> list[Tensor]:
    """Two arrays in one type, which isn't complex."""
    a, b = together(*as_tensors(where, x1=x1, x2=x2))
    if a._raw.is_complex():
        raise TypeError(f"For '{where}', 'x1' and 'x2' must be real numbers, but got {a.dtype}.")
    return [a, b]


@op
def gcd(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.gcd`, also of booleans and of floating types (by Euclid's algorithm)."""
    a, b = _real("gcd", x1, x2)
    if not a._raw.is_floating_point():
        return typed(cast(ops.gcd(cast(a, int64), cast(b, int64)), a.dtype), dtype)
    x, y = torch.broadcast_tensors(a._raw.abs(), b._raw.abs())
    while bool(((y != 0) & (y == y)).any()):  # what is nan stays so, and would never be 0
        x, y = torch.where(y == 0, x, y), torch.where(y == 0, 0, torch.fmod(x, y))
    x = torch.where(y == y, x, y)
    return typed(wrap(x), dtype)


@op
def lcm(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.lcm`, also of booleans and of floating types."""
    a, b = _real("lcm", x1, x2)
    if not a._raw.is_floating_point():
        return typed(cast(ops.lcm(cast(a, int64), cast(b, int64)), a.dtype), dtype)
    common = gcd(a, b)._raw
    many = (a._raw * (b._raw / torch.where(common == 0, 1, common))).abs()
    return typed(wrap(many), dtype)


def negative(a: Any, dtype: Any = None) -> Tensor:
    """As `ops.neg`."""
    return typed(ops.neg(as_tensor(a, "negative", "a")), dtype)


def positive(a: Any, dtype: Any = None) -> Tensor:
    """A copy of `a`."""
    return typed(wrap(as_tensor(a, "positive", "a")._raw.clone()), dtype)


@op
def hypot(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.hypot`; integers as float32. Of complex numbers the root of the sum of squares.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.hypot(np.array([3, 5]), np.array([4, 12])))
        [ 5. 13.]
    """
    a, b = (t._raw for t in in_one_float("hypot", x1=x1, x2=x2))
    return typed(wrap((a * a + b * b).sqrt() if a.is_complex() else torch.hypot(a, b)), dtype)


@op
def reciprocal(x: Any, dtype: Any = None) -> Tensor:
    """1 / `x`; of integers without its fraction, in their type, and their largest of 0.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.reciprocal(np.array([1, 2])), np.reciprocal(np.array([1.0, 2.0])))
        [1 0] [1.  0.5]
    """
    raw = as_tensor(x, "reciprocal")._raw
    if is_inexact(raw.dtype):
        return typed(wrap(torch.reciprocal(raw)), dtype)
    raw = raw.long() if raw.dtype is torch.bool else raw
    whole = (raw == 1).to(raw.dtype)
    if raw.dtype.is_signed:
        whole = torch.where(raw == -1, -1, whole)
    most = torch.tensor(torch.iinfo(raw.dtype).max, dtype=raw.dtype, device=raw.device)
    return typed(wrap(torch.where(raw == 0, most, whole)), dtype)


def sign(x: Any, dtype: Any = None) -> Tensor:
    """-1, 0 or 1, and nan of nan; of integers as float32.

    Raises:
        TypeError: if `x` holds booleans.
    """
    x = as_tensor(x, "sign")
    if x.dtype is bool_:
        raise TypeError("For 'sign', 'x' must be numbers, but got a Tensor of Bool.")
    x = floating(x)
    found = ops.sign(x)
    return typed(ops.where(x != x, x, found), dtype)


def sqrt(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.sqrt`; integers as float32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.sqrt(ms.Tensor([4, 9])))
        [2. 3.]
    """
    return typed(ops.sqrt(floating(as_tensor(x, "sqrt"))), dtype)


def cbrt(x: Any, dtype: Any = None) -> Tensor:
    """The cube root, in float32 or in float64.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.cbrt(np.array([-8.0, 0.0, 27.0])))
        [-2.  0.  3.]
    """
    x = as_tensor(x, "cbrt")
    x = cast(x, promoted(x.dtype, float32))
    return typed(ops.sign(x) * ops.abs(x) ** (1 / 3), dtype)
