"""Replay by each executor: every kind of argument, aliases, memory, random numbers, errors."""

import operator
import os
import threading

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.graph.ir.stages import Part
from lamella.graph.runtime import program
from lamella.graph.runtime.compiled import Compiled
from lamella.machine import products
from tests.graph.passes.checks import recorded

aten = torch.ops.aten


def module(build, count):
    """A graph with `count` inputs, whose calls `build` adds."""
    graph = torch.fx.Graph()
    inputs = [graph.placeholder(f"x{i}") for i in range(count)]
    graph.output(build(graph.call_function, *inputs))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def made(graph):
    return program.program(Part.whole(graph))


def kinds_of_arguments(call, x, y):
    several = call(aten.topk.default, (x, 2))
    parts = call(aten.split.Tensor, (y, 2), {"dim": 1})
    part = call(operator.getitem,
                (parts, 1))
    first = call(operator.getitem, (several, 0))
    indices = call(operator.getitem, (several, 1))
    return [
        call(aten.cat.default, ([x, first, x], 1)),
        call(aten.index.Tensor, (y, [None, call(aten.slice.Tensor, (indices, 0, 0, 1))])),
        call(aten.add.Tensor, (part, 2.5), {"alpha": 2}),
        call(aten.mul.Tensor, (x, 3)),
        call(aten.full.default, ([2, 2], 1.5), {"dtype": torch.float64, "pin_memory": False}),
        call(aten.clone.default, (y,), {"memory_format": torch.contiguous_format}),
        call(aten.clamp.default, (x, None, 0.5)),
        call(aten.where.self, (call(aten.gt.Scalar, (x, 0)), x, call(aten.neg.default, (x,)))),
    ]


def test_kinds_of_arguments(executor):
    graph = module(kinds_of_arguments, 2)
    values = [torch.randn(3, 5), torch.randn(4, 6)]
    found, wanted = made(graph)(values), graph(*values)
    assert (type(made(graph)).__name__ == "builtin_function_or_method") == (
        executor == "C++")
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype is b.dtype and a.stride() == b.stride()
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_changes_in_place_and_views(executor):
    def build(call, x, y):
        row = call(aten.select.int, (x, 0, 1))
        call(aten.add_.Tensor, (row, y))
        call(aten._foreach_mul_.Scalar, ([x, y], 2.0))
        return [row, call(aten.sum.default, (x,)), row]

    x, y = torch.arange(6.0).reshape(2, 3), torch.ones(3)
    version = x._version
    row, total, again = made(module(build, 2))([x, y])
    assert x.tolist() == [[0.0, 2.0, 4.0], [8.0, 10.0, 12.0]] and y.tolist() == [2.0, 2.0, 2.0]
    assert row.data_ptr() == again.data_ptr() == x[1].data_ptr() and total.item() == 36.0
    assert x._version > version, "who has saved x for a gradient has to notice"
    before = x._version
    row.add_(1)
    assert x._version > before and x[1].tolist() == [9.0, 11.0, 13.0]


def test_random_numbers_of_both_kinds_of_streams(executor):
    own = torch.Generator().manual_seed(3)

    def build(call, x):
        stream = x.graph.get_attr("stream")
        copy = call(aten.clone.default, (x,))
        return [call(aten.rand.default, ([4],)),
                call(aten.normal_.default, (copy,), {"generator": stream})]

    graph = torch.fx.Graph()
    root = torch.nn.Module()
    root.stream = own
    x = graph.placeholder("x")
    graph.output(build(graph.call_function, x))
    run = made(torch.fx.GraphModule(root, graph))
    torch.manual_seed(5)
    first, second = run([torch.zeros(4)])
    torch.manual_seed(5)
    torch.testing.assert_close(first, torch.rand(4))
    torch.testing.assert_close(second, torch.zeros(4).normal_(
        generator=torch.Generator().manual_seed(3)))


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="Linux only")
def test_values_are_freed_at_their_last_use(executor):
    def build(call, x):
        for _ in range(24):
            x = call(aten.sin.default, (x,))
            x = call(operator.getitem, (call(aten.split.Tensor, (x, 2**22)), 0))
        return [x]

    run = made(module(build, 1))
    x = torch.zeros(2**22)  # 16 MiB
    run([x])
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    start = _peak()
    run([x])
    assert _peak() - start < 8 * 16


