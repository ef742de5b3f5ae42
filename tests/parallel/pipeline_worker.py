"""The program that each process runs in test_pipeline.py, as one stage of a pipeline."""

import contextlib
import io
import json
import os
import signal
import sys
import warnings

import numpy as np

import lamella as ms
from lamella import Tensor, communication, nn, ops
from lamella.parallel.auto_parallel import AutoParallel
from lamella.parallel.nn import Pipeline, PipelineGradReducer
from lamella.train.sharded import load_sharded, save_sharded
from tests.worlds import error_of

IN_PARTS = {"enable_parallel_optimizer": True,
            "parallel_optimizer_config": {"parallel_optimizer_threshold": 0}}
ROWS, STEPS, SCALE = 16, 4, 32768.0


def weight(seed, *shape):
    return Tensor(np.random.default_rng(seed).normal(size=shape) * 0.4, ms.float32)


class Block(nn.Cell):
    """A layer that also tells which of its results are above zero."""

    def __init__(self, seed, width, out):
        super().__init__()
        self.dense = nn.Dense(width, out, weight_init=weight(seed, out, width), bias_init="zeros")
        self.count = ms.Parameter(Tensor(0, ms.int32), name="count", requires_grad=False)

    def construct(self, x):
        self.count += 1
        y = ops.tanh(self.dense(x))
        return y, y > 0


class Net(nn.Cell):
    """Four blocks; some results are used by a later stage than the next one."""

    def __init__(self, stages=1):
        super().__init__()
        self.blocks = nn.CellList([Block(i, 4 if not i else 8, 8) for i in range(4)])
        self.last = nn.Dense(8, 3, weight_init=weight(9, 3, 8), bias_init="zeros")
        for i, block in enumerate(self.blocks):
            block.pipeline_stage = i * stages // 4

    def construct(self, x):
        first, positive = self.blocks[0](x * 2)
        x = first + 0.5
        for block in self.blocks[1:]:
            x, _ = block(ops.reshape(x, (-1, 8)))
        return self.last(ops.where(positive, x, 0.1 * x) + first)


class Tied(nn.Cell):
    """A network whose first and last Cells share one Parameter, like tied word embeddings."""

    def __init__(self, stages=1):
        super().__init__()
        self.first = nn.Dense(8, 4, weight_init=weight(1, 4, 8), has_bias=False)
        self.inner = nn.CellList([nn.Dense(4, 4, weight_init=weight(i + 2, 4, 4),
                                           bias_init="zeros", activation="tanh") for i in range(4)])
        self.last = nn.Dense(4, 3, weight_init=weight(9, 3, 4), bias_init="zeros")
        for i, cell in enumerate(self.inner):
            cell.pipeline_stage = i * stages // 4
        self.inner[1].weight = self.inner[3].weight  # of two middle Cells
        self.first.pipeline_stage, self.last.pipeline_stage = 0, stages - 1

    def construct(self, x):
        x = self.first(ops.concat([x, x * x], 1))
        for cell in self.inner:
            x = cell(x)
        # the first Cell's weight is used again, outside of that Cell
        return self.last(x) + ops.matmul(x, self.first.weight)[:, :3]


class Narrow(nn.Cell):
    """A loss in float16, whose gradients are zero there unless the loss is scaled."""

    def __init__(self, stages=1):
        super().__init__()
        self.net, self.loss = Net(stages).to_float(ms.float16), nn.MSELoss()

    def construct(self, x, y):
        return self.loss(self.net(x), ops.cast(y, ms.float16)) * 2e-6


def batch(number, rows=slice(None)):
    rng = np.random.default_rng(number)
    return (Tensor(rng.normal(size=(ROWS, 4))[rows], ms.float32),
            Tensor(rng.normal(size=(ROWS, 3))[rows], ms.float32))


def loss_of(stages=1, parts=4, net=None):
    return Pipeline(nn.WithLossCell(net or Net(stages), nn.MSELoss()), parts)


def optimizer_of(kind, weights):
    return nn.Adam(weights, 0.02) if kind == "Adam" else nn.Momentum(weights, 0.1, 0.9)


def with_compiled_cells(net):
    for block in net.blocks:
        block.construct = ms.jit(block.construct)
    return net


def trained(stages, rows, steps, folder=None):
    """A step after some steps, begun from a checkpoint if there is one; and its losses."""
    network = loss_of(stages, net=Tied(stages))
    step = nn.TrainOneStepCell(network, optimizer_of("Adam", network.trainable_params()))
    if folder is not None:
        load_sharded(folder, step)
    return step, [float(step(*batch(number, rows))) for number in steps]


