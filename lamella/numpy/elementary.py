"""Exponentials, logarithms, rounding and trigonometric functions, element by element.

Every function is the one of `ops` of that name or meaning; `dtype` is the type of the result.
Trigonometric functions of bool, int8 and uint8 are float16, of other integers float32.
"""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.dtype import Type, is_inexact
from ..core.errors import op
from ..tensors.tensor import Tensor
from .faces import in_one_float, of_one, of_two, real
from .types import (
    as_given,
    as_tensor,
    bool_,
    cast,
    float32,
    float64,
    floating,
    int64,
    pi,
    together,
    trigonometric,
    typed,
)

__all__ = ["arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "around",
           "ceil", "cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "fix", "floor", "log",
           "log10", "log1p", "log2", "logaddexp", "logaddexp2", "rad2deg", "radians", "rint",
           "sin", "sinh", "tan", "tanh", "trunc"]

exp = of_one(ops.exp, real)
expm1 = of_one(ops.expm1, real)
log = of_one(ops.log, real)
log1p = of_one(ops.log1p, real)
log2 = of_one(ops.log2, real)
log10 = of_one(ops.log10, real)
logaddexp = of_two(ops.logaddexp, in_one_float)
floor = of_one(ops.floor, real)
rint = of_one(ops.round, real, "rint", ": to the nearest integer, of two the even one")
sin = of_one(ops.sin, trigonometric)
cos = of_one(ops.cos, trigonometric)
tan = of_one(ops.tan, trigonometric)
arcsin = of_one(ops.asin, trigonometric, name="arcsin")
arctan = of_one(ops.atan, trigonometric, name="arctan")
sinh = of_one(ops.sinh, trigonometric)
cosh = of_one(ops.cosh, trigonometric)
tanh = of_one(ops.tanh, trigonometric)
arcsinh = of_one(ops.asinh, trigonometric, name="arcsinh")
arccosh = of_one(ops.acosh, trigonometric, name="arccosh")
arctanh = of_one(ops.atanh, trigonometric, name="arctanh")


def exp2(x: Any, dtype: Any = None) -> Tensor:
    """2 to the power `x`, in the type of `x`.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.exp2(np.array([2, 3])))
        [4 8]
    """
    return typed(2 ** as_tensor(x, "exp2"), dtype)


def ceil(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.ceil`, in float32 or in float64.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.ceil(ms.Tensor([1.2, -1.2])))
        [ 2. -1.]
    """
    x = as_tensor(x, "ceil")
    return typed(ops.ceil(cast(x, _single(x.dtype))), dtype)


def _single(kind: Type) -> Type:
    return kind if kind is float64 else float32


@op
def logaddexp2(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.logaddexp2`, also of complex numbers.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.logaddexp2(np.array([1.0, 3.0]), 3))
        [3.321928 4.      ]
    """
    a, b = in_one_float("logaddexp2", x1=x1, x2=x2)
    if not a._raw.is_complex():
        return typed(ops.logaddexp2(a, b), dtype)
    return typed(ops.log2(ops.exp2(a) + ops.exp2(b)), dtype)


def fix(x: Any) -> Tensor:
    """As `ops.trunc`; integers as float32.

    Raises:
        TypeError: if `x` holds complex numbers.
    """
    x = floating(as_tensor(x, "fix"))
    if x._raw.is_complex():
        raise TypeError(f"For 'fix', 'x' must be real numbers, but got a Tensor of {x.dtype}.")
    return ops.trunc(x)


def trunc(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.trunc`; integers as float32."""
    return typed(fix(x), dtype)


def around(a: Any, decimals: int = 0) -> Tensor:
    """As `ops.round`; `decimals` is 0 or more, and leaves integers as they are.

    Raises:
        TypeError: if `decimals` is no int.
        ValueError: if `decimals` is below 0.
    """
    if not isinstance(decimals, int):
        raise TypeError(f"For 'around', 'decimals' must be an int, but got {decimals!r}.")
    if decimals < 0:
        raise ValueError(f"For 'around', 'decimals' must be 0 or more, but got {decimals}.")
    a = as_given(a, "around", "a")
    if decimals == 0:
        return ops.round(a)
    if not is_inexact(a._raw.dtype):
        return cast(a, int64) if a.dtype is bool_ else a
    return ops.round(a * 10**decimals) / 10**decimals


def deg2rad(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.deg2rad`."""
    return typed(floating(as_tensor(x, "deg2rad")) * pi / 180.0, dtype)


radians = deg2rad


def rad2deg(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.rad2deg`."""
    return typed(floating(as_tensor(x, "rad2deg")) * 180.0 / pi, dtype)


def arccos(input: Any, dtype: Any = None) -> Tensor:
    """As `ops.acos`."""
    return typed(ops.acos(trigonometric(input, "arccos")), dtype)


def arctan2(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.atan2`."""
    a, b = together(trigonometric(x1, "arctan2"), trigonometric(x2, "arctan2"))
    return typed(ops.atan2(a, b), dtype)
