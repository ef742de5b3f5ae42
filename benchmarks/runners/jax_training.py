"""Layers, losses and optimizers for the programs in JAX, which has none of its own.

Weights arrive as PyTorch lays them out and are turned once, at the start, into the layout that JAX
programs have: (in, out) for a dense layer, (H, W, in, out) for a convolution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

Optimizer = tuple[Callable[[Any], Any], Callable[[Any, Any, Any], tuple[Any, Any]]]


def dense(weights: Iterator[np.ndarray]) -> tuple[jax.Array, jax.Array]:
    """A weight and a bias."""
    return jnp.asarray(next(weights).T.copy()), jnp.asarray(next(weights))


def kernel(weights: Iterator[np.ndarray], has_bias: bool = True) -> Any:
    """A convolution's weight, and its bias if it has one."""
    weight = jnp.asarray(next(weights).transpose(2, 3, 1, 0).copy())
    return (weight, jnp.asarray(next(weights))) if has_bias else weight


def conv(x: jax.Array, weight: jax.Array, stride: int = 1, padding: int = 0) -> jax.Array:
    return lax.conv_general_dilated(x, weight, (stride, stride), [(padding, padding)] * 2,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def max_pool(x: jax.Array, size: int, stride: int | None = None, padding: int = 0) -> jax.Array:
    sides = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    step = stride or size
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, step, step, 1), sides)


def layer_norm(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    wide = x.astype(jnp.float32)
    normal = (wide - wide.mean(-1, keepdims=True)) * lax.rsqrt(
        wide.var(-1, keepdims=True) + 1e-5)
    return normal.astype(x.dtype) * gamma + beta


def batch_norm(x: jax.Array, gamma: jax.Array, beta: jax.Array, running: tuple[Any, Any],
               train: bool) -> tuple[jax.Array, tuple[Any, Any]]:
    """The normalized input, and the new running mean and variance."""
    mean, var = running
    if train:
        wide = x.astype(jnp.float32)
        mean, square = wide.mean((0, 1, 2)), (wide * wide).mean((0, 1, 2))
        var = square - mean * mean
        count = x.size // x.shape[-1]
        running = (0.9 * running[0] + 0.1 * mean,
                   0.9 * running[1] + 0.1 * var * count / (count - 1))
    scale = gamma.astype(jnp.float32) * lax.rsqrt(var + 1e-5)
    shift = beta.astype(jnp.float32) - mean * scale
    return x * scale.astype(x.dtype) + shift.astype(x.dtype), running


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    logits = logits.astype(jnp.float32)
    picked = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - picked).mean()


def momentum(rate: float, factor: float) -> Optimizer:
    def update(params: Any, gradients: Any, moments: Any) -> tuple[Any, Any]:
        moments = jax.tree.map(lambda m, g: factor * m + g, moments, gradients)
        return jax.tree.map(lambda p, m: p - rate * m, params, moments), moments

    return lambda params: jax.tree.map(jnp.zeros_like, params), update


def adam(rate: float, weight_decay: float = 0.0, beta1: float = 0.9, beta2: float = 0.999,
         epsilon: float = 1e-8) -> Optimizer:
    """Adam (Kingma and Ba, 2014) with decoupled weight decay (Loshchilov and Hutter, 2017)."""
    def first(params: Any) -> Any:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.zeros_like, params)

    def update(params: Any, gradients: Any, moments: Any) -> tuple[Any, Any]:
        count, ms, vs = moments
        count = count + 1
        ms = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, ms, gradients)
        vs = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, vs, gradients)
        unbiased1, unbiased2 = 1 - beta1 ** count, 1 - beta2 ** count
        params = jax.tree.map(
            lambda p, m, v: (1 - rate * weight_decay) * p - rate / unbiased1 * m
            / (jnp.sqrt(v / unbiased2) + epsilon), params, ms, vs)
        return params, (count, ms, vs)

    return first, update