def functional(network, optimizer, clip):
    """A step as MindSpore's tutorials write it."""
    gradients_of = ms.value_and_grad(lambda *xs: network(*xs), None, optimizer.parameters)
    reducer = PipelineGradReducer(optimizer.parameters)

    @ms.jit
    def step(*inputs):
        loss, gradients = gradients_of(*inputs)
        gradients = reducer(gradients)
        if clip:
            gradients = ops.clip_by_global_norm(gradients, 0.5)
        optimizer(gradients)
        return loss

    return step


def scaling(network, optimizer):
    """A step that scales its loss itself."""
    def scaled(*inputs):
        loss = network(*inputs)
        return loss * SCALE, loss

    gradients_of = ms.value_and_grad(scaled, None, optimizer.parameters, has_aux=True)

    def step(*inputs):
        (_, loss), gradients = gradients_of(*inputs)
        optimizer([gradient / SCALE for gradient in gradients])
        return loss

    return step


def train(kind, rows=slice(None), stages=1, way=None):
    if way in ("narrow", "narrow later"):
        network = Pipeline(Narrow(stages), 4)
    else:
        network = loss_of(stages, net=Tied(stages) if way == "tied" else
                          with_compiled_cells(Net(stages)) if way == "cells" else None)
    weights = network.trainable_params()
    optimizer = optimizer_of(kind, weights)
    if way in ("clipped", "tied", "AutoParallel"):
        step = functional(network, optimizer, way != "AutoParallel")
        if way == "AutoParallel":
            step = AutoParallel(step)
            step.pipeline(stages)
    elif way == "narrow later":
        step = scaling(network, optimizer)
    elif way in ("scaled", "narrow"):
        scale = Tensor(1024.0 if way == "scaled" else SCALE)
        step = nn.TrainOneStepWithLossScaleCell(network, optimizer, scale)
    else:
        step = nn.TrainOneStepCell(network, optimizer)
    call = ms.jit(step) if way == "compiled" else step
    losses = []
    for number in range(STEPS):
        found = call(*batch(number, rows))
        losses.append(float(found[0] if isinstance(found, tuple) else found))
    states = optimizer.moment2 if kind == "Adam" else optimizer.moments
    held = [[p.name for p in weights if not p._data.is_meta],
            [s.name.split(".", 1)[1] for s in states if not s._data.is_meta],
            {p.name: p.size // p._data.numel() for p in [*weights, *states]
             if not p._data.is_meta}]
    return losses, [p.asnumpy().tolist() for p in network.get_parameters()], held


class Faulty(nn.Cell):
    """Raises on one process: at a call, or for the gradient of one."""

    def __init__(self, where, at):
        super().__init__()
        self.active = communication.get_rank() == where
        self.at, self.calls = at, 0

    def construct(self, x):
        self.calls += 1
        if self.active and self.calls == self.at:
            raise KeyError(f"call {self.at}")
        if self.active and self.at < 0:
            return ops.InsertGradientOf(self.refuse)(x)
        return x

    def refuse(self, gradient):
        raise KeyError("the gradient")


class Printing(nn.Cell):
    """Prints in a Cell of the first stage, in one of the last, and between them."""

    def __init__(self, stages):
        super().__init__()
        self.first, self.last = _Told("first"), _Told("last")
        self.first.pipeline_stage, self.last.pipeline_stage = 0, stages - 1

    def construct(self, x):
        x = self.first(x)
        ops.print_("between", x)
        return self.last(x).sum()


class _Told(nn.Cell):
    def __init__(self, word):
        super().__init__()
        self.word, self.dense, self.print = word, nn.Dense(4, 4), ops.Print()

    def construct(self, x):
        x = self.dense(x)
        self.print(self.word, x)
        return x


def printed(stages):
    """What a process prints when it calls a network that was compiled before."""
    network, out = AutoParallel(Printing(stages)), io.StringIO()
    network.pipeline(stages)
    network.compile(ops.ones((2, 4)))
    with contextlib.redirect_stdout(out):
        network(ops.ones((2, 4)))
    return [word for word in ("first", "between", "last") if word in out.getvalue()]


