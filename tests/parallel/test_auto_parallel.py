"""`AutoParallel` and functions that are cut over processes, in a world of one: what they refuse,
and the settings that they keep to themselves."""

from __future__ import annotations

import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.parallel import Layout, auto_parallel, sharding, stages
from lamella.parallel.auto_parallel import AutoParallel, reshard, shard

from ..limits import check_limits

X = Tensor([[1.0, 2.0], [3.0, 4.0]])


class Seen(nn.Cell):
    """A network that gives a setting, as it is while the network runs."""

    def construct(self, name):
        return ms.get_auto_parallel_context(name)


@pytest.mark.parametrize("mode, setting", [
    ("semi_auto", "semi_auto_parallel"), ("sharding_propagation", "auto_parallel"),
    ("recursive_programming", "auto_parallel")])
def test_its_settings_count_inside_of_it(mode, setting):
    net = AutoParallel(Seen(), mode)
    for change, name, value in (
            (lambda: None, "parallel_mode", setting),
            (lambda: net.dataset_strategy("full_batch"), "dataset_strategy", "full_batch"),
            (lambda: net.pipeline(2, True, True, "gpipe"), "pipeline_scheduler", "gpipe"),
            (lambda: None, "pipeline_interleave", True), (lambda: None, "pipeline_stages", 2),
            (net.enable_gradients_mean, "gradients_mean", True),
            (net.disable_gradient_fp32_sync, "gradient_fp32_sync", False),
            (net.disable_loss_repeated_mean, "loss_repeated_mean", False),
            (net.enable_fp32_communication, "force_fp32_communication", True)):
        before = ms.get_auto_parallel_context(name)
        change()
        assert net(name) == value != before and ms.get_auto_parallel_context(name) == before
    assert net.get_pipeline_stages() == 2 and AutoParallel(Seen()).get_pipeline_stages() == 1
    with pytest.raises(ValueError, match="dataset_strategy|full_batch"):
        net.dataset_strategy("some")
    assert net("dataset_strategy") == "full_batch"  # as before


def test_limits_of_parts_of_weights():
    net = AutoParallel(nn.Dense(2, 2))
    words = "For 'AutoParallel.hsdp', '{}' must be an int"
    check_limits(net.hsdp, [1, 7, -1], [0, -2, 1.0, None], match=words.format("shard_size"))
    check_limits(lambda threshold: net.hsdp(-1, threshold), [0, 1, 64], [-1, 1.5],
                 match=words.format("threshold"))
    check_limits(lambda level: net.hsdp(optimizer_level=level), ["level1", "level2", "level3"],
                 ["level4", 3])
    seen = AutoParallel(Seen())
    assert seen("enable_parallel_optimizer") is False
    seen.hsdp(4, 5, "level3")
    found = seen("parallel_optimizer_config")
    assert seen("enable_parallel_optimizer") and found["optimizer_weight_shard_size"] == 4
    assert (found["parallel_optimizer_threshold"], found["optimizer_level"]) == (5, "level3")
    assert type(net.network.weight) is ms.Parameter


def test_files_of_strategies():
    net = AutoParallel(nn.Dense(2, 2))
    assert net.strategy_file() == ""
    net.load_param_strategy_file("a.ckpt")
    assert net.strategy_file() == ""
    net.save_param_strategy_file("b.ckpt")
    assert net.strategy_file() == "b.ckpt"


@pytest.mark.parametrize("call, error, words", [
    (lambda: AutoParallel(3), TypeError, "'network' must be a Cell or a function, but got int"),
    (lambda: AutoParallel(nn.ReLU(), "auto"), ValueError, "must be one of .*but got 'auto'"),
    (lambda: shard(ops.relu, [(1, 1)]), TypeError, "the 'in_strategy' should be a tuple"),
    (lambda: shard(ops.relu, None), TypeError, "the 'in_strategy' should be a tuple"),
    (lambda: shard(ops.relu, ((1, 1),), 3), TypeError, "the 'out_strategy' should be a tuple"),
    (lambda: shard(ops.relu, ((1, 1),), parameter_plan={}), TypeError, "'fn' a Cell, but got dict"),
    (lambda: shard(nn.ReLU(), ((1, 1),), parameter_plan=()), TypeError, "dict, .* but got tuple"),
    (lambda: reshard(1.0, Layout((1,), ("a",))("a")), TypeError, "Tensor type as the first"),
    (lambda: reshard(X, ("a",)), TypeError, "only support type mindspore.parallel.Layout")])
def test_wrong_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_in_a_world_of_one_nothing_is_cut(monkeypatch):
    monkeypatch.setattr(sharding, "_strategies", {})
    net, layout = nn.Dense(2, 2), Layout((1, 1), ("a", "b"))("a", "b")
    assert reshard(X, layout) is X
    want = net(X).asnumpy()
    for call in (AutoParallel(net), AutoParallel(lambda x: net(x)), shard(net, ((1, 1),)),
                 shard(net, (layout,), (layout,), {"weight": (1, 1)}), shard(net, layout)):
        assert (call(X).asnumpy() == want).all()


def test_networks_that_train():
    net = nn.Dense(2, 2)
    by_weights = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
    by_input = ms.grad(lambda x: net(x).sum())

    def step(x):
        return by_weights(x)

    def look(x):
        return by_input(x)

    held = nn.SequentialCell(nn.ReLU())
    held[0].step = by_weights
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    for network, found in ((step, True), (look, False), (net, False), (held, True),
                           (nn.TrainOneStepCell(net, optimizer), True),
                           (nn.SequentialCell(net), False)):
        assert auto_parallel._trains(network) is found


@pytest.mark.parametrize("kinds, spread", [
    ((None, None), False), ((1, 1), False), ((0, 1), True), ((None, 1), True), ((), False),
    ((None, 0), True)])
def test_tensors_of_several_stages(kinds, spread):
    raws = [torch.ones(2) if stage is None else stages.stand_in(torch.ones(2), stage)
            for stage in kinds]
    assert stages.is_spread(raws) is spread


def test_what_is_computed_of_stand_ins_has_the_last_of_their_stages():
    one, two = (stages.stand_in(torch.ones(2, 3), stage) for stage in (1, 2))
    for found in (one + two, two + one, torch.cat([one, two]), torch.stack((one, two)), one * two,
                  *torch.split(two, 1)):
        assert isinstance(found, stages.Elsewhere) and found.stage == 2 and found.is_meta
    assert (one * 2).stage == 1 and (one + 1).shape == (2, 3) and one.shape == (2, 3)
    with pytest.raises(RuntimeError, match="that only the processes of stage 1 of the pipeline"):
        one.sum().item()
    assert stages.latest() is None and stages.computes([X])
    assert stages.total("f", X._raw, "sum") is X._raw
