"""ReLU after max pools instead of before them."""

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.ir.operations import sweep
from lamella.graph.passes.relus import relu_after_pools
from tests.graph.passes.checks import check_same, count, recorded

SHAPE = 3, 5, 12, 9


def training(size, stride, padding, layout=torch.contiguous_format):
    def step(x):
        x = x.detach().requires_grad_()
        y = F.max_pool2d(F.relu(x.sin()), size, stride, padding)
        return y.detach(), *torch.autograd.grad((y * y.cos()).sum(), x)

    return step, torch.randn(SHAPE).contiguous(memory_format=layout)


def elements(graph, name):
    """How many elements the first operation of this name makes."""
    node = next(n for n in graph.graph.nodes if str(n.target).startswith(f"aten.{name}."))
    return node.meta["tensor_meta"].size


@pytest.mark.parametrize("window", [(2, 2, 0), (3, 2, 1), (3, 1, 1), ((2, 3), (1, 2), 0)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_a_training_step(window, layout):
    step, x = training(*window, layout)
    x[0, :, :4, :4] = -1.0  # windows without a positive element
    x[1, 0, :4] = 0.0
    graph, other = recorded(step, x), recorded(step, x)
    assert relu_after_pools(other) == 1
    other.recompile()
    assert elements(other, "relu") == elements(other, "max_pool2d_with_indices_backward") * \
        graph(x)[0].numel() // x.numel()
    check_same(graph, other, [x], 0.0)


def test_not_a_number_stays_so():
    step, x = training(2, 2, 0)
    x[0, 0, 0, 0] = x[2, 1, 3, 3] = torch.nan
    graph, other = recorded(step, x), recorded(step, x)
    assert relu_after_pools(other) == 1
    other.recompile()
    for a, b in zip(graph(x), other(x), strict=True):
        torch.testing.assert_close(a, b, rtol=0.0, atol=0.0, equal_nan=True)


def test_an_answer():
    x = torch.randn(SHAPE)
    graph, other = (recorded(lambda x: F.max_pool2d(F.relu(x), 2), x) for _ in range(2))
    assert relu_after_pools(other) == 1
    other.recompile()
    check_same(graph, other, [x], 0.0)


def test_pools_in_a_row():
    def step(x):
        x = x.detach().requires_grad_()
        y = F.max_pool2d(F.relu(F.max_pool2d(F.relu(x.sin()), 2)), 2)
        return y.detach(), *torch.autograd.grad(y.exp().sum(), x)

    x = torch.randn(SHAPE)
    graph, other = recorded(step, x), recorded(step, x)
    assert relu_after_pools(other) == 2
    other.recompile()
    check_same(graph, other, [x], 0.0)


@pytest.mark.parametrize("step", [
    lambda x: (F.max_pool2d(r := F.relu(x), 2), r * 2),  # another reads it
    lambda x: (F.max_pool2d(r := F.relu(x), 2), F.max_pool2d(r, 3)),
    lambda x: F.max_pool2d(F.relu(x), 2, return_indices=True),
    lambda x: (F.max_pool2d(F.relu(x), 2), x.add_(1)),
    lambda x: F.max_pool2d(F.relu(x), 2).add_(1),
    lambda x: F.max_pool2d(F.relu(x), 2).relu_(),
], ids=["read", "two pools", "indices", "argument written", "result written", "relu in place"])
def test_what_is_read_or_written_otherwise_stays(step):
    x = torch.randn(SHAPE)
    graph, other = recorded(step, x), recorded(step, x)
    assert relu_after_pools(other) == 0 and count(other, "relu") == count(graph, "relu")
    check_same(graph, other, [x], 0.0)


aten = torch.ops.aten


def trained(change=lambda x, r, y, i, g, back, masked: [masked], of=lambda g: g, mask=lambda r: r,
            threshold=0, x=lambda x: x, read=lambda r, g: (g, r)):
    """A pool after ReLU and its gradient, with something that may differ from a tape's."""
    def step(given, g):
        its = x(given)
        r = its.relu()
        y, i = aten.max_pool2d_with_indices(r, [2, 2])
        back = aten.max_pool2d_with_indices_backward(*read(r, of(g)), [2, 2], [], [0, 0], [1, 1],
                                                     False, i)
        masked = aten.threshold_backward(back, mask(r), threshold)
        return [y, *change(its, r, y, i, g, back, masked)]

    return step


def written_through_a_view(value):
    value[:1].mul_(3)
    return value


@pytest.mark.parametrize("step, made", [
    (trained(), 1), (trained(lambda x, r, y, i, g, back, masked: [masked, y * 2, x * 2]), 1),
    (trained(lambda x, r, y, i, g, back, masked: [masked, r]), 0),
    (trained(lambda x, r, y, i, g, back, masked: [masked, i]), 0),
    (trained(lambda x, r, y, i, g, back, masked: [masked, i + 1]), 0),
    (trained(lambda x, r, y, i, g, back, masked: [masked, back]), 0),
    (trained(lambda x, r, y, i, g, back, masked: [masked, back * 2]), 0),
    (trained(lambda x, r, y, i, g, back, masked: [back * (r > 0)]), 0),
    (trained(lambda x, r, y, i, g, back, masked: [written_through_a_view(masked)]), 1),
    (trained(lambda x, r, y, i, g, back, masked: [masked, written_through_a_view(y)]), 0),
    (trained(lambda x, r, y, i, g, back, masked: [masked, written_through_a_view(x)]), 0),
    (trained(lambda x, r, y, i, g, back, masked: [masked, written_through_a_view(g)]), 1),
    (trained(x=lambda x: written_through_a_view(x.sin())), 0),
    (trained(threshold=1e-3), 0), (trained(mask=lambda r: r + 1), 0),
    (trained(mask=lambda r: r[:1].expand_as(r)), 0),
    (trained(of=lambda g: g.contiguous(memory_format=torch.channels_last)), 0),
    (trained(of=lambda g: g.transpose(2, 3).contiguous().transpose(2, 3)), 0),
    (trained(x=lambda x: x[:1].expand_as(x)), 0), (trained(x=lambda x: x.transpose(2, 3)), 0),
    (trained(read=lambda r, g: (g, r + 1)), 0),
    (lambda x, g: aten.max_pool2d_with_indices(x.relu(), [2, 2])[1], 0),
    (lambda x, g: aten.max_pool2d_with_indices(x.relu(), [2, 2])[0], 1),
    (lambda x, g: F.avg_pool2d(x.relu(), 2), 0)])
def test_which_pools_are_exchanged_with_relu(step, made):
    """Those whose indices and inputs nothing but their gradient reads, of dense values."""
    torch.manual_seed(0)
    inputs = [torch.randn(3, 4, 6, 6), torch.randn(3, 4, 3, 3)]
    graph, other = recorded(step, *inputs), recorded(step, *inputs)
    sweep(other.graph)
    assert relu_after_pools(other) == made
    other.recompile()
    check_same(graph, other, inputs, 0.0)
