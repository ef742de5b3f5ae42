"""When the guards of a plan are checked, and which of them failed."""

import torch

from lamella.graph.ir.lazy_module import KernelGraph, LazyModule
from lamella.graph.ir.metadata import meta_of_value
from lamella.graph.ir.shapes import ShapeGuard
from lamella.graph.ir.stages import Cut
from lamella.graph.runtime.plan_guards import PlanGuards

aten = torch.ops.aten


def cut_of(shapes=()):
    """Guards: the second input, the sum of the first, and two selections of the first."""
    graph = KernelGraph()
    x, flag = graph.placeholder("x"), graph.placeholder("flag")
    total = graph.call_function(aten.sum.default, (x,))
    first = graph.call_function(aten.masked_select.default, (x, flag))
    second = graph.call_function(aten.masked_select.default, (first, flag))
    graph.output([flag, total, first, second, graph.call_function(aten.neg.default, (second,))])
    for node in graph.nodes:
        node.meta["tensor_meta"] = meta_of_value(torch.zeros(2))
    return Cut(LazyModule(torch.nn.Module(), graph), 4, shapes)


def guards():
    shapes = [ShapeGuard.of(torch.zeros(2)), ShapeGuard.of(torch.zeros(1))]
    return PlanGuards(cut_of([2, 3]), [True, 3.0, *shapes], 1)


def test_a_guard_on_an_input_is_checked_before_the_first_stage():
    found = guards()
    assert [guard[:2] for guard in found.of_inputs] == [(0, 1)]
    assert sorted(g.number for after in found.after.values() for g in after) == [1, 2, 3]
    assert min(found.after) > 0


def test_a_guard_on_a_shape_compares_the_arguments_and_the_shapes_before_it():
    found = guards()
    places = {g.number: g.place for after in found.after.values() for g in after}
    assert found.operands == {places[2]: [0, places[2]], places[3]: [0, places[2], places[3]]}


def test_the_first_guard_that_fails_is_noted():
    found = guards()
    assert found.hold(found.of_inputs, [torch.ones(2), torch.tensor(True)])
    assert found.failed is None
    assert not found.hold(found.of_inputs, [torch.ones(2), torch.tensor(False)])
    assert found.failed == (0, False)
    values = [torch.ones(2) if i != 2 else torch.tensor(4.0) for i in range(6)]
    everything = sorted(g for after in found.after.values() for g in after)
    assert not found.hold(everything, values) and found.failed == (1, 4.0)
