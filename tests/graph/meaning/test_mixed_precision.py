"""Mixed precision and loss scaling, compiled as eagerly."""


import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops

from .agreement import X


def loss_of(net, x, y):
    return ops.cross_entropy(net(x).astype(ms.float32), y)


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3", "auto", "to_float"])
def test_mixed_precision(level):
    rng = np.random.default_rng(0)
    x = Tensor(rng.standard_normal((4, 3)), ms.float32)
    y = Tensor([0, 1, 0, 1], ms.int32)

    def make():
        ms.set_seed(0)
        net = nn.SequentialCell(nn.Dense(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dense(8, 2))
        net.set_train()
        if level == "to_float":
            net.to_float(ms.float16)
        else:
            net = ms.amp.auto_mixed_precision(net, level)
        update = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        scaler = ms.amp.DynamicLossScaler(2.0**10, 2, 3)
        gradient = ms.value_and_grad(lambda x, y: scaler.scale(loss_of(net, x, y)), None,
                                     net.trainable_params())

        def step(x, y):
            loss, gradients = gradient(x, y)
            gradients = scaler.unscale(gradients)
            finite = ms.amp.all_finite(gradients)
            if finite:
                update(gradients)
            scaler.adjust(finite)
            return scaler.unscale(loss), finite

        return step, lambda: ([p.value() for p in net.get_parameters()],
                              scaler.scale_value.value())

    bad = Tensor(np.full((4, 3), np.inf), ms.float32)
    compiled = agree_with_state_roughly(make, [(x, y), (x, y), (bad, y), (x, y), (x, y)])
    assert not compiled.report()["eager"]


def agree_with_state_roughly(make, calls):
    """As `agree_with_state`, with NaN alike and room for the rounding of half precision."""
    eager, eager_state = make()
    function, state = make()
    compiled = jit(function, fullgraph=True)
    for args in calls:
        for got, want in ((compiled(*args), eager(*args)), (state(), eager_state())):
            for g, w in zip(flat(got), flat(want), strict=True):
                assert g.dtype is w.dtype
                np.testing.assert_allclose(g.asnumpy(), w.asnumpy(), rtol=2e-3, atol=2e-3)
    return compiled


def flat(tree):
    return [tree] if isinstance(tree, Tensor) else [t for part in tree for t in flat(part)]


def test_loss_scale_cell_skips_the_update():
    def make():
        w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")

        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.w = w

            def construct(self, x):
                return (x * self.w).sum()

        net = Net()
        manager = nn.DynamicLossScaleUpdateCell(2.0**12, 2, 2)
        step = nn.TrainOneStepWithLossScaleCell(net, nn.SGD([w], 0.1), manager)
        return step, lambda: (w.value(), step.scale_sense.value())

    calls = [(X,), (X * float("inf"),), (X,), (X,), (X,), (X * float("nan"),), (X,)]
    agree_with_state_roughly(make, calls)
