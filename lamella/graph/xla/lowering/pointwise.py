"""Rows of the operations that compute each element by itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .later import jax, jnp, lax
from .table import (
    Aval,
    NotLowered,
    cast,
    is_complex,
    is_inexact,
    of_type,
    pointwise,
    pointwise_row,
    rounded,
    row,
    wide,
)

# by the names of PyTorch and of jax.numpy or jax.scipy.special
_INEXACT = ("exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh")
_RENAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
            "acosh": "arccosh", "atanh": "arctanh"}
_SPECIAL = {"erf": "erf", "erfc": "erfc", "lgamma": "gammaln",
            "erfinv": "erfinv", "special_ndtri": "ndtri", "special_i0e": "i0e",
            "special_i1e": "i1e", "special_i1": "i1", "i0": "i0"}
_SAME = {"neg": "negative", "abs": "abs", "floor": "floor",
         "ceil": "ceil", "trunc": "trunc", "isnan": "isnan", "isinf": "isinf",
         "positive": "positive", "isfinite": "isfinite",
         "logical_not": "logical_not", "bitwise_not": "bitwise_not", "square": "square"}
_BINARY = {"bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
           "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
           "ge": "greater_equal"}
_LOGICAL = {"logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
            "maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin"}
_BINARY_INEXACT = {"atan2": "arctan2", "hypot": "hypot", "logaddexp": "logaddexp",
                   "logaddexp2": "logaddexp2", "copysign.Tensor": "copysign"}


def _numpy(name: str) -> Callable[..., Any]:
    return lambda *args: getattr(jnp, name)(*args)


def _special(name: str) -> Callable[..., Any]:
    return lambda *args: getattr(jax.scipy.special, name)(*args)


for _name in _INEXACT.split():
    row(_name)(pointwise(_numpy(_name), inexact=True))
for _name, _its in _RENAMED.items():
    row(_name)(pointwise(_numpy(_its), inexact=True))
for _name, _its in _SPECIAL.items():
    row(_name)(pointwise(_special(_its), inexact=True))
for _name, _its in _SAME.items():
    row(_name)(pointwise(_numpy(_its)))
for _name, _its in _BINARY.items():
    row(f"{_name}.Tensor", f"{_name}.Scalar")(pointwise(_numpy(_its), narrow=True))
for _name, _its in _LOGICAL.items():
    row(_name)(pointwise(_numpy(_its)))
for _name, _its in _BINARY_INEXACT.items():
    row(_name)(pointwise(_numpy(_its), inexact=True))


@row("add.Tensor", "add.Scalar")
def _add(aval: Aval, x: Any, y: Any, alpha: Any) -> Any:
    return (rounded(x, aval.dtype) + _scaled(aval, y, alpha)).astype(aval.dtype)


@row("sub.Tensor", "sub.Scalar")
def _sub(aval: Aval, x: Any, y: Any, alpha: Any) -> Any:
    return (rounded(x, aval.dtype) - _scaled(aval, y, alpha)).astype(aval.dtype)


@row("rsub.Tensor", "rsub.Scalar")
def _rsub(aval: Aval, x: Any, y: Any, alpha: Any) -> Any:
    return _sub(aval, y, x, alpha)


def _scaled(aval: Aval, x: Any, alpha: Any) -> Any:
    x = rounded(x, aval.dtype)
    return x if alpha == 1 else rounded(alpha, aval.dtype) * x


pointwise_row("mul.Tensor", "mul.Scalar")(lambda x, y: x * y)
pointwise_row("div.Tensor", "div.Scalar", inexact=True)(lambda x, y: x / y)
pointwise_row("floor_divide", "floor_divide.Scalar")(lambda x, y: _floor_of_quotient(x, y))


@row("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(aval: Aval, x: Any, y: Any, mode: str | None) -> Any:
    kind = wide(aval.dtype)
    a, b = of_type(x, kind), of_type(y, kind)
    if mode is None:
        found = a / b
    elif mode == "floor":
        found = _floor_of_quotient(a, b)
    else:
        found = jnp.trunc(a / b) if is_inexact(kind) else lax.div(*jnp.broadcast_arrays(a, b))
    return found.astype(aval.dtype)


def _floor_of_quotient(x: Any, y: Any) -> Any:
    """The quotient rounded down, as PyTorch computes it: from the remainder."""
    if not is_inexact(str(x.dtype)):
        return jnp.floor_divide(x, y)
    x, y = jnp.broadcast_arrays(x, y)
    left = lax.rem(x, y)
    found = (x - left) / y
    found = jnp.where((left != 0) & ((y < 0) != (left < 0)), found - 1, found)
    down = jnp.floor(found)
    down = jnp.where(found - down > 0.5, down + 1, down)
    down = jnp.where(found != 0, down, jnp.copysign(jnp.zeros_like(x), x / y))
    return jnp.where(y == 0, x / y, down)


@pointwise_row("remainder.Tensor", "remainder.Scalar", narrow=True)
def _remainder(x: Any, y: Any) -> Any:
    x, y = jnp.broadcast_arrays(x, y)
    left = lax.rem(x, y)
    return jnp.where((left != 0) & ((y < 0) != (left < 0)), left + y, left)


pointwise_row("fmod.Tensor", "fmod.Scalar", narrow=True)(
    lambda x, y: lax.rem(*jnp.broadcast_arrays(x, y)))


@row("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def _pow(aval: Aval, x: Any, y: Any) -> Any:
    kind = wide(aval.dtype)
    if type(y) in (int, float) and is_inexact(kind):
        return _power(of_type(x, kind), y, aval.dtype).astype(aval.dtype)
    a, b = rounded(x, aval.dtype), rounded(y, aval.dtype)
    if is_inexact(kind):
        return jnp.power(a, b).astype(aval.dtype)
    found = _whole_power(*jnp.broadcast_arrays(a, jnp.maximum(b, 0)))
    odd = jnp.where(b % 2 == 0, 1, -1)  # a negative power of an integer is 0, but for 1 and -1
    below = jnp.where(a == 1, 1, jnp.where(a == -1, odd, 0)).astype(kind)
    return jnp.where(b < 0, below, found).astype(aval.dtype)


def _power(x: Any, y: float, kind: str) -> Any:
    """A power by a known number, by the ways that PyTorch has for the frequent ones."""
    if y == 0.5:
        return jnp.sqrt(x)
    if y == -0.5:
        return 1 / jnp.sqrt(x)
    if y in (1.0, 2.0, 3.0, -1.0, -2.0):
        return lax.integer_pow(x, int(y))
    return jnp.power(x, rounded(y, kind))


def _whole_power(x: Any, y: Any) -> Any:
    """Powers of integers, which wrap around. JAX's look at the last six bits of `y` alone."""

    def next_of(now: Any) -> Any:
        found, square, left = now
        return jnp.where(left % 2 == 1, found * square, found), square * square, left // 2

    return lax.while_loop(lambda now: (now[2] > 0).any(), next_of, (jnp.ones_like(x), x, y))[0]


