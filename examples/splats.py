"""A picture as a sum of soft ellipses, found by differentiable rendering.

    python examples/splats.py [--steps 600] [--splats 150] [--out splats_out]

Two-dimensional Gaussian splatting (after Kerbl et al., 3D Gaussian splatting, 2023): each splat has
a place, two widths, an angle, a color and a weight. The picture that they give is differentiable by
all of these, so gradient descent moves, turns and paints them until they look like a photograph
(China's Summer Palace, from scikit-learn). The last line is the fidelity in decibels. Writes
OUT/splats.png.
"""

import argparse
import pathlib

import matplotlib
import numpy as np
from sklearn.datasets import load_sample_image

import lamella as ms
from lamella import nn, ops

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HEIGHT, WIDTH = 48, 72


class Splats(nn.Cell):
    """Renders itself: an image (HEIGHT * WIDTH, 3)."""

    def __init__(self, count, picture):
        super().__init__()
        random = np.random.default_rng(0)
        place = random.uniform(0, 1, (count, 2))
        rows, columns = (place * (HEIGHT - 1, WIDTH - 1)).astype(int).T

        def parameter(value, name):
            return ms.Parameter(ms.Tensor(value, ms.float32), name=name)

        self.place = parameter(place, "place")
        self.size = parameter(np.full((count, 2), np.log(0.06)), "size")
        self.angle = parameter(random.uniform(0, np.pi, count), "angle")
        self.color = parameter(picture[rows, columns], "color")
        self.weight = parameter(np.zeros(count), "weight")
        y, x = np.meshgrid(np.linspace(0, 1, HEIGHT), np.linspace(0, 1, WIDTH), indexing="ij")
        self.pixels = ms.Tensor(np.stack((y, x), -1).reshape(-1, 1, 2), ms.float32)

    def construct(self):
        away = self.pixels - self.place  # (pixels, splats, 2)
        sine, cosine = ops.sin(self.angle), ops.cos(self.angle)
        size = ops.exp(-self.size)
        along = (away[..., 0] * cosine + away[..., 1] * sine) * size[:, 0]
        across = (away[..., 1] * cosine - away[..., 0] * sine) * size[:, 1]
        weight = ops.exp(self.weight - 0.5 * (along**2 + across**2))
        return ops.matmul(weight, self.color) / (weight.sum(1, keepdims=True) + 1e-4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--splats", type=int, default=150)
    parser.add_argument("--out", default="splats_out")
    given = parser.parse_args()
    photograph = load_sample_image("china.jpg") / 255.0
    rows = np.linspace(0, photograph.shape[0] - 1, HEIGHT).astype(int)
    columns = np.linspace(0, photograph.shape[1] - 1, WIDTH).astype(int)
    picture = photograph[rows][:, columns]
    wanted = ms.Tensor(picture.reshape(-1, 3), ms.float32)
    splats = Splats(given.splats, picture)
    optimizer = nn.Adam(splats.trainable_params(), nn.cosine_decay_lr(
        1e-4, 2e-2, given.steps, 1, given.steps))
    gradient = ms.value_and_grad(lambda: ((splats() - wanted) ** 2).mean(), None,
                                 optimizer.parameters)

    @ms.jit
    def step():
        value, change = gradient()
        optimizer(change)
        return value

    shown = {0: splats().asnumpy()}
    for number in range(1, given.steps + 1):
        value = step()
        if number % 100 == 0:
            print(f"step {number}: {-10 * np.log10(float(value)):.1f} dB")
        if number in (given.steps // 10, given.steps):
            shown[number] = splats().asnumpy()
    figure, axes = plt.subplots(2, 2, figsize=(7, 4.9), layout="constrained")
    images = [(picture, "photograph"), *((image.reshape(HEIGHT, WIDTH, 3), f"step {number}")
                                         for number, image in shown.items())]
    for place, (image, title) in zip(axes.flat, images, strict=True):
        place.imshow(np.clip(image, 0, 1))
        place.set(title=title)
        place.axis("off")
    folder = pathlib.Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "splats.png", dpi=100)
    error = float(((splats() - wanted) ** 2).mean())
    print(f"fidelity: {-10 * np.log10(error):.1f} dB")


if __name__ == "__main__":
    main()
