"""Further algorithms as MindSpore programs: loops, Cells, transformations in each other."""

from __future__ import annotations

from typing import Any

import lamella as ms
from lamella import nn, ops

from .in_lamella import dense, dot, gradient_of


def squares(*given: Any) -> Any:
    """The mean squared error of a dense network."""
    *weights, x, y = given
    return ((dense(weights, x) - y) ** 2).mean()


def hutchinson_flow(weights: Any, x: Any, noise: Any) -> Any:
    """A continuous flow whose trace is estimated by one random vector, in eight Euler steps."""
    def loss(*given: Any) -> Any:
        *w, x, noise = given
        change = ops.zeros((x.shape[0],))
        for _ in range(8):
            slope, back = ms.vjp(lambda x: dense(w, x), x)
            x, change = x + slope / 8, change - (back(noise)[0] * noise).sum(1) / 8
        return (0.5 * (x * x).sum(1) - change).mean()

    return gradient_of(loss, len(weights))(*weights, x, noise)


class Coupled(nn.Cell):
    """A reversible block: its input is computed again from its output."""

    def construct(self, x: Any, y: Any, *weights: Any) -> Any:
        return y, x + dense(weights, y)

    def bprop(self, *given: Any) -> Any:
        *weights, out, dout = given[2:]
        middle, (to_middle, to_last) = out[0], dout
        _, back = ms.vjp(lambda *given: dense(given[:-1], given[-1]), *weights, middle)
        *to_weights, more = back(to_last)
        return (to_last, to_middle + more, *to_weights)


def reversible_network(weights: Any, x: Any, y: Any) -> Any:
    """Six reversible blocks and the gradient of a loss."""
    block = Coupled()

    def loss(*given: Any) -> Any:
        *w, x, y = given
        a, b = x, y
        for i in range(0, len(w), 4):
            a, b = block(a, b, *w[i:i + 4])
        return (a * a).mean() + (b * b).mean()

    return gradient_of(loss, len(weights))(*weights, x, y)


def graph_network(weights: Any, x: Any, source: Any, target: Any, y: Any) -> Any:
    """Two rounds of messages along edges, weighted by attention."""
    def loss(*given: Any) -> Any:
        first, attention, one, second, two, last, x, y = given
        for message, update in ((first, one), (second, two)):
            sent = ops.relu(x[source] @ message)
            score = ops.exp(ops.tanh(ops.cat([x[source], x[target]], 1) @ attention))
            total = ops.unsorted_segment_sum(score, target, 100)
            got = ops.unsorted_segment_sum(sent * (score / total[target]), target, 100)
            x = ops.relu(ops.cat([x, got], 1) @ update)
        return ((x @ last - y) ** 2).mean()

    return gradient_of(loss, len(weights))(*weights, x, y)


def sinkhorn(weights: Any) -> Any:
    """The cost of regularized optimal transport between points, by forty iterations."""
    def cost(a: Any, b: Any) -> Any:
        distance = ((a[:, None] - b[None]) ** 2).sum(-1)
        f, g = ops.zeros((a.shape[0],)), ops.zeros((b.shape[0],))
        for _ in range(40):
            f = -0.5 * ops.logsumexp((g[None] - distance) / 0.5, 1)
            g = -0.5 * ops.logsumexp((f[:, None] - distance) / 0.5, 0)
        return (ops.exp((f[:, None] + g[None] - distance) / 0.5) * distance).sum()

    return gradient_of(cost, 2)(*weights)


def lanczos(weights: Any, x: Any, y: Any) -> Any:
    """Twelve steps towards the eigenvalues of a loss's Hessian, which is known by products."""
    gradient = ms.grad(squares, tuple(range(len(weights))))

    def product(v: Any) -> Any:
        return ms.jvp(lambda *w: gradient(*w, x, y), tuple(weights), tuple(v))[1]

    v = [ops.ones_like(w) for w in weights]
    v = [u / ops.sqrt(dot(v, v)) for u in v]
    before, beta, diagonal, beside = [u * 0 for u in v], 0.0, [], []
    for _ in range(12):
        w = product(v)
        alpha = dot(w, v)
        w = [p - alpha * q - beta * r for p, q, r in zip(w, v, before, strict=True)]
        beta = ops.sqrt(dot(w, w))
        before, v = v, [u / beta for u in w]
        diagonal.append(alpha)
        beside.append(beta)
    return ops.stack(diagonal), ops.stack(beside)


