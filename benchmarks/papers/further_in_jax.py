"""The same further algorithms for JAX: loops as `lax.scan`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import jet as series

from .in_jax import dense, dot, squares


def hutchinson_flow(weights: Any, x: Any, noise: Any) -> Any:
    def loss(w: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            x, change = state
            slope, back = jax.vjp(lambda x: dense(w, x), x)
            return (x + slope / 8, change - (back(noise)[0] * noise).sum(1) / 8), None

        (last, change), _ = lax.scan(step, (x, jnp.zeros(len(x))), None, 8)
        return (0.5 * (last * last).sum(1) - change).mean()

    return jax.value_and_grad(loss)(weights)


@jax.custom_vjp
def coupled(x: Any, y: Any, weights: Any) -> Any:
    return y, x + dense(weights, y)


def _backward(kept: Any, slopes: Any) -> Any:
    (middle, _), weights = kept
    to_middle, to_last = slopes
    _, back = jax.vjp(dense, weights, middle)
    to_weights, more = back(to_last)
    return to_last, to_middle + more, to_weights


coupled.defvjp(lambda x, y, weights: ((out := coupled(x, y, weights)), (out, weights)), _backward)


def reversible_network(weights: Any, x: Any, y: Any) -> Any:
    def loss(w: Any) -> Any:
        a, b = x, y
        for i in range(0, len(w), 4):
            a, b = coupled(a, b, w[i:i + 4])
        return (a * a).mean() + (b * b).mean()

    return jax.value_and_grad(loss)(weights)


def graph_network(weights: Any, x: Any, source: Any, target: Any, y: Any) -> Any:
    def loss(weights: Any) -> Any:
        first, attention, one, second, two, last = weights
        h = x
        for message, update in ((first, one), (second, two)):
            sent = jax.nn.relu(h[source] @ message)
            score = jnp.exp(jnp.tanh(jnp.concatenate([h[source], h[target]], 1) @ attention))
            total = jax.ops.segment_sum(score, target, 100)
            got = jax.ops.segment_sum(sent * (score / total[target]), target, 100)
            h = jax.nn.relu(jnp.concatenate([h, got], 1) @ update)
        return ((h @ last - y) ** 2).mean()

    return jax.value_and_grad(loss)(weights)


def sinkhorn(weights: Any) -> Any:
    def cost(pair: Any) -> Any:
        a, b = pair
        distance = ((a[:, None] - b[None]) ** 2).sum(-1)

        def step(state: Any, _: Any) -> Any:
            _, g = state
            f = -0.5 * jax.nn.logsumexp((g[None] - distance) / 0.5, 1)
            return (f, -0.5 * jax.nn.logsumexp((f[:, None] - distance) / 0.5, 0)), None

        (f, g), _ = lax.scan(step, (jnp.zeros(len(a)), jnp.zeros(len(b))), None, 40)
        return (jnp.exp((f[:, None] + g[None] - distance) / 0.5) * distance).sum()

    return jax.value_and_grad(cost)(weights)


def lanczos(weights: Any, x: Any, y: Any) -> Any:
    def product(v: Any) -> Any:
        return jax.jvp(lambda w: jax.grad(squares)(w, x, y), (weights,), (v,))[1]

    def step(state: Any, _: Any) -> Any:
        v, before, beta = state
        w = product(v)
        alpha = dot(w, v)
        w = [p - alpha * q - beta * r for p, q, r in zip(w, v, before, strict=True)]
        beta = jnp.sqrt(dot(w, w))
        return ([u / beta for u in w], v, beta), (alpha, beta)

    v = [jnp.ones_like(w) for w in weights]
    v = [u / jnp.sqrt(dot(v, v)) for u in v]
    return lax.scan(step, (v, [u * 0 for u in v], 0.0), None, 12)[1]


def jet(weights: Any, x: Any) -> Any:
    def loss(w: Any) -> Any:
        one = [jnp.ones_like(x), *[jnp.zeros_like(x)] * 3]
        _, found = series.jet(lambda x: dense(w, x[:, None])[:, 0], (x,), (one,))
        return ((found[3] - 1) ** 2).mean()

    return jax.value_and_grad(loss)(weights)


def ensemble(weights: Any, x: Any, y: Any) -> Any:
    slopes = jax.vmap(jax.grad(squares), (0, None, None))(weights, x, y)
    return [w - 0.1 * g for w, g in zip(weights, slopes, strict=True)]


def k_fac(weights: Any, x: Any, y: Any) -> Any:
    count = len(x)

    def loss(added: Any) -> Any:
        h, inputs = x, []
        for i, extra in enumerate(added):
            inputs.append(h)
            h = h @ weights[2 * i] + weights[2 * i + 1] + extra
            h = jnp.tanh(h) if i < len(added) - 1 else h
        return ((h - y) ** 2).mean(), inputs

    added = [jnp.zeros((count, w.shape[1])) for w in weights[::2]]
    (_, inputs), slopes = jax.value_and_grad(loss, has_aux=True)(added)
    found = []
    for a, d in zip(inputs, slopes, strict=True):
        left = a.T @ a / count + 0.1 * jnp.eye(a.shape[1])
        right = count * d.T @ d + 0.1 * jnp.eye(d.shape[1])
        found += [jnp.linalg.inv(left) @ (a.T @ d) @ jnp.linalg.inv(right),
                  d.sum(0) @ jnp.linalg.inv(right)]
    return found


def truncated_bptt(weights: Any, x: Any, y: Any) -> Any:
    def loss(weights: Any) -> Any:
        u, w, out = weights

        def step(state: Any, given: Any) -> Any:
            h, total = state
            t, x, y = given
            h = jnp.where(t % 16 == 0, lax.stop_gradient(h), h)
            a, b = jnp.split(x @ u, 3, 1), jnp.split(h @ w, 3, 1)
            reset, keep = jax.nn.sigmoid(a[0] + b[0]), jax.nn.sigmoid(a[1] + b[1])
            h = (1 - keep) * jnp.tanh(a[2] + reset * b[2]) + keep * h
            return (h, total + ((h @ out - y) ** 2).mean()), None

        (_, total), _ = lax.scan(step, (jnp.zeros((16, 32)), 0.0), (jnp.arange(len(x)), x, y))
        return total / len(x)

    return jax.value_and_grad(loss)(weights)


def leapfrog(weights: Any, x: Any, y: Any) -> Any:
    w, speed = weights

    def energy(w: Any) -> Any:
        return jnp.log(1 + jnp.exp(-y * (x @ w))).sum() + 0.5 * (w * w).sum()

    slope = jax.grad(energy)

    def step(state: Any, _: Any) -> Any:
        w, speed = state
        w = w + 0.04 * speed
        return (w, speed - 0.04 * slope(w)), None

    before = energy(w) + 0.5 * (speed * speed).sum()
    (w, speed), _ = lax.scan(step, (w, speed - 0.02 * slope(w)), None, 20)
    speed = speed + 0.02 * slope(w)
    return w, before - energy(w) - 0.5 * (speed * speed).sum()


def gaussian_process(weights: Any, x: Any, y: Any) -> Any:
    def loss(w: Any) -> Any:
        length, height, noise = jnp.exp(w[0]), jnp.exp(w[1]), jnp.exp(w[2] - 2)
        distance = ((x[:, None] - x[None]) ** 2).sum(-1)
        covariance = height * jnp.exp(-0.5 * distance / length) + noise * jnp.eye(len(x))
        lower = jnp.linalg.cholesky(covariance)
        white = jax.scipy.linalg.solve_triangular(lower, y, lower=True)
        return 0.5 * (white * white).sum() + jnp.log(jnp.diag(lower)).sum()

    return jax.value_and_grad(loss)(weights[0])


def score_matching(weights: Any, x: Any) -> Any:
    def loss(w: Any) -> Any:
        def energy(x: Any) -> Any:
            return dense(w, x).sum()

        def one(x: Any) -> Any:
            slope = jax.grad(energy)(x)
            return 0.5 * (slope * slope).sum() - jnp.trace(jax.hessian(energy)(x))

        return jax.vmap(one)(x).mean()

    return jax.value_and_grad(loss)(weights)


def coupling_flow(weights: Any, x: Any) -> Any:
    def loss(w: Any) -> Any:
        a, b = jnp.split(x, 2, 1)
        total = jnp.zeros(len(x))
        for i in range(0, len(w), 4):
            scale, shift = jnp.split(dense(w[i:i + 4], a), 2, 1)
            scale = jnp.tanh(scale)
            a, b = b * jnp.exp(scale) + shift, a
            total = total + scale.sum(1)
        return (0.5 * (a * a).sum(1) + 0.5 * (b * b).sum(1) - total).mean()

    return jax.value_and_grad(loss)(weights)


def control(weights: Any, start: Any, goal: Any) -> Any:
    actions, = weights

    def moved(state: Any, action: Any) -> Any:
        place, speed = state[:2], state[2:]
        speed = speed + 0.1 * (action - jnp.sin(place) - 0.1 * speed)
        return jnp.concatenate([place + 0.1 * speed, speed])

    state, states = lax.scan(lambda state, action: (moved(state, action), state), start, actions)

    def back(ahead_of: Any, given: Any) -> Any:
        value, slope = ahead_of
        state, action = given
        a, b = jax.jacfwd(moved, (0, 1))(state, action)
        inner = jnp.linalg.inv(b.T @ value @ b + 0.1 * jnp.eye(2))
        gain = -inner @ b.T @ value @ a
        ahead = -inner @ (b.T @ slope + 0.1 * action)
        slope = a.T @ (slope + value @ b @ ahead)
        return (a.T @ value @ (a + b @ gain) + 0.01 * jnp.eye(4), slope), (gain, ahead)

    _, feedback = lax.scan(back, (jnp.eye(4), state - goal), (states, actions), reverse=True)

    def forward(state: Any, given: Any) -> Any:
        before, action, (gain, ahead) = given
        action = action + 0.5 * ahead + gain @ (state - before)
        return moved(state, action), action

    state, found = lax.scan(forward, start, (states, actions, feedback))
    return found, state


def diffusion(weights: Any, x: Any, noise: Any) -> Any:
    steps = len(noise)

    def step(x: Any, given: Any) -> Any:
        share, noise = given
        time = jnp.full((len(x), 1), share)
        return 0.98 * (x - 0.1 * dense(weights, jnp.concatenate([x, time], 1))) + 0.05 * noise, None

    return lax.scan(step, x, (jnp.arange(1, steps + 1) / steps, noise))[0]


def advantages(weights: Any, states: Any, rewards: Any) -> Any:
    def loss(w: Any) -> Any:
        values = dense(w, states)[:, :, 0]
        fixed = lax.stop_gradient(values)

        def step(advantage: Any, given: Any) -> Any:
            reward, now, after = given
            advantage = reward + 0.99 * after - now + 0.95 * 0.99 * advantage
            return advantage, advantage

        _, found = lax.scan(step, jnp.zeros(states.shape[1]),
                            (rewards[:-1], fixed[:-1], fixed[1:]), reverse=True)
        return ((values[:-1] - found - fixed[:-1]) ** 2).mean()

    return jax.value_and_grad(loss)(weights)


def sharpness(weights: Any, x: Any, y: Any) -> Any:
    gradient = jax.value_and_grad(squares)
    _, slopes = gradient(weights, x, y)
    norm = jnp.sqrt(dot(slopes, slopes))
    return gradient([w + 0.05 * g / norm for w, g in zip(weights, slopes, strict=True)], x, y)
