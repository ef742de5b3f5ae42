"""Max pools of large planes by the kernel for channels that come last."""

import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import ops
from lamella.graph.passes.pools import pool_channels_last
from lamella.graph.runtime.execution import Phase
from lamella.machine import planes
from tests.graph.passes.checks import check_same, count, recorded

SHAPE = 8, 16, 32, 32


@pytest.fixture(autouse=True)
def vectors(monkeypatch):
    """The processor has them, whichever it is."""
    monkeypatch.setattr(planes, "VECTORS", True)


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
    found = pool_channels_last(graph, graph)
    assert found is not None and count(found, "clone") == 3 and count(graph, "clone") == 0
    check_same(graph, found, [x], 0.0)


def test_it_is_left_out_where_the_peak_would_grow():
    x = torch.randn(SHAPE)
    graph = recorded(lambda x: F.max_pool2d(x, 2), x)
    assert pool_channels_last(graph, graph) is None


def test_an_answer():
    x, ones = torch.randn(SHAPE), torch.ones(16)
    graph = recorded(lambda x: F.max_pool2d(F.batch_norm(x.sin(), ones, ones), 3, 2, 1), x)
    found = pool_channels_last(graph, graph)  # the normalization holds its input and its result
    assert found is not None and count(found, "clone") == 3
    check_same(graph, found, [x], 0.0)


def test_it_stays_after_trials_that_keep_no_other_layout():
    step = ms.jit(ms.value_and_grad(lambda x: ops.max_pool2d(x.sin().sin().sin(), 2).sum()))
    x = ms.Tensor(torch.randn(SHAPE).numpy())
    for _ in range(2):
        step(x)
    (found,) = step.graphs(x)
    execution = found.execution
    execution.phase = Phase.COMPILING
    plan = execution._plan_of(execution.graph, execution.graph)
    assert sum(count(stage.part.copied(), "clone") for stage in plan.stages) >= 2


def test_small_planes_stay():
    graph = recorded(training, torch.randn(2, 4, 8, 8))
    assert pool_channels_last(graph, graph) is None


def test_trials_start_from_the_graph_without_it():
    step = ms.jit(ms.value_and_grad(lambda x: ops.max_pool2d(x.sin().sin().sin(), 2).sum()))
    x = ms.Tensor(torch.randn(SHAPE).numpy())
    for _ in range(2):
        step(x)
    (recorded,) = step.graphs(x)
    assert count(recorded.execution.graph, "clone") == 0
    assert sum(count(graph, "clone") for graph in recorded.execution.graphs()) >= 2
