"""Frozen and centralized gradients, few dimensions, loss scales of groups: against their rules."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, boost, nn, ops
from lamella.boost.less_batch_normalization import CommonHeadLastFN

from ..worlds import run_world_here
from . import adasum_worker
from .group_scales import scaled_by_groups


@pytest.fixture(autouse=True)
def no_boost():
    boost.AutoBoost("O0")
    yield
    boost.AutoBoost("O0")


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.bn = nn.BatchNorm2d(2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(32, 4)
        self.fc2 = nn.Dense(4, 2)

    def construct(self, x):
        return self.fc2(self.fc1(self.flatten(self.bn(self.conv(x)))))


def batch():
    rng = np.random.default_rng(0)
    return Tensor(rng.standard_normal((3, 1, 4, 4)).astype(np.float32))


class Loss(nn.Cell):
    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net = net

    def construct(self, x):
        return (self.net(x) ** 2).mean()


def test_groups_of_parameters_are_ends_of_the_network():
    net = Net()
    freeze = boost.GradientFreeze(2, 0, 0.5, 10)
    whole, end = freeze.split_parameters_groups(net, 2)
    assert [p.name for p in whole] == [p.name for p in net.trainable_params()]
    assert [p.name for p in end] == [p.name for p in whole][-len(end):] and len(end) < len(whole)
    assert not end[0].name.startswith("bn")


def test_steps_of_all_and_of_groups():
    freeze = boost.GradientFreeze(4, 1, 0.7, 200)
    np.random.seed(3)
    steps = freeze.generate_freeze_index_sequence(4, 1, 0.7, 200)
    assert len(steps) == 202 and set(steps) == {0, 1, 2, 3}
    assert abs(steps.count(0) / len(steps) - 0.7) < 0.02
    assert freeze.generate_freeze_index_sequence(1, 0, 0.5, 100) == [0] * 101
    with pytest.raises(ValueError, match="Unsupported freezing training strategy '2'"):
        freeze.generate_freeze_index_sequence(4, 2, 0.5, 10)


def test_a_frozen_step_trains_its_group_alone():
    net = Loss(Net())
    network, optimizer = boost.GradientFreeze(2, 0, 0.5, 10).freeze_generate(
        net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    optimizer.train_strategy = Tensor([1, 0], ms.int32)
    step = boost.BoostTrainOneStepCell(network, optimizer)
    for trained in (optimizer.opts[1], optimizer.opts[0], optimizer.opts[1]):
        before = {p.name: p.asnumpy().copy() for p in net.trainable_params()}
        step(batch())
        moved = {p.name for p in net.trainable_params()
                 if not np.array_equal(p.asnumpy(), before[p.name])}
        assert moved <= {p.name for p in trained.parameters} and moved


def test_a_frozen_step_of_all_is_an_ordinary_one():
    ms.set_seed(1)
    one, other = Loss(Net()), Loss(Net())
    ms.load_param_into_net(other, one.parameters_dict())
    frozen = boost.FreezeOpt(nn.Adam(one.trainable_params(), 0.1))
    a = boost.BoostTrainOneStepCell(one, frozen, sens=2.0)
    b = nn.TrainOneStepCell(other, nn.Adam(other.trainable_params(), 0.1), sens=2.0)
    for _ in range(3):
        np.testing.assert_array_equal(a(batch()).asnumpy(), b(batch()).asnumpy())


def test_learning_rates_of_a_group_are_those_of_its_steps():
    net = nn.Dense(2, 1)
    optimizer = nn.SGD(net.trainable_params(), [0.1, 0.2, 0.3])
    frozen = boost.FreezeOpt(optimizer, [[net.weight, net.bias], [net.bias]], [0, 1, 0])
    np.testing.assert_allclose(frozen.opts[0].learning_rate.learning_rate.asnumpy(), [0.1, 0.3])
    assert len(frozen.opts[1].parameters) == 1
    for wrong, error in ((("x",), TypeError), ((optimizer, None, [0]), ValueError),
                         ((optimizer, "ab", [0]), TypeError),
                         ((optimizer, [[net.weight]], ["0"]), ValueError)):
        with pytest.raises(error):
            boost.FreezeOpt(*wrong)


def test_centralized_gradients():
    net = Net()
    process = boost.OptimizerProcess(nn.SGD([{"params": net.trainable_params()}], 0.1))
    process.add_grad_centralization(net)
    optimizer = process.generate_new_optimizer()
    flags = {p.name: f for p, f in zip(optimizer.parameters, optimizer.group_grad_centralization,
                                       strict=True)}
    assert {name for name, flag in flags.items() if flag} == {"conv.weight", "fc1.weight",
                                                              "fc2.weight"}
    step = nn.TrainOneStepCell(Loss(net), optimizer)
    before = net.fc1.weight.asnumpy().copy()
    step(batch())
    moved = net.fc1.weight.asnumpy() - before
    np.testing.assert_allclose(moved.mean(1), 0, atol=1e-6)
    assert np.abs(moved).max() > 1e-4


def test_parameters_are_numbered_by_group():
    net = Net()
    found = boost.ParameterProcess().assign_parameter_group(net.trainable_params(), [2, 3])
    assert [p.comm_fusion for p in found] == [1, 1, 2, *[3] * (len(found) - 3)]


def test_fewer_normalizations():
    net = Net()
    marked = boost.LessBN(net, fn_flag=True)
    assert net.get_flags()["less_bn"] and isinstance(net.fc2, CommonHeadLastFN)
    assert isinstance(net.fc1, nn.Dense)
    x = Tensor(np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32))
    w = net.fc2.weight.asnumpy()
    want = (x.asnumpy() / np.linalg.norm(x.asnumpy(), axis=1, keepdims=True)) @ (
        w / np.linalg.norm(w, axis=1, keepdims=True)).T
    np.testing.assert_allclose(net.fc2(x).asnumpy(), want, rtol=1e-5)
    assert marked(batch()).shape == (3, 2)


def test_loss_scales_of_groups_change_no_gradient():
    net, manager, step = scaled_by_groups(64.0, (16.0, 64.0))
    x = ops.ones((4, 2))
    want = net.one.weight.asnumpy() - 0.1 * 4 * np.repeat(net.two.weight.asnumpy().T, 2, 1)
    _, overflow, scale = step(x)
    assert not overflow and float(scale) == 16.0
    np.testing.assert_allclose(net.one.weight.asnumpy(), want, rtol=1e-5)
    assert float(manager.dynamic_loss_scale[2]) > 64.0
    before = net.two.weight.asnumpy().copy()
    _, overflow, _ = step(x * float("inf"))
    assert overflow and np.array_equal(net.two.weight.asnumpy(), before)
    assert float(manager.dynamic_loss_scale[1]) < 16.0


def test_a_scaled_loss_with_an_overflow_takes_no_step():
    net = nn.Dense(1, 1, weight_init="ones", has_bias=False)
    scale = nn.DynamicLossScaleUpdateCell(1024.0, 2, 1000)
    step = boost.BoostTrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.5), scale)
    _, overflow, value = step(Tensor([[float("inf")]]))
    assert overflow and float(value) == 1024.0 and float(step.scale_sense) == 512.0
    assert net.weight.tolist() == [[1.0]]
    with pytest.raises(TypeError, match="'scale_sense'"):
        boost.BoostTrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.5), 3)


def test_accumulated_gradients():
    boost.AutoBoost("O0", {"boost": {"mode": "manual", "grad_accumulation": True},
                           "grad_accumulation": {"grad_accumulation_step": 2}})
    net = nn.Dense(1, 1, weight_init="ones", has_bias=False)
    step = boost.BoostTrainOneStepCell(net, nn.SGD(net.trainable_params(), 1.0))
    for x, weight in ((0.25, 1.0), (0.75, 0.5)):
        step(Tensor([[x]]))
        assert net.weight.tolist() == [[weight]]


def test_few_dimensions(tmp_path):
    """Principal components from checkpoints, and steps that lower the loss in them."""
    rng = np.random.default_rng(0)
    x = (0.5 * rng.standard_normal((16, 3))).astype(np.float32)
    y = rng.standard_normal((16, 1)).astype(np.float32)

    class Fit(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(3, 1, has_bias=False)

        def construct(self, x, y):
            return ((self.dense(x) - y) ** 2).mean()

    net = Fit()
    for number in range(4):
        ms.save_checkpoint(net, str(tmp_path / f"{number}.ckpt"))
        net.dense.weight.set_data(net.dense.weight + Tensor(
            (rng.standard_normal((1, 3)) * [1.0, 0.5, 0.01]).astype(np.float32)))
    found = boost.AutoBoost("O0", {"boost": {"mode": "manual", "dim_reduce": True}, "dim_reduce": {
        "n_components": 2, "weight_load_dir": str(tmp_path), "alpha": 0.0}})
    network, optimizer = found.network_auto_process_train(net, None)
    components = np.load(tmp_path / "pca_mat_temp.npy")
    np.testing.assert_allclose(components @ components.T, np.eye(2), atol=1e-5)
    step = boost.BoostTrainOneStepCell(network, optimizer)
    start = net.dense.weight.asnumpy().T.copy()
    losses = [float(step(Tensor(x), Tensor(y))) for _ in range(30)]
    # the best weights that differ from the start in these two directions
    rest = y - x @ start
    moved = np.linalg.lstsq(x @ components.T, rest, rcond=None)[0]
    best = float(((rest - x @ components.T @ moved) ** 2).mean())
    assert losses[-1] - best < 1e-4 * (losses[0] - best) and losses[0] > 1.01 * best
    with pytest.raises(ValueError, match="'n_components'"):
        boost.AutoBoost("O0", {"boost": {"mode": "manual", "dim_reduce": True}, "dim_reduce": {
            "n_components": 9, "weight_load_dir": str(tmp_path)}}).network_auto_process_train(
                net, None)


def test_levels_and_modes():
    assert boost.AutoBoost("O2").boost_config["adasum"]
    assert not any(boost.AutoBoost("O1", {"boost": {"mode": "disable_all"}}).boost_config.values())
    assert all(boost.AutoBoost("O0", {"boost": {"mode": "enable_all"}}).boost_config.values())
    for wrong, text in (({"boost": {"mode": "some"}}, "'mode'"),
                        ({"grad_freeze": {"p": 1}}, "'grad_freeze' has the options")):
        with pytest.raises(ValueError, match=text):
            boost.AutoBoost("O1", wrong)
    net = Net()
    found = boost.AutoBoost("O1", {"grad_freeze": {"param_groups": 2, "total_steps": 10}})
    network, optimizer = found.network_auto_process_train(
        net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    assert isinstance(network, boost.LessBN) and isinstance(optimizer, boost.FreezeOpt)
    assert isinstance(found.network_auto_process_eval(Net()), boost.LessBN)


def test_numbers_are_of_algorithms_that_are_used():
    """Those of an algorithm that isn't used stay at their defaults; common ones count always."""
    given = {"boost": {"mode": "manual", "grad_freeze": True, "less_bn": 0}, "common": {
        "device_number": 3, "gradient_split_groups": 5}, "grad_freeze": {"freeze_p": 0.25},
             "less_bn": {"fn_flag": False}}
    found = boost.AutoBoost("O0", given)
    assert [name for name, used in found.boost_config.items() if used] == ["grad_freeze"]
    assert (found.device_number, found.gradient_groups) == (3, [5])
    assert (found.freeze_p, found.param_groups, found.freeze_type) == (0.25, 10, 1)
    assert found.fn_flag and found.gc_flag
    assert boost.AutoBoost() is found and found.freeze_p == 0.25
    net = Net()
    assert found.network_auto_process_eval(net) is net
    found = boost.AutoBoost("O1", {**given, "boost": {"mode": "auto"}})
    assert not found.fn_flag and not found.boost_config["adasum"]
    assert boost.AutoBoost("O9").level == "O0" and boost.AutoBoost().gradient_groups is None
    assert boost.AutoBoost("O0", {"common": {"gradient_split_groups": [2, 7]}}
                           ).gradient_groups == [2, 7]
    with pytest.raises(ValueError, match="must be an int or a list, but got '5'"):
        boost.AutoBoost("O0", {"common": {"gradient_split_groups": "5"}})
    with pytest.raises(AttributeError, match="'AutoBoost' object has no attribute 'speed'"):
        boost.AutoBoost().speed  # noqa: B018


@pytest.mark.parametrize("level, parts", [("O0", 0), ("O1", 2), ("O2", 3)])
def test_what_a_level_changes(level, parts):
    net = Net()
    before = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    found = boost.AutoBoost(level, {"grad_freeze": {"param_groups": 2, "total_steps": 10}})
    network, optimizer = found.network_auto_process_train(net, before)
    assert sum(found.boost_config.values()) == parts
    assert (network is net, optimizer is before) == (not parts, not parts)
    assert bool(getattr(optimizer, "adasum", False)) is (level == "O2")


def test_adaptive_sums_of_four_processes():
    for out in run_world_here(adasum_worker.main, adasum_worker.__file__, 4):
        assert out.splitlines()[-1] == "as it should be"