def jet(weights: Any, x: Any) -> Any:
    """The fourth derivative of a network by a Taylor series, as in a beam's equation."""
    def loss(*given: Any) -> Any:
        *w, x = given
        series = ops.zeros((4, *x.shape))
        series[0] = 1.0
        _, found = ms.jet(lambda x: dense(w, x.expand_dims(1))[:, 0], x, series)
        return ((found[3] - 1) ** 2).mean()

    return gradient_of(loss, len(weights))(*weights, x)


def ensemble(weights: Any, x: Any, y: Any) -> Any:
    """A step of gradient descent for eight networks at once."""
    n = len(weights)
    slopes = ms.vmap(ms.grad(squares, tuple(range(n))), (*[0] * n, None, None))(*weights, x, y)
    return [w - 0.1 * g for w, g in zip(weights, slopes, strict=True)]


def k_fac(weights: Any, x: Any, y: Any) -> Any:
    """Gradients preconditioned by Kronecker factors of the curvature, layer by layer."""
    count = len(x)
    added = [ops.zeros((count, w.shape[1])) for w in weights[::2]]

    def loss(*added: Any) -> Any:
        h, inputs = x, []
        for i, extra in enumerate(added):
            inputs.append(h)
            h = h @ weights[2 * i] + weights[2 * i + 1] + extra
            h = ops.tanh(h) if i < len(added) - 1 else h
        return ((h - y) ** 2).mean(), inputs

    (_, inputs), slopes = ms.value_and_grad(loss, tuple(range(len(added))), has_aux=True)(*added)
    found = []
    for a, d in zip(inputs, slopes, strict=True):
        left = a.T @ a / count + 0.1 * ops.eye(a.shape[1])
        right = count * d.T @ d + 0.1 * ops.eye(d.shape[1])
        found += [ops.inverse(left) @ (a.T @ d) @ ops.inverse(right), d.sum(0) @ ops.inverse(right)]
    return found


def truncated_bptt(weights: Any, x: Any, y: Any) -> Any:
    """Forty-eight steps of a GRU; gradients go back sixteen of them."""
    def loss(u: Any, w: Any, out: Any, x: Any, y: Any) -> Any:
        h, total = ops.zeros((16, 32)), 0.0
        for t in range(x.shape[0]):
            if t % 16 == 0:
                h = ops.stop_gradient(h)
            a, b = ops.chunk(x[t] @ u, 3, 1), ops.chunk(h @ w, 3, 1)
            reset, keep = ops.sigmoid(a[0] + b[0]), ops.sigmoid(a[1] + b[1])
            h = (1 - keep) * ops.tanh(a[2] + reset * b[2]) + keep * h
            total = total + ((h @ out - y[t]) ** 2).mean()
        return total / x.shape[0]

    return gradient_of(loss, 3)(*weights, x, y)


def leapfrog(weights: Any, x: Any, y: Any) -> Any:
    """A proposal of Hamiltonian Monte Carlo for logistic regression, and its energy."""
    w, speed = weights

    def energy(w: Any) -> Any:
        return ops.log(1 + ops.exp(-y * (x @ w))).sum() + 0.5 * (w * w).sum()

    slope = ms.grad(energy)
    before = energy(w) + 0.5 * (speed * speed).sum()
    speed = speed - 0.02 * slope(w)
    for _ in range(20):
        w = w + 0.04 * speed
        speed = speed - 0.04 * slope(w)
    speed = speed + 0.02 * slope(w)
    return w, before - energy(w) - 0.5 * (speed * speed).sum()


def gaussian_process(weights: Any, x: Any, y: Any) -> Any:
    """The evidence of a Gaussian process, and its gradient by three numbers."""
    def loss(w: Any) -> Any:
        length, height, noise = ops.exp(w[0]), ops.exp(w[1]), ops.exp(w[2] - 2)
        distance = ((x[:, None] - x[None]) ** 2).sum(-1)
        covariance = height * ops.exp(-0.5 * distance / length) + noise * ops.eye(len(x))
        lower = ops.cholesky(covariance)
        white = ms.scipy.linalg.solve_triangular(lower, y, lower=True)
        return 0.5 * (white * white).sum() + ops.log(ops.diagonal(lower)).sum()

    return ms.value_and_grad(loss)(weights[0])


