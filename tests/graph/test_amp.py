"""Mixed precision inside a graph: every level trains compiled as it does eagerly."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, jit, nn, ops

LEVELS = ("O0", "O1", "O2", "O3", "auto", "to_float", "custom")
BAD = 3  # the call whose gradients overflow


def network(level, dtype):
    net = nn.SequentialCell(nn.Dense(3, 8, weight_init="ones"), nn.BatchNorm1d(8), nn.ReLU(),
                            nn.Dense(8, 2, weight_init="ones"))
    net.set_train()
    if level == "to_float":
        return net.to_float(dtype)
    if level == "custom":
        return ms.amp.custom_mixed_precision(net, white_list=[nn.Dense], dtype=dtype)
    return ms.amp.auto_mixed_precision(net, level, dtype)


def batch(number):
    rng = np.random.default_rng(number)
    x = rng.standard_normal((4, 3)).astype(np.float32)
    if number == BAD:
        x[0, 0] = np.inf
    return Tensor(x), Tensor(np.array([0, 1, 0, 1], np.int32))


def scaled_step(level, dtype, scaler):
    """A step that leaves out the update where gradients overflow, and its state."""
    net = network(level, dtype)
    update = nn.Momentum(net.trainable_params(), 0.05, 0.9)

    def loss_of(x, y):
        return scaler.scale(ops.cross_entropy(net(x).astype(ms.float32), y))

    gradient = ms.value_and_grad(loss_of, None, update.parameters)

    def step(x, y):
        loss, gradients = gradient(x, y)
        gradients = scaler.unscale(gradients)
        finite = ms.amp.all_finite(gradients)
        if finite:
            update(gradients)
        scaler.adjust(finite)
        return scaler.unscale(loss), finite

    return step, lambda: [*(p.value() for p in net.get_parameters()),
                          *(m.value() for m in update.moments),
                          Tensor(scaler.scale_value, ms.float32)]


def cell_step(level, dtype, manager):
    """The same by `TrainOneStepWithLossScaleCell`."""
    net = network(level, dtype)
    loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    step = nn.TrainOneStepWithLossScaleCell(loss, nn.Adam(net.trainable_params(), 0.05), manager)
    return step, lambda: [*(p.value() for p in net.get_parameters()), step.scale_sense.value()]


def numbers(tree):
    if isinstance(tree, Tensor):
        return [(tree.dtype.name, tree.float().asnumpy().copy())]
    return [pair for part in tree for pair in numbers(part)]


def agree(make, dtype, calls=6, level="O1"):
    """Train twins, one of them compiled; gives the compiled one and the states it has had."""
    ms.set_seed(1)
    eager, eager_state = make()
    ms.set_seed(1)
    function, state = make()
    compiled = jit(function, jit_level=level, fullgraph=True)
    limit = 3e-2 if dtype is ms.bfloat16 else 4e-3
    states = []
    for number in range(calls):
        args = batch(number)
        states.append(numbers(state()))
        for mine, wanted in ((compiled(*args), eager(*args)), (state(), eager_state())):
            for (kind, got), (wanted_kind, want) in zip(numbers(mine), numbers(wanted),
                                                        strict=True):
                assert kind == wanted_kind
                np.testing.assert_allclose(got, want, rtol=limit, atol=limit)
    states.append(numbers(state()))
    return compiled, states


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16], ids=str)
@pytest.mark.parametrize("level", LEVELS)
def test_levels_train_alike_and_overflow_skips_the_update(level, dtype):
    scaler = ms.amp.DynamicLossScaler(2.0**10, 2, 50)
    made = []

    def make():
        made.append(ms.amp.DynamicLossScaler(2.0**10, 2, 50))
        return scaled_step(level, dtype, made[-1])

    compiled, states = agree(make, dtype, level="O0")
    assert float(made[1].scale_value) == float(scaler.scale_value) / 2
    weight = [state[0][1] for state in states]
    np.testing.assert_array_equal(weight[BAD + 1], weight[BAD])
    assert not np.array_equal(weight[BAD], weight[BAD - 1])
    report = compiled.report()
    assert report["traces"] == 2 and report["replays"] == 4, report


@pytest.mark.parametrize("manager", [lambda: nn.DynamicLossScaleUpdateCell(2.0**12, 2, 2),
                                     lambda: nn.FixedLossScaleUpdateCell(64.0)])
@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16], ids=str)
def test_the_cell_with_a_loss_scale(manager, dtype):
    compiled, states = agree(lambda: cell_step("O2", dtype, manager()), dtype)
    np.testing.assert_array_equal(states[BAD + 1][0][1], states[BAD][0][1])
    assert not compiled.report()["eager"]


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16], ids=str)
def test_a_static_scale_and_improved_graphs(dtype, monkeypatch):
    monkeypatch.setattr("lamella.graph.runtime.execution.HOT", 0)
    compiled, _ = agree(lambda: scaled_step("O1", dtype, ms.amp.StaticLossScaler(256.0)), dtype)
    assert not compiled.report()["eager"]


@pytest.mark.parametrize("level", ["O0", "O2", "O3"])
def test_build_train_network(level):
    def make():
        net = nn.SequentialCell(nn.Dense(3, 4, weight_init="ones"), nn.BatchNorm1d(4), nn.ReLU(),
                                nn.Dense(4, 2, weight_init="ones"))
        built = ms.amp.build_train_network(
            net, nn.Momentum(net.trainable_params(), 0.01, 0.9),
            nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), level=level)
        return built, lambda: [p.value() for p in net.get_parameters()]

    compiled, _ = agree(make, ms.float16, calls=BAD)
    assert not compiled.report()["eager"]


def test_a_cell_whose_precision_changes():
    net = nn.Dense(2, 2, weight_init=1.001)
    fn = jit(net)
    x = ops.ones((1, 2)) * 1.001
    for dtype in (ms.float32, ms.float16, ms.bfloat16, ms.float32):
        net.to_float(dtype)
        for _ in range(2):
            got, want = fn(x), net(x)
            assert got.dtype is want.dtype is dtype
            np.testing.assert_array_equal(got.float().asnumpy(), want.float().asnumpy())


def test_a_compiled_function_inside_a_cell_of_another_precision():
    weight = ms.Parameter(Tensor([1.001, 2.0]), name="w")

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = weight
            self.inner = jit(lambda x: x * self.w)

        def construct(self, x):
            return self.inner(x)

    net = Net().to_float(ms.float16)
    for value in (1.001, 3.0):
        weight.set_data(Tensor([value, 2.0]))
        got = net(ops.ones(2))
        assert got.dtype is ms.float16
        np.testing.assert_array_equal(got.asnumpy(), np.float16([value, 2.0]))
