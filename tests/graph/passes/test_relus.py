"""ReLU after max pools instead of before them."""

import pytest
import torch
import torch.nn.functional as F

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
