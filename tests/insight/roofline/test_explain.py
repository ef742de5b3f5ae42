"""What `explain` reports of steps, and that it has no side effects."""

from __future__ import annotations

import functools
import json
import sys

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn, ops
from lamella.graph.tracing.symbolic import preparation
from lamella.insight.roofline.kernels import Record

explain = sys.modules[ms.explain.__module__]


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(16, 32)
        self.norm = nn.BatchNorm1d(32)
        self.drop = nn.Dropout(p=0.5)
        self.last = nn.Dense(32, 4)

    def construct(self, x):
        return self.last(self.drop(ops.relu(self.norm(self.first(x)))))


@pytest.fixture
def training():
    """A network and its step, which changes weights, moments, statistics and random numbers."""
    net = Net()
    net.set_train()
    optimizer = nn.Adam(net.trainable_params(), 0.1)
    gradient = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)

    def step(x):
        value, grads = gradient(x)
        optimizer(grads)
        return value

    return net, optimizer, step


def kept(*cells):
    return {(i, p.name): p.asnumpy().copy() for i, cell in enumerate(cells)
            for p in cell.get_parameters()}


def numbers(seed=0):
    return ms.Tensor(np.random.default_rng(seed).standard_normal((8, 16)).astype(np.float32))


@pytest.mark.parametrize("form", ["eager", "new", "recorded"])
def test_everything_is_as_before(training, form):
    net, optimizer, step = training
    x = numbers()
    called = step if form == "eager" else ms.jit(step)
    if form == "recorded":
        called(x)
        called(x)
    before, given, stream = kept(net, optimizer), x.asnumpy().copy(), torch.get_rng_state()
    report = ms.explain(called, x)
    assert report.how == ("eager" if form == "eager" else "replay")
    after = kept(net, optimizer)
    assert before.keys() == after.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=str(name))
    np.testing.assert_array_equal(x.asnumpy(), given)
    assert torch.equal(torch.get_rng_state(), stream)


def test_the_next_steps_are_those_without_it(training):
    net, optimizer, step = training
    x, compiled = numbers(), ms.jit(training[2])
    before = {p: p.asnumpy().copy() for c in (net, optimizer) for p in c.get_parameters()}
    wanted = []
    for explained in (False, True):
        for p, value in before.items():
            p.set_data(ms.Tensor(value))
        ms.set_seed(3)
        found = []
        for _ in range(3):
            found.append(float(compiled(x).asnumpy()))
            if explained:
                ms.explain(compiled, x)
                ms.explain(step, x)
        wanted.append(found)
    assert wanted[0] == wanted[1]


def test_arguments_that_a_step_changes_are_as_before():
    def step(x):
        x.add_(1.0)
        return x * 2

    for called in (step, ms.jit(step)):
        x = ms.Tensor([1.0, 2.0])
        ms.explain(called, x)
        assert x.asnumpy().tolist() == [1.0, 2.0]


def test_numbers_of_a_step(training):
    _, _, step = training
    report = ms.explain(ms.jit(step), numbers())
    products = [k for k in report.kernels if k.cost.kind == "product"]
    forward = 2 * 8 * (16 * 32 + 32 * 4)
    backward = forward + 2 * 8 * 32 * 4  # x needs no gradient
    assert sum(k.cost.flops for k in products) == forward + backward
    phases = {s.label: s.count for s in report.phases}
    assert set(phases) == {"forward", "backward", "update"}
    assert all(k.line.file == __file__ for k in report.kernels)
    assert all(0 < k.seconds < 10 and 0 <= k.limit <= k.seconds for k in report.kernels)
    assert report.limit == pytest.approx(sum(k.limit for k in report.kernels))
    assert report.floor == pytest.approx(report.products.flops / 1e12)
    assert report.kernel_seconds == pytest.approx(sum(s.seconds for s in report.kinds))
    assert report.kernel_seconds == pytest.approx(sum(s.seconds for s in report.groups))
    assert report.seconds > 0 and report.views > 0


