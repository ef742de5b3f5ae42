"""The algorithms as MindSpore programs: plain Python loops, compiled by `jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as ms
from lamella import Tensor, ops

from .data import DATA, DORMAND_PRINCE, ERROR


def dense(weights: Any, x: Any) -> Any:
    """A network of dense layers with tanh between them."""
    for i in range(0, len(weights) - 2, 2):
        x = ops.tanh(x @ weights[i] + weights[i + 1])
    return x @ weights[-2] + weights[-1]


def dot(a: Any, b: Any) -> Any:
    return sum((x * y).sum() for x, y in zip(a, b, strict=True))


def conjugate_gradients(product: Callable[[Any], Any], b: Any, steps: int) -> Any:
    """An approximate solution of a linear system whose matrix is a function."""
    x, r = [v * 0 for v in b], list(b)
    p, rr = r, dot(r, r)
    for _ in range(steps):
        q = product(p)
        alpha = rr / dot(p, q)
        x = [u + alpha * v for u, v in zip(x, p, strict=True)]
        r = [u - alpha * v for u, v in zip(r, q, strict=True)]
        rr, before = dot(r, r), rr
        p = [u + rr / before * v for u, v in zip(r, p, strict=True)]
    return x


def gradient_of(loss: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Value and gradients of a loss of `count` weights and further arguments."""
    return ms.value_and_grad(loss, tuple(range(count)))


def maml(weights: Any, x: Any, y: Any) -> Any:
    """Five inner steps for each of eight tasks, and the gradient through them."""
    n = len(weights)

    def loss(*given: Any) -> Any:
        *w, x, y = given
        return ((dense(w, x) - y) ** 2).mean()

    inner = ms.grad(loss, tuple(range(n)))

    def adapted(*given: Any) -> Any:
        *w, x, y = given
        for _ in range(5):
            w = [v - 0.05 * g for v, g in zip(w, inner(*w, x, y), strict=True)]
        return loss(*w, x, y)

    each = ms.vmap(adapted, (*[None] * n, 0, 0))
    return gradient_of(lambda *given: each(*given).mean(), n)(*weights, x, y)


def deq(weights: Any, x: Any) -> Any:
    """A fixed point, and the gradient by the implicit function theorem."""
    def f(w: Any, u: Any, z: Any, x: Any) -> Any:
        return ops.tanh(z @ w + x @ u)

    w, u = weights
    z = x * 0
    for _ in range(25):
        z = f(w, u, z, x)
    back = ms.grad(lambda z, v: (f(w, u, z, x) * v).sum(), 0)
    g = 2 * z / z.size
    v = g
    for _ in range(25):
        v = g + back(z, v)
    return (z * z).mean(), ms.grad(lambda w, u: (f(w, u, z, x) * v).sum(), (0, 1))(w, u)


def bilevel(weights: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The derivative of a validation loss by the penalties of a regression, through its solution.
    """
    penalty, = weights
    scale = ops.exp(penalty)

    def product(p: Any) -> Any:
        return [a.T @ (a @ p[0]) / 40 + scale * p[0]]

    w, = conjugate_gradients(product, [a.T @ b / 40], 12)
    error = c @ w - d
    v, = conjugate_gradients(product, [c.T @ error / 10], 12)
    return (error * error).mean(), -v * scale * w


def neural_ode(weights: Any, x: Any, y: Any) -> Any:
    """Twenty steps of Runge and Kutta's method, and the gradient through them."""
    def loss(*given: Any) -> Any:
        *w, x, y = given
        h = 0.05
        for _ in range(20):
            k1 = dense(w, x)
            k2 = dense(w, x + h / 2 * k1)
            k3 = dense(w, x + h / 2 * k2)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + dense(w, x + h * k3))
        return ((x - y) ** 2).mean()

    return gradient_of(loss, len(weights))(*weights, x, y)


