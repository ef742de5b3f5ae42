"""In JAX."""

import jax
from jax import numpy as jnp


def add(_, x, y):
    return x + y


def links(x):
    for _ in range(100):
        x = jnp.sin(x) * 1.01
    return x.sum()


def chain(_, x):
    return jax.grad(links)(x)
