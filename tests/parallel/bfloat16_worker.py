"""The program that each process runs in test_bfloat16.py: training in bfloat16, spread."""

import json
import warnings
from typing import Any

import numpy as np

import lamella as ms
from lamella import Tensor, communication, nn, ops
from lamella.parallel.auto_parallel import AutoParallel

CASES = [(ms.float32, False), (ms.float32, True), (ms.bfloat16, True)]  # weights, compiled


def parameter(seed, dtype, *shape):
    values = np.random.default_rng(seed).normal(size=shape) * 0.4
    return ms.Parameter(Tensor(values, dtype), name=f"weight{seed}")


class Net(nn.Cell):
    """Two products, computed in `dtype`; `size` processes hold columns, then rows of weights."""

    def __init__(self, dtype, held, size=1):
        super().__init__()
        self.dtype = dtype
        self.up, self.down = parameter(1, held, 8, 32), parameter(2, held, 32, 4)
        self.bias = parameter(3, held, 32)
        self.first: Any = ops.MatMul()
        self.second: Any = ops.MatMul()
        if size > 1:
            self.first.shard(((1, 1), (1, size)))
            self.second.shard(((1, size), (size, 1)))

    def construct(self, x):
        x, up, down, bias = (each.astype(self.dtype) for each in
                             (x, self.up, self.down, self.bias))
        return self.second(ops.tanh(self.first(x, up) + bias), down).astype(ms.float32)


def batch(number, rows=slice(None)):
    rng = np.random.default_rng(number)
    return (Tensor(rng.normal(size=(16, 8))[rows], ms.float32),
            Tensor(rng.integers(0, 4, 16)[rows], ms.int32))


def train(rows=slice(None), dtype: ms.Type = ms.bfloat16, held: ms.Type = ms.float32, size=1,
          auto=lambda net: net, compiled=False):
    """Four steps of gradient descent: the size of a gradient counts, as it wouldn't in Adam."""
    net = auto(nn.WithLossCell(Net(dtype, held, size), nn.CrossEntropyLoss()))
    weights = net.trainable_params()
    step = nn.TrainOneStepCell(net, nn.SGD(weights, 0.3))
    call = ms.jit(step) if compiled else step
    losses = [float(call(*batch(number, rows))) for number in range(4)]
    assert not compiled or call.report()["replays"] > 0
    return losses, [p.asnumpy().astype(np.float32).tolist() for p in weights]


def full_batch(level=None):
    def auto(net):
        found = AutoParallel(net)
        found.dataset_strategy("full_batch")
        if level:
            found.hsdp(threshold=0, optimizer_level=level)
        return found
    return auto


def main():
    communication.init()
    rank, size = communication.get_rank(), communication.get_group_size()
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=FutureWarning)
    rows = slice(16 // size * rank, 16 // size * (rank + 1))
    ways = {"tensor": dict(size=size, auto=full_batch()),
            "level1": dict(auto=full_batch("level1")), "level3": dict(auto=full_batch("level3")),
            "both": dict(size=size, auto=full_batch("level1")),
            "data": dict(rows=rows, auto=AutoParallel)}
    found = {}
    for name, given in ways.items():
        for held, compiled in CASES:
            found[f"{name} {held} {compiled}"] = train(held=held, compiled=compiled, **given)
    communication.release()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
