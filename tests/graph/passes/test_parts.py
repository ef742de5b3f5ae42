"""Gradients of the parts of a tensor are put side by side."""

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.passes.order import improve
from lamella.graph.passes.parts import join_parts
from tests.graph.passes.checks import check_same, count, recorded


def differentiated(function, *shape):
    def step(x):
        x = x.detach().requires_grad_()
        y = function(x.sin())
        return y.detach(), *torch.autograd.grad((y * y.cos()).sum(), x)

    return step, torch.randn(shape)


def attention(x):
    qkv = x.view(2, 5, 3, 4, 6).permute(2, 0, 3, 1, 4)
    q, k, v = qkv[0], qkv[1], qkv[2]
    return F.softmax(q @ k.transpose(-1, -2), -1) @ v


def gates(x):
    i, f, o = x[:, :4], x[:, 4:9], x[:, 9:]
    return i.sigmoid() * f[:, :4] + o.tanh() * f[:, 1:]



PROGRAMS = [(attention, (2, 5, 72)), (gates, (3, 13)),
            (lambda x: x[..., 0] * x[..., 1], (3, 4, 2)),
            (lambda x: x[0] + x[1].exp() - x[-1] * 2, (3, 4))]


@pytest.mark.parametrize(("function", "shape"), PROGRAMS)
def test_the_same_results_without_sums(function, shape):
    step, x = differentiated(function, *shape)
    graph, other = recorded(step, x), recorded(step, x)
    assert join_parts(other) == 1
    other.graph.eliminate_dead_code()
    other.recompile()
    assert count(graph, "select_backward", "slice_backward") >= 2
    assert count(other, "stack", "cat") == 1
    assert count(other, "select_backward", "slice_backward") < count(
        graph, "select_backward", "slice_backward")
    check_same(graph, other, [x], 0.0)
    better = improve(graph, [x])
    check_same(graph, better, [x], 1e-6)
    assert all(n.users for n in better.graph.nodes if n.op == "call_function")


def test_a_copy_in_another_order_is_made_at_once():
    step, x = differentiated(attention, 2, 5, 72)
    other = recorded(step, x)
    before = count(other, "clone")
    assert join_parts(other) == 1 and count(other, "clone") == before - 1


@pytest.mark.parametrize(("function", "left"), [
    (lambda x: x[0] * x[1], 1),  # not the whole
    (lambda x: x[1] * x[2] * x[3], 1),
    (lambda x: x[1:3] * x[3:5], 1),
    (lambda x: x[0] * x[1] * x[3] * x[4] * x[2] + x[2], 1),  # one of them twice
    (lambda x: x[0] * x[1] * x[2] * x[4] * x[3] + x.cos().sum(0), 0),  # and something else
    (lambda x: sum(x[i] * x[4 - i].exp() for i in range(5)), 0),  # two rows
    (lambda x: sum(x[i] * x[i + 1].exp() for i in range(4)), 1),  # the first and the last once
    (lambda x: x[0] * x[1] + x[3] * x[4], 2),  # a gap between two rows
    (lambda x: x[:, 1] * x[:, 2], 1),
    (lambda x: x[-4:-2] * x[-2:], 1),
    (lambda x: x[-2] * x[-1] * x[-3], 1),
])
def test_parts_that_are_not_the_whole(function, left):
    step, x = differentiated(function, 5, 4)
    graph, other = recorded(step, x), recorded(step, x)
    assert join_parts(other) == 1
    other.graph.eliminate_dead_code()
    other.recompile()
    assert count(other, "select_backward", "slice_backward") == left
    check_same(graph, other, [x], 0.0)


@pytest.mark.parametrize("function", [
    lambda x: x[:2] * x[1:],  # they overlap
    lambda x: x[0] * x[2],  # nothing between them
    lambda x: x[0] * x[1] * x[2] + (x * x.exp()).sum(0),  # two others: their order matters
    lambda x: x[0] * x[1] * x[2] + x[0] * x[1] * x[2] * x[0],  # three terms
    lambda x: x[::2].sum(0) * x[1],  # steps of two
])
def test_other_sums_stay(function):
    step, x = differentiated(function, 3, 4)
    graph, other = recorded(step, x), recorded(step, x)
    assert join_parts(other) == 0
    check_same(graph, other, [x], 0.0)


def test_parts_that_are_written_stay():
    def step(x):
        x = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad((x[0] * x[1]).sum(), x)
        return gradient.add_(1.0), gradient

    x = torch.randn(2, 4)
    graph, other = recorded(step, x), recorded(step, x)
    assert join_parts(other) == 0
    check_same(graph, other, [x], 0.0)


aten, LAST = torch.ops.aten, torch.channels_last
SHAPE = [2, 4, 5, 6]


def halves(a, b, middle=2):
    """The gradient of a tensor of which each half has one."""
    return (aten.slice_backward(a, SHAPE, 1, 0, middle, 1),
            aten.slice_backward(b, SHAPE, 1, 4 - middle, 2**63 - 1, 1))


def part(gradient, start, end, step=1, dim=1):
    """The gradient of `x[:, start:end:step]`."""
    return aten.slice_backward(gradient, SHAPE, dim, start, end, step)


