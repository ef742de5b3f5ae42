"""Flags of loops: whether a kernel of any step fails."""

import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.ir.failures import Unknown
from lamella.graph.ir.loop import loop_of
from lamella.graph.ir.operations import FAILS
from lamella.graph.passes.flags import add_flag, may_flag
from lamella.graph.runtime.compiled import Compiled
from tests.graph.passes.checks import recorded

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


HELD = torch.tensor([0, 2])


def written(x, i):
    place = torch.arange(2)
    place.add_(i)
    return x[place]


@pytest.mark.parametrize("fn, may, has", [
    (lambda x, i: x + i.sum(), False, False), (lambda x, i: x[i], True, True),
    (lambda x, i: x[HELD + 1 - 1], True, False),
    (lambda x, i: x[torch.arange(2)], True, False), (written, True, True),
    (lambda x, i: x[torch.rand(2).mul(3).long()], True, True),
    (lambda x, i: x[HELD + i.sum()], True, True),
    (lambda x, i: x[i.clamp(-4, 3)], True, False), (lambda x, i: x[i.clamp(-5, 3)], True, True),
    (lambda x, i: x[i.clamp(-4, 4)], True, True), (lambda x, i: x[i.clamp(0, 2)], True, False),
    (lambda x, i: x[i.clamp(-4)], True, True), (lambda x, i: x[i.clamp(max=3)], True, True)])
def test_which_kernels_get_a_flag(fn, may, has):
    """Those that may fail, unless they take the same in each run, or what lies in bounds."""
    given = torch.tensor(X), torch.tensor([1, 0])
    graph = recorded(fn, *given)
    assert may_flag(graph.graph.nodes) is may
    found = list(graph.graph.output_node().args[0])
    assert add_flag(graph) is has
    after = list(graph.graph.output_node().args[0])
    assert after[:1] == found and len(after) == 1 + has
    if has:
        assert not graph(*given)[1]


def test_a_loop_may_always_have_a_flag():
    assert may_flag(graph_of(read, X, 0).graph.nodes)


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_a_kernel_whose_error_alone_counts_is_left_out(fails, is_read):
    """Its flag is there; another one, that nothing reads, isn't this pass's concern."""
    def fn(x, i):
        found = x.gather(0, i)
        return x * 2, found + 1 if is_read else i

    graph = recorded(lambda x, i: (*fn(x, i), x.gather(0, i)), torch.tensor(X), torch.tensor([1]))
    (node,) = [n for n in graph.graph.nodes if "gather" in str(n.target)][-1:]
    end = graph.graph.output_node()
    end.args = (list(end.args[0])[:2],)
    if fails:
        node.meta[FAILS] = True
    assert may_flag([node]) and add_flag(graph)
    assert (node in graph.graph.nodes) is not fails
    assert graph(torch.tensor(X), torch.tensor([1]))[-1].item() is False


def test_what_is_marked_may_fail_though_it_has_no_check():
    graph = recorded(lambda x: x + 1, torch.tensor(X))
    (node,) = [n for n in graph.graph.nodes if n.op == "call_function"]
    assert not may_flag([node])
    node.meta[FAILS] = True
    assert may_flag([node])


def test_what_a_kernel_fails_for_may_be_unknown():
    graph = recorded(lambda x: x.histc(3), torch.eye(2))
    with pytest.raises(Unknown, match="histc"):
        may_flag(graph.graph.nodes)