def faults(stages, rows):
    """What each process raises when one of them does, and whether all can go on."""
    last = communication.get_group_size() - 1
    found = {}
    for name, where, at in (("plan", 0, 1), ("forward", 0, 3), ("backward", last, -1)):
        net = Net(stages)
        net.blocks[0].dense = nn.SequentialCell(Faulty(0 if where == 0 else -1, at),
                                                net.blocks[0].dense)
        net.last = nn.SequentialCell(Faulty(where if where else -1, at), net.last)
        step = nn.TrainOneStepCell(loss_of(stages, net=net),
                                   optimizer_of("Momentum", net.trainable_params()))
        found[name] = error_of(step, *batch(0, rows))
    fewer = slice(4) if communication.get_rank() == 1 else rows
    found["shapes"] = error_of(loss_of(stages), *batch(0, fewer))
    net = loss_of(stages)
    gradient = ms.value_and_grad(net, None, net.trainable_params())
    found["gradients"] = error_of(gradient if communication.get_rank() else net, *batch(0, rows))
    before = ms.get_auto_parallel_context("pipeline_scheduler")
    order = {"1f1b": "gpipe", "gpipe": "1f1b"}[before] if communication.get_rank() else before
    ms.set_auto_parallel_context(pipeline_config={"pipeline_scheduler": order})
    found["orders"] = error_of(gradient, *batch(0, rows))
    ms.set_auto_parallel_context(pipeline_config={"pipeline_scheduler": before})
    found["goes on"] = float(loss_of(stages)(*batch(0, rows)))
    return found


class Chain(nn.Cell):
    """Cells one after the other, of given stages."""

    def __init__(self, *stages, cells=None):
        super().__init__()
        self.cells_in_order = nn.CellList(cells or [nn.Dense(4, 4) for _ in stages])
        for cell, stage in zip(self.cells_in_order, stages, strict=True):
            if stage is not None:
                cell.pipeline_stage = stage

    def construct(self, x):
        for cell in self.cells_in_order:
            x = cell(x)
        return x.sum()


def refused(stages):
    """Networks that can't be cut into stages, each with the error's message."""
    x = ops.ones((4, 4))
    noisy = Chain(0, 0, 1, cells=[nn.Dense(4, 4), nn.Dense(4, 4), nn.Dense(4, 4)])
    noisy.construct = lambda x: _used_twice(noisy.cells_in_order, x)
    nested = Chain(0, 1)
    nested.pipeline_stage = 0
    inner = Chain(0, 1)
    found = {
        "assigned": error_of(nn.PipelineCell(Chain(0, 1, cells=_counters()), 2), x),
        "noisy": error_of(nn.PipelineCell(noisy, 2), x),
        "backward": error_of(nn.PipelineCell(Chain(1, 0), 2), x),
        "none": error_of(nn.PipelineCell(Chain(None, None), 2), x),
        "too large": error_of(nn.PipelineCell(Chain(0, stages), 2), x),
        "nested": error_of(nn.PipelineCell(nested, 2), x),
        "rows": error_of(nn.PipelineCell(Chain(0, 1), 3), x),
        "by inputs": error_of(ms.grad(nn.PipelineCell(inner, 2)), x),
        "tuple": error_of(nn.PipelineCell(_Pair(), 2), x),
        "nothing": error_of(AutoParallel(lambda x: x * 2), x)}
    for name, options in (("mode", {"parallel_mode": "data_parallel"}),
                          ("scheduler", {"pipeline_config": {"pipeline_scheduler": "seqpipe"}})):
        ms.reset_auto_parallel_context()
        ms.set_auto_parallel_context(**{"parallel_mode": "semi_auto_parallel",
                                        "pipeline_stages": stages, **options})
        found[name] = error_of(nn.PipelineCell(Chain(0, 1), 2), x)
    found["multiple"] = error_of(lambda: ms.set_auto_parallel_context(pipeline_stages=3))
    return found


def _counters():
    """Two Cells that count in one Parameter."""
    cells = [Block(0, 4, 4), Block(1, 4, 4)]
    cells[1].count = cells[0].count
    return [_First(cell) for cell in cells]


