"""How long values are alive, how many bytes are at a time, and what mutations lie between reads."""

import pytest
import torch

from lamella.graph.passes.memory import Liveness, Memory, reshapes_in_place
from tests.graph.passes.checks import recorded

X = torch.rand(100)


@pytest.mark.parametrize("fn, peak", [
    (lambda x: x.sin(), 400), (lambda x: x.sin().cos(), 800),  # a kernel holds what it reads
    (lambda x: x.sin().cos().tan(), 800), (lambda x: x.sin().sum(), 404),
    (lambda x: x[:50].sum(), 4), (lambda x: x.sin()[:50].cos(), 600),
    (lambda x: [x.sin(), x.cos(), x.tan()], 1200), (lambda x: x.sin().add_(1), 400),
    (lambda x: x.view(4, 25).max(1)[0], 16 + 32), (lambda x: x.add_(1), 0),
    (lambda x: x.double(), 800), (lambda x: x.sin() * x.cos() * x.tan(), 1200)])
def test_the_most_bytes_at_a_time(fn, peak):
    """What is dead makes room for the next, and inputs aren't counted."""
    assert Liveness(recorded(fn, X).graph).peak == peak


def test_where_the_peak_is_and_who_is_alive():
    graph = recorded(lambda x: (x[:40].sin() + 1).sum() + x.cos().sum(), X).graph
    live = Liveness(graph)
    nodes = {str(n.target).split(".")[1]: n for n in reversed(graph.nodes) if n.op != "placeholder"
             and n.op != "output"}
    assert live.peak == 404 + 4 and live.top == live.place[nodes["cos"]] + 1
    assert [live.size[n] for n in live.at_peak()] == [400, 4, 4]
    assert live.end[nodes["sin"]] == live.place[nodes["sin"]] + 1
    assert live.begin[nodes["sin"]] == live.place[nodes["sin"]]


def test_results_of_one_kernel_begin_with_it():
    graph = recorded(lambda x: x.view(4, 25).max(1)[1] + 1, X).graph
    live = Liveness(graph)
    kernel = next(n for n in graph.nodes if "max.dim" in str(n.target))
    assert {live.begin[n] for n in kernel.users} == {live.place[kernel]}


def test_versions_differ_where_a_mutation_lies_between():
    def fn(x):
        a, b = x.sin(), x.cos()
        a.add_(1)
        b[0].add_(1)
        return a.exp() + b.exp()

    graph = recorded(fn, X).graph
    memory = Memory(graph)
    x, a, b, first, row, second, *_ = graph.nodes
    assert memory.writes(a) == [3] and memory.writes(b) == memory.writes(row) == [5]
    assert memory.writes(x) == []
    assert [memory.version((a,), place) for place in (2, 3, 4)] == [(0,), (0,), (1,)]
    assert memory.version((a, x, b), 4) == (1, 0) and memory.version((a, b), 6) == (1, 1)
    assert memory.version((x,), 4) == ()
    assert [memory.is_view(n) for n in (x, a, first, row)] == [False, False, True, True]
    assert memory.is_view(second) and not any(map(memory.escapes, (x, a, b)))


def _read_later(x):
    copy = x.clone()
    x.add_(1)
    return copy + 1


def _read_before(x):
    copy = x.clone()
    found = copy + 1
    x.add_(1)
    return found


def _written_before(x):
    x.add_(1)
    return x.clone() + 1


def _read_by_the_write(x):
    return x.mul_(x.clone()) + 1


def _itself_written(x):
    return x.clone().add_(1) + 1


def _read_through_a_view(x):
    part = x.clone()[:5]
    x.add_(1)
    return part + 1


def _view_read_before(x):
    found = x.clone()[:5][:2] + 1
    x.add_(1)
    return found


@pytest.mark.parametrize("fn, may", [
    (_read_later, False), (_read_before, True), (_written_before, True),
    (_read_by_the_write, False), (_itself_written, False), (_read_through_a_view, False),
    (_view_read_before, True), (lambda x: x.clone(), False), (lambda x: x.clone()[:5], False),
    (lambda x: x.clone() + 1, True)])
def test_whether_the_original_can_stand_for_a_copy(fn, may):
    graph = recorded(fn, X).graph
    x = next(iter(graph.nodes))
    copy = next(n for n in graph.nodes if n.target is torch.ops.aten.clone.default)
    memory = Memory(graph)
    assert memory.can_replace(x, copy) is may and memory.bases[copy] == {copy}
    memory.note_replaced(x, copy)
    views = [n for n in graph.nodes if "slice" in str(n.target)]
    assert all(memory.bases[n] == {x} for n in views)


@pytest.mark.parametrize("fn, reshapes", [
    (lambda x: x.sin().t_() + 1, True), (lambda x: x.sin().unsqueeze_(0) + 1, True),
    (lambda x: x.sin().squeeze_(), True), (lambda x: x.sin().add_(1).t(), False),
    (lambda x: x + 1, False)])
def test_what_changes_its_own_form(fn, reshapes):
    assert reshapes_in_place(recorded(fn, X).graph) is reshapes


def test_the_first_of_several_peaks_counts():
    live = Liveness(recorded(lambda x: x.sin().add_(1).mul_(2), X).graph)
    assert (live.peak, live.top) == (400, 1)
