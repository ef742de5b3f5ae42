"""Gradients in parts."""

import subprocess
import sys

import pytest
import torch

from lamella.graph.passes import improve
from lamella.graph.passes.parts import _is_channels_last
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


@pytest.mark.parametrize("x", [
    torch.empty(2, 3, 4, 5), torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last),
    torch.empty(2, 1, 4, 5), torch.empty(2, 6, 4, 5).to(memory_format=torch.channels_last)[:, ::2],
    torch.empty(2, 3, 1, 1), torch.empty(1, 3, 4, 5).permute(0, 1, 3, 2), torch.empty(3, 4),
    torch.empty(2, 3, 2, 4, 5).to(memory_format=torch.channels_last_3d), torch.empty(2, 0, 4, 5)])
def test_what_lies_channels_last_is_told_as_by_pytorch(x):
    joined = torch.cat([x, x], -1)
    assert _is_channels_last(x) == (joined.numel() > 0 and not joined.is_contiguous())


def test_the_compiler_is_not_imported_by_a_first_call():
    program = """
import sys, numpy as np, lamella as ms
from lamella import nn, ops
net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Dense(72, 12))
optimizer = nn.Adam(net.trainable_params(), 0.01)
def loss(x):
    q, k, v = net(x).reshape(2, 3, 4).unbind(1)
    return (q * k + v).sum()
gradient = ms.value_and_grad(loss, None, optimizer.parameters)
@ms.jit
def step(x):
    value, gradients = gradient(x)
    optimizer(gradients)
    return value
step(ms.Tensor(np.ones((2, 1, 6, 6), np.float32)))
print([name for name in ("torch._dynamo", "sympy", "torch._inductor") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