def pinn(weights: Any, points: Any) -> Any:
    """The residual of Burgers' equation at some points, and its gradient."""
    def loss(*given: Any) -> Any:
        *w, points = given

        def u(t: Any, x: Any) -> Any:
            return dense(w, ops.stack([t, x], 1)).sum()

        t, x = points[:, 0], points[:, 1]
        u_t, u_x = ms.grad(u, (0, 1))(t, x)
        u_xx = ms.grad(lambda x: ms.grad(u, 1)(t, x).sum())(x)
        value = dense(w, points)[:, 0]
        return ((u_t + value * u_x - 0.01 * u_xx) ** 2).mean()

    return gradient_of(loss, len(weights))(*weights, points)


def spiking(weights: Any, spikes: Any, y: Any) -> Any:
    """A hundred steps of leaky neurons, with a smooth function's gradient for the spikes."""
    def fired(v: Any) -> Any:
        smooth = ops.sigmoid(4 * v)
        return smooth + ops.stop_gradient((v > 0).astype(ms.float32) - smooth)

    def loss(w: Any, out: Any, spikes: Any, y: Any) -> Any:
        v = ops.zeros((16, 40))
        total = ops.zeros((16, 5))
        for t in range(spikes.shape[0]):
            v = 0.9 * v + spikes[t] @ w
            s = fired(v - 1)
            v = v - s
            total = 0.95 * total + s @ out
        return ((total / 10 - y) ** 2).mean()

    return gradient_of(loss, 2)(*weights, spikes, y)


def dp_sgd(weights: Any, x: Any, y: Any) -> Any:
    """The mean of each example's gradient, clipped to a norm of 1."""
    n = len(weights)
    one = ms.grad(lambda *given: ((dense(given[:-2], given[-2]) - given[-1]) ** 2).mean(),
                  tuple(range(n)))
    each = ms.vmap(one, (*[None] * n, 0, 0))(*weights, x, y)
    squares = sum((g.reshape(len(x), -1) ** 2).sum(1) for g in each)
    scale = ops.minimum(1 / ops.sqrt(squares), Tensor(1.0))
    return [ops.tensordot(scale, g, ([0], [0])) / len(x) for g in each]


def natural_gradient(weights: Any, x: Any, y: Any) -> Any:
    """A damped Gauss-Newton step by conjugate gradients."""
    n = len(weights)
    value, g = gradient_of(lambda *given: ((dense(given[:-2], given[-2]) - given[-1]) ** 2).mean(),
                           n)(*weights, x, y)

    def outputs(*w: Any) -> Any:
        return dense(w, x)

    def product(p: Any) -> Any:
        _, moved = ms.jvp(outputs, tuple(weights), tuple(p))
        _, back = ms.vjp(outputs, *weights)
        return [u * 2 / len(x) + 0.01 * v for u, v in zip(back(moved), p, strict=True)]

    return value, conjugate_gradients(product, list(g), 8)


def wgan_gp(weights: Any, real: Any, fake: Any, mix: Any) -> Any:
    """A critic's loss with a penalty on its gradient's norm, and the gradient of both."""
    def loss(*given: Any) -> Any:
        *w, real, fake, mix = given
        between = mix * real + (1 - mix) * fake
        slope = ms.grad(lambda x: dense(w, x).sum())(between)
        norm = ops.sqrt((slope * slope).sum(1) + 1e-12)
        return (dense(w, fake).mean() - dense(w, real).mean() + 10 * ((norm - 1) ** 2).mean())

    return gradient_of(loss, len(weights))(*weights, real, fake, mix)


def vq(weights: Any, x: Any) -> Any:
    """Codes by the nearest entry of a table, with the gradient passed straight through."""
    def loss(a: Any, b: Any, c: Any, d: Any, table: Any, x: Any) -> Any:
        z = x @ a + b
        distance = (z * z).sum(1, True) - 2 * z @ table.T + (table * table).sum(1)
        code = table[ops.stop_gradient(distance.argmin(1))]
        straight = z + ops.stop_gradient(code - z)
        return (((straight @ c + d - x) ** 2).mean() + ((code - ops.stop_gradient(z)) ** 2).mean()
                + 0.25 * ((z - ops.stop_gradient(code)) ** 2).mean())

    return gradient_of(loss, 5)(*weights, x)