def _peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def test_errors_are_those_of_eager_calls(executor):
    run = made(module(lambda call, x, y: [call(aten.mm.default, (x, y))], 2))
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        run([torch.ones(2, 3), torch.ones(2, 3)])
    index = made(module(lambda call, x: [call(aten.select.int, (x, 0, 7))], 1))
    with pytest.raises(IndexError, match="out of range"):
        index([torch.ones(2, 3)])
    with pytest.raises(ValueError):
        run([torch.ones(2, 3)])


def test_a_kernel_that_fails_in_a_replay_raises_what_the_function_raises(executor):
    compiled = Compiled(lambda x, i: ops.gather(x, i, 0) * 2)
    x, i = ops.ones((3, 2)), Tensor(np.array([0, 2], np.int32))
    for _ in range(3):
        compiled(x, i)
    with pytest.raises(Exception) as eager:
        ops.gather(x, Tensor(np.array([0, 9], np.int32)), 0)
    with pytest.raises(type(eager.value), match="For 'Gather', the 'input_indices'"):
        compiled(x, Tensor(np.array([0, 9], np.int32)))
    assert compiled(x, i).asnumpy().tolist() == [[2.0, 2.0], [2.0, 2.0]]


def make_step():
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(6, 8), nn.Dropout(p=0.2), nn.Dense(8, 3)).set_train()
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    gradient = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)

    def step(x):
        loss, gradients = gradient(x)
        optimizer(gradients)
        return loss
    return step


def test_training_is_that_of_eager_calls(executor):
    x = ops.ones((4, 6))
    eager, compiled = make_step(), Compiled(make_step())
    streams = []
    for step in (eager, compiled):
        ms.set_seed(2)
        streams.append([float(step(x)) for _ in range(6)])
    assert streams[0] == streams[1]
    assert compiled.report()["replays"] == 5


