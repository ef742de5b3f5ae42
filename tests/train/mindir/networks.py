"""Networks that MindIR files are written of, and examples of their inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import lamella as ms
from lamella import Tensor, nn, ops

from .operations import FAMILIES, Network


class MLP(nn.Cell):
    """Three layers, one of which does nothing in prediction."""

    def __init__(self):
        super().__init__()
        self.net = nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dropout(p=0.5), nn.Dense(8, 2))

    def construct(self, x):
        """Two scores a row."""
        return self.net(x)


class LeNet(nn.Cell):
    """LeNet, with 16 channels in its second part."""

    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Conv2d(1, 4, 5, pad_mode="valid"),
                                   nn.Conv2d(4, 16, 5, pad_mode="valid"))
        self.pool, self.flatten, self.last = nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(256, 3)

    def construct(self, x):
        """Three scores a picture."""
        x = self.pool(ops.relu(self.first(x)))
        return self.last(self.flatten(self.pool(ops.relu(self.second(x)))))


class _Bottleneck(nn.Cell):
    """What ResNet-50 is made of."""

    def __init__(self, before: int, middle: int, stride: int):
        super().__init__()
        after = 4 * middle
        self.way = nn.SequentialCell(
            nn.Conv2d(before, middle, 1), nn.BatchNorm2d(middle), nn.ReLU(),
            nn.Conv2d(middle, middle, 3, stride), nn.BatchNorm2d(middle), nn.ReLU(),
            nn.Conv2d(middle, after, 1), nn.BatchNorm2d(after))
        self.around = nn.SequentialCell(nn.Conv2d(before, after, 1, stride), nn.BatchNorm2d(after))

    def construct(self, x):
        """Half as many pixels where the stride is 2."""
        return ops.relu(self.way(x) + self.around(x))


class ResNet(nn.Cell):
    """ResNet-50's parts, fewer and narrower."""

    def __init__(self):
        super().__init__()
        self.stem = nn.SequentialCell(nn.Conv2d(3, 4, 7, 2), nn.BatchNorm2d(4), nn.ReLU(),
                                      nn.MaxPool2d(3, 2, pad_mode="same"))
        self.parts = nn.SequentialCell(_Bottleneck(4, 2, 1), _Bottleneck(8, 3, 2),
                                       _Bottleneck(12, 4, 2))
        self.last = nn.Dense(16, 3)

    def construct(self, x):
        """Three scores a picture."""
        return self.last(self.parts(self.stem(x)).mean((2, 3)))


class Bert(nn.Cell):
    """Two layers of attention over words and their places, with a mask."""

    def __init__(self):
        super().__init__()
        self.words, self.places, self.norm = (nn.Embedding(20, 8), nn.Embedding(16, 8),
                                              nn.LayerNorm((8,)))
        self.layers = nn.CellList([nn.TransformerEncoderLayer(
            8, 2, 16, batch_first=True, activation="gelu") for _ in range(2)])
        self.pooled = nn.Dense(8, 8, activation="tanh")

    def construct(self, words, mask):
        """A vector for each word, and one for all."""
        x = self.norm(self.words(words) + self.places(ops.arange(words.shape[1])))
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=mask == 0)
        return x, self.pooled(x[:, 0])


class Reader(nn.Cell):
    """An LSTM of two layers that reads both ways."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)
        self.last = nn.Dense(8, 2)

    def construct(self, x):
        """Two scores a row, and the state."""
        found, (hidden, cells) = self.lstm(x)
        return self.last(found[:, -1]), (hidden, cells)


class Counter(nn.Cell):
    """Changes a Parameter, and normalizes by the batch."""

    def __init__(self):
        super().__init__()
        self.count = ms.Parameter(Tensor([0.0]), name="count")
        self.norm = nn.BatchNorm2d(2)

    def construct(self, x):
        """The pictures normalized, and how many calls there were."""
        self.count += 1
        return self.norm(x), self.count + 0


class Example(NamedTuple):
    """A network to write: what makes it, its inputs, and what their sizes may be."""

    make: Callable[[], Any]
    inputs: tuple[np.ndarray, ...]
    open: tuple[list[int | None], ...] = ()

    def network(self) -> Any:
        """The network, with weights that are the same in every run."""
        net = self.make()
        net.set_train(isinstance(net, Counter))
        draw = np.random.default_rng(7)
        for parameter in net.get_parameters():
            spread = 0.2 * draw.standard_normal(parameter.shape)
            around = 1.0 if parameter.name.endswith(("gamma", "moving_variance")) else 0.0
            parameter.set_data(Tensor((around + abs(spread) if around else spread).astype(
                np.float32)))
        return net

    def forms(self) -> list[Any]:
        """What `export` is given."""
        given = [Tensor(each) for each in self.inputs]
        return [Tensor(shape=sizes, dtype=each.dtype) for sizes, each in zip(
            self.open, given, strict=True)] if self.open else given


_draw = np.random.default_rng(8)


def _floats(*shape: int) -> np.ndarray:
    return _draw.standard_normal(shape).astype(np.float32)


_words = _draw.integers(0, 20, (2, 6)).astype(np.int32)
_mask = (np.arange(6) < np.array([[6], [4]])).astype(np.int32)

EXAMPLES: dict[str, Example] = {
    "mlp": Example(MLP, (_floats(3, 4),), ([None, 4],)),
    "lenet": Example(LeNet, (_floats(2, 1, 28, 28),), ([None, 1, 28, 28],)),
    "resnet": Example(ResNet, (_floats(2, 3, 32, 32),)),
    "resnet_open": Example(ResNet, (_floats(3, 3, 32, 32),), ([None, 3, 32, 32],)),
    "bert": Example(Bert, (_words, _mask)),
    "bert_open": Example(Bert, (_words, _mask), ([None, None], [None, None])),
    "reader": Example(Reader, (_floats(2, 4, 3),)),
    "reader_open": Example(Reader, (_floats(2, 4, 3),), ([None, 4, 3],)),
    "counter": Example(Counter, (_floats(2, 2, 3, 3),)),
    **{name: Example(functools.partial(Network, list(family.values())),
                     tuple(each for case in family.values() for each in case.inputs))
       for name, family in FAMILIES.items()},
}