def score_matching(weights: Any, x: Any) -> Any:
    """Hyvärinen's loss of an energy, with the exact trace of its Hessian."""
    def loss(*given: Any) -> Any:
        *w, x = given

        def energy(x: Any) -> Any:
            return dense(w, x).sum()

        def one(x: Any) -> Any:
            slope = ms.grad(energy)(x)
            return 0.5 * (slope * slope).sum() - ops.trace(ms.hessian(energy)(x))

        return ms.vmap(one)(x).mean()

    return gradient_of(loss, len(weights))(*weights, x)


def coupling_flow(weights: Any, x: Any) -> Any:
    """The likelihood under a flow of four affine couplings, and its gradient."""
    def loss(*given: Any) -> Any:
        *w, x = given
        a, b = ops.split(x, 3, 1)
        total = ops.zeros((len(x),))
        for i in range(0, len(w), 4):
            scale, shift = ops.split(dense(w[i:i + 4], a), 3, 1)
            scale = ops.tanh(scale)
            a, b = b * ops.exp(scale) + shift, a
            total = total + scale.sum(1)
        return (0.5 * (a * a).sum(1) + 0.5 * (b * b).sum(1) - total).mean()

    return gradient_of(loss, len(weights))(*weights, x)


def control(weights: Any, start: Any, goal: Any) -> Any:
    """A step of iterative linear-quadratic control over twenty steps of a pendulum on a cart."""
    actions, = weights

    def moved(state: Any, action: Any) -> Any:
        place, speed = state[:2], state[2:]
        speed = speed + 0.1 * (action - ops.sin(place) - 0.1 * speed)
        return ops.cat([place + 0.1 * speed, speed])

    state, states = start, []
    for t in range(actions.shape[0]):
        states.append(state)
        state = moved(state, actions[t])
    value, slope = ops.eye(4), state - goal
    feedback = []
    for t in range(actions.shape[0] - 1, -1, -1):
        a, b = ms.jacfwd(moved, (0, 1))(states[t], actions[t])
        inner = b.T @ value @ b + 0.1 * ops.eye(2)
        gain = -ops.inverse(inner) @ b.T @ value @ a
        ahead = -ops.inverse(inner) @ (b.T @ slope + 0.1 * actions[t])
        slope = a.T @ (slope + value @ b @ ahead)
        value = a.T @ value @ (a + b @ gain) + 0.01 * ops.eye(4)
        feedback.append((gain, ahead))
    state, found = start, []
    for t, (gain, ahead) in enumerate(reversed(feedback)):
        action = actions[t] + 0.5 * ahead + gain @ (state - states[t])
        found.append(action)
        state = moved(state, action)
    return ops.stack(found), state


def diffusion(weights: Any, x: Any, noise: Any) -> Any:
    """Forty steps of sampling from a diffusion model."""
    steps = noise.shape[0]
    for t in range(steps):
        share = (t + 1) / steps
        time = ops.full((len(x), 1), share, dtype=ms.float32)
        x = 0.98 * (x - 0.1 * dense(weights, ops.cat([x, time], 1))) + 0.05 * noise[t]
    return x


def advantages(weights: Any, states: Any, rewards: Any) -> Any:
    """Generalized advantages of fifty steps, and the gradient of a loss of the values."""
    def loss(*given: Any) -> Any:
        *w, states, rewards = given
        values = dense(w, states)[:, :, 0]
        fixed = ops.stop_gradient(values)
        advantage, found = ops.zeros((states.shape[1],)), []
        for t in range(states.shape[0] - 2, -1, -1):
            error = rewards[t] + 0.99 * fixed[t + 1] - fixed[t]
            advantage = error + 0.95 * 0.99 * advantage
            found.append(advantage)
        targets = ops.stack(found[::-1]) + fixed[:-1]
        return ((values[:-1] - targets) ** 2).mean()

    return gradient_of(loss, len(weights))(*weights, states, rewards)


def sharpness(weights: Any, x: Any, y: Any) -> Any:
    """Sharpness-aware minimization: the gradient uphill of the weights."""
    gradient = gradient_of(squares, len(weights))
    _, slopes = gradient(*weights, x, y)
    norm = ops.sqrt(dot(slopes, slopes))
    return gradient(*[w + 0.05 * g / norm for w, g in zip(weights, slopes, strict=True)], x, y)
