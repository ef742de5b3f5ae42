"""Sums of products."""

import pytest
import torch

from lamella.graph.ir.draft import copied
from lamella.graph.passes.forms import describe
from lamella.graph.passes.order import simplify
from lamella.graph.passes.sums import sums
from tests.graph.passes.checks import check_same, count, recorded

STEPS = 5


def rewritten(function, inputs):
    graph = recorded(function, *inputs)
    better = copied(graph)
    describe(better.graph, inputs)
    simplify(better)
    found = sums(better, inputs)
    if found is not None:
        simplify(found)
        found.recompile()
        check_same(graph, found, inputs, 1e-4)
    return graph, found


def recurrent(x, h, wx, wh, b):
    """The gradients of a recurrent network, step by step."""
    weights = [w.detach().requires_grad_() for w in (wx, wh, b)]
    for t in range(STEPS):
        h = torch.tanh(torch.addmm(weights[2], x[t], weights[0].t()) + h @ weights[1].t())
    return torch.autograd.grad(h.square().sum(), weights)


def test_gradients_of_weights_that_are_used_often():
    torch.manual_seed(0)
    inputs = [torch.randn(s) for s in [(STEPS, 3, 4), (3, 6), (6, 4), (6, 6), (6,)]]
    graph, found = rewritten(recurrent, inputs)
    assert found is not None
    assert count(graph, "mm") - count(found, "mm") == 2 * (STEPS - 1)
    assert count(found, "sum") <= count(graph, "sum") - (STEPS - 1)
    assert count(found, "cat") == 3  # what leads to the gates is shared


def test_products_in_rows_and_columns_and_other_terms():
    def function(a, b, c, d):
        return a @ b + c.t() @ d.t() + (a * 2) @ (b + 1) + a.t()[:4, :4]

    inputs = [torch.randn(4, 4) for _ in range(4)]
    graph, found = rewritten(function, inputs)
    assert found is not None and count(graph, "mm") == 3 and count(found, "mm") == 1


def test_too_few_or_too_different_products_stay():
    a, b, c = torch.randn(4, 4), torch.randn(4, 4), torch.randn(1, 4)
    assert rewritten(lambda a, b, c: a @ b + b @ a, [a, b, c])[1] is None
    assert rewritten(lambda a, b, c: a @ b + c @ b + c @ a + b, [a, b, c])[1] is None
    assert rewritten(lambda a, b, c: torch.add(a @ b + b @ a, a @ a, alpha=2), [a, b, c])[1] is None
    assert rewritten(lambda a, b, c: (a.int() @ b.int() + b.int() @ a.int() + a.int() @ a.int()),
                     [a, b, c])[1] is None


def test_products_that_others_use_stay():
    def function(a, b):
        first = a @ b
        return first + b @ a + a @ a, first.sin()

    assert rewritten(function, [torch.randn(4, 4), torch.randn(4, 4)])[1] is None


def test_factors_changed_in_between_keep_their_product():
    def function(a, b):
        first = a @ b
        a.add_(1)
        return first + b @ b + b @ (b * 2)

    assert rewritten(function, [torch.randn(4, 4), torch.randn(4, 4)])[1] is None


@pytest.mark.parametrize("keep, shape, stays", [
    (False, (2, 3), True), (True, (6, 1), True), (True, (3, 2), True), (False, (1, 6), False),
    (True, (6,), False)])
def test_sums_of_rows_in_another_shape(keep, shape, stays):
    def function(*given):
        a, b, c = (x.sum(0, keep).view(shape) for x in given)
        return a + b + c

    assert (rewritten(function, [torch.randn(n, 6) for n in (5, 4, 3)])[1] is None) == stays