def test_threads_replay_one_graph_at_once(executor):
    weight = Parameter(ops.ones((64, 64)), name="weight")
    compiled = Compiled(lambda x: ((x @ weight).sin() * x).sum())
    values = [ops.ones((64, 64)) * number for number in range(8)]
    wanted = [float(((v @ weight).sin() * v).sum()) for v in values]
    for _ in range(2):
        compiled(values[0])
    wrong = []

    def work(number):
        for _ in range(30):
            if abs(float(compiled(values[number])) - wanted[number]) > 1e-3 * abs(wanted[number]):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_replays(executor):
    compiled = Compiled(lambda x: (x * 2 + 1).sum())
    x = ops.ones((3,))
    for _ in range(3):
        compiled(x)
    child = os.fork()
    if not child:
        os._exit(0 if float(compiled(x)) == 9.0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_graphs_with_other_calls_than_kernels_run_in_python():
    graph = module(lambda call, x: [call(aten.expand.default, (
        x, [call(operator.add, (call(aten.sym_size.int, (x, 0)), 0)), 2]))], 1)
    make = getattr(program.extension.module, "make", None)
    with pytest.raises(program.NoProgram):
        program.in_cpp(Part.whole(graph), make)
    assert made(graph)([torch.ones(3, 1)])[0].shape == (3, 2)


def test_equal_arguments_are_bound_once_in_python():
    def alike(call, x):
        for _ in range(20):
            x = call(aten.reshape.default, (call(aten.add.Tensor, (x, 0.5)), [2, -1]))
        numbers = [call(aten.full.default, ([2], value), {"dtype": dtype}) for value, dtype in (
            (0.0, torch.float32), (-0.0, torch.float32), (0.0, torch.float64),
            (1.0, torch.float32), (1, torch.int64), (True, torch.bool))]
        return [x, *numbers]

    graph = module(alike, 1)
    run = program.in_python(Part.whole(graph))
    found, wanted = run([torch.ones(3, 2)]), graph(torch.ones(3, 2))
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype is b.dtype and a.shape == b.shape
        assert a.tolist() == b.tolist() and torch.equal(a.signbit(), b.signbit())
    # Python's compiler takes quadratic time in names that a function takes from outside
    assert len(run.__code__.co_freevars) < 20


def test_the_executor_that_is_there_stays():
    compiled = Compiled(lambda x: (x * 2 + 1).sum())
    for _ in range(2):
        compiled(ops.ones((3,)))
    plan = compiled.graphs(ops.ones((3,)))[0].execution.plan
    before = [stage.replay for stage in plan.stages]
    if any(map(program.is_in_python, before)):
        pytest.skip("the C++ executor isn't there")
    plan.lower()
    assert [stage.replay for stage in plan.stages] == before


def test_a_path_takes_the_executor_when_it_is_built(monkeypatch):
    built = program.extension.module
    if built is None:
        pytest.skip("the C++ executor isn't there")
    monkeypatch.setattr(program.extension, "module", None)
    monkeypatch.setattr(program.extension, "_ready", False)
    monkeypatch.setattr(program.extension, "is_finished", False)
    monkeypatch.setattr(program.extension, "_requested", True)
    monkeypatch.setattr("lamella.graph.runtime.execution.HOT", 0.0)
    compiled = Compiled(lambda x: (x * 2 + 1).sum())
    x = ops.ones((3,))
    for _ in range(4):
        compiled(x)
    stages = compiled.graphs(x)[0].execution.plan.stages
    assert all(type(s.run).__name__ == "function" for s in stages)
    assert not compiled.settled  # another executor is to come
    monkeypatch.setattr(program.extension, "load", lambda: built)
    monkeypatch.setattr(program.extension, "is_finished", True)
    for _ in range(2):
        assert float(compiled(x)) == 9.0
    stages = compiled.graphs(x)[0].execution.plan.stages
    assert all(type(s.run).__name__ == "builtin_function_or_method" for s in stages)
    assert compiled.settled


def test_deterministic_runs_are_not_autotuned(monkeypatch):
    monkeypatch.setattr("lamella.graph.runtime.execution.HOT", 0.0)
    compiled = Compiled(lambda x: (x @ x).sin().sum(), level="O1")
    x = ops.ones((64, 64))
    ms.set_deterministic(True)
    try:
        for _ in range(4):
            compiled(x)
        (graph,) = compiled.graphs(x)
        run = graph.execution
        assert run.settled and run.backend == "replay" and not products.available()
        assert all(stage.native is None for stage in run.plan.stages)
    finally:
        ms.set_deterministic(False)
    compiled(x)
    assert compiled.report()["graphs"] == 2


@pytest.mark.parametrize("fn, steps, results, registers", [
    # operands: twice a register, plus 1 at its last use; constants from -1 down; then registers
    (lambda x: x.sin().cos(), [([1], [0]), ([1], [0])], [0], 1),
    (lambda x: [x.sin(), x.cos()], [([0], [1]), ([1], [0])], [2, 0], 2),
    (lambda x: x.mul(x), [([0, 1], [0])], [0], 1),
    (lambda x: [x.sin(), x], [([0], [1])], [2, 0], 2),
    (lambda x: x.max(0)[0], [([1, -1, -2], [0, -1])], [0], 1),
    (lambda x: x.max(0)[1], [([1, -1, -2], [-1, 0])], [0], 1),
    (lambda x: torch.cat([x, x.sin()]), [([0], [1]), ([1, 3], [1]), ([3, -1], [1])], [2], 2)])
def test_registers_are_used_again_after_the_last_use_of_their_values(fn, steps, results, registers):
    found = program._Lowered(Part.whole(recorded(fn, torch.rand(2, 3))), print)  # type: ignore
    assert [(codes, outs) for _, _, _, codes, _, outs in found.instructions] == steps
    assert (found.results, found.registers, found.inputs) == (results, registers, 1)
