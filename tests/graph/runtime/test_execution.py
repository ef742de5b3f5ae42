"""How a recorded graph is improved while it runs."""

from unittest import mock

import numpy as np
import pytest

import lamella as ms
from lamella import nn
from lamella.graph.runtime import execution
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.runtime.direct import REST
from lamella.graph.runtime.plan import Plan
from lamella.graph.runtime.stage import Heat


def test_a_graph_is_settled_once_its_passes_have_been_tried():
    """Also one with too few kernels to be compiled, so that nothing else is to come."""
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.ReLU())
    tried = []

    def attempt(self, values):
        tried.append(self.plan.settled)
        self.phase = execution.Phase.COMPILING

    x = ms.Tensor(np.random.default_rng(0).standard_normal((4, 1, 16, 16)), ms.float32)
    step = ms.jit(net)
    with mock.patch.multiple(execution, HOT=float("inf"), WARM=0.0, SOON=10**6, SMALL=1.0), (
            mock.patch.object(execution.Execution, "_try", attempt)):
        for _ in range(60):
            step(x)
        assert not tried and not step.settled
        execution.HOT = 0.0
        with mock.patch.object(execution.Execution, "_can_afford_a_trial", lambda self: True):
            for _ in range(2 * REST + 60):  # calls on the short path are counted together
                step(x)
    assert tried


@pytest.mark.parametrize("far", [True, False])
def test_no_passes_are_tried_where_machine_code_is_far_ahead(far):
    """A trial makes copies of the whole graph."""
    tried = []

    def attempt(self, values):
        tried.append(0)
        self.phase = execution.Phase.COMPILING

    x = ms.ops.ones((4, 4))
    step = ms.jit(lambda x: ms.ops.tanh(x * 2 + 1).sum() * x - ms.ops.exp(x))
    with mock.patch.multiple(execution, HOT=0.0, WARM=0.0, SOON=10**6, SMALL=1.0), (
            mock.patch.object(execution.Execution, "_try", attempt)), (
            mock.patch.object(execution.Execution, "_can_afford_a_trial", lambda self: True)), (
            mock.patch.object(Plan, "is_far_ahead", far)):
        for _ in range(2 * REST + 60):
            step(x)
    assert bool(tried) is not far


def test_a_plan_is_far_ahead_if_machine_code_takes_far_less_time():
    step = Compiled(lambda x: ms.ops.tanh(x * 2 + 1).sum() * x - ms.ops.exp(x), level="O1")
    x = ms.ops.ones((4, 4))
    for _ in range(3):
        step(x)
    (graph,) = step.graphs(x)
    plan = graph.execution.plan
    (stage,) = plan.stages
    stage.settle([x._raw, *graph.inputs.constants, *plan.constants], Heat.COLD)
    assert not plan.is_far_ahead
    stage._finish("xla", stage.replay, {"replay": 1.0, "xla": 0.4})
    assert plan.is_far_ahead and stage.settled
    stage._finish("xla", stage.replay, {"replay": 1.0, "xla": 0.6})
    assert not plan.is_far_ahead and not stage.settled
