"""In JAX; images are (N, H, W, C), which XLA's convolutions for the CPU are written for."""

import jax
from jax import numpy as jnp

from ...runners import jax_training
from ...runners.jax_training import conv, max_pool


def model(weights):
    conv1, conv2 = jax_training.kernel(weights), jax_training.kernel(weights)
    fc1 = jax_training.dense(weights)
    # the weights were made for features in (C, H, W) order
    fc1 = (fc1[0].reshape(16, 5, 5, 120).transpose(1, 2, 0, 3).reshape(400, 120), fc1[1])
    return [conv1, conv2, fc1, jax_training.dense(weights), jax_training.dense(weights)], None


def inputs(images, labels):
    return images.transpose(0, 2, 3, 1), labels


def forward(layers, x):
    conv1, conv2, *dense, (weight, bias) = layers
    x = max_pool(jax.nn.relu(conv(x, conv1[0], padding=2) + conv1[1]), 2)
    x = max_pool(jax.nn.relu(conv(x, conv2[0]) + conv2[1]), 2)
    x = jnp.reshape(x, (len(x), -1))
    for w, b in dense:
        x = jax.nn.relu(x @ w + b)
    return x @ weight + bias


def loss(layers, state, images, labels):
    return jax_training.cross_entropy(forward(layers, images), labels), state


def gradients_by_sample(layers, images, labels):
    def of_one(layers, image, label):
        return jax_training.cross_entropy(forward(layers, image[None]), label[None])

    return jax.vmap(jax.grad(of_one), (None, 0, 0))(layers, images, labels)


optimizer = jax_training.adam(1e-3)
