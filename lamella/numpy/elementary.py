"""Exponentials, logarithms, rounding and trigonometric functions, element by element.

Every function is the one of `ops` of that name or meaning; `dtype` is the type of the result.
Trigonometric functions of bool, int8 and uint8 are float16, of other integers float32.
"""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.dtype import Type
from ..tensors.tensor import Tensor
from .types import (
    as_tensor,
    as_tensors,
    cast,
    float32,
    float64,
    floating,
    pi,
    together,
    trigonometric,
    typed,
)

__all__ = ["arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "around",
           "ceil", "cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "fix", "floor", "log",
           "log10", "log1p", "log2", "logaddexp", "logaddexp2", "rad2deg", "radians", "rint",
           "sin", "sinh", "tan", "tanh", "trunc"]


def exp(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.exp`."""
    return typed(ops.exp(floating(as_tensor(x, "exp"))), dtype)


def exp2(x: Any, dtype: Any = None) -> Tensor:
    """2 to the power `x`, in the type of `x`.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.exp2(np.array([2, 3])))
        [4 8]
    """
    return typed(2 ** as_tensor(x, "exp2"), dtype)


def expm1(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.expm1`."""
    return typed(ops.expm1(floating(as_tensor(x, "expm1"))), dtype)


def log(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.log`."""
    return typed(ops.log(floating(as_tensor(x, "log"))), dtype)


def log1p(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.log1p`."""
    return typed(ops.log1p(floating(as_tensor(x, "log1p"))), dtype)


def log2(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.log2`."""
    return typed(ops.log2(floating(as_tensor(x, "log2"))), dtype)


def log10(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.log10`."""
    return typed(ops.log10(floating(as_tensor(x, "log10"))), dtype)


def logaddexp(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.logaddexp`."""
    a, b = together(*as_tensors("logaddexp", x1=x1, x2=x2))
    return typed(ops.logaddexp(floating(a), floating(b)), dtype)


def logaddexp2(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.logaddexp2`."""
    a, b = together(*as_tensors("logaddexp2", x1=x1, x2=x2))
    return typed(ops.logaddexp2(floating(a), floating(b)), dtype)


def floor(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.floor`."""
    return typed(ops.floor(floating(as_tensor(x, "floor"))), dtype)


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


def fix(x: Any) -> Tensor:
    """As `ops.trunc`; integers as float32."""
    return ops.trunc(floating(as_tensor(x, "fix")))


def trunc(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.trunc`; integers as float32."""
    return typed(fix(x), dtype)


def rint(x: Any, dtype: Any = None) -> Tensor:
    """To the nearest integer, of two the even one."""
    return typed(ops.round(floating(as_tensor(x, "rint"))), dtype)


def around(a: Any, decimals: int = 0) -> Tensor:
    """As `ops.round`; `decimals` is 0 or more.

    Raises:
        TypeError: if `decimals` is no int.
        ValueError: if `decimals` is below 0.
    """
    if not isinstance(decimals, int):
        raise TypeError(f"For 'around', 'decimals' must be an int, but got {decimals!r}.")
    if decimals < 0:
        raise ValueError(f"For 'around', 'decimals' must be 0 or more, but got {decimals}.")
    a = as_tensor(a, "around", "a")
    if decimals == 0:
        return ops.round(a)
    return ops.round(floating(a) * 10**decimals) / 10**decimals


def deg2rad(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.deg2rad`."""
    return typed(floating(as_tensor(x, "deg2rad")) * pi / 180.0, dtype)


radians = deg2rad


def rad2deg(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.rad2deg`."""
    return typed(floating(as_tensor(x, "rad2deg")) * 180.0 / pi, dtype)


def sin(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.sin`."""
    return typed(ops.sin(trigonometric(x, "sin")), dtype)


def cos(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.cos`."""
    return typed(ops.cos(trigonometric(x, "cos")), dtype)


def tan(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.tan`."""
    return typed(ops.tan(trigonometric(x, "tan")), dtype)


def arcsin(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.asin`."""
    return typed(ops.asin(trigonometric(x, "arcsin")), dtype)


def arccos(input: Any, dtype: Any = None) -> Tensor:
    """As `ops.acos`."""
    return typed(ops.acos(trigonometric(input, "arccos")), dtype)


def arctan(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.atan`."""
    return typed(ops.atan(trigonometric(x, "arctan")), dtype)


def arctan2(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.atan2`."""
    a, b = together(trigonometric(x1, "arctan2"), trigonometric(x2, "arctan2"))
    return typed(ops.atan2(a, b), dtype)


def sinh(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.sinh`."""
    return typed(ops.sinh(trigonometric(x, "sinh")), dtype)


def cosh(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.cosh`."""
    return typed(ops.cosh(trigonometric(x, "cosh")), dtype)


def tanh(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.tanh`."""
    return typed(ops.tanh(trigonometric(x, "tanh")), dtype)


def arcsinh(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.asinh`."""
    return typed(ops.asinh(trigonometric(x, "arcsinh")), dtype)


def arccosh(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.acosh`."""
    return typed(ops.acosh(trigonometric(x, "arccosh")), dtype)


def arctanh(x: Any, dtype: Any = None) -> Tensor:
    """As `ops.atanh`."""
    return typed(ops.atanh(trigonometric(x, "arctanh")), dtype)