def learned_optimizer(weights: Any, x: Any, matrix: Any) -> Any:
    """Twenty steps of an optimizer that is a network, and the gradient of the last loss."""
    def loss(*given: Any) -> Any:
        *w, x, matrix = given
        m = x * 0
        for _ in range(20):
            g = matrix.T @ (matrix @ x - 1)
            m = 0.9 * m + 0.1 * g
            x = x - 0.1 * dense(w, ops.stack([g, m], 1))[:, 0] - 0.05 * g
        return ((matrix @ x - 1) ** 2).mean()

    return gradient_of(loss, len(weights))(*weights, x, matrix)


def rnn(weights: Any, x: Any, y: Any) -> Any:
    """Sixty steps of a recurrent layer, and the gradient through them."""
    def loss(u: Any, w: Any, v: Any, x: Any, y: Any) -> Any:
        h = ops.zeros((16, 32))
        for t in range(x.shape[0]):
            h = ops.tanh(x[t] @ u + h @ w)
        return ((h @ v - y) ** 2).mean()

    return gradient_of(loss, 3)(*weights, x, y)


def fixed_point(weights: Any, x: Any) -> Any:
    """`deq` with as many steps as its tolerance asks for, forward and backward."""
    w, u = weights

    def f(w: Any, u: Any, z: Any) -> Any:
        return ops.tanh(z @ w + x @ u)

    def solved(step: Callable[[Any], Any], first: Any) -> Any:
        return ms.while_loop(lambda pair: ((pair[1] - pair[0]) ** 2).sum() > 1e-10,
                             lambda pair: (pair[1], step(pair[1])), (first, step(first)))[1]

    z = solved(lambda z: f(w, u, z), x * 0)
    back = ms.grad(lambda z, v: (f(w, u, z) * v).sum(), 0)
    g = 2 * z / z.size
    v = solved(lambda v: g + back(z, v), g)
    return (z * z).mean(), ms.grad(lambda w, u: (f(w, u, z) * v).sum(), (0, 1))(w, u)


def adaptive_ode(weights: Any, x: Any) -> Any:
    """Dormand and Prince's method with steps by the estimated error, from 0 to 1."""
    def step(state: Any) -> Any:
        t, h, y, first = state
        h = ops.minimum(h, 1 - t)
        slopes, inner = [first], y
        for row in DORMAND_PRINCE:
            inner = y + h * sum(a * k for a, k in zip(row, slopes, strict=True) if a)
            slopes.append(dense(weights, inner))
        error = h * sum(a * k for a, k in zip(ERROR, slopes, strict=True) if a)
        scale = 1e-6 + 1e-4 * ops.maximum(ops.abs(y), ops.abs(inner))
        share = ops.sqrt(((error / scale) ** 2).mean())
        fits = share <= 1
        grown = h * ops.clamp(0.9 * share ** -0.2, 0.2, 10.0)
        return (ops.where(fits, t + h, t), grown, ops.where(fits, inner, y),
                ops.where(fits, slopes[-1], first))

    start = ops.zeros(()), ops.full((), 0.01, dtype=ms.float32), x, dense(weights, x)
    return ms.while_loop(lambda state: state[0] < 1, step, start)[2]


def line_search(weights: Any, a: Any, b: Any) -> Any:
    """Logistic regression by gradient descent, with steps halved until the loss falls enough."""
    def loss(w: Any) -> Any:
        return ops.log(1 + ops.exp(-b * (a @ w))).mean() + 0.01 * (w * w).sum()

    both = ms.value_and_grad(loss)

    def step(state: Any) -> Any:
        w, value, g = state
        slope = 0.3 * (g * g).sum()
        rate = ms.while_loop(lambda rate: loss(w - rate * g) > value - rate * slope,
                             lambda rate: rate / 2, ops.full((), 8.0, dtype=ms.float32))
        w = w - rate * g
        return (w, *both(w))

    w, = weights
    return ms.while_loop(lambda state: (state[2] * state[2]).sum() > 1e-4, step,
                         (w, *both(w)))[:2]


