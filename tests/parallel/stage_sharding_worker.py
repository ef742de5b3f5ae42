"""The program that each process runs in test_stage_sharding.py: strategies inside of stages."""

import json
import sys

import lamella as ms
from lamella import communication, nn, ops
from lamella.parallel import Layout
from lamella.parallel.auto_parallel import AutoParallel
from tests.parallel.interleave_worker import schedule
from tests.parallel.pipeline_worker import (
    IN_PARTS,
    batch,
    functional,
    refuse_warnings,
    rows_of,
    weight,
)
from tests.worlds import error_of

STEPS = 3


class Block(nn.Cell):
    """Two products, of which each process computes a part, and a normalization.

    Attributes:
        held: the shape of what this process computes of the first product.
    """

    held = None

    def __init__(self, seed, way=None):
        super().__init__()
        self.up = ms.Parameter(weight(seed, 4, 8), name="up")
        self.down = ms.Parameter(weight(seed + 1, 8, 4), name="down")
        self.norm = nn.LayerNorm((4,))
        self.first, self.second = ops.MatMul(), ops.MatMul()
        if way == "tuples":
            self.first.shard(((1, 1), (1, 2)))
            self.second.shard(((1, 2), (2, 1)))
        elif way == "layouts":
            layout = Layout((2, 1), ("dp", "mp"))
            self.first.shard((layout("dp", "None"), layout("None", "mp")))
            self.second.shard((layout("dp", "mp"), layout("mp", "None")))

    def construct(self, x):
        hidden = self.first(x, self.up)
        if hasattr(hidden._raw, "to_local"):
            self.held = list(hidden._raw.to_local().shape)
        return self.norm(x + self.second(ops.tanh(hidden), self.down))


class Net(nn.Cell):
    """Four blocks, of which the first's result is used last."""

    def __init__(self, stages=1, way=None, interleaved=False):
        super().__init__()
        self.blocks = nn.CellList([Block(2 * i, way) for i in range(4)])
        self.last = nn.Dense(4, 3, weight_init=weight(9, 3, 4), bias_init="zeros")
        if way == "cells":
            self.last.shard(((2, 1),), ((1, 1),))
        for i, block in enumerate(self.blocks):
            block.pipeline_stage = i % stages if interleaved else i * stages // 4

    def construct(self, x):
        first = x = self.blocks[0](x)
        for block in self.blocks[1:]:
            x = block(x)
        return self.last(x * 2 + first)


def train(kind, rows=slice(None), stages=1, way=None, interleaved=False, auto=False):
    """The losses of some steps, all Parameters after them, the least part of one that is held
    here, and the shapes of the products that were computed here."""
    net = Net(stages, way, interleaved)
    network = nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), 4)
    weights = network.trainable_params()
    optimizer = nn.Adam(weights, 0.02) if kind == "Adam" else nn.Momentum(weights, 0.01, 0.9)
    step = nn.TrainOneStepCell(network, optimizer)
    if auto:
        step = AutoParallel(functional(network, optimizer, True))
        step.pipeline(stages)
        step.dataset_strategy("full_batch")
    losses = [float(step(*batch(number, rows))) for number in range(STEPS)]
    least = min(p._data.numel() / p.size for p in weights if not p._data.is_meta)
    return (losses, [p.asnumpy().tolist() for p in weights], least,
            [block.held for block in net.blocks])


def fault(stages):
    """What each process raises where the batch can't be cut in one of them, and a loss after it."""
    network = nn.PipelineCell(nn.WithLossCell(Net(stages, "tuples"), nn.MSELoss()), 4)
    rows = rows_of(stages)
    wrong = slice(3) if communication.get_rank() == 1 else rows
    return error_of(network, *batch(0, wrong)), float(network(*batch(0, rows)))


def run(stages, asked):
    """The cases that are asked for of one process, as one of a number of stages."""
    rows, found = rows_of(stages), {}

    def add(name, *way):
        if name in asked:
            found[name] = train(name.split()[0], rows, stages, *way)

    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", pipeline_stages=stages)
    add("Adam tuples", "tuples")
    add("Momentum layouts", "layouts")
    add("Momentum cells", "cells")
    add("Adam rows")
    schedule("zero_bubble_v", interleave=True)
    add("Adam split", "tuples")
    schedule("1f1b", interleave=True)
    add("Momentum interleaved", "tuples", True)
    schedule("1f1b", interleave=False, **IN_PARTS)
    add("Adam parts", "tuples")
    ms.set_auto_parallel_context(enable_parallel_optimizer=False)
    found["fault"] = fault(stages)
    ms.reset_auto_parallel_context()
    found["clipped AutoParallel"] = train("Adam", slice(None), stages, "tuples", auto=True)
    return found


def main():
    communication.init()
    refuse_warnings()
    print(json.dumps(run(2, json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
