"""Graphs before they are described: checks of factorizations, and memory that is named by layout.
"""

import operator

import pytest
import torch

from lamella.graph.xla.lowering import NotLowered
from lamella.graph.xla.rewriting import (
    is_strided,
    needs_rewriting,
    strided_from_bases,
    without_checks,
)
from tests.graph.passes.checks import recorded

aten = torch.ops.aten
X, B = torch.eye(3) * 2 + 1, torch.ones(3, 2)


def node_of(graph, name):
    (found,) = [node for node in graph.graph.nodes if name in str(node.target)]
    return found


@pytest.mark.parametrize("fn, place", [
    (torch.linalg.inv, 1), (torch.linalg.cholesky, 1), (lambda x: torch.linalg.lu_factor(x)[0], 2),
    (lambda x: torch.linalg.solve(x, B * 1), 3)], ids=["inv", "cholesky", "lu", "solve"])
def test_what_is_checked_becomes_the_last_result(fn, place):
    graph = recorded(lambda x: [fn(x) * 2], X)
    first, *_ = graph.graph.output_node().args[0]
    assert needs_rewriting(graph.graph.nodes)
    assert without_checks(graph) == 1 and not needs_rewriting(graph.graph.nodes)
    result, checked = graph.graph.output_node().args[0]
    assert result is first
    assert checked.target is operator.getitem and checked.args[1] == place


def test_each_success_is_one_result():
    graph = recorded(lambda x: [torch.linalg.inv(x) @ torch.linalg.cholesky(x)], X)
    for node in list(graph.graph.nodes):  # one of them is checked twice
        if "inv_ex" in str(node.target):
            check = next(n for n in graph.graph.nodes if "check_errors" in str(n.target))
            with graph.graph.inserting_after(check):
                graph.graph.node_copy(check, lambda n: n)
    assert without_checks(graph) == 2
    _, first, second = graph.graph.output_node().args[0]
    assert ["inv_ex" in str(first.args[0].target), "cholesky_ex" in str(second.args[0].target)] == [
        True, True]


@pytest.mark.parametrize("fn, is_read", [
    (lambda x: [torch.linalg.inv_ex(x)[1]], True),
    (lambda x: [torch.linalg.inv_ex(x)[1] + 1], True),
    (lambda x: [torch.linalg.cholesky_ex(x)[1] > 0], True),
    (lambda x: [torch.linalg.lu_factor_ex(x)[2] + 0], True),
    (lambda x: [torch.linalg.solve_ex(x, B * 1)[1] + 0], True),
    (lambda x: [torch.linalg.inv_ex(x)[0] + 1], False),
    (lambda x: [torch.linalg.lu_factor_ex(x)[1] + 1], False),
    (lambda x: [*torch.sort(x)], False)])
def test_only_checks_may_read_the_success(fn, is_read):
    graph = recorded(fn, X)
    if is_read:
        with pytest.raises(NotLowered, match="the success of"):
            without_checks(graph)
    else:
        ends = graph.graph.output_node().args[0]
        assert without_checks(graph) == 0
        assert [*graph.graph.output_node().args[0]] == [*ends]


@pytest.mark.parametrize("offset, source", [((3,), "mul"), ((0,), "mul"), ((), "slice")])
def test_memory_that_is_named_from_its_begin_is_that_of_the_base(offset, source):
    """Without an offset it begins where the view does."""
    graph = recorded(lambda x: [(x * 2)[1:].as_strided((2, 2), (1, 1), *offset) + 0], X)
    strided = node_of(graph, "as_strided")
    assert is_strided(strided) and needs_rewriting(graph.graph.nodes)
    strided_from_bases(graph)
    assert source in str(strided.args[0].target)
    graph.recompile()
    wanted = (X * 2)[1:].as_strided((2, 2), (1, 1), *offset)
    assert torch.equal(graph(X)[0], wanted)


def test_memory_that_may_be_one_or_the_others_is_named_as_it_was():
    graph = recorded(lambda x: [(x * 2)[1:].as_strided((2, 2), (1, 1), 0) + 0], X)
    view = node_of(graph, "slice")
    with graph.graph.inserting_after(view):
        view.target = aten.reshape.default
        view.args = (view.args[0], [9])
    strided_from_bases(graph)
    assert node_of(graph, "as_strided").args[0] is view


def test_other_graphs_need_no_rewriting():
    assert not needs_rewriting(recorded(lambda x: [x @ x + 1], X).graph.nodes)