def flow(weights: Any, x: Any) -> Any:
    """A continuous flow with the exact trace of its Jacobian, in eight Euler steps."""
    def loss(*given: Any) -> Any:
        *w, x = given
        change = ops.zeros((x.shape[0],))

        def moved(x: Any) -> Any:
            jacobian = ms.jacfwd(lambda x: dense(w, x))(x)
            return dense(w, x), (jacobian * ops.eye(x.shape[0])).sum()

        for _ in range(8):
            slope, trace = ms.vmap(moved)(x)
            x, change = x + slope / 8, change - trace / 8
        return (0.5 * (x * x).sum(1) - change).mean()

    return gradient_of(loss, len(weights))(*weights, x)


def fourier_operator(weights: Any, x: Any, y: Any) -> Any:
    """Three layers of a Fourier neural operator, which keeps twelve frequencies."""
    complex_of = ops.Complex()

    def loss(*given: Any) -> Any:
        lift, out, *w, x, y = given
        h = x[:, :, None] * lift
        for re, im, by in (w[i:i + 3] for i in range(0, len(w), 3)):
            low = ops.rfft(h.swapaxes(1, 2))[:, :, :12]
            low = ops.einsum("bim,iom->bom", low, complex_of(re, im))
            rest = ops.zeros((*low.shape[:2], x.shape[1] // 2 - 11))
            whole = ops.cat([low, complex_of(rest, rest)], 2)
            h = ops.relu(ops.irfft(whole, x.shape[1]).swapaxes(1, 2) + h @ by)
        return (((h @ out)[:, :, 0] - y) ** 2).mean()

    return gradient_of(loss, len(weights))(*weights, x, y)


def levenberg_marquardt(weights: Any, x: Any, y: Any) -> Any:
    """Six steps of a least-squares fit of five numbers."""
    w, = weights

    def residuals(w: Any) -> Any:
        return w[0] * ops.exp(-w[1] * x) + w[2] * ops.sin(w[3] * x) + w[4] - y

    for _ in range(6):
        j = ms.jacfwd(residuals)(w)
        w = w - ms.scipy.linalg.solve(j.T @ j + 0.01 * ops.eye(5), j.T @ residuals(w))
    return w


def influence(weights: Any, x: Any, y: Any, new_x: Any, new_y: Any) -> Any:
    """What each of 256 examples does to the loss of others, by the inverse Hessian."""
    w, = weights

    def loss(w: Any, x: Any, y: Any) -> Any:
        return ops.log(1 + ops.exp(-y * (x @ w))).mean() + 0.01 * (w * w).sum()

    direction = ms.scipy.linalg.solve(ms.hessian(loss)(w, x, y), ms.grad(loss)(w, new_x, new_y))
    return ms.vmap(ms.grad(loss), (None, 0, 0))(w, x, y) @ direction


def kalman_filter(weights: Any, seen: Any) -> Any:
    """The likelihood of thirty observations by a linear filter, and its gradients."""
    def loss(f: Any, h: Any, seen: Any) -> Any:
        mean, spread, total = ops.zeros((4,)), ops.eye(4), 0.0
        for y in seen:
            mean, spread = f @ mean, f @ spread @ f.T + 0.1 * ops.eye(4)
            s = h @ spread @ h.T + 0.2 * ops.eye(2)
            gain, error = spread @ h.T @ ops.inverse(s), y - h @ mean
            total = total + 0.5 * (error @ ops.inverse(s) @ error) + 0.5 * ops.log(ops.det(s))
            mean, spread = mean + gain @ error, spread - gain @ h @ spread
        return total

    return gradient_of(loss, 2)(*weights, seen)


def step_of(name: str) -> tuple[Callable[..., Any], tuple]:
    """An algorithm's compiled step, and its arguments."""
    from . import further_in_lamella  # which has functions of this file

    fn = {**vars(further_in_lamella), **globals()}[name.replace(" ", "_").replace("-", "_")]
    weights, given = DATA[name]
    return ms.jit(fn, jit_level="O1"), ([Tensor(w) for w in weights], *map(Tensor, given))
