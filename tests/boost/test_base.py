"""How Parameters are grouped, frozen and fused, beside the rules spelt out."""

import numpy as np
import pytest

import lamella as ms
from lamella import nn
from lamella.boost import base, grad_freeze
from lamella.boost.boost import AutoBoost
from lamella.nn import optim


def network():
    return nn.SequentialCell(nn.Dense(3, 4), nn.Conv2d(4, 4, 1, group=2), nn.Conv2d(4, 4, 1),
                             nn.BatchNorm2d(4))


@pytest.mark.parametrize(("split", "marks"), [
    (None, [1, 1, 2, 2, 2]), ([1], [1, 2, 2, 2, 2]), ([1, 3], [1, 2, 2, 3, 3]),
    ([0, 4], [2, 2, 2, 2, 3]), ([9], [1, 1, 1, 1, 1])])
def test_parameters_are_fused_from_split_points_on(split, marks):
    params = [ms.Parameter(ms.ops.ones(1), name=f"p{i}") for i in range(5)]
    assert base.ParameterProcess().assign_parameter_group(params, split) is params
    assert [p.comm_fusion for p in params] == marks


@pytest.mark.parametrize("given", [[], (), None, 3])
def test_nothing_to_fuse_comes_back(given):
    assert base.ParameterProcess().assign_parameter_group(given) is given


def test_gradients_of_weights_are_centralized():
    net = network()
    process = base.OptimizerProcess
    params = list(net.get_parameters())
    order = {"order_params": params}
    groups = process.build_gc_params_group(process.build_params_dict(net), [
        {"params": params, "lr": 0.5}, order])
    chosen, rest, last = groups
    assert [p.name for p in chosen["params"]] == [
        p.name for p in params if p.name in ("0.weight", "2.weight") or "moving" in p.name
        or p.name.endswith(("mean", "variance"))]
    assert chosen["grad_centralization"] is True and chosen["lr"] == rest["lr"] == 0.5
    assert len(chosen["params"]) + len(rest["params"]) == len(params)
    assert "grad_centralization" not in rest and last is order


def test_groups_of_one_kind_stay_one():
    net = nn.Dense(3, 4)
    cells = base.OptimizerProcess.build_params_dict(net)
    for params, many in (([net.weight], 1), ([net.bias], 1), ([net.weight, net.bias], 2)):
        assert len(base.OptimizerProcess.build_gc_params_group(cells, [{"params": params}])) == many


def test_groups_by_name():
    first, second, third = (ms.Parameter(ms.ops.ones(1), name=n) for n in "abc")
    own = [ms.Parameter(ms.ops.zeros(1), name=n) for n in "abc"]
    process = base.ParameterProcess
    groups = process.generate_group_params(own, [
        {"params": [first], "lr": 0.1}, {"params": [second], "lr": 0.2, "weight_decay": 0.3},
        {"order_params": [first, second]}])
    assert [g.get("params") for g in groups[:2]] == [[own[0]], [own[1]]]
    assert groups[2]["order_params"] is own
    assert groups[3]["params"] == [own[2]] and groups[3]["weight_decay"] == 0.3  # the fullest's
    assert len(process.generate_group_params(own, [{"params": [first, second, third]}])) == 1
    assert process.generate_group_params(own, [first]) == [{"params": own}]
    for wrong, error in (([], ValueError), (None, ValueError), ([3], TypeError)):
        with pytest.raises(error, match="Parameters"):
            process.generate_group_params(own, wrong)


def freeze(groups=3, kind=0, share=0.5, steps=100):
    return grad_freeze.GradientFreeze(groups, kind, share, steps)


@pytest.mark.parametrize(("groups", "share", "turn"), [
    (3, 0.5, [0, 0, 1, 2]), (2, 0.5, [0, 1]), (4, 0.25, [0, 1, 2, 3]), (3, 0.7, [0] * 4 + [1, 2])])
def test_turns_of_freezing(groups, share, turn):
    found = freeze().generate_freeze_index_sequence(groups, 0, share, 100)
    assert len(found) >= 101 and found[:2 * len(turn)] == turn * 2
    assert len(found) % len(turn) == 0 and len(found) - 101 < len(turn)


