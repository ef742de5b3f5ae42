"""A network that solves Burgers' equation.

    python examples/pinn_burgers.py [--steps 2500] [--out pinn_out]

A physics-informed network (Raissi et al., Physics-informed neural networks, 2019): u(x, t) of
u_t + u u_x = 0.1 u_xx on [-1, 1] begins as -sin(pi x) and is 0 at both ends. The loss is the
equation's residual, of derivatives of the network by its inputs; it is given no solution. The last
line compares with the exact one (Cole and Hopf's integrals). Writes OUT/burgers.png.
"""

import argparse
import pathlib

import matplotlib
import numpy as np

import lamella as ms
from lamella import nn, ops

matplotlib.use("Agg")
import matplotlib.pyplot as plt

VISCOSITY = 0.1


def exact(x, t):
    """Cole and Hopf's solution, by Gauss and Hermite's quadrature."""
    nodes, weights = np.polynomial.hermite.hermgauss(60)
    if t == 0:
        return -np.sin(np.pi * x)
    y = x[:, None] - np.sqrt(4 * VISCOSITY * t) * nodes
    kernel = weights * np.exp(-np.cos(np.pi * y) / (2 * np.pi * VISCOSITY))
    return -(kernel * np.sin(np.pi * y)).sum(1) / kernel.sum(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--out", default="pinn_out")
    given = parser.parse_args()
    ms.set_seed(1)
    layers = [layer for _ in range(3) for layer in (nn.Dense(32, 32), nn.Tanh())]
    net = nn.SequentialCell(nn.Dense(2, 32), nn.Tanh(), *layers, nn.Dense(32, 1))

    def u(x, t):
        return net(ops.stack((x, t), -1))[:, 0]

    def total(x, t):
        return u(x, t).sum()

    slope = ms.grad(total, (0, 1))  # each u depends on its own x and t alone

    def curve(x, t):
        return slope(x, t)[0].sum()

    def loss(x, t, begun, ends):
        u_x, u_t = slope(x, t)
        u_xx = ms.grad(curve)(x, t)
        residual = u_t + u(x, t) * u_x - VISCOSITY * u_xx
        start = u(begun, ops.zeros_like(begun)) + ops.sin(np.pi * begun)
        edge = u(ops.ones_like(ends), ends), u(-ops.ones_like(ends), ends)
        return (residual**2).mean() + (start**2).mean() + (edge[0]**2).mean() + (
            edge[1]**2).mean()

    rate = nn.cosine_decay_lr(1e-4, 3e-3, given.steps, 1, given.steps)
    optimizer = nn.Adam(net.trainable_params(), rate)
    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    @ms.jit
    def step(x, t, begun, ends):
        value, change = gradient(x, t, begun, ends)
        optimizer(change)
        return value

    random = np.random.default_rng(0)
    for number in range(1, given.steps + 1):
        points = [random.uniform(-1, 1, 256), random.uniform(0, 1, 256),
                  random.uniform(-1, 1, 64), random.uniform(0, 1, 64)]
        value = step(*(ms.Tensor(p, ms.float32) for p in points))
        if number % 250 == 0:
            print(f"step {number}: loss {float(value):.2e}")

    x = np.linspace(-1, 1, 201)
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    errors = []
    for t, color in zip((0.0, 0.25, 0.5, 1.0), plt.cm.viridis(np.linspace(0, 0.9, 4)), strict=True):
        found = u(ms.Tensor(x, ms.float32), ops.full((201,), t, dtype=ms.float32)).asnumpy()
        wanted = exact(x, t)
        errors.append(np.sqrt(((found - wanted) ** 2).sum() / (wanted**2).sum()))
        axes.plot(x, wanted, color=color, lw=4, alpha=0.35)
        axes.plot(x, found, color=color, lw=1.2, label=f"t = {t}")
    axes.set(xlabel="x", ylabel="u", title="network (thin) on the exact solution (wide)")
    axes.legend()
    folder = pathlib.Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "burgers.png", dpi=110)
    print(f"error relative to the exact solution: {max(errors):.4f}")


if __name__ == "__main__":
    main()
