"""trace_overflow: the first operation that makes a NaN or Inf, in any phase."""

import inspect

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.insight import debug


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


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("values, kind, told", [
    (2.0, torch.float32, "float32 scalar in [2, 2]"),
    ([[1.0, -2.5, 3.0]], torch.float64, "float64 1x3 in [-2.5, 3]"),
    ([NAN, 1.0, INF, -INF], torch.float16, "float16 4 in [1, 1], 1 NaN and 2 Inf"),
    ([NAN, NAN], torch.float32, "float32 2 in [nan, nan], 2 NaN and 0 Inf"),
    ([INF], torch.float32, "float32 1 in [nan, nan], 0 NaN and 1 Inf"),
    ([1 - 4j, 2 + 3j], torch.complex64, "complex64 2 in [-4, 3]"),
    ([complex(NAN, INF)], torch.complex64, "complex64 1 in [nan, nan], 1 NaN and 1 Inf")])
def test_ranges(values, kind, told):
    assert str(debug._range(torch.tensor(values, dtype=kind))) == told


def test_how_a_find_is_told():
    found = ms.debug.trace_overflow(lambda x, y: ops.log(x * 1) + y, Tensor([1.0, 0.0]),
                                    Tensor([5.0, 6.0]))
    first, *rest = str(found).splitlines()
    assert first == (f"'log' (forward, operation {found.number}) made 0 NaN and 1 Inf: "
                     f"{found.file}:{found.line}")
    assert found.number == 2 and rest == ["  input 0: float32 2 in [0, 1]",
                                          "  output: float32 2 in [0, 0], 0 NaN and 1 Inf"]
    nowhere = debug.Overflow("f", "update", "", 0, (), found.output, 3)
    assert str(nowhere).splitlines()[0].endswith(": no line of the program")


@pytest.mark.parametrize("step, x, operation", [
    (lambda x: ops.log(x).sum(), [1.0, 2.0], None),
    (lambda x: (ops.log(x) - ops.log(x)).sum(), [0.0, 2.0], "log"),  # the first, not the last
    (lambda x: (x - x).sum(), [INF, 1.0], None),  # what comes from outside counts before
    (lambda x: ops.sqrt(x * 2), [-1.0, 4.0], "sqrt"), (lambda x: x / (x - 1), [1.0, 2.0], "div"),
    (lambda x: ops.log(x[:0]).sum() * 1.0, [1.0], None),
    (lambda x: (x.astype(ms.int32) // 2).sum(), [3.0], None),
    (lambda x: ops.exp(x + 1j), [1.0, 800.0], "exp"),
    # a mask that the program makes infinite comes from outside, too
    (lambda x: ops.softmax(ops.masked_fill(x, x < 2, -INF)), [1.0, 2.0], None),
    (lambda x: ops.clamp(x, -INF, INF), [1.0, 2.0], None),
    (lambda x: (ops.full((2,), NAN, dtype=ms.float32), ops.log(x)), [0.0, 2.0], "log")])
def test_the_first_operation_is_found(step, x, operation):
    found = ms.debug.trace_overflow(step, Tensor(x))
    assert (None if found is None else found.operation) == operation
