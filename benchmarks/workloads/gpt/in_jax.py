"""In JAX."""

import jax
from jax import numpy as jnp

from ...runners import jax_training
from ...runners.jax_training import dense, layer_norm
from . import DEPTH, HEADS, LAYERS, LENGTH, WIDTH


def model(weights):
    token, place = (jnp.asarray(next(weights)) for _ in range(2))
    blocks = [{"norm1": scale(weights), "qkv": dense(weights), "out": dense(weights),
               "norm2": scale(weights), "up": dense(weights), "down": dense(weights)}
              for _ in range(LAYERS)]
    norm = scale(weights)
    return {"token": token, "place": place, "blocks": blocks, "norm": norm,
            "head": jnp.asarray(next(weights)).T}, None


def scale(weights):
    return jnp.asarray(next(weights)), jnp.asarray(next(weights))


def linear(x, layer):
    return x @ layer[0] + layer[1]


def block(layer, x):
    qkv = linear(layer_norm(x, *layer["norm1"]), layer["qkv"])
    q, k, v = jnp.moveaxis(qkv.reshape(-1, LENGTH, 3, HEADS, DEPTH), 2, 0)
    mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + linear(mixed.reshape(-1, LENGTH, WIDTH), layer["out"])
    up = jax.nn.gelu(linear(layer_norm(x, *layer["norm2"]), layer["up"]), approximate=False)
    return x + linear(up, layer["down"])


def forward(params, tokens):
    x = params["token"][tokens] + params["place"]
    for layer in params["blocks"]:
        x = block(layer, x)
    return layer_norm(x, *params["norm"]) @ params["head"]


def loss(params, state, tokens, following):
    return jax_training.cross_entropy(forward(params, tokens), following), state


def curvature(params, tokens, following):
    """The Hessian of the loss times the weights."""
    def of(params):
        return loss(params, None, tokens, following)[0]

    return jax.jvp(jax.grad(of), (params,), (params,))[1]


optimizer = jax_training.adam(3e-4, weight_decay=0.01)
