"""Operators sharded over processes: results are those of one process with the whole batch."""

import json
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella.parallel import shard, transform_checkpoints
from lamella.parallel.auto_parallel import AutoParallel

from ..worlds import asked_for, run_world_here
from . import sharding_worker as worker

SCRIPT = Path(__file__).with_name("sharding_worker.py")
LONG = {name: pytest.mark.long(f"what {other!r} shows, {how}") for name, other, how in (
    ("Adam None", "Adam cells", "without strategies"),
    ("Adam tuples", "Adam tuples compiled", "eagerly"),
    ("Adam function", "Momentum function compiled", "eagerly"),
    ("Momentum rows compiled", "Momentum function compiled", "with the step as a Cell"),
    ("Momentum step", "Adam whole step", "with the step as a Cell"),
    ("Adam AutoParallel", "Adam level3", "with whole weights"),
    ("Adam level1", "Adam level3", "with fewer states cut"))}
CASES = [pytest.param(name, marks=LONG.get(name, ())) for name in worker.CASES]


@pytest.fixture(scope="module")
def found(request, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("sharding"))
    asked = json.dumps(sorted(asked_for(request, "case") & {*worker.CASES}))
    answers = run_world_here(
        lambda: worker.main(folder, json.loads(asked)), SCRIPT, 4, folder, asked)
    return [{**json.loads(out.splitlines()[-1]), "folder": folder} for out in answers]


@pytest.fixture(scope="module")
def wanted():
    return {kind: worker.train(kind, slice(None)) for kind in ("Adam", "Momentum")}


@pytest.mark.parametrize("case", CASES)
def test_training_is_that_of_one_process(found, wanted, case):
    losses, weights = wanted[case.split()[0]]
    for answer in found:
        np.testing.assert_allclose(answer[case][0], losses, rtol=1e-5)
        for got, want in zip(answer[case][1], weights, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-6)


def test_gradients_of_means_are_over_all_elements(found):
    for answer in found:
        for name, (whole, spread) in answer["means"].items():
            for got, want in zip(spread, whole, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7, err_msg=name)


def test_rules_get_what_mindspores_processes_have_and_give_the_gradients_of_one(found):
    for answer in found:
        for whole, spread in answer["rules"]:
            np.testing.assert_allclose(spread, whole, rtol=1e-5)


def test_strategies_have_no_effect_in_other_modes(found, wanted):
    for answer in found:
        np.testing.assert_allclose(answer["ignored"][0], wanted["Adam"][0], rtol=1e-6)


def test_each_process_computes_its_part(found):
    size = len(found)
    for answer in found:
        assert answer["held"] == [[2, 4], [2, 8 // size], [2, 4], [2, 4], 8 * 4 * 8.0]


def test_the_first_strategy_of_one_hot_is_its_results(found):
    size = len(found)
    numbers = np.array([3, 1, 4, 1, 5, 2, 6, 7])
    total = 3 * numbers.sum() + (np.eye(8)[numbers].T * np.arange(8)).sum()
    for answer in found:
        assert answer["one hot"] == [total, [[8, 8 // size], [8 // size, 8], [8 // size, 8],
                                             [8, 8]]]


def test_operators_of_layers_are_cut(found):
    size = len(found)
    for answer in found:
        (whole, cut), shapes = answer["layers"]
        for got, want in zip(cut, whole, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
        assert shapes == [[4 // size, 4, 5, 5], [4, 5, 8 // size], [4 // size, 5, 8]]


def test_each_process_holds_only_its_slices(found):
    size = len(found)
    for answer in found:
        held = answer["slices"]["held"]
        for state in ("", "moment1.", "moment2."):
            assert held[f"{state}up"] == [8, 16 // size]
            assert held[f"{state}down"] == [16 // size, 4]
            assert held[f"{state}query"] == [8, 8]
        assert "name=up, shape=(8, 16)" in answer["slices"]["printed"]
        assert answer["slices"]["rows"] == answer["slices"]["Adam"]["up"][1]


@pytest.mark.parametrize("kind", ["Adam", "Adam compiled", "ASGD", "Lamb", "LARS"])
def test_trained_slices_are_those_of_one_process(found, kind):
    want = worker.values(*worker.clipped(kind.split()[0]))
    for answer in found:
        assert answer["slices"][kind].keys() == want.keys()
        for name in want:
            np.testing.assert_allclose(answer["slices"][kind][name], want[name], rtol=1e-4,
                                       atol=2e-6, err_msg=name)


def test_checkpoints_of_slices(found):
    for answer in found:
        slices = answer["slices"]
        assert slices["saved"] == slices["loaded"] == slices["Adam"]


def test_slices_are_merged_by_their_strategy_file(found, tmp_path):
    folder = found[0]["folder"]
    transform_checkpoints(f"{folder}/slices", str(tmp_path), "whole", f"{folder}/strategy.ckpt")
    whole = ms.load_checkpoint(f"{tmp_path}/rank_0/whole0.ckpt")
    values = {name: value.asnumpy().tolist() for name, value in whole.items()}
    assert values == found[0]["slices"]["Adam"]


def test_large_products(found):
    assert [answer["large"] for answer in found] == [512.0**3] * len(found)


def test_a_sharded_function_returns_whole_tensors(found):
    a, b = worker.batch(0)[0].asnumpy().astype(np.float32), worker.parameter(5, 5, 4).asnumpy()
    for answer in found:
        np.testing.assert_allclose(answer["product"][0], a @ b, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(answer["product"][1], 2 * (a @ b) @ b.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case, text", [
    ("uneven", "ValueError: For 'shard'"), ("too many", r"the strategy (16, 1) can't be laid over"),
    ("length", "must have an entry for each dimension, but one of 1 is for a Tensor of shape"),
    ("world", "a layout must have all processes of the world"),
    ("gradient inside", "RuntimeError: In a network whose operators are spread over processes"),
    ("plan", "the network has no parameter 'bogus'; it has weight, bias"),
    ("strategies", "there are 2 strategies, but 1 Tensors")])
def test_wrong_strategies(found, case, text):
    for answer in found:
        assert text in answer["refused"][case]


def test_one_process_accepts_strategies():
    net = AutoParallel(worker.Net(2, "layouts"), "sharding_propagation")
    net.hsdp()
    net.pipeline(1)
    net.enable_gradients_mean()
    words, _ = worker.batch(0)
    want = worker.Net()(words).asnumpy()
    np.testing.assert_allclose(net(words).asnumpy(), want, rtol=1e-5)
    assert ms.get_auto_parallel_context("parallel_mode") == "stand_alone"


@pytest.mark.parametrize("call, kind, text", [
    (lambda: AutoParallel(3), TypeError, "must be a Cell or a function"),
    (lambda: AutoParallel(worker.Net(), "fast"), ValueError, "got 'fast'"),
    (lambda: AutoParallel(worker.Net()).hsdp(0), ValueError, "'shard_size' must be an int"),
    (lambda: AutoParallel(worker.Net()).hsdp(threshold=-1), ValueError, "'threshold' must be"),
    (lambda: AutoParallel(worker.Net()).hsdp(optimizer_level="9"), ValueError, "got '9'"),
    (lambda: AutoParallel(worker.Net()).dataset_strategy("some"), ValueError, "got the value"),
    (lambda: shard(ms.ops.relu, 3), TypeError, "in_strategy"),
    (lambda: shard(ms.ops.relu, ((1,),), parameter_plan={}), TypeError, "'fn' a Cell"),
], ids=range(8))
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_communicators_end_although_tensors_hold_their_meshes(found):
    assert not any(answer["threads"] for answer in found)