@pointwise_row("sign", "sgn")
def _sign(x: Any) -> Any:
    if is_complex(str(x.dtype)):
        return jnp.sign(x)
    return jnp.where(x > 0, 1, jnp.where(x < 0, -1, 0))  # 0 for NaN, as by PyTorch's kernel


pointwise_row("reciprocal", inexact=True)(lambda x: 1 / x)
pointwise_row("rsqrt", inexact=True)(lambda x: 1 / jnp.sqrt(x))
pointwise_row("digamma", inexact=True)(
    lambda x: jnp.where(x == 0, -jnp.copysign(jnp.inf, x), jax.scipy.special.digamma(x)))
pointwise_row("round")(lambda x: jnp.round(x) if is_inexact(str(x.dtype)) else x)
pointwise_row("frac")(lambda x: x - jnp.trunc(x))
pointwise_row("sinc", inexact=True)(lambda x: jnp.sinc(x))
pointwise_row("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self", inexact=True)(
    lambda x, y: jnp.where(jnp.isnan(y), y, jnp.where(x == 0, 0, x * jnp.log(y))))


@row("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "__lshift__.Scalar",
     "__lshift__.Tensor")
def _left_shift(aval: Aval, x: Any, y: Any) -> Any:
    return jnp.left_shift(of_type(x, aval.dtype), of_type(y, aval.dtype))


