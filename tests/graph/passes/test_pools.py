"""Max pools of large planes by the kernel for channels that come last."""

import torch
import torch.nn.functional as F

from lamella.graph.ir.draft import copied
from lamella.graph.passes.order import improve, simplify
from lamella.graph.passes.pools import pool_channels_last
from tests.graph.passes.checks import check_same, count, recorded

SHAPE = 8, 16, 32, 32


def training(x):
    x = x.detach().requires_grad_()
    hidden = [x]
    for _ in range(4):
        hidden.append(hidden[-1].sin())
    y = F.max_pool2d(hidden[-1], 3, 2, 1)
    return y.detach(), *torch.autograd.grad(y.square().sum(), x)


def test_a_training_step():
    x = torch.randn(SHAPE)
    graph = recorded(training, x)
    found = copied(graph)
    assert pool_channels_last(found.graph) == 1
    simplify(found)
    found.recompile()
    assert count(found, "clone") == 3
    check_same(graph, found, [x], 0.0)
    check_same(graph, improve(graph, [x]), [x], 0.0)


def test_it_is_left_out_where_the_peak_would_grow():
    x = torch.randn(SHAPE)
    graph = recorded(lambda x: F.max_pool2d(x, 2), x)
    found = copied(graph)
    assert pool_channels_last(found.graph) == 0
    assert [n.target for n in found.graph.nodes] == [n.target for n in graph.graph.nodes]
    found.recompile()
    check_same(graph, found, [x], 0.0)


def test_small_planes_stay():
    graph = recorded(training, torch.randn(2, 4, 8, 8))
    assert pool_channels_last(graph.graph) == 0
