"""A network that learns a new sine wave from five points and a few steps.

    python examples/maml_sines.py [--steps 8000] [--out maml_out]

Model-agnostic meta-learning (Finn et al. 2017): the outer loss is that after an inner step of
gradient descent, so its gradient is one through a gradient. `vmap` does 25 waves at once. The last
line is the error on unseen waves after ten steps from the learned weights. Writes OUT/sines.png.
"""

import argparse
import pathlib

import matplotlib
import numpy as np

import lamella as ms
from lamella import nn, ops

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TASKS, POINTS, RATE = 25, 5, 0.01
WIDTHS = (1, 40, 40, 1)


def network(weights, x):
    """A perceptron, given its weights."""
    for i in range(0, len(weights), 2):
        x = ops.matmul(x, weights[i]) + weights[i + 1]
        x = ops.relu(x) if i + 2 < len(weights) else x
    return x


def loss(weights, x, y):
    return ((network(weights, x) - y) ** 2).mean()


def adapted(weights, x, y, steps=1):
    """The weights after steps of gradient descent on a few points."""
    for _ in range(steps):
        gradients = ms.grad(loss)(weights, x, y)
        weights = tuple(w - RATE * g for w, g in zip(weights, gradients, strict=True))
    return weights


def waves(random, count, points):
    """Points of random sine waves."""
    height, shift = random.uniform(0.1, 5, (count, 1, 1)), random.uniform(0, np.pi, (count, 1, 1))
    x = random.uniform(-5, 5, (count, points, 1))
    return ms.Tensor(x, ms.float32), ms.Tensor(height * np.sin(x - shift), ms.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--out", default="maml_out")
    given = parser.parse_args()
    random = np.random.default_rng(0)
    weights = []
    for i, (before, after) in enumerate(zip(WIDTHS, WIDTHS[1:], strict=False)):
        start = random.normal(0, np.sqrt(2 / before), (before, after))
        weights.append(ms.Parameter(ms.Tensor(start, ms.float32), name=f"weight{i}"))
        weights.append(ms.Parameter(ops.zeros((after,)), name=f"bias{i}"))
    optimizer = nn.Adam(weights, 1e-3)

    def of_task(values, few_x, few_y, x, y):
        return loss(adapted(values, few_x, few_y), x, y)

    def outer(values, few_x, few_y, x, y):
        tasks = ms.vmap(of_task, in_axes=(None, 0, 0, 0, 0))
        return tasks(values, few_x, few_y, x, y).mean()

    gradient = ms.value_and_grad(outer)

    @ms.jit
    def step(few_x, few_y, x, y):
        value, change = gradient(tuple(w.value() for w in weights), few_x, few_y, x, y)
        optimizer(change)
        return value

    for number in range(1, given.steps + 1):
        x, y = waves(random, TASKS, 2 * POINTS)
        value = step(x[:, :POINTS], y[:, :POINTS], x[:, POINTS:], y[:, POINTS:])
        if number % 800 == 0:
            print(f"step {number}: error after one step {float(value):.3f}")

    learned = tuple(ms.Tensor(w.asnumpy()) for w in weights)
    x, y = waves(random, 100, 200)
    errors = []
    for steps in (0, 1, 10):
        found = [float(loss(adapted(learned, x[i, :10], y[i, :10], steps), x[i], y[i]))
                 for i in range(100)]
        errors.append(np.mean(found))
        print(f"error on unseen waves after {steps} steps: {errors[-1]:.3f}")
    line = ops.linspace(-5.0, 5.0, 200).reshape(-1, 1)
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    order = np.argsort(x[0].asnumpy()[:, 0])
    axes.plot(x[0].asnumpy()[order], y[0].asnumpy()[order], "k", lw=4, alpha=0.25, label="wave")
    axes.plot(x[0, :10].asnumpy(), y[0, :10].asnumpy(), "k^", label="ten points")
    for steps in (0, 1, 10):
        found = network(adapted(learned, x[0, :10], y[0, :10], steps), line)
        axes.plot(line.asnumpy(), found.asnumpy(), label=f"after {steps} steps")
    axes.legend(fontsize="small", ncols=2)
    folder = pathlib.Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "sines.png", dpi=110)
    print(f"of the error without steps is left after ten: {errors[2] / errors[0]:.3f}")


if __name__ == "__main__":
    main()