@row("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "__rshift__.Scalar",
     "__rshift__.Tensor")
def _right_shift(aval: Aval, x: Any, y: Any) -> Any:
    return jnp.right_shift(of_type(x, aval.dtype), of_type(y, aval.dtype))


@row("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(aval: Aval, condition: Any, x: Any, y: Any) -> Any:
    return jnp.where(condition.astype(bool), of_type(x, aval.dtype), of_type(y, aval.dtype))


row("masked_fill.Scalar", "masked_fill.Tensor")(
    lambda aval, x, mask, value: jnp.where(mask, of_type(value, aval.dtype), x))


@row("clamp", "clamp.Tensor")
def _clamp(aval: Aval, x: Any, least: Any, most: Any) -> Any:
    kind = wide(aval.dtype)
    found = of_type(x, kind)
    if least is not None:
        found = jnp.maximum(found, of_type(least, kind))
    if most is not None:
        found = jnp.minimum(found, of_type(most, kind))
    return found.astype(aval.dtype)


row("clamp_min", "clamp_min.Tensor")(lambda aval, x, least: _clamp(aval, x, least, None))
row("clamp_max", "clamp_max.Tensor")(lambda aval, x, most: _clamp(aval, x, None, most))


@pointwise_row("lerp.Scalar", "lerp.Tensor")
def _lerp(x: Any, y: Any, weight: Any) -> Any:
    return jnp.where(jnp.abs(weight) < 0.5, x + weight * (y - x), y - (y - x) * (1 - weight))


pointwise_row("addcmul")(lambda x, y, z, value: x + value * y * z)
pointwise_row("addcdiv")(lambda x, y, z, value: x + value * y / z)


@row("nan_to_num")
def _nan_to_num(aval: Aval, x: Any, nan: Any, above: Any, below: Any) -> Any:
    if not is_inexact(aval.dtype):
        return x
    most = float(jnp.finfo(aval.dtype).max)
    above, below = most if above is None else above, -most if below is None else below
    return jnp.nan_to_num(x, nan=nan or 0.0, posinf=above, neginf=below)


pointwise_row("heaviside")(lambda x, y: jnp.where(x == 0, y, (x > 0).astype(x.dtype)))
pointwise_row("deg2rad", inexact=True)(lambda x: x * (math.pi / 180))
pointwise_row("rad2deg", inexact=True)(lambda x: x * (180 / math.pi))


@row("clone", "lift_fresh_copy", "contiguous", "alias_copy", "detach_copy")
def _same(aval: Aval, x: Any, *_: Any) -> Any:
    return x


row("alias", "detach", "lift_fresh", view=True)(_same)


@row("_to_copy", "to.dtype", "to.device", "to.other")
def _to_copy(aval: Aval, x: Any, *_: Any) -> Any:
    if is_inexact(str(x.dtype)) and not is_inexact(aval.dtype) and aval.dtype != "bool":
        if aval.dtype != "int64":  # PyTorch goes by way of int64 on a CPU, and wraps around
            raise NotLowered("a narrow integer of a fraction")
    return cast(x, aval.dtype)


row("copy")(lambda aval, x, y, *_: jnp.broadcast_to(cast(y, aval.dtype), aval.shape))
row("fill.Scalar", "fill.Tensor")(
    lambda aval, x, value: jnp.broadcast_to(of_type(value, aval.dtype), aval.shape))
row("zero")(lambda aval, x: jnp.zeros(aval.shape, aval.dtype))
