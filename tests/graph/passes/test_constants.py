"""Constant folding: what is computed once, how much, and which constants are one."""

import pytest
import torch

from lamella.graph.ir.operations import sweep
from lamella.graph.passes import constants
from lamella.graph.passes.constants import MOST_COMPARED, fold
from lamella.graph.passes.memory import Memory
from lamella.graph.passes.peephole import peephole
from tests.graph.passes.checks import check_same, count, recorded

X = torch.tensor([[1.0, -2.0, 3.0], [0.5, -0.25, 4.0]])


def folded(function, x=X):
    """A graph with its constants folded, how many operations were, and its constants."""
    graph, better = recorded(function, x), recorded(function, x)
    made = fold(better, Memory(better.graph))
    better.recompile()
    check_same(graph, better, [x])
    kept = [node for node in better.graph.nodes if node.op == "get_attr"]
    assert all(node.target.startswith("folded_") for node in kept)
    return better, made, len(kept)


@pytest.mark.parametrize("function, made, kept", [
    (lambda x: x + 1, 0, 0),
    (lambda x: x + torch.ones(3), 1, 1),
    (lambda x: x + torch.arange(3).add(1).mul(2), 3, 1),
    (lambda x: x + x.new_full((3,), 2.0).exp(), 2, 1),  # which reads only x's type
    (lambda x: x + torch.zeros_like(x), 1, 1),
    (lambda x: torch.arange(3) + 1, 1, 1),  # the sum is the caller's
    (lambda x: [x + 1, torch.ones(3)], 0, 0),
    (lambda x: [x + 1, torch.ones(6).view(2, 3)], 0, 0),
    (lambda x: x + torch.empty(3).fill_(2), 0, 0),
    (lambda x: x + torch.empty(3).mul(0).nan_to_num(), 0, 0),
    (lambda x: x + torch.rand(3), 0, 0),
    (lambda x: x + torch.arange(6.0).view(2, 3).max(0)[0], 2, 1),  # several results aren't kept
])
def test_what_depends_on_no_input(function, made, kept):
    assert folded(function)[1:] == (made, kept)


@pytest.mark.parametrize("most, kept", [(31, 1), (32, 2), (33, 2), (19, 1), (20, 1), (11, 0)])
def test_constants_take_no_more_memory_than_they_may(monkeypatch, most, kept):
    """12 and 20 bytes; the part of the first takes none."""
    monkeypatch.setattr(constants, "MOST_BYTES", most)
    better, _, found = folded(lambda x: x + torch.full((3,), 2.0)[None] * torch.full((5,), 3.0)[0])
    assert (count(better, "full"), found) == (2 - kept, kept)


@pytest.mark.parametrize("parts, part, stay", [
    (2, lambda x, t: x[t], 0), (3, lambda x, t: x[t], 0), (4, lambda x, t: x[t], 4),
    (5, lambda x, t: x[t], 5), (3, lambda x, t: x[t:t + 1], 0), (4, lambda x, t: x[t:t + 1], 4),
    (3, lambda x, t: x.diagonal(-t)[:1], 0), (4, lambda x, t: x.diagonal(-t)[:1], 0)])
def test_parts_of_a_constant_that_loops_may_read_stay(parts, part, stay):
    def function(x):
        table = torch.ones(5, 3).cumsum(0)
        return sum(x * (part(table, t) + 1) for t in range(parts))

    better, _, kept = folded(function)
    assert count(better, "select", "slice", "diagonal") == count(better, "add") - parts == stay
    assert kept == (1 if stay else parts)


@pytest.mark.parametrize("ones", [
    lambda x: torch.ones(2, 3), lambda x: torch.ones_like(x), lambda x: x.new_ones(3),
    lambda x: torch.full((2, 3), 1.0), lambda x: torch.full((3,), 1, dtype=torch.float32),
    lambda x: torch.full_like(x, 1), lambda x: x.new_full((2, 1), 1.0),
    lambda x: torch.ones(3).expand(2, 3), lambda x: torch.ones(6).view(2, 3),
    lambda x: torch.ones(3).unsqueeze(0), lambda x: torch.full((), 1.0).expand(3).unsqueeze(0)])
def test_a_product_with_ones_is_its_other_factor(ones):
    for function in (lambda x: (ones(x) * x).sin(), lambda x: (x / ones(x)).sin()):
        better, _, _ = folded(function)
        assert peephole(better, Memory(better.graph)) == 1
        sweep(better.graph)
        assert count(better, "mul", "div") == 0


@pytest.mark.parametrize("other", [
    lambda x: torch.zeros(2, 3), lambda x: torch.full((3,), 2.0), lambda x: torch.full_like(x, 0),
    lambda x: x.new_full((2, 1), -1.0), lambda x: torch.full((3,), 2.0).expand(2, 3),
    lambda x: torch.ones(3).cumsum(0), lambda x: -torch.ones(3)])
def test_a_product_with_other_constants_stays(other):
    better, _, _ = folded(lambda x: (other(x) * x).sin())
    assert peephole(better, Memory(better.graph)) == 0


N = MOST_COMPARED // 4  # numbers of the largest constant whose contents are compared


@pytest.mark.parametrize("first, second, kept", [
    (lambda: torch.full((N,), 2.0), lambda: torch.arange(N) * 0.0 + 2, 1),
    (lambda: torch.full((N + 1,), 2.0), lambda: torch.full((N + 1,), 2.0), 2),  # too large
    (lambda: torch.ones(N + 1), lambda: torch.full((N + 1,), 1.0), 1),  # ones of any size
    (lambda: torch.ones(1), lambda: torch.ones(()), 2),
    (lambda: torch.ones(()), lambda: torch.ones((), dtype=torch.float64), 2),
    (lambda: torch.full((), 2.0), lambda: torch.full((), 3.0), 2),
    (lambda: torch.zeros(()), lambda: torch.full((), -0.0), 2),
    (lambda: torch.arange(4.0)[1:2], lambda: torch.arange(4.0)[2:3], 2),  # in one memory
    (lambda: torch.arange(4.0)[1:2], lambda: torch.arange(4.0)[1:2], 1)])
def test_equal_constants_are_one(first, second, kept):
    assert folded(lambda x: (x.sum() + first(), x.sum() * second()))[2] == kept


def test_conjugates_are_not_compared_by_their_memory():
    def function(x):
        a, b = torch.full((2,), 1 + 2j), torch.full((2,), 1 + 2j).conj()
        return x[0, 0] * a, x[0, 0] * b, x[0, 0] * a.imag, x[0, 0] * b.imag

    graph, better = recorded(function, X), recorded(function, X)
    assert fold(better, Memory(better.graph))
    better.recompile()
    assert all(map(torch.equal, graph(X), better(X)))
