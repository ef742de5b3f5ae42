"""A differential equation whose right side is a network learns a spiral.

    python examples/neural_ode.py [--steps 1500] [--out ode_out]

A neural ordinary differential equation (Chen et al. 2018): y' = f(y) is integrated by the classical
Runge-Kutta method, and gradients go through all of its steps (discretize, then differentiate). It
learns from short pieces of a noisy spiral; the last line is the error of the whole path from its
first point alone. Writes OUT/spiral.png.
"""

import argparse
import pathlib

import matplotlib
import numpy as np

import lamella as ms
from lamella import nn, ops

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TIMES, PIECE, BATCH, STEP = 200, 20, 32, 0.05


class Field(nn.Cell):
    """y' of points y, (B, 2) to (B, 2); cubes make the spiral's own field within reach."""

    def __init__(self):
        super().__init__()
        self.inner = nn.SequentialCell(nn.Dense(2, 50), nn.Tanh(), nn.Dense(50, 2))

    def construct(self, y):
        return self.inner(y**3)


def moved(field, y):
    """A step of the classical Runge-Kutta method."""
    a = field(y)
    b = field(y + STEP / 2 * a)
    c = field(y + STEP / 2 * b)
    d = field(y + STEP * c)
    return y + STEP / 6 * (a + 2 * b + 2 * c + d)


def path(field, start, count):
    """`count` points from a start, (B, 2) to (count, B, 2)."""
    points = [start]
    for _ in range(count - 1):
        points.append(moved(field, points[-1]))
    return ops.stack(points)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--out", default="ode_out")
    given = parser.parse_args()
    ms.set_seed(1)
    matrix = ms.Tensor([[-0.1, 2.0], [-2.0, -0.1]])
    true = path(lambda y: ops.matmul(y**3, matrix), ms.Tensor([[2.0, 0.0]]), TIMES)[:, 0]
    random = np.random.default_rng(0)
    seen = true.asnumpy() + random.normal(0, 0.01, (TIMES, 2))
    field = Field()
    optimizer = nn.Adam(field.trainable_params(), nn.cosine_decay_lr(
        1e-5, 1e-2, given.steps, 1, given.steps))

    def loss(pieces):
        return ops.abs(path(field, pieces[0], PIECE) - pieces).mean()

    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    @ms.jit
    def step(pieces):
        value, change = gradient(pieces)
        optimizer(change)
        return value

    for number in range(1, given.steps + 1):
        starts = random.integers(0, TIMES - PIECE, BATCH)
        pieces = np.stack([seen[s:s + PIECE] for s in starts], 1)
        value = step(ms.Tensor(pieces, ms.float32))
        if number % 100 == 0:
            print(f"step {number}: loss {float(value):.4f}")

    found = path(field, true[:1], TIMES)[:, 0].asnumpy()
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    axes[0].plot(*seen.T, "k.", ms=2, label="seen")
    axes[0].plot(*found.T, label="from the first point")
    axes[0].legend(fontsize="small", loc="center")
    grid = np.stack(np.meshgrid(np.linspace(-2, 2, 20), np.linspace(-2, 2, 20)), -1)
    arrows = field(ms.Tensor(grid.reshape(-1, 2), ms.float32)).asnumpy().reshape(20, 20, 2)
    axes[1].streamplot(grid[0, :, 0], grid[:, 0, 1], arrows[..., 0], arrows[..., 1], density=0.9)
    axes[1].set(title="learned field")
    folder = pathlib.Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "spiral.png", dpi=110)
    error = np.abs(found - true.asnumpy()).mean()
    print(f"mean error of the whole path: {error:.3f}")


if __name__ == "__main__":
    main()
