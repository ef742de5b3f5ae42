"""How a recorded graph is improved while it runs."""

from unittest import mock

import numpy as np

import lamella as ms
from lamella import nn
from lamella.graph.runtime import execution
from lamella.graph.runtime.direct import REST


def test_a_graph_is_settled_once_its_passes_have_been_tried():
    """Also one with too few kernels to be compiled, so that nothing else is to come."""
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.ReLU())
    tried = []

    def attempt(self, values):
        tried.append(self.plan.settled)
        self._measured = True

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
