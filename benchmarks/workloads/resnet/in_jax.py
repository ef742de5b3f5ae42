"""In JAX; images are (N, H, W, C), which XLA's convolutions for the CPU are written for.

The state is the running mean and variance of each normalization, in their order.
"""

import jax
from jax import numpy as jnp

from ...runners import jax_training
from ...runners.jax_training import batch_norm, conv, max_pool
from . import BLOCKS


def model(weights):
    state = []

    def unit():  # a convolution and its normalization
        kernel = jax_training.kernel(weights, has_bias=False)
        gamma, beta = jnp.asarray(next(weights)), jnp.asarray(next(weights))
        state.append((jnp.zeros_like(gamma), jnp.ones_like(gamma)))
        return kernel, gamma, beta

    stem = unit()
    blocks = [[unit() for _ in range(3 if stride != 1 else 2)] for _, _, stride in BLOCKS]
    return {"stem": stem, "blocks": blocks, "head": jax_training.dense(weights)}, state


def inputs(images, *labels):
    return images.transpose(0, 2, 3, 1), *labels


def answer(params, state, images, train):
    """The answers, and the new state."""
    old, new = iter(state), []

    def unit(x, layer, stride=1):
        kernel, gamma, beta = layer
        x, after = batch_norm(conv(x, kernel, stride, kernel.shape[0] // 2), gamma, beta,
                              next(old), train)
        new.append(after)
        return x

    x = max_pool(jax.nn.relu(unit(images, params["stem"], 2)), 3, 2, 1)
    for (_, _, stride), (first, second, *shortcut) in zip(BLOCKS, params["blocks"], strict=True):
        y = unit(jax.nn.relu(unit(x, first, stride)), second)
        x = jax.nn.relu(y + (unit(x, shortcut[0], stride) if shortcut else x))
    weight, bias = params["head"]
    return x.mean((1, 2)) @ weight + bias, new


def forward(model, images):
    params, state = model
    return answer(params, state, images, train=False)[0]


def loss(params, state, images, labels):
    out, state = answer(params, state, images, train=True)
    return jax_training.cross_entropy(out, labels), state


optimizer = jax_training.momentum(1e-3, 0.9)
