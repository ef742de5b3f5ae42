"""In JAX: the products with the inputs for all times at once, then a scan over time."""

import jax
from jax import lax
from jax import numpy as jnp

from ...runners import jax_training


def model(weights):
    table = jnp.asarray(next(weights))
    w_in, w_hidden = (jnp.asarray(next(weights)).T for _ in range(2))
    bias = jnp.asarray(next(weights)), jnp.asarray(next(weights))
    return (table, w_in, w_hidden, *bias, jax_training.dense(weights)), None


def forward(params, tokens):
    table, w_in, w_hidden, b_in, b_hidden, (weight, bias) = params
    fed = jnp.swapaxes(table[tokens], 0, 1) @ w_in + (b_in + b_hidden)  # (time, batch, 4 * 128)

    def at_a_time(carry, now):
        h, c = carry
        i, f, g, o = jnp.split(now + h @ w_hidden, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    start = jnp.zeros((tokens.shape[0], 128), fed.dtype)
    (h, _), _ = lax.scan(at_a_time, (start, start), fed)
    return h @ weight + bias


def loss(params, state, tokens, labels):
    return jax_training.cross_entropy(forward(params, tokens), labels), state


optimizer = jax_training.adam(1e-3)
