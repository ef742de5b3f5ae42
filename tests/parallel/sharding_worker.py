"""The program that each process runs in test_sharding.py: operators sharded over processes."""

import json
import os
import sys
import warnings

import numpy as np

import lamella as ms
from lamella import Tensor, communication, nn, ops
from lamella.parallel import Layout, shard
from lamella.parallel.auto_parallel import AutoParallel
from lamella.train.sharded import load_sharded, save_sharded
from tests.worlds import communicator_threads, error_of


def parameter(seed, *shape):
    return ms.Parameter(Tensor(np.random.default_rng(seed).normal(size=shape) * 0.4, ms.float32))


class Net(nn.Cell):
    """Attention, a normalization and two products, which strategies cut."""

    def __init__(self, size=1, way=None):
        super().__init__()
        self.table = nn.Embedding(12, 8, embedding_table=parameter(0, 12, 8))
        self.query, self.up = parameter(1, 8, 8), parameter(2, 8, 16)
        self.down = parameter(3, 16, 4)
        self.norm = nn.LayerNorm((8,))
        self.last = nn.Dense(4, 4, weight_init=parameter(4, 4, 4), bias_init="zeros")
        self.first, self.second, self.act = ops.MatMul(), ops.MatMul(transpose_a=False), ops.ReLU()
        if way == "tuples":
            self.first.shard(((1, 1), (1, size)))
            self.act.shard(((1, size),))
            self.second.shard(((1, size), (size, 1)), ((1, 1),))
        elif way == "layouts":
            layout = Layout((size // 2, 2), ("dp", "mp"))
            self.first.shard((layout("dp", "None"), layout("None", "mp")))
            self.second.shard((layout("dp", "mp"), layout("mp", "None")))
        elif way == "cells":
            self.last.shard(((size, 1),), ((1, 1),), {"self.weight": (2, 1)})

    def construct(self, words):
        x = self.norm(self.table(words))
        scores = ops.softmax(ops.matmul(ops.matmul(x, self.query), x.swapaxes(1, 2)))
        x = ops.matmul(scores, x).mean(1)
        x = self.act(self.first(x, self.up))
        return self.last(self.second(x, self.down))


def batch(number, rows=slice(None)):
    rng = np.random.default_rng(number)
    return (Tensor(rng.integers(0, 12, (8, 5))[rows], ms.int32),
            Tensor(rng.integers(0, 4, 8)[rows], ms.int32))


def by_function(net, optimizer):
    """A step as a function; only the settings say that processes share the work."""
    gradients_of = ms.value_and_grad(lambda *xs: net(*xs), None, optimizer.parameters)

    def step(*inputs):
        loss, gradients = gradients_of(*inputs)
        optimizer(gradients)
        return loss

    return step


def train(kind, rows, size=1, way=None, compiled=False, auto=None, functional=False, outer=None):
    net = nn.WithLossCell(Net(size, way), nn.CrossEntropyLoss())
    if auto is not None:
        net = auto(net)
    weights = net.trainable_params()
    optimizer = nn.Adam(weights, 0.02) if kind == "Adam" else nn.Momentum(weights, 0.1, 0.9)
    step = by_function(net, optimizer) if functional else nn.TrainOneStepCell(net, optimizer)
    step = step if outer is None else outer(step)
    call = ms.jit(step) if compiled else step
    losses = [call(*batch(number, rows)).asnumpy().tolist() for number in range(4)]
    assert not compiled or call.report()["replays"] > 0
    return losses, [p.asnumpy().tolist() for p in weights]


def whole_step(rows, size):
    """Training by a step with its gradient call in it."""
    net = nn.WithLossCell(Net(size, "tuples"), nn.CrossEntropyLoss())
    weights = net.trainable_params()
    step = AutoParallel(ms.jit(by_function(net, nn.Adam(weights, 0.02))))
    losses = [step(*batch(number, rows)).asnumpy().tolist() for number in range(4)]
    return losses, [p.asnumpy().tolist() for p in weights]


def cut_weights(level):
    def auto(net):
        found = AutoParallel(net)
        found.dataset_strategy("full_batch")
        found.hsdp(threshold=0, optimizer_level=level)
        assert any(p._data.numel() < p.size for p in net.trainable_params())
        return found
    return auto


def refused(size, rows):
    """Strategies that are wrong, each with the error's message."""
    x, y = ops.ones((6, 8)), ops.ones((8, 6))
    with_gradient = AutoParallel(lambda x: ms.grad(lambda y: (y * y).sum())(x))
    return {
        "uneven": error_of(shard(ops.matmul, ((1, 1), (1, 4))), x, ops.ones((8, 6))),
        "too many": error_of(shard(ops.matmul, ((16, 1), (1, 1))), ops.ones((16, 8)), y),
        "length": error_of(shard(ops.matmul, ((1,), (1, 1))), x, y),
        "world": error_of(shard(ops.relu, (Layout((1,), ("a",))("a", "None"),)), x),
        "gradient inside": error_of(with_gradient, x),
        "plan": error_of(nn.Dense(2, 2).shard, ((1, 1),), None, {"bogus": (1, 1)}),
        "strategies": error_of(shard(ops.relu, ((1, 1), (1, 1))), x)}


class Layers(nn.Cell):
    """Layers whose inner operators are cut by strategies."""

    def __init__(self, size=0):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, has_bias=True, bias_init="ones",
                              weight_init=parameter(0, 4, 2, 3, 3))
        self.dense = nn.Dense(4, 8, weight_init=parameter(1, 8, 4), bias_init="ones",
                              activation="relu")
        self.norm = nn.LayerNorm((8,))
        self.shapes = []
        if size:
            self.conv.conv2d.shard(((size, 1, 1, 1), (1, 1, 1, 1)))
            self.dense.matmul.shard(((1, 1), (size, 1)))
            self.dense.bias_add.shard(((1, size), (size,)))
            self.norm.layer_norm.shard(((size, 1, 1), (1,), (1,)))

    def construct(self, x):
        pictures = self.conv(x)
        out = self.dense(pictures.transpose(0, 2, 3, 1).mean(2))
        found = self.norm(out)
        self.shapes = [list(getattr(each._raw, "_local_tensor", each._raw).shape)
                       for each in (pictures, out, found)]
        return found ** 2 * ops.arange(8)


def layers(size):
    """The gradients of layers in one process and in all, and what each process computes."""
    x = parameter(3, 4, 2, 5, 5).value()
    auto = [AutoParallel(nn.WithLossCell(net, lambda out, _: out.sum()))
            for net in (Layers(), Layers(size))]
    found = []
    for net in auto:
        net.dataset_strategy("full_batch")
        gradients = ms.grad(net, None, net.trainable_params())(x, x)
        found.append([each.asnumpy().tolist() for each in gradients])
    return found, auto[1].network.backbone_network.shapes


def means(size, rows):
    """The gradients of losses that are means, in one process and in all."""
    rng = np.random.default_rng(5)
    x, y = rng.uniform(0.1, 0.9, (8, 4)), np.where(rng.random((8, 4)) > 0.5, 1, -1)
    found = {}
    for loss in (nn.MSELoss(), nn.SmoothL1Loss(reduction="mean"), nn.HuberLoss(delta=0.5),
                 nn.SoftMarginLoss(), nn.RMSELoss(), nn.L1Loss(), nn.BCEWithLogitsLoss()):
        net = nn.Dense(4, 4, weight_init=parameter(4, 4, 4), bias_init="zeros")
        net = nn.WithLossCell(net, loss)
        found[type(loss).__name__] = [
            [each.asnumpy().tolist() for each in ms.grad(call, None, net.trainable_params())(
                Tensor(x[part], ms.float32), Tensor(y[part], ms.float32))]
            for call, part in ((net, slice(None)), (AutoParallel(net), rows))]
    return found


def held(size):
    """The shapes of what each process holds of a network's values."""
    first, second = ops.MatMul().shard(((1, 1), (1, size))), ops.MatMul().shard(
        ((1, size), (size, 1)))
    shapes = []

    def network(x, up, down):
        middle = first(x, up)
        out = second(middle, down)
        shapes.extend(list(each._raw.to_local().shape) for each in (x, middle, out))
        return out

    auto = AutoParallel(network)
    auto.dataset_strategy("full_batch")
    out = auto(ops.ones((2, 4)), ops.ones((4, 8)), ops.ones((8, 4)))
    return [*shapes, list(out.shape), float(out.sum())]


def one_hot(size):
    """What each process holds of a result whose own strategy its operator was given, and all."""
    shapes = []

    def network(numbers):
        for axis, strategy in ((-1, (1, size)), (-1, (size, 1)), (0, (size, 1)), (-1, (1,))):
            operator = ops.OneHot(axis).shard((strategy, (), ()))
            out = operator(numbers, 8, Tensor(1.0), Tensor(0.0))
            shapes.append(list(out._raw.to_local().shape))
            results.append(out)
        return sum((out * ops.arange(8)).sum() for out in results)

    results = []
    auto = AutoParallel(network)
    auto.dataset_strategy("full_batch")
    return float(auto(Tensor([3, 1, 4, 1, 5, 2, 6, 7], ms.int32))), shapes


class Chosen(nn.Cell):
    """For each row the sum over columns that a mask picks, with a rule of the program's: written
    for MindSpore's processes, it multiplies by the number of those that hold the row's gradient."""

    def __init__(self, size, cut):
        super().__init__()
        self.factor = size if cut else 1
        self.sum, self.mul = ops.ReduceSum(), ops.Mul()
        if cut:
            self.sum.shard(((1, size),))
            self.mul.shard(((1, size), (1, size)))

    def construct(self, x, mask):
        return self.sum(self.mul(x, mask), -1)

    def bprop(self, x, mask, out, dout):
        return mask * dout.expand_dims(-1) * self.factor, ops.zeros_like(mask)


class Rooted(nn.Cell):
    """The root, with a rule: of a value that each process holds, or a part of."""

    def __init__(self, strategy=None):
        super().__init__()
        self.sqrt = ops.Sqrt()
        if strategy is not None:
            self.sqrt.shard((strategy,))

    def construct(self, x):
        return self.sqrt(x)

    def bprop(self, x, out, dout):
        return (dout / (2 * out),)


def rules(size):
    """Gradients of networks with rules of their own, in one process and in all."""
    rng = np.random.default_rng(8)
    x, mask = Tensor(rng.uniform(1, 2, (3, 8)), ms.float32), Tensor(rng.random((3, 8)) > 0.5,
                                                                    ms.float32)

    def losses(cut):
        chosen, laid = Chosen(size, cut), ops.Mul()  # it lays the rule's input out before the Cell
        if cut:
            laid.shard(((1, size), (1, size)))
        cells = [Rooted(s if cut else None) for s in ((1, size), (1, 1), None)]
        return [lambda x: (chosen(laid(x, x), mask) ** 2).sum(),
                *[lambda x, cell=cell: (cell(x) ** 3).sum() for cell in cells],
                lambda x: (chosen(laid(x, cells[0](x)), mask) * cells[1](x).sum(1)).sum()]

    found = []
    for whole, spread in zip(losses(False), losses(True), strict=True):
        auto = AutoParallel(spread)
        auto.dataset_strategy("full_batch")
        found.append([ms.grad(call)(x).asnumpy().tolist() for call in (whole, auto)])
    return found


def optimizer_of(kind, weights):
    return {"Adam": lambda: nn.Adam(weights, 0.02), "ASGD": lambda: nn.ASGD(weights),
            "Lamb": lambda: nn.Lamb(weights, 0.02),
            "LARS": lambda: nn.LARS(nn.Momentum(weights, 0.1, 0.9))}[kind]()


def clipped(kind, size=1, compiled=False):
    """A loop of one's own, whose Parameters strategies cut in its first step."""
    net = AutoParallel(nn.WithLossCell(Net(size, "tuples"), nn.CrossEntropyLoss()))
    net.dataset_strategy("full_batch")
    optimizer = optimizer_of(kind, net.trainable_params())
    gradient = ms.value_and_grad(net, None, net.trainable_params())

    def step(*inputs):
        loss, gradients = gradient(*inputs)
        optimizer(ops.clip_by_global_norm(gradients, 0.05))
        return loss

    call = ms.jit(step) if compiled else step
    for number in range(4):
        call(*batch(number))
    assert not compiled or call.report()["replays"] > 0
    return net, optimizer


def values(*cells):
    return {p.name: p.asnumpy().tolist() for cell in cells for p in cell.get_parameters()}


def slices(size, folder):
    """The slices of Parameters that each process holds, and what reads and checkpoints give."""
    net, optimizer = clipped("Adam", size)
    up = net.trainable_params()[1]
    found = {"held": {p.name: list(p._data.shape) for cell in (net, optimizer)
                      for p in cell.get_parameters()},
             "printed": str(up), "rows": up[1].asnumpy().tolist(), "Adam": values(net, optimizer)}
    for kind in ("ASGD", "Lamb", "LARS"):
        found[kind] = values(*clipped(kind, size))
    found["Adam compiled"] = values(*clipped("Adam", size, compiled=True))
    both = nn.TrainOneStepCell(net, optimizer)
    path = f"{folder}/{communication.get_rank()}.ckpt"
    ms.save_checkpoint(both, path)
    found["saved"] = {name: p.asnumpy().tolist() for name, p in ms.load_checkpoint(path).items()}
    os.makedirs(f"{folder}/slices/rank_{communication.get_rank()}")
    net.save_param_strategy_file(f"{folder}/strategy.ckpt")
    ms.save_checkpoint(both, f"{folder}/slices/rank_{communication.get_rank()}/w.ckpt",
                       integrated_save=False)
    save_sharded(f"{folder}/sharded", both)
    other = nn.TrainOneStepCell(*clipped("Adam", size))
    for parameter in other.get_parameters():
        parameter.set_data(ops.zeros_like(parameter.value()))
    load_sharded(f"{folder}/sharded", other)
    found["loaded"] = values(other)
    return found


# trainings whose processes are given whole batches, or their rows, and those by AutoParallel
FULL_BATCH = {
    "Adam None": {}, "Adam tuples": {"way": "tuples"}, "Momentum layouts": {"way": "layouts"},
    "Adam cells": {"way": "cells"}, "Adam tuples compiled": {"way": "tuples", "compiled": True}}
ROWS = {
    "Adam rows": {}, "Momentum rows compiled": {"way": "layouts", "compiled": True},
    "Adam function": {"way": "tuples", "functional": True},
    "Momentum function compiled": {"way": "layouts", "compiled": True, "functional": True}}
AUTO_ROWS = {
    "Momentum step": {"way": "tuples", "outer": AutoParallel},
    "Adam AutoParallel": {"way": "tuples", "auto": AutoParallel}}
AUTO = {
    "Adam level1": {"way": "tuples", "auto": cut_weights("level1")},
    "Adam level3": {"way": "tuples", "auto": cut_weights("level3")},
    "Momentum level3 compiled": {"auto": cut_weights("level3"), "compiled": True}}
CASES = [*FULL_BATCH, *ROWS, "Adam whole step", *AUTO_ROWS, *AUTO]


def trainings(cases, asked, rows, size):
    """The results of those of some cases that are asked for."""
    return {name: train(name.split()[0], rows, size, **options)
            for name, options in cases.items() if name in asked}


def main(folder, asked):
    communication.init()
    rank, size = communication.get_rank(), communication.get_group_size()
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=FutureWarning)
    mine = slice(8 // size * rank, 8 // size * (rank + 1))
    found = {}
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch")
    found.update(trainings(FULL_BATCH, asked, slice(None), size))
    ms.set_auto_parallel_context(dataset_strategy="data_parallel")
    found.update(trainings(ROWS, asked, mine, size))
    found["refused"] = refused(size, mine)
    a, b = batch(0)[0].astype(ms.float32), parameter(5, 5, 4).value()
    product = shard(ops.matmul, ((2, 1), (1, 2)), ((1, 2),))
    found["product"] = [product(a, b).asnumpy().tolist(),
                        ms.grad(lambda a: (product(a, b) ** 2).sum())(a).asnumpy().tolist()]
    large = ops.ones((512, 512))  # large enough for another matrix product kernel
    found["large"] = float((shard(ops.matmul, ((2, 1), (1, 1)))(large, large)).sum())
    ms.reset_auto_parallel_context()
    found["held"] = held(size)
    found["one hot"] = one_hot(size)
    found["rules"] = rules(size)
    found["layers"] = layers(size)
    found["means"] = means(size, mine)
    found["ignored"] = train("Adam", slice(None), size, "tuples")
    found["Adam whole step"] = whole_step(mine, size)
    found.update(trainings(AUTO_ROWS, asked, mine, size))
    found.update(trainings(AUTO, asked, slice(None), size))
    found["slices"] = slices(size, folder)
    communication.release()
    found["threads"] = communicator_threads()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
