"""The last two stages of a step as one: the same results, or a failure before anything changes."""

import pytest
import torch

from lamella.graph.ir.metadata import copy_of
from lamella.graph.ir.stages import Cut
from lamella.graph.passes import early_updates
from lamella.graph.runtime import joined as joined_module
from lamella.graph.runtime.joined import joined
from lamella.graph.runtime.program import extension
from tests.graph.passes.checks import recorded
from tests.graph.passes.test_early_updates import adam, chain, inputs_of, momentum, step_of

INPUTS = inputs_of()
INDEX = torch.tensor([0, 1, 2])


@pytest.fixture(autouse=True)
def every_size_pays(monkeypatch):
    monkeypatch.setattr(early_updates, "LEAST", 1)
    monkeypatch.setattr(early_updates, "TOGETHER", 1)
    monkeypatch.setattr(early_updates, "SMALL", 64)
    if extension.module is None:
        pytest.skip("the C++ executor isn't there")


def picking(update, guard=False):
    """A step whose first kernel reads rows by their numbers, the first input."""
    step = step_of(chain, update, after=lambda weights, gradients: (gradients[0],))

    def fn(index, x, *given):
        guards = [x.sum()] if guard else []
        return [*guards, *step(x.index_select(0, index), *given)]
    return fn


def made(fn, guards=0):
    given = [INDEX, *(copy_of(x) for x in INPUTS)]
    graph = recorded(fn, *given)
    return graph, Cut(graph, guards), given


@pytest.mark.parametrize("update", [momentum, adam])
@pytest.mark.parametrize("guard", [False, True])
def test_both_as_one_do_what_the_graph_does(update, guard):
    graph, cut, given = made(picking(update, guard), int(guard))
    other = [copy_of(x) for x in given]
    wanted = graph(*other)
    its = joined(cut, [1] if guard else [])
    assert its is not None and its.is_ready and len(cut.stages) == 2 + guard
    values = [*given, *cut.constants]
    for part, takes in cut.stages[:-2]:
        values.extend(part.copied()(*[values[i] for i in takes]))
    count = len(values)
    assert its.run(values)
    assert len(values) - count == sum(len(part.results) for part, _ in cut.stages[-2:])
    for place, want in zip(cut.results, wanted[guard:], strict=True):
        assert torch.equal(values[place], want)
    for a, b in zip(given, other, strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(given[2], INPUTS[1])


def test_a_kernel_that_fails_before_the_updates_leaves_all_as_it_was():
    _, cut, given = made(picking(momentum))
    its = joined(cut, [])
    given[0] = torch.tensor([0, 1, 9])
    values = [*given, *cut.constants]
    count = len(values)
    assert its.run(values) is False and len(values) == count
    assert all(map(torch.equal, given[1:], INPUTS))
    values[0] = INDEX
    assert its.run(values)


@pytest.mark.parametrize("fn, checks", [
    (picking(momentum), [1]), (picking(momentum), [0, 2]),  # a guard that is known after them
    (lambda i, x, *given: [x.sin(), given[0] * 2], []),  # nothing changes
    (lambda i, x, *given: [x.add_(1)], []),  # nothing is computed before
    (lambda i, x, *given: [(x * 2).sum(), given[0].add_(1)], [])])  # no lists of gradients
def test_what_is_not_joined(fn, checks):
    assert joined(made(fn)[1], checks) is None


def test_on_other_devices_memory_may_run_out_between_two_updates():
    _, cut, _ = made(picking(momentum))
    assert joined(cut, []) is not None
    node = cut.stages[-1][0].nodes[0]
    meta = cut.stages[-1][0].inputs[0].meta["tensor_meta"]
    node.meta["tensor_meta"] = meta._replace(device=torch.device("meta"))
    assert joined(cut, []) is None


def test_it_waits_for_the_executor_in_cpp(monkeypatch):
    _, cut, given = made(picking(momentum))
    load = joined_module.extension.load
    monkeypatch.setattr(joined_module.extension, "load", lambda: None)
    its = joined(cut, [])
    assert not its.is_ready
    its.lower()
    assert not its.is_ready
    monkeypatch.setattr(joined_module.extension, "load", load)
    its.lower()
    assert its.is_ready
    run = its._run
    its.lower()
    assert its._run is run and its.run([*given, *cut.constants])
