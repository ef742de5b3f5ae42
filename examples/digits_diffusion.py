"""A diffusion model draws handwritten digits, each as it is asked for.

    python examples/digits_diffusion.py [--steps 1500] [--out diffusion_out]

Noise is added to digits (8 by 8, from scikit-learn) in 200 small steps, and a network learns to
tell it from the noisy image, the step and the digit's name (Ho et al., Denoising Diffusion
Probabilistic Models, 2020). Drawing begins with noise alone and takes it off step by step; an
average of the weights draws. Writes OUT/digits.png, with a row for each digit. The last line says
how many of the drawn digits a classifier of real ones takes for what was asked for.
"""

import argparse
import pathlib

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import lamella as ms
from lamella import nn, ops

matplotlib.use("Agg")
import matplotlib.pyplot as plt

LEVELS, BATCH, WIDTH = 200, 128, 384
KEPT = np.cumprod(1 - np.linspace(1e-4, 0.05, LEVELS)).astype(np.float32)  # of the image's variance


class Denoiser(nn.Cell):
    """The noise in images (B, 64), at levels (B,) of noise, of digits (B,)."""

    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Dense(64, WIDTH), nn.Dense(WIDTH, 64)
        self.level, self.digit = nn.Embedding(LEVELS, WIDTH), nn.Embedding(10, WIDTH)
        self.blocks = nn.CellList([nn.SequentialCell(
            nn.LayerNorm((WIDTH,)), nn.Dense(WIDTH, WIDTH), nn.SiLU(), nn.Dense(WIDTH, WIDTH))
            for _ in range(3)])

    def construct(self, image, level, digit):
        about = self.level(level) + self.digit(digit)
        x = self.enter(image)
        for block in self.blocks:
            x = x + block(x + about)
        return self.leave(x)


def draw(denoise, digits, random):
    """Images (N, 64) of these digits: noise is taken off, from the highest level to none."""
    image = random.normal(size=(len(digits), 64)).astype(np.float32)
    asked = ms.Tensor(digits, ms.int32)
    for level in reversed(range(LEVELS)):
        kept, before = KEPT[level], KEPT[level - 1] if level else np.float32(1)
        levels = ms.Tensor(np.full(len(digits), level), ms.int32)
        noise = denoise(ms.Tensor(image), levels, asked).asnumpy()
        clean = ((image - np.sqrt(1 - kept) * noise) / np.sqrt(kept)).clip(-1, 1)
        step = kept / before
        image = (np.sqrt(before) * (1 - step) * clean
                 + np.sqrt(step) * (1 - before) * image) / (1 - kept)
        spread = np.sqrt((1 - before) / (1 - kept) * (1 - step))
        image += spread * random.normal(size=image.shape).astype(np.float32)
    return image


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--out", default="diffusion_out")
    given = parser.parse_args()
    ms.set_seed(1)
    random = np.random.default_rng(1)
    found = load_digits()
    images, names = (found.data / 8 - 1).astype(np.float32), found.target.astype(np.int32)
    judge = SVC().fit(images, names)
    net = Denoiser()
    optimizer = nn.Adam(net.trainable_params(), nn.cosine_decay_lr(
        1e-5, 1e-3, given.steps, 1, given.steps))
    average = nn.ExponentialMovingAverage(net.trainable_params(), decay=0.99, warmup=True)
    kept = ms.Tensor(KEPT)

    def loss(image, noise, level, digit):
        share = kept[level].reshape(-1, 1)
        noisy = ops.sqrt(share) * image + ops.sqrt(1 - share) * noise
        return ((net(noisy, level, digit) - noise) ** 2).mean()

    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    @ms.jit
    def step(*batch):
        value, change = gradient(*batch)
        optimizer(change)
        average()
        return value

    seen = []
    for number in range(1, given.steps + 1):
        rows = random.integers(0, len(images), BATCH)
        seen.append(step(
            ms.Tensor(images[rows]), ms.Tensor(random.normal(size=(BATCH, 64)), ms.float32),
            ms.Tensor(random.integers(0, LEVELS, BATCH), ms.int32), ms.Tensor(names[rows])))
        if number % 250 == 0:
            print(f"step {number}: loss {np.mean([float(value) for value in seen[-250:]]):.3f}")

    asked = np.repeat(np.arange(10), 20)
    with average.applied():
        drawn = draw(ms.jit(net), asked, random)
    tiles = np.pad(drawn.reshape(10, 20, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)),
                   constant_values=-1)
    sheet = tiles.swapaxes(1, 2).reshape(100, 200)
    folder = pathlib.Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    plt.imsave(folder / "digits.png", sheet.repeat(4, 0).repeat(4, 1), cmap="gray_r")
    right = (judge.predict(drawn) == asked).mean()
    print(f"drawn digits that are what was asked for: {100 * right:.1f}%")


if __name__ == "__main__":
    main()