def test_a_kernel_knows_where_its_inputs_come_from():
    def step(x):
        y = ops.exp(x)
        return (y.reshape(4) + ops.sin(x).reshape(4)).sum()

    for called in (step, ms.jit(step)):
        report = ms.explain(called, ms.ops.ones((2, 2), ms.float32))
        names = [k.name for k in report.kernels]
        assert names == ["exp", "sin", "add", "sum"]
        assert [k.sources for k in report.kernels] == [{}, {}, {0: 16, 1: 16}, {2: 16}]


def test_limits_follow_from_the_peaks():
    x = ms.ops.ones((64, 64), ms.float32)
    report = ms.explain(ms.jit(lambda a: ops.exp(a)), x)
    (kernel,) = report.kernels
    assert (kernel.cost.flops, kernel.cost.bytes, kernel.bound) == (4096, 2 * 16384, "memory")
    assert kernel.limit == min(2 * 16384 / 1e10, kernel.seconds)


def test_cells_and_partials():
    net = nn.Dense(3, 2)
    x = ms.ops.ones((1, 3), ms.float32)
    assert ms.explain(net, x).how == "eager"
    assert [k.name for k in ms.explain(net, x).kernels] == ["addmm"]

    class Compiled(nn.Cell):
        @ms.jit
        def construct(self, x):
            return ops.tanh(x)

    assert ms.explain(Compiled(), x).how == "replay"
    with_context = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert ms.explain(net, x).how == "replay"
    finally:
        ms.set_context(mode=with_context)


def test_partials_run_what_they_hold():
    step, x = ms.jit(lambda x, y: ops.exp(x) * y), ms.Tensor([1.0, 2.0])
    for partial, given, how in ((functools.partial(step), (x, x), "replay"),
                                (functools.partial(step, x), (x,), "replay"),
                                (functools.partial(step, y=x), (x,), "eager"),
                                (functools.partial(ops.mul, x), (x,), "eager")):
        report = ms.explain(partial, *given)
        assert report.how == how and [k.name for k in report.kernels][-1] == "mul"
        assert "eager" not in report.note


def test_rounds(monkeypatch):
    """At least three, and more while there is time, up to thirty."""
    for patience, rounds in ((0.0, 3), (1e9, 30)):
        monkeypatch.setattr(explain, "PATIENCE", patience)
        calls = iter(range(100))
        record, _ = explain._measured(Record.end, calls.__next__, torch.device("cpu"))
        assert record.rounds == rounds and next(calls) == rounds + 1  # the first one prepares


def test_graph_mode_around_a_function():
    net = nn.Dense(3, 2)
    gradient = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        report = ms.explain(lambda x: gradient(x), ms.ops.ones((1, 3), ms.float32))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert report.how == "eager" and "'jit' compiles the whole" in report.note
    assert [s.label for s in report.phases] == ["forward", "backward"]


def test_the_path_that_applies_is_explained():
    @ms.jit
    def step(x):
        if x.sum() > 0:
            return ops.exp(x)
        return ops.sin(x)

    up, down = ms.Tensor([1.0]), ms.Tensor([-1.0])
    for x in (up, down):
        step(x)
    assert "exp" in [k.name for k in ms.explain(step, up).kernels]
    assert "sin" in [k.name for k in ms.explain(step, down).kernels]
    assert step.report()["graphs"] == 2 and step.report()["guard_misses"] == 1


def test_a_graph_for_any_size():
    step = ms.jit(lambda x: ops.exp(x).reshape(-1) * 2)
    for n in range(2, 12):
        step(ms.ops.ones((n, 3), ms.float32))
        preparation.begin()
        assert preparation.finished.wait(120)
    x = ms.ops.ones((20, 3), ms.float32)
    traces = step.report()["traces"]
    report = ms.explain(step, x)
    assert [k.name for k in report.kernels] == ["exp", "mul"]
    assert [k.cost.flops for k in report.kernels] == [60, 60]
    assert step.report()["traces"] == traces < 10


