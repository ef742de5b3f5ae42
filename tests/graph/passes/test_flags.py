"""Flags of loops: whether a kernel of any step fails."""

import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.ir.failures import Unknown
from lamella.graph.ir.loop import loop_of
from lamella.graph.passes.flags import add_flag
from lamella.graph.runtime.compiled import Compiled

X = [1.0, 2.0, 3.0, 4.0]


def graph_of(fn, x, i):
    """The only graph of a function of two Tensors, which has a loop."""
    compiled = Compiled(fn)
    for _ in range(2):
        compiled(Tensor(x), Tensor(i))
    (made,) = compiled.graphs(Tensor(x), Tensor(i))
    (graph,) = made.execution.graphs()
    assert any(loop_of(node) is not None for node in graph.graph.nodes)
    return graph


def read(x, i):
    """Adds three elements of `x`, from the place `i` on."""
    return ops.WhileLoop()(
        lambda v: v[2] < 3, lambda v: (v[0] + ops.gather(x, v[1], 0), v[1] + 1, v[2] + 1),
        (x.sum(), i, i * 0))


def read_twice(x, i):
    def outer(v):
        total, at, n = v
        return read(x, at)[0] + total, at + 1, n + 1

    return ops.WhileLoop()(lambda v: v[2] < 2, outer, (x.sum(), i, i * 0))


def gradient_of_products(x, i):
    """Its steps keep what the backward steps need."""
    def product(x):
        return ops.WhileLoop()(
            lambda v: v[2] < 3, lambda v: (v[0] * ops.gather(x, v[1], 0).sin(), v[1] + 1, v[2] + 1),
            (x.sum(), i, i * 0))[0]

    return ms.value_and_grad(product)(x)


def read_beside(x, i):
    """Its loop can't fail, what is before it can."""
    first = ops.gather(x, i, 0)
    return ops.WhileLoop()(lambda v: v[1] < 3, lambda v: (v[0] * 2, v[1] + 1), (first, i * 0))


@pytest.mark.parametrize("safe", [False, True])
@pytest.mark.parametrize("fn, good, bad", [
    (read, (0, 1, -3, -4), (2, 3, 4, -5, -6, -9)), (read_twice, (0, -4), (1, 2, -5, -6)),
    (gradient_of_products, (0, 1, -4), (2, -5)), (read_beside, (0, 3, -4), (4, -5))])
def test_a_flag_is_carried_through_the_steps(fn, good, bad, safe):
    """Also of a step that fails before others that don't, and of a loop within a loop."""
    x, graph = torch.tensor(X), graph_of(fn, X, 0)
    want = {i: list(graph(x, torch.tensor(i))) for i in good}
    assert add_flag(graph, safe)
    for i in good:
        *found, flag = graph(x, torch.tensor(i))
        assert not flag and flag.dtype is torch.bool and not flag.shape
        assert all(map(torch.equal, found, want[i])) and len(found) == len(want[i])
    for i in bad:
        if safe:  # the kernels get other elements
            assert graph(x, torch.tensor(i))[-1]
        else:
            with pytest.raises((IndexError, RuntimeError)):
                graph(x, torch.tensor(i))


def test_a_loop_that_cannot_fail_stays_as_it_is():
    def grows(x, i):
        return ops.WhileLoop()(lambda v: v[1] < 3, lambda v: (v[0] * 2, v[1] + 1), (x, i))

    graph = graph_of(grows, X, 0)
    before = str(graph.graph)
    assert not add_flag(graph) and str(graph.graph) == before


def test_a_condition_that_may_fail_is_refused():
    def until(x, i):
        return ops.WhileLoop()(lambda v: ops.gather(x, v[1], 0) < 3,
                               lambda v: (v[0] + ops.gather(x, v[1], 0), v[1] + 1), (x.sum(), i))

    with pytest.raises(Unknown, match="the condition of a loop"):
        add_flag(graph_of(until, X, 0), safe=True)
