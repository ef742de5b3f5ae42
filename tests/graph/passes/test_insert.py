"""Kernels of a function are inserted before a node of a graph."""

import pytest
import torch

from lamella.graph.passes.insert import inserted
from lamella.graph.tracing.lines import NOWHERE
from tests.graph.passes.checks import check_same, count, recorded

X = torch.rand(3, 4)
KEPT, OTHER = torch.rand(4), torch.rand(4)


def with_inserted(function, again=False, marks=(), x=X):
    """A graph of a sine and a cosine, of which the latter is computed by a function."""
    graph = recorded(lambda x: [x.sin().cos()], x)
    *_, sine, cosine, end = graph.graph.nodes
    cosine.meta.update(marks)
    before = set(graph.graph.nodes)
    (found,) = inserted(graph, cosine, function, [sine], again)
    assert sine.next.op != "output" and cosine.next is end
    cosine.replace_all_uses_with(found)
    graph.graph.erase_node(cosine)
    graph.recompile()
    return graph, [n for n in graph.graph.nodes if n not in before]


def test_what_a_function_computes_stands_before_the_node():
    graph, made = with_inserted(lambda x: [(x + 0.5).cos()])
    assert [str(n.target) for n in made] == ["aten.add.Tensor", "aten.cos.default"]
    check_same(recorded(lambda x: [(x.sin() + 0.5).cos()], X), graph, [X])
    assert [n.meta["tensor_meta"].shape for n in made] == [(3, 4)] * 2


def test_tensors_of_a_function_become_those_of_the_graph():
    graph, made = with_inserted(lambda x: [x * KEPT + OTHER * KEPT])
    kept = [n for n in made if n.op == "get_attr"]
    assert len(kept) == 2 and {id(graph.get_buffer(n.target)) for n in kept} == {
        id(KEPT), id(OTHER)}
    assert all(n.meta["tensor_meta"].shape == (4,) for n in kept) and not graph.state_dict()
    check_same(recorded(lambda x: [x.sin() * KEPT + OTHER * KEPT], X), graph, [X])


def test_a_function_runs_on_zeros_of_the_same_form():
    seen = []
    with_inserted(lambda x: [seen.append(x) or x + 1], x=torch.rand(4, 3).t())
    (given,) = seen
    assert (given.shape, given.stride(), given.dtype) == ((3, 4), (1, 3), X.dtype)
    assert not given.any() and not given.requires_grad


@pytest.mark.parametrize("again, marks, want", [
    (False, {}, False), (True, {}, True), (False, {"again": "a run"}, "a run"),
    (True, {"again": "a run"}, True)])
def test_what_is_computed_again_is_marked(again, marks, want):
    _, made = with_inserted(lambda x: [x * KEPT], again, marks)
    assert [n.meta["again"] for n in made if n.op == "call_function"] == [want]


@pytest.mark.parametrize("marks, line", [({"line": 5}, 5), ({}, None)])
def test_an_inserted_kernel_has_the_line_of_what_it_replaces(marks, line):
    graph = recorded(lambda x: [x.sin()], X)
    *_, sine, _ = graph.graph.nodes
    del sine.meta["line"]
    sine.meta.update(marks)
    (found,) = inserted(graph, sine, lambda x: [x.cos()], [sine.args[0]])
    assert found.meta["line"] == (NOWHERE if line is None else line)


def test_no_argument_and_several_results():
    graph = recorded(lambda x: [x.sin()], X)
    *_, sine, _ = graph.graph.nodes
    found = inserted(graph, sine, lambda: [torch.ones(2), KEPT], [])
    assert count(graph, "ones") == 1 and [n.op for n in found] == ["call_function", "get_attr"]