def both(a, b):
    first, second = halves(a, b)
    return first + second


def last(*given):
    return [x.contiguous(memory_format=LAST) for x in given]


@pytest.mark.parametrize("function, made, clones", [
    (lambda a, b, c: both(a, b), 1, 0),
    (lambda a, b, c: torch.add(*halves(a, b), alpha=2), 0, 0),
    (lambda a, b, c: torch.add(torch.add(*halves(a, b), alpha=2), halves(b, a)[0]), 0, 0),
    (lambda a, b, c: torch.add(both(a, b), c, alpha=2), 1, 0),
    (lambda a, b, c: both(a, b) + 1, 0, 0), (lambda a, b, c: both(a, b) + c, 1, 0),
    (lambda a, b, c: both(a, b) + c[:1], 0, 0),
    (lambda a, b, c: both(a, b) + c.double(), 0, 0),
    (lambda a, b, c: both(*last(a, b)), 1, 1),
    (lambda a, b, c: both(*last(a, b)).view(40, 6), 1, 1),
    (lambda a, b, c: both(*last(a), b), 1, 0),
    (lambda a, b, c: both(a, b).permute(0, 3, 1, 2).clone(
        memory_format=torch.contiguous_format), 1, 0),
    (lambda a, b, c: both(a, b).permute(0, 3, -3, 2).clone(
        memory_format=torch.contiguous_format), 1, 0),
    (lambda a, b, c: both(a, b).permute(3, 1, 0, 2).clone(
        memory_format=torch.contiguous_format), 1, -1),
    (lambda a, b, c: both(a, b).permute(0, 3, 1, 2).clone(memory_format=LAST), 1, 0),
    (lambda a, b, c: [(total := both(a, b)), total.permute(3, 1, 0, 2).clone(
        memory_format=torch.contiguous_format)], 1, 0),
    (lambda a, b, c: [(turned := both(a, b).permute(3, 1, 0, 2)), turned.clone(
        memory_format=torch.contiguous_format)], 1, 0),
    (lambda a, b, c: aten.select_backward(c[0], SHAPE, 0, 0) + aten.select_backward(
        c[1], SHAPE, 0, -1), 1, 0),
    (lambda a, b, c: aten.select_backward((y := last(c)[0])[0], SHAPE, 0, 0)
     + aten.select_backward(y[1], SHAPE, 0, -1), 1, 0),
    (lambda a, b, c: [(parts := halves(a, b))[0] + parts[1], parts[0]], 0, 0),
    (lambda a, b, c: both(a, b.transpose(2, 3).contiguous().transpose(2, 3)), 1, 0),
    (lambda a, b, c: (lambda total: [total[:1].mul_(3), total])(both(a, b)), 0, 0),
    (lambda a, b, c: [both(a, b), a.mul_(3)], 0, 0),
    (lambda a, b, c: [both(a, b) + c, c.mul_(3)], 0, 0),
    (lambda a, b, c: last(c)[0] + both(a, b), 0, 0),  # in the order of the first
    (lambda a, b, c: (parts := halves(a, b))[0] + (last(c)[0] + parts[1]), 0, 0),
    (lambda a, b, c: [(total := both(a, b)) + c, total], 1, 0),
    (lambda a, b, c: part(c[:, :0], 2, 2) + part(b, 2, 4), 0, 0),  # one is empty
    (lambda a, b, c: part(c[:, :0], 0, 0) + part(b, 0, 2), 0, 0),
    (lambda a, b, c: part(c[:, :0], 2, 0) + part(b, 0, 2), 0, 0),
    (lambda a, b, c: part(a[:, :1], 0, 2, 2) + part(b, 2, 4), 0, 0),
    (lambda a, b, c: part(a, -9, 2) + part(b, 2, 9), 0, 0),  # begins before the first
    (lambda a, b, c: part(a, -4, -2) + part(b, -2, 9), 1, 0),
    (lambda a, b, c: part(a, 0, 2) + part(c[:, :, 2:], 2, 5, 1, 2), 0, 0),  # of two dimensions
    (lambda a, b, c: part(c[:1], 0, 1, 1, 0) + aten.select_backward(c[1], SHAPE, 0, 1), 0, 0),
    (lambda a, b, c: part(a, 0, 2, 1, -3) + part(b, 2, 4), 1, 0),
    (lambda a, b, c: part(a[:, :1], 0, 1) + part(b, 1, 3), 1, 0),
    (lambda a, b, c: part(a[:, :1], 1, 2) + part(b, 2, 4), 1, 0)])
def test_which_sums_are_joined(function, made, clones):
    """Those without a factor, of values that nothing writes; each result has the same strides."""
    torch.manual_seed(0)
    inputs = [torch.randn(2, 2, 5, 6), torch.randn(2, 2, 5, 6), torch.randn(SHAPE)]
    graph, other = recorded(function, *inputs), recorded(function, *inputs)
    before = count(graph, "clone")
    assert join_parts(other) == made
    other.graph.eliminate_dead_code()
    other.recompile()
    assert count(other, "clone") - before == clones
    check_same(graph, other, inputs, 0.0)
    check_same(graph, improve(graph, inputs), inputs, 1e-6)
