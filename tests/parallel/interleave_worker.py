"""The program that each process runs in test_interleave.py: stages with several chunks."""

import json
import sys

import lamella as ms
from lamella import communication, nn, ops
from lamella.parallel.auto_parallel import AutoParallel
from tests.parallel.pipeline_worker import (
    IN_PARTS,
    SCALE,
    Chain,
    Faulty,
    batch,
    functional,
    optimizer_of,
    refuse_warnings,
    rows_of,
    scaling,
    weight,
)
from tests.worlds import error_of

DEPTH, PARTS, STEPS = 8, 4, 3


class Deep(nn.Cell):
    """Eight layers, of which two far apart share a weight, and the first's result is used last."""

    def __init__(self, stages=1, way="loop"):
        super().__init__()
        self.blocks = nn.CellList([
            nn.Dense(4, 4, weight_init=weight(i, 4, 4), bias_init="zeros", activation="tanh")
            for i in range(DEPTH)])
        self.blocks[6].weight = self.blocks[1].weight
        self.last = nn.Dense(4, 3, weight_init=weight(9, 3, 4), bias_init="zeros")
        for i, block in enumerate(self.blocks):
            chunk = i * 2 * stages // DEPTH
            block.pipeline_stage = chunk % stages
            if way == "v" and chunk >= stages:
                block.pipeline_stage = 2 * stages - 1 - chunk
            if way == "v":
                block.pipeline_segment = chunk // stages

    def construct(self, x):
        first = x = self.blocks[0](x)
        for block in self.blocks[1:]:
            x = block(x)
        return self.last(x + 0.5 * first)


class Narrow(nn.Cell):
    """A loss in float16, whose gradients are zero there unless the loss is scaled."""

    def __init__(self, net):
        super().__init__()
        self.net, self.loss = net.to_float(ms.float16), nn.MSELoss()

    def construct(self, x, y):
        return self.loss(self.net(x), ops.cast(y, ms.float16)) * 2e-6


def train(kind, rows=slice(None), stages=1, way="loop", how="cell"):
    """The losses of some steps, all Parameters after them, and the names of those held here."""
    net = Deep(stages, way)
    for block in net.blocks if how == "recomputed" else ():
        block.recompute()
    for block in net.blocks if how == "compiled" else ():
        block.construct = ms.jit(block.construct)
    network = nn.PipelineCell(Narrow(net) if how in ("narrow", "later") else
                              nn.WithLossCell(net, nn.MSELoss()), PARTS)
    weights = network.trainable_params()
    optimizer = optimizer_of(kind, weights)
    if how == "AutoParallel":
        step = AutoParallel(functional(network, optimizer, True))
        step.pipeline(stages, interleave=True,
                      scheduler="zero_bubble_v" if way == "v" else "1f1b")
    elif how == "later":
        step = scaling(network, optimizer)
    elif how == "narrow":
        step = nn.TrainOneStepWithLossScaleCell(network, optimizer, ms.Tensor(SCALE))
    else:
        step = nn.TrainOneStepCell(network, optimizer)
    losses = []
    for number in range(STEPS):
        found = step(*batch(number, rows))
        losses.append(float(found[0] if how == "narrow" else found))
    held = [p.name for p in weights if not p._data.is_meta]
    return losses, [p.asnumpy().tolist() for p in weights], held


def schedule(scheduler, interleave=True, **options):
    """Set in which order stages run the parts of a batch."""
    ms.set_auto_parallel_context(pipeline_config={
        "pipeline_interleave": interleave, "pipeline_scheduler": scheduler}, **options)


def fault(stages, way):
    """What each process raises when a Cell's rule does in a backward pass, and a loss after it."""
    net = Deep(stages, way)
    net.blocks[2] = nn.SequentialCell(Faulty(communication.get_group_size() - 1, -1), nn.Tanh())
    net.blocks[2].pipeline_stage = stages - 1
    network = nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), PARTS)
    rows = rows_of(stages)
    step = nn.TrainOneStepCell(network, optimizer_of("Momentum", network.trainable_params()))
    told = error_of(step, *batch(0, rows))
    whole = nn.PipelineCell(nn.WithLossCell(Deep(stages, way), nn.MSELoss()), PARTS)
    return told, float(whole(*batch(0, rows)))


def refused(stages):
    """Settings and networks that there is no order for, each with the error's message."""
    x, found = ops.ones((20, 4)), {}
    schedule("1f1b")
    found["parts"] = error_of(nn.PipelineCell(Chain(*range(stages), 0), 2 * stages + 1),
                              ops.ones((2 * stages + 1, 4)))
    schedule("zero_bubble_v")
    found["back"] = error_of(nn.PipelineCell(Chain(0, 1, 0, 1), 2), x)
    wrong = Chain(0, 1)
    wrong.cells_in_order[1].pipeline_segment = 2
    found["segment"] = error_of(nn.PipelineCell(wrong, 2), x)
    for scheduler in ("seqpipe", "seqvpp", "seqsmartvpp"):
        schedule(scheduler)
        found[scheduler] = error_of(nn.PipelineCell(Chain(0, 1, 0, 1), 2), x)
    return found


def run(stages, asked):
    """The cases that are asked for of one process, as one of a number of stages."""
    rows, found = rows_of(stages), {}
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", pipeline_stages=stages)
    for scheduler, way, kind in (("1f1b", "loop", "Adam"), ("gpipe", "loop", "Momentum"),
                                 ("zero_bubble_v", "v", "Adam")):
        schedule(scheduler)
        if (name := f"{scheduler} {kind}") in asked:
            found[name] = train(kind, rows, stages, way)
    for name, how in (("narrow", "narrow"), ("later", "later"), ("recomputed Adam", "recomputed"),
                      ("compiled Adam", "compiled")):
        if name in asked:
            found[name] = train("Adam", rows, stages, "v", how)
    found["fault"] = fault(stages, "v")
    if "parts Adam" in asked:
        schedule("zero_bubble_v", **IN_PARTS)
        found["parts Adam"] = train("Adam", rows, stages, "v")
        ms.set_auto_parallel_context(enable_parallel_optimizer=False)
    found["refused"] = refused(stages)
    ms.reset_auto_parallel_context()
    for way in ("loop", "v"):
        if (name := f"AutoParallel {way}") in asked:
            found[name] = train("Adam", rows, stages, way, "AutoParallel")
    return found


def main():
    communication.init()
    refuse_warnings()
    asked = json.loads(sys.argv[1])
    print(json.dumps({stages: run(int(stages), asked[stages]) for stages in ("4", "2")}))


if __name__ == "__main__":
    main()