class _First(nn.Cell):
    """The first result of a Cell."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def construct(self, x):
        return self.cell(x)[0]


def _used_twice(cells, x):
    x = ops.dropout(cells[0](x), 0.5)
    return (cells[1](x) * cells[2](x)).sum()


class _Pair(Chain):
    def __init__(self):
        super().__init__(0, 1)

    def construct(self, x):
        return super().construct(x), x


PLAIN = (("Adam", None), ("Momentum", None), ("Adam", "clipped"), ("Momentum", "scaled"),
         ("Adam", "tied"), ("Adam", "cells"), ("Adam", "narrow"), ("Adam", "narrow later"))
CUT = (("Adam", "clipped"), ("Momentum", "scaled"), ("Adam", "tied"))  # with Parameters in parts


def run(stages, asked):
    """The cases that are asked for of one process, as one of a number of stages."""
    mine, found = rows_of(stages), {}
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", pipeline_stages=stages)
    for kind, way in PLAIN:
        if (name := f"{kind} {way}") in asked:
            found[name] = train(kind, mine, stages, way)
    ms.set_auto_parallel_context(**IN_PARTS)
    for kind, way in CUT:
        if (name := f"{kind} {way} parts") in asked:
            found[name] = train(kind, mine, stages, way)
    ms.set_auto_parallel_context(enable_parallel_optimizer=False)
    if "Momentum compiled" in asked:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found["Momentum compiled"] = train("Momentum", mine, stages, "compiled")
        found["reason"] = str(told[-1].message)
    if "Adam gpipe" in asked:
        ms.set_auto_parallel_context(pipeline_config={"pipeline_scheduler": "gpipe"})
        found["Adam gpipe"] = train("Adam", mine, stages)
        ms.set_auto_parallel_context(pipeline_config={"pipeline_scheduler": "1f1b"})
    found["faults"] = faults(stages, mine)
    ms.reset_auto_parallel_context()
    net = AutoParallel(nn.WithLossCell(Net(stages), nn.MSELoss()))
    net.pipeline(stages)
    found["evaluated"] = float(net(*batch(0, mine)))
    found["printed"] = printed(stages)
    if "Adam AutoParallel" in asked:
        found["Adam AutoParallel"] = train("Adam", mine, stages, "AutoParallel")
    return found


def trained_by(stages, steps, folder=None, **options):
    """`trained`, by so many stages of a world."""
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", pipeline_stages=stages,
                                 **options)
    try:
        return trained(stages, rows_of(stages), steps, folder)
    finally:
        ms.reset_auto_parallel_context()


def slices(folder):
    """Two stages of two processes each: broadcasts Parameters, and saves slices and strategies."""
    rank = communication.get_rank()
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", pipeline_stages=2,
                                 strategy_ckpt_save_file=f"{folder}/stages/{rank}.ckpt")
    step, _ = trained(2, rows_of(2), [0])
    held = [p for p in step.network.get_parameters() if not p._data.is_meta]
    for parameter in held:
        parameter._data.fill_(rank)
    first = rank // 2 * 2
    ms.parallel.parameter_broadcast(step.network, {}, rank, first)
    os.makedirs(f"{folder}/slices/rank_{rank}")
    ms.save_checkpoint(step.network, f"{folder}/slices/rank_{rank}/net.ckpt", False)
    found = {parameter.name: parameter._data.unique().tolist() for parameter in held}
    refused = error_of(ms.parallel.parameter_broadcast, step.network, {}, rank, first + 1)
    ms.reset_auto_parallel_context()
    return found, refused


def rows_of(stages):
    """The rows of a batch that this process is given."""
    width = communication.get_group_size() // stages
    part, place = ROWS // width, communication.get_rank() % width
    return slice(part * place, part * (place + 1))


class Lost(nn.Cell):
    """Ends its process at its fourth call."""

    calls = 0

    def construct(self, x):
        self.calls += 1
        if self.calls == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return x


def lose_a_process():
    """Print the error that the remaining process of two raises."""
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", pipeline_stages=2)
    network = Chain(0, 1, 1, cells=[
        nn.Dense(4, 4), nn.Dense(4, 4), Lost() if communication.get_rank() else nn.ReLU()])
    step = nn.TrainOneStepCell(nn.PipelineCell(network, 4), nn.SGD(network.trainable_params()))
    print(error_of(lambda: [step(ops.ones((4, 4))) for _ in range(3)]), flush=True)
    os._exit(0)  # an orderly end would wait for the process that is lost


def refuse_warnings():
    """Make errors of warnings, but of the one that says that stages run eagerly."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", message=".*runs the stages of a pipeline")


def main():
    communication.init()
    if sys.argv[1:] == ["lost"]:
        lose_a_process()
    refuse_warnings()
    if sys.argv[1:] == ["refused"]:
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", pipeline_stages=2)
        print(json.dumps(refused(2)))
        return
    folder, asked = sys.argv[1], json.loads(sys.argv[2])
    found = {stages: run(stages, asked[str(stages)]) for stages in (4, 2)}
    found["losses"] = {}
    # two stages of two load what four stages saved, then what they saved
    step, found["losses"]["4"] = trained_by(4, [0, 1])
    save_sharded(folder, step)
    step, found["losses"]["2"] = trained_by(2, [2, 3], folder, **IN_PARTS)
    load_sharded(folder, step)
    save_sharded(folder, step)
    found["slices"] = slices(folder)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
