"""The same algorithms for JAX: loops as `lax.scan`, the step in one `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .data import DATA, DORMAND_PRINCE, ERROR


def dense(weights: Any, x: Any) -> Any:
    for i in range(0, len(weights) - 2, 2):
        x = jnp.tanh(x @ weights[i] + weights[i + 1])
    return x @ weights[-2] + weights[-1]


def dot(a: Any, b: Any) -> Any:
    return sum((x * y).sum() for x, y in zip(a, b, strict=True))


def conjugate_gradients(product: Callable[[Any], Any], b: Any, steps: int) -> Any:
    def step(state: Any, _: Any) -> Any:
        x, r, p, rr = state
        q = product(p)
        alpha = rr / dot(p, q)
        x = [u + alpha * v for u, v in zip(x, p, strict=True)]
        r = [u - alpha * v for u, v in zip(r, q, strict=True)]
        after = dot(r, r)
        return (x, r, [u + after / rr * v for u, v in zip(r, p, strict=True)], after), None

    (x, *_), _ = lax.scan(step, ([v * 0 for v in b], list(b), list(b), dot(b, b)), None, steps)
    return x


def squares(weights: Any, x: Any, y: Any) -> Any:
    return ((dense(weights, x) - y) ** 2).mean()


def maml(weights: Any, x: Any, y: Any) -> Any:
    def adapted(w: Any, x: Any, y: Any) -> Any:
        def step(w: Any, _: Any) -> Any:
            return [v - 0.05 * g for v, g in zip(w, jax.grad(squares)(w, x, y),
                                                 strict=True)], None

        return squares(lax.scan(step, w, None, 5)[0], x, y)

    return jax.value_and_grad(
        lambda w: jax.vmap(adapted, (None, 0, 0))(w, x, y).mean())(weights)


def deq(weights: Any, x: Any) -> Any:
    w, u = weights

    def f(w: Any, u: Any, z: Any) -> Any:
        return jnp.tanh(z @ w + x @ u)

    z = lax.fori_loop(0, 25, lambda _, z: f(w, u, z), x * 0)
    _, back = jax.vjp(lambda z: f(w, u, z), z)
    g = 2 * z / z.size
    v = lax.fori_loop(0, 25, lambda _, v: g + back(v)[0], g)
    return (z * z).mean(), jax.vjp(lambda w, u: f(w, u, z), w, u)[1](v)


def bilevel(weights: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    scale = jnp.exp(weights[0])

    def product(p: Any) -> Any:
        return [a.T @ (a @ p[0]) / 40 + scale * p[0]]

    w, = conjugate_gradients(product, [a.T @ b / 40], 12)
    error = c @ w - d
    v, = conjugate_gradients(product, [c.T @ error / 10], 12)
    return (error * error).mean(), -v * scale * w


def neural_ode(weights: Any, x: Any, y: Any) -> Any:
    def loss(w: Any) -> Any:
        def step(x: Any, _: Any) -> Any:
            h = 0.05
            k1 = dense(w, x)
            k2 = dense(w, x + h / 2 * k1)
            k3 = dense(w, x + h / 2 * k2)
            return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + dense(w, x + h * k3)), None

        return ((lax.scan(step, x, None, 20)[0] - y) ** 2).mean()

    return jax.value_and_grad(loss)(weights)


def pinn(weights: Any, points: Any) -> Any:
    def loss(w: Any) -> Any:
        def u(t: Any, x: Any) -> Any:
            return dense(w, jnp.stack([t, x]))[0]

        def residual(t: Any, x: Any) -> Any:
            u_t, u_x = jax.grad(u, (0, 1))(t, x)
            return u_t + u(t, x) * u_x - 0.01 * jax.grad(jax.grad(u, 1), 1)(t, x)

        return (jax.vmap(residual)(points[:, 0], points[:, 1]) ** 2).mean()

    return jax.value_and_grad(loss)(weights)


def spiking(weights: Any, spikes: Any, y: Any) -> Any:
    def fired(v: Any) -> Any:
        smooth = jax.nn.sigmoid(4 * v)
        return smooth + lax.stop_gradient((v > 0).astype(jnp.float32) - smooth)

    def loss(weights: Any) -> Any:
        w, out = weights

        def step(state: Any, spike: Any) -> Any:
            v, total = state
            v = 0.9 * v + spike @ w
            s = fired(v - 1)
            return (v - s, 0.95 * total + s @ out), None

        (_, total), _ = lax.scan(step, (jnp.zeros((16, 40)), jnp.zeros((16, 5))), spikes)
        return ((total / 10 - y) ** 2).mean()

    return jax.value_and_grad(loss)(weights)


def dp_sgd(weights: Any, x: Any, y: Any) -> Any:
    each = jax.vmap(jax.grad(squares), (None, 0, 0))(weights, x, y)
    norms = jnp.sqrt(sum((g.reshape(len(x), -1) ** 2).sum(1) for g in each))
    scale = jnp.minimum(1 / norms, 1.0)
    return [jnp.tensordot(scale, g, 1) / len(x) for g in each]


def natural_gradient(weights: Any, x: Any, y: Any) -> Any:
    value, g = jax.value_and_grad(squares)(weights, x, y)

    def outputs(w: Any) -> Any:
        return dense(w, x)

    _, back = jax.vjp(outputs, weights)

    def product(p: Any) -> Any:
        _, moved = jax.jvp(outputs, (weights,), (p,))
        return [u * 2 / len(x) + 0.01 * v for u, v in zip(back(moved)[0], p, strict=True)]

    return value, conjugate_gradients(product, g, 8)


def wgan_gp(weights: Any, real: Any, fake: Any, mix: Any) -> Any:
    def loss(w: Any) -> Any:
        between = mix * real + (1 - mix) * fake
        slope = jax.grad(lambda x: dense(w, x).sum())(between)
        norm = jnp.sqrt((slope * slope).sum(1) + 1e-12)
        return dense(w, fake).mean() - dense(w, real).mean() + 10 * ((norm - 1) ** 2).mean()

    return jax.value_and_grad(loss)(weights)


def vq(weights: Any, x: Any) -> Any:
    def loss(weights: Any) -> Any:
        a, b, c, d, table = weights
        z = x @ a + b
        distance = (z * z).sum(1, keepdims=True) - 2 * z @ table.T + (table * table).sum(1)
        code = table[distance.argmin(1)]
        straight = z + lax.stop_gradient(code - z)
        return (((straight @ c + d - x) ** 2).mean() + ((code - lax.stop_gradient(z)) ** 2).mean()
                + 0.25 * ((z - lax.stop_gradient(code)) ** 2).mean())

    return jax.value_and_grad(loss)(weights)


def learned_optimizer(weights: Any, x: Any, matrix: Any) -> Any:
    def loss(w: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            x, m = state
            g = matrix.T @ (matrix @ x - 1)
            m = 0.9 * m + 0.1 * g
            return (x - 0.1 * dense(w, jnp.stack([g, m], 1))[:, 0] - 0.05 * g, m), None

        (last, _), _ = lax.scan(step, (x, x * 0), None, 20)
        return ((matrix @ last - 1) ** 2).mean()

    return jax.value_and_grad(loss)(weights)


def rnn(weights: Any, x: Any, y: Any) -> Any:
    def loss(weights: Any) -> Any:
        u, w, v = weights

        def step(h: Any, x: Any) -> Any:
            return jnp.tanh(x @ u + h @ w), None

        return ((lax.scan(step, jnp.zeros((16, 32)), x)[0] @ v - y) ** 2).mean()

    return jax.value_and_grad(loss)(weights)


def fixed_point(weights: Any, x: Any) -> Any:
    w, u = weights

    def f(w: Any, u: Any, z: Any) -> Any:
        return jnp.tanh(z @ w + x @ u)

    def solved(step: Callable[[Any], Any], first: Any) -> Any:
        return lax.while_loop(lambda pair: ((pair[1] - pair[0]) ** 2).sum() > 1e-10,
                              lambda pair: (pair[1], step(pair[1])), (first, step(first)))[1]

    z = solved(lambda z: f(w, u, z), x * 0)
    _, back = jax.vjp(lambda z: f(w, u, z), z)
    g = 2 * z / z.size
    v = solved(lambda v: g + back(v)[0], g)
    return (z * z).mean(), jax.vjp(lambda w, u: f(w, u, z), w, u)[1](v)


def adaptive_ode(weights: Any, x: Any) -> Any:
    def step(state: Any) -> Any:
        t, h, y, first = state
        h = jnp.minimum(h, 1 - t)
        slopes, inner = [first], y
        for row in DORMAND_PRINCE:
            inner = y + h * sum(a * k for a, k in zip(row, slopes, strict=True) if a)
            slopes.append(dense(weights, inner))
        error = h * sum(a * k for a, k in zip(ERROR, slopes, strict=True) if a)
        scale = 1e-6 + 1e-4 * jnp.maximum(jnp.abs(y), jnp.abs(inner))
        share = jnp.sqrt(((error / scale) ** 2).mean())
        fits = share <= 1
        grown = h * jnp.clip(0.9 * share ** -0.2, 0.2, 10.0)
        return (jnp.where(fits, t + h, t), grown, jnp.where(fits, inner, y),
                jnp.where(fits, slopes[-1], first))

    start = jnp.zeros(()), jnp.full((), 0.01), x, dense(weights, x)
    return lax.while_loop(lambda state: state[0] < 1, step, start)[2]


def line_search(weights: Any, a: Any, b: Any) -> Any:
    def loss(w: Any) -> Any:
        return jnp.log(1 + jnp.exp(-b * (a @ w))).mean() + 0.01 * (w * w).sum()

    both = jax.value_and_grad(loss)

    def step(state: Any) -> Any:
        w, value, g = state
        slope = 0.3 * (g * g).sum()
        rate = lax.while_loop(lambda rate: loss(w - rate * g) > value - rate * slope,
                              lambda rate: rate / 2, jnp.full((), 8.0))
        w = w - rate * g
        return (w, *both(w))

    w, = weights
    return lax.while_loop(lambda state: (state[2] * state[2]).sum() > 1e-4, step,
                          (w, *both(w)))[:2]


def flow(weights: Any, x: Any) -> Any:
    def loss(weights: Any, x: Any) -> Any:
        change = jnp.zeros(x.shape[0])

        def moved(x: Any) -> Any:
            jacobian = jax.jacfwd(lambda x: dense(weights, x))(x)
            return dense(weights, x), jnp.trace(jacobian)

        for _ in range(8):
            slope, trace = jax.vmap(moved)(x)
            x, change = x + slope / 8, change - trace / 8
        return (0.5 * (x * x).sum(1) - change).mean()

    return jax.value_and_grad(loss)(weights, x)


def fourier_operator(weights: Any, x: Any, y: Any) -> Any:
    def loss(weights: Any, x: Any, y: Any) -> Any:
        lift, out, *w = weights
        h = x[:, :, None] * lift
        for re, im, by in (w[i:i + 3] for i in range(0, len(w), 3)):
            low = jnp.fft.rfft(h.swapaxes(1, 2))[:, :, :12]
            low = jnp.einsum("bim,iom->bom", low, lax.complex(re, im))
            rest = jnp.zeros((*low.shape[:2], x.shape[1] // 2 - 11), low.dtype)
            whole = jnp.concatenate([low, rest], 2)
            h = jax.nn.relu(jnp.fft.irfft(whole, x.shape[1]).swapaxes(1, 2) + h @ by)
        return (((h @ out)[:, :, 0] - y) ** 2).mean()

    return jax.value_and_grad(loss)(weights, x, y)


def levenberg_marquardt(weights: Any, x: Any, y: Any) -> Any:
    w, = weights

    def residuals(w: Any) -> Any:
        return w[0] * jnp.exp(-w[1] * x) + w[2] * jnp.sin(w[3] * x) + w[4] - y

    for _ in range(6):
        j = jax.jacfwd(residuals)(w)
        w = w - jnp.linalg.solve(j.T @ j + 0.01 * jnp.eye(5), j.T @ residuals(w))
    return w


def influence(weights: Any, x: Any, y: Any, new_x: Any, new_y: Any) -> Any:
    w, = weights

    def loss(w: Any, x: Any, y: Any) -> Any:
        return jnp.log(1 + jnp.exp(-y * (x @ w))).mean() + 0.01 * (w * w).sum()

    direction = jnp.linalg.solve(jax.hessian(loss)(w, x, y), jax.grad(loss)(w, new_x, new_y))
    return jax.vmap(jax.grad(loss), (None, 0, 0))(w, x, y) @ direction


def kalman_filter(weights: Any, seen: Any) -> Any:
    def loss(weights: Any, seen: Any) -> Any:
        f, h = weights

        def step(state: Any, y: Any) -> Any:
            mean, spread, total = state
            mean, spread = f @ mean, f @ spread @ f.T + 0.1 * jnp.eye(4)
            s = h @ spread @ h.T + 0.2 * jnp.eye(2)
            inverse = jnp.linalg.inv(s)
            gain, error = spread @ h.T @ inverse, y - h @ mean
            total = total + 0.5 * (error @ inverse @ error) + 0.5 * jnp.log(jnp.linalg.det(s))
            return (mean + gain @ error, spread - gain @ h @ spread, total), None

        return lax.scan(step, (jnp.zeros(4), jnp.eye(4), 0.0), seen)[0][2]

    return jax.value_and_grad(loss)(weights, seen)


def step_of(name: str) -> tuple[Callable[..., Any], tuple]:
    """An algorithm's compiled step, which waits for its results, and its arguments."""
    from . import further_in_jax  # which has functions of this file

    step = jax.jit({**vars(further_in_jax), **globals()}[name.replace(" ", "_").replace("-", "_")])
    weights, given = DATA[name]
    return (lambda *args: jax.block_until_ready(step(*args))), (
        [jnp.asarray(w) for w in weights], *map(jnp.asarray, given))
