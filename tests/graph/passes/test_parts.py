"""Gradients in parts."""

import pytest
import torch

from lamella.graph.passes import improve
from tests.graph.passes.checks import check_same, count, recorded


def gradient(function):
    def step(x, *others):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(function(x, *others).sum(), x)[0]

    return step


def improved(function, *inputs):
    graph = recorded(function, *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs)
    return better


@pytest.mark.parametrize("function", [
    lambda x: x[0].sin() * x[1].cos() + x[2].exp(),
    lambda x: x[:, 0] * x[:, 1].sin() + x[:, -2] * x[:, -1],
    lambda x: x[:, :, :2].sin() * x[:, :, 2:4] + x[:, :, 4:].exp(),
    lambda x: x[2] * x[1] + x[0].exp() + x.sin(),
    lambda x: (x[:, 0].exp() * (x[:, 1] * x[:, 2] * x[:, 3]).cos()).sum() + x[0] * x[1] * x[2],
])
def test_parts_of_a_whole_are_put_side_by_side(function):
    better = improved(gradient(function), torch.randn(3, 4, 6))
    assert count(better, "cat") >= 1
    assert count(better, "select_backward", "slice_backward") <= 3
    assert count(better, "add") <= 3


@pytest.mark.parametrize("function", [
    lambda x: x[0] * x[1],  # one is missing
    lambda x: x[:, :, :3] * x[:, :, 2:5],  # they overlap
    lambda x: x[:, :, ::2] * x[:, :, 1::2],
    lambda x: (x[0] * x[1]).sum() + (x[:, 0] * x[:, 1]).sum(),
])
def test_others_stay(function):
    assert count(improved(gradient(function), torch.randn(3, 4, 6)), "cat") == 0


def test_what_is_changed_in_between_stays():
    def function(x, y):
        first = torch.ops.aten.select_backward(x, [2, 4], 0, 0)
        x.add_(1)
        return first + torch.ops.aten.select_backward(y, [2, 4], 0, 1)

    assert count(improved(function, torch.randn(4), torch.randn(4)), "cat") == 0


def test_a_part_that_others_use_stays():
    def function(x, y):
        first = torch.ops.aten.select_backward(x, [2, 4], 0, 0)
        return first + torch.ops.aten.select_backward(y, [2, 4], 0, 1), first.sin()

    assert count(improved(function, torch.randn(4), torch.randn(4)), "cat") == 0