def test_freezing_at_random():
    ms.set_seed(3)
    found = freeze().generate_freeze_index_sequence(4, 1, 0.7, 2000)
    assert len(found) == 2020 and found[0] == 0
    counts = np.bincount(found, minlength=4) / 2020
    np.testing.assert_allclose(counts[0], 0.7, atol=0.01)
    np.testing.assert_allclose(counts[1:], 0.3 * np.array([3, 2, 1]) / 6, atol=0.03)


def test_without_groups_nothing_is_frozen():
    assert freeze().generate_freeze_index_sequence(1, 0, 0.5, 100) == [0] * 101
    with pytest.raises(ValueError, match="strategy"):
        freeze().generate_freeze_index_sequence(2, 2, 0.5, 100)


def test_groups_begin_later_and_later():
    net = nn.SequentialCell([nn.Dense(2, 2) for _ in range(6)])
    params = net.trainable_params()
    groups = freeze().split_parameters_groups(net, 2)
    assert groups[0] == params and groups[1] == params[-len(groups[1]):]
    sizes = [len(group) for group in freeze().split_parameters_groups(net, 3)]
    assert sizes == [12, 8, 4]


@pytest.mark.parametrize(("options", "wrong"), [
    ({"groups": 1}, {"groups": 0}), ({"kind": 0}, {"kind": 2}), ({"kind": 1}, {"kind": -1}),
    ({"share": 0.01}, {"share": 0.0}), ({"share": 0.99}, {"share": 1.0}), ({"steps": 1},
                                                                          {"steps": 0})])
def test_limits_of_freezing(options, wrong):
    freeze(**options)
    with pytest.raises(ValueError, match="must"):
        freeze(**wrong)


@pytest.mark.parametrize(("strategy", "fits"), [
    ([0, 1], True), ((0,), True), (ms.Tensor([0, 1], ms.int32), True),
    (ms.Tensor([0, 1], ms.int64), False), (ms.Tensor([[0]], ms.int32), False), ([0.5], False),
    (3, False), (np.array([0]), False)])
def test_strategies(strategy, fits):
    net = nn.Dense(2, 2)
    optimizer = optim.SGD(net.trainable_params(), learning_rate=0.1)
    groups = [[{"params": net.trainable_params()}]] * 2
    if fits:
        made = grad_freeze.FreezeOpt(optimizer, groups, strategy)
        assert made.train_strategy.dtype is ms.int32 and len(made.opts) == 2
    else:
        with pytest.raises((TypeError, ValueError), match="train_strategy"):
            grad_freeze.FreezeOpt(optimizer, groups, strategy)
    with pytest.raises(ValueError, match="train_parameter_groups"):
        grad_freeze.FreezeOpt(optimizer, None, [0])


ALL = ("less_bn", "grad_freeze", "adasum", "grad_accumulation", "dim_reduce", "loss_scale_group")


@pytest.mark.parametrize(("level", "mode", "used"), [
    ("O0", "auto", ()), ("O1", "auto", ALL[:2]), ("O2", "auto", ALL[:3]), ("O9", "auto", ()),
    ("O0", "enable_all", ALL), ("O2", "disable_all", ()), ("O0", "manual", ("adasum",)),
    ("O1", "manual", (*ALL[:2], "adasum"))])
def test_algorithms_of_levels_and_modes(level, mode, used):
    boost = AutoBoost(level, {"boost": {"mode": mode, "adasum": True}})
    assert boost.boost_config == {name: name in used for name in ALL}


def test_options_of_algorithms_that_are_used():
    own = {"grad_freeze": {"param_groups": 3}, "common": {"device_number": 2}}
    used, unused = (AutoBoost(level, own) for level in ("O1", "O0"))
    assert used is unused  # there is one; the last arguments count
    assert unused.param_groups == 10 and unused.device_number == 2
    assert AutoBoost("O1", own).param_groups == 3
    assert AutoBoost("O1", {"common": {"gradient_split_groups": 5}}).gradient_groups == [5]
    assert AutoBoost("O1", {"common": {"gradient_split_groups": [2, 5]}}).gradient_groups == [2, 5]
    for wrong in ({"grad_freeze": {"groups": 3}}, {"common": {"gradient_split_groups": "5"}},
                  {"boost": {"mode": "some"}}):
        with pytest.raises(ValueError, match="AutoBoost"):
            AutoBoost("O1", wrong)
