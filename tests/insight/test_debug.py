"""trace_overflow: the first operation that makes a NaN or Inf, in any phase."""

import inspect

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops


def line_with(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_forward():
    def step(x):
        y = x * 2
        z = ops.exp(y * 50)
        return (z - z).sum()

    found = ms.debug.trace_overflow(step, Tensor([1.0, -1.0, 3.0]))
    assert (found.operation, found.phase) == ("exp", "forward")
    assert found.file == __file__ and found.line == line_with(step, "ops.exp")
    assert found.inputs[0].high == pytest.approx(300.0) and found.inputs[0].low == -100
    assert (found.output.infs, found.output.nans) == (2, 0)
    assert f"{__file__}:{found.line}" in str(found) and "in [-100, 300]" in str(found)
    assert ms.debug.trace_overflow(step, Tensor([0.1])) is None


def test_backward():
    def loss(x):
        root = ops.sqrt(x)
        return (root * 3).sum()

    found = ms.debug.trace_overflow(ms.grad(loss), Tensor([4.0, 0.0]))
    assert found.phase == "backward" and found.line == line_with(loss, "ops.sqrt")
    assert found.file == __file__ and found.output.infs == 1 and found.output.high < 1


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 2, weight_init="ones")

    def construct(self, x, y):
        return ((self.fc(x) - y) ** 2).mean()


@pytest.mark.parametrize("compiled", [False, True])
def test_update_and_nothing_is_changed(compiled):
    net = Net()
    optimizer = nn.SGD(net.trainable_params(), 3e38)
    gradient = ms.value_and_grad(net, None, optimizer.parameters)

    def step(x, y):
        value, gradients = gradient(x, y)
        optimizer(gradients)
        return value

    step = ms.jit(step) if compiled else step
    x, y = ops.ones((4, 2)), ops.zeros((4, 2))
    ms.set_seed(3)
    before = {n: p.asnumpy().copy() for n, p in net.parameters_dict().items()}
    found = ms.debug.trace_overflow(step, x, y)
    assert found.phase == "update" and found.inputs[0].infs == 0
    for name, parameter in net.parameters_dict().items():
        np.testing.assert_array_equal(parameter.asnumpy(), before[name])
    assert int(optimizer.global_step) == 0
    optimizer.learning_rate.set_data(0.1)
    assert ms.debug.trace_overflow(step, x, y) is None
    assert int(optimizer.global_step) == 0
    found = ms.debug.trace_overflow(step, x * float("inf"), y)
    assert found is None or found.output.nans  # inf - inf is new; inf itself came from outside


def test_in_place_and_half_precision():
    def step(x):
        y = x.astype(ms.float16)
        y += 60000
        return y.sum()

    found = ms.debug.trace_overflow(step, Tensor([60000.0, 1.0]))
    assert found.line == line_with(step, "+= 60000") and found.output.dtype == "float16"
    assert found.inputs[0].high == 60000 and found.inputs[0].infs == 0
    with pytest.raises(TypeError, match="'step' must be a function or a Cell"):
        ms.debug.trace_overflow(3)