def test_what_no_graph_can_hold_is_explained_as_it_runs():
    @ms.jit
    def step(x):
        return ops.exp(x) * float(x.asnumpy()[0])

    report = ms.explain(step, ms.Tensor([1.0, 2.0]))
    assert report.how == "eager" and "can't be one graph" in report.note
    assert [k.name for k in report.kernels] == ["exp", "mul"]


def test_prints_are_not_repeated(capsys):
    def step(x):
        print("here", x)
        return x + 1

    for called in (step, ms.jit(step)):
        ms.explain(called, ms.Tensor([1.0]))
    assert capsys.readouterr().out == ""


def test_machine_code(training, tmp_path, monkeypatch):
    """With machine code, the whole is its time, and kernels are those of the graph."""
    _, _, step = training
    compiled, x = ms.jit(step), numbers()
    compiled(x)
    compiled(x)
    (graph,) = compiled.graphs(x)
    runs = []
    stage = graph.execution.plan.stages[0]

    def native(values):
        runs.append(1)
        return stage.replay(values)

    stage.run, stage.backend, stage.settled = native, "inductor", True
    report = ms.explain(compiled, x)
    assert report.how == "inductor" and len(runs) > 3 and len(report.kernels) > 10
    assert "machine code" in str(report)


def test_numbers_as_json(training):
    _, _, step = training
    report = ms.explain(step, numbers())
    read = json.loads(json.dumps(report.to_dict()))
    assert read["how"] == "eager" and read["device"] == "cpu"
    assert sum(k["seconds"] for k in read["kernels"]) == pytest.approx(read["kernel_seconds"])
    assert sum(k["count"] for k in read["kinds"]) == len(read["kernels"])
    assert {k["bound"] for k in read["kernels"]} <= {"memory", "compute"}
    assert read["kernels"][0]["file"] == __file__


def test_as_text(training):
    _, _, step = training
    text = str(ms.explain(ms.jit(step), numbers()))
    for part in ("Lower limit", "By kind", "Longest kernels", "product", "1 TFLOP/s in float32",
                 "test_explain.py:", "backward"):
        assert part in text
    assert repr(ms.explain(step, numbers())).startswith("<Report of step: ")


def test_a_step_that_computes_nothing():
    report = ms.explain(ms.jit(lambda x: x.reshape(2, 1)), ms.Tensor([1.0, 2.0]))
    assert report.kernels == [] and report.limit == 0.0
    assert "0 kernels" in str(report)


def test_a_step_that_raises(training):
    net, _, _ = training

    def step(x):
        net.first.weight.set_data(ops.zeros_like(net.first.weight))
        raise KeyError("own")

    before = kept(net)
    for called in (step, ms.jit(step)):
        with pytest.raises(KeyError, match="own"):
            ms.explain(called, numbers())
        for name, value in kept(net).items():
            np.testing.assert_array_equal(value, before[name])


def test_what_can_not_be_called():
    with pytest.raises(TypeError, match="For 'explain', 'step' must be a function or a Cell, but "
                                        "got int"):
        ms.explain(3)


def test_inside_of_another_call():
    for call in (ms.jit, ms.grad):
        with pytest.raises(RuntimeError, match="must be called by itself"):
            call(lambda x: ms.explain(ops.exp, x))(ms.Tensor([1.0]))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu(training):
    _, _, step = training
    ms.set_device("GPU")
    try:
        x = ms.ops.ones((8, 16), ms.float32)
        for called in (lambda x: ops.exp(x @ x.T).sum(), ms.jit(lambda x: ops.exp(x @ x.T).sum())):
            report = ms.explain(called, x)
            assert report.device.type == "cuda"
            assert [k.name for k in report.kernels] == ["mm", "exp", "sum"]
            assert all(0 < k.seconds < 1 for k in report.kernels)
    finally:
        ms.set_device("CPU")
