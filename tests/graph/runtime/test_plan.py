"""What a plan of several stages keeps, and what it frees on the way."""

import weakref

import pytest
import torch

import lamella as ms
from lamella.graph.aoti.native import Native
from lamella.graph.ir.lazy_module import KernelGraph, LazyModule
from lamella.graph.ir.metadata import meta_of_value
from lamella.graph.runtime import program, worth
from lamella.graph.runtime import stage as stages
from lamella.graph.runtime.plan import Plan
from lamella.graph.runtime.stage import Heat, Stage
from lamella.graph.runtime.worth import has_many_patches, is_worth_compiling
from lamella.graph.xla.native import Native as Xla

aten = torch.ops.aten


class Exchange:
    """Stands for an exchange: a stage of its own, which notes what it was given."""

    is_exchange = True

    def __init__(self, seen):
        self.seen = seen

    def __call__(self, given):
        self.seen.append(weakref.ref(given))
        return given + 1


def plan_of(seen, alive, compile=False):
    """x -> doubled, exchanged, + doubled, exchanged, exchanged: four values, none a result."""
    class Last(Exchange):
        def __call__(self, given):
            alive.append([each() is not None for each in seen])
            return given + 1

    graph = KernelGraph()
    x = graph.placeholder("x")
    doubled = graph.call_function(aten.mul.Tensor, (x, 2))
    first = graph.call_function(Exchange(seen), (doubled,))
    total = graph.call_function(aten.add.Tensor, (first, doubled))
    second = graph.call_function(Exchange(seen), (total,))
    graph.output([graph.call_function(Last(seen), (second,))])
    for node in graph.nodes:
        node.meta["tensor_meta"] = meta_of_value(torch.zeros(4))
    return Plan(LazyModule(torch.nn.Module(), graph), [], 1, compile)


def test_values_are_freed_after_their_last_stage():
    seen, alive = [], []
    plan = plan_of(seen, alive)
    assert len(plan.stages) == 5 and plan.exchanges == {1, 3, 4}
    values = [torch.ones(4)]
    assert plan.run(values, [])
    assert alive == [[False, False]]
    assert [value is None for value in values] == [False, True, True, True, True, False]
    assert values[plan.results[0]].tolist() == [7.0] * 4 and values[0].tolist() == [1.0] * 4


def test_what_a_stage_needs_to_compare_engines_stays(monkeypatch):
    monkeypatch.setattr(stages, "is_worth_compiling", lambda part: True)
    monkeypatch.setattr(stages, "ENGINE", "")
    given = []
    monkeypatch.setattr(Stage, "settle", lambda stage, values, *_: given.append(
        [value.tolist() for value in values]))
    seen, alive = [], []
    plan = plan_of(seen, alive, compile=True)
    assert not plan.settled
    values = [torch.ones(4)]
    assert plan.run(values, [])
    plan.settle(values, Heat.HOT)
    assert given == [[[1.0] * 4], [[3.0] * 4, [2.0] * 4]] or given == [
        [[1.0] * 4], [[2.0] * 4, [3.0] * 4]]
    for stage in plan.stages:
        stage.settled = True
    values = [torch.ones(4)]
    plan.run(values, [])
    plan.settle(values, Heat.HOT)  # notes that nothing has to stay
    values = [torch.ones(4)]
    assert plan.run(values, []) and values[1] is None
    plan.stages[0].settled = False
    plan.settle(values, Heat.HOT)  # its values were freed, or it settles in the next call
    assert values == []


@pytest.mark.parametrize("handed", [True, False])
def test_a_program_empties_the_inputs_that_it_is_handed(executor, handed):
    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    graph.output([graph.call_function(aten.add.Tensor, (x, y))])
    run = program.program(program.Part.whole(
        torch.fx.GraphModule(torch.nn.Module(), graph)))
    given = [torch.ones(2), torch.ones(2)]
    values = program.Handed(given) if handed else given
    assert run(values)[0].tolist() == [2.0, 2.0]
    assert len(values) == (0 if handed else 2)


def test_only_much_that_is_computed_again_keeps_a_stage_from_machine_code(monkeypatch):
    def loss(x):
        for _ in range(3):
            x = ms.recompute(lambda x: ms.ops.sin(ms.ops.exp(x)), x)
        return x.sum()

    compiled, x = ms.jit(ms.grad(loss)), ms.Tensor([1.0, 2.0])
    compiled(x), compiled(x)
    (graph,) = compiled.graphs(x)
    (stage,) = graph.execution.plan.stages
    assert is_worth_compiling(stage.part)
    monkeypatch.setattr(worth, "KEPT", 3 * 8 - 1)  # bytes of each block's exponentials
    assert not is_worth_compiling(stage.part)


@pytest.mark.parametrize("count", [3, 8])
def test_writes_into_many_parts_of_a_tensor_are_not_for_inductor(monkeypatch, count):
    def fill(x):
        table = ms.ops.zeros((8, 2))
        for t in range(count):
            table[t] = ms.ops.sin(x + t)
        return table

    compiled, x = ms.jit(fill), ms.Tensor([1.0, 2.0])
    compiled(x), compiled(x)
    (graph,) = compiled.graphs(x)
    (stage,) = graph.execution.plan.stages
    assert is_worth_compiling(stage.part)  # XLA writes in place
    assert has_many_patches(stage.part) == (count == 8)
    monkeypatch.setattr(Xla, "is_possible", False)
    monkeypatch.setattr(Native, "request", lambda self: None)
    monkeypatch.setattr(stage, "_dense", lambda values: False)
    stage.settle([x._raw], Heat.HOT)
    assert stage.settled == (count == 8)


@pytest.mark.parametrize("length", [6, 2**15])
def test_a_kernel_that_fails_after_a_write(executor, length):
    """What the program sees is as eagerly; if much was written, the message is the kernel's own."""
    found = []
    for compiled in (ms.jit, lambda fn: fn):
        table, count = ms.Parameter(ms.ops.ones(length), name="table"), []

        def read(x, table=table, count=count):
            table[:2] = x
            count.append(len(count))
            return ms.ops.index_select(table + 1.0, 0, (table[:1] * length).int())

        call = compiled(read)
        for first in (0.5, 0.0, 2.0, 0.5, 3.0):
            try:
                found.append(call(ms.Tensor([first, first])).asnumpy().tolist())
            except (RuntimeError, IndexError) as error:
                found.append(str(error) if length == 6 else "fails")
            found.append(table[:3].asnumpy().tolist())
            found.append(list(count))
    assert found[:15] == found[15:]
