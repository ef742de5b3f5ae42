"""Rows of activation functions and their derivatives."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .later import jax, jnp
from .table import Aval, of_type, pointwise_row, row, wide

_row = partial(pointwise_row, inexact=True)

row("relu")(lambda aval, x: jnp.maximum(x, jnp.zeros((), x.dtype)))


@row("threshold_backward")
def _threshold_backward(aval: Aval, g: Any, x: Any, threshold: Any) -> Any:
    kind = wide(aval.dtype)
    return jnp.where(x.astype(kind) <= of_type(threshold, kind), 0, g.astype(kind)
                     ).astype(aval.dtype)


@row("threshold")
def _threshold(aval: Aval, x: Any, threshold: Any, value: Any) -> Any:
    kind = wide(aval.dtype)
    wider = x.astype(kind)
    return jnp.where(wider <= of_type(threshold, kind), of_type(value, kind), wider
                     ).astype(aval.dtype)


_row("sigmoid")(lambda x: jax.nn.sigmoid(x))
_row("sigmoid_backward")(lambda g, y: g * jnp.conj((1 - y) * y))
_row("tanh_backward")(lambda g, y: g * jnp.conj(1 - y * y))
_row("leaky_relu")(lambda x, slope: jnp.where(x > 0, x, x * slope))


@row("leaky_relu_backward")
def _leaky_relu_backward(aval: Aval, g: Any, x: Any, slope: Any, is_result: bool) -> Any:
    kind = wide(aval.dtype)
    wider = g.astype(kind)
    return jnp.where(x > 0, wider, wider * of_type(slope, kind)).astype(aval.dtype)


_row("_prelu_kernel")(lambda x, weight: jnp.where(x > 0, x, x * weight))


@row("_prelu_kernel_backward")
def _prelu_backward(avals: list[Aval], g: Any, x: Any, weight: Any) -> list[Any]:
    zero = jnp.zeros((), g.dtype)
    return [jnp.where(x > 0, g, g * weight).astype(avals[0].dtype),
            jnp.where(x > 0, zero, g * x).astype(avals[1].dtype)]


@row("gelu")
def _gelu(aval: Aval, x: Any, approximate: str) -> Any:
    wider = x.astype(wide(aval.dtype))
    if approximate == "tanh":
        found = 0.5 * wider * (1 + jnp.tanh(_inner(wider)))
    else:
        found = wider * 0.5 * (1 + jax.scipy.special.erf(wider * math.sqrt(0.5)))
    return found.astype(aval.dtype)


def _inner(x: Any) -> Any:
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)


@row("gelu_backward")
def _gelu_backward(aval: Aval, g: Any, x: Any, approximate: str) -> Any:
    kind = wide(aval.dtype)
    g, x = g.astype(kind), x.astype(kind)
    if approximate == "tanh":
        y = jnp.tanh(_inner(x))
        slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
        found = g * (0.5 * (1 + y) + 0.5 * x * (1 - y * y) * slope)
    else:
        below = 0.5 * (1 + jax.scipy.special.erf(x * math.sqrt(0.5)))
        density = jnp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
        found = g * (below + x * density)
    return found.astype(aval.dtype)


_row("silu")(lambda x: x / (1 + jnp.exp(-x)))


@_row("silu_backward")
def _silu_backward(g: Any, x: Any) -> Any:
    s = 1 / (1 + jnp.exp(-x))
    return g * s * (1 + x * (1 - s))


_row("mish")(lambda x: x * jnp.tanh(jnp.log1p(jnp.exp(x))))


@_row("mish_backward")
def _mish_backward(g: Any, x: Any) -> Any:
    s, t = jax.nn.sigmoid(x), jnp.tanh(jax.nn.softplus(x))
    return g * (t + x * s * (1 - t * t))


@row("hardtanh")
def _hardtanh(aval: Aval, x: Any, least: Any, most: Any) -> Any:
    kind = wide(aval.dtype)
    return jnp.clip(x.astype(kind), of_type(least, kind), of_type(most, kind)).astype(aval.dtype)


_row("hardtanh_backward")(lambda g, x, least, most: jnp.where((x <= least) | (x >= most), 0, g))
_row("hardswish")(lambda x: x * jnp.clip(x + 3, 0, 6) / 6)
_row("hardswish_backward")(
    lambda g, x: jnp.where(x <= -3, 0, jnp.where(x < 3, g * (x / 3 + 0.5), g)))
_row("hardsigmoid")(lambda x: jnp.clip(x + 3, 0, 6) / 6)
_row("hardsigmoid_backward")(lambda g, x: jnp.where((x > -3) & (x < 3), g / 6, 0))


@_row("softplus")
def _softplus(x: Any, beta: Any, threshold: Any) -> Any:
    return jnp.where(x * beta > threshold, x, jnp.log1p(jnp.exp(x * beta)) / beta)


@_row("softplus_backward")
def _softplus_backward(g: Any, x: Any, beta: Any, threshold: Any) -> Any:
    z = jnp.exp(x * beta)
    return jnp.where(x * beta > threshold, g, g * z / (z + 1))


_row("softshrink")(
    lambda x, lambd: jnp.where(x > lambd, x - lambd, jnp.where(x < -lambd, x + lambd, x * 0)))
_row("softshrink_backward", "hardshrink_backward", narrow=True)(
    lambda g, x, lambd: jnp.where((x >= -lambd) & (x <= lambd), 0, g))
_row("hardshrink", narrow=True)(
    lambda x, lambd: jnp.where((x >= -lambd) & (x <= lambd), 0, x))


@_row("elu")
def _elu(x: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    return jnp.where(x <= 0, jnp.expm1(x * input_scale) * alpha * scale, x * scale)


@row("elu_backward")
def _elu_backward(aval: Aval, g: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool,
                  x: Any) -> Any:
    kind = wide(aval.dtype)
    g, x = g.astype(kind), x.astype(kind)
    negative = alpha * scale
    below = (g * input_scale * (x + negative) if is_result
             else g * input_scale * negative * jnp.exp(x * input_scale))
    return jnp.where(x <= 0, below, g * scale).astype(aval.dtype)


@row("log_sigmoid_forward")
def _log_sigmoid(avals: list[Aval], x: Any) -> list[Any]:
    wider = x.astype(wide(avals[0].dtype))
    buffer = jnp.exp(-jnp.abs(wider))
    found = jnp.minimum(wider, 0) - jnp.log1p(buffer)
    return [found.astype(avals[0].dtype), buffer.astype(avals[1].dtype)]


@row("log_sigmoid_backward")
def _log_sigmoid_backward(aval: Aval, g: Any, x: Any, buffer: Any) -> Any:
    kind = wide(aval.dtype)
    return (g.astype(kind) * jax.nn.sigmoid(-x.astype(kind))).astype(aval.dtype)


@row("_softmax")
def _softmax(aval: Aval, x: Any, dim: int, half_to_float: bool) -> Any:
    if not x.size:
        return x.astype(aval.dtype)
    wider = jnp.atleast_1d(x.astype(wide(aval.dtype)))
    parts = jnp.exp(wider - wider.max(dim, keepdims=True))
    return (parts / parts.sum(dim, keepdims=True)).astype(aval.dtype).reshape(aval.shape)


@row("_log_softmax")
def _log_softmax(aval: Aval, x: Any, dim: int, half_to_float: bool) -> Any:
    if not x.size:
        return x.astype(aval.dtype)
    wider = jnp.atleast_1d(x.astype(wide(aval.dtype)))
    shifted = wider - wider.max(dim, keepdims=True)
    found = shifted - jnp.log(jnp.exp(shifted).sum(dim, keepdims=True))
    return found.astype(aval.dtype).reshape(aval.shape)


@row("_softmax_backward_data")
def _softmax_backward(aval: Aval, g: Any, y: Any, dim: int, dtype: str) -> Any:
    kind = wide(aval.dtype)
    g, y = g.astype(kind), y.astype(kind)
    total = (g * y).sum(dim, keepdims=True) if y.ndim else g * y
    return (y * (g - total)).astype(aval.dtype)


@row("_log_softmax_backward_data")
def _log_softmax_backward(aval: Aval, g: Any, y: Any, dim: int, dtype: str) -> Any:
    kind = wide(aval.dtype)
    g, y = g.astype(kind), y.astype(kind)
    total = g.sum(dim, keepdims=True) if y.ndim else g
    return (g - jnp.exp(y) * total).astype(aval.dtype)
