"""Data parallel training in real processes: weights are those of one process, whole batch."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from lamella.communication import buckets
from lamella.parallel.distributed import DistributedDataParallel

from ..worlds import run_world_here
from . import data_parallel_worker as worker

SCRIPT = Path(__file__).with_name("data_parallel_worker.py")


@pytest.fixture(scope="module")
def found():
    return [json.loads(out.splitlines()[-1]) for out in run_world_here(
        worker.main, SCRIPT, 2)]


@pytest.fixture(scope="module")
def four():
    return [json.loads(out.splitlines()[-1]) for out in run_world_here(
        worker.main, SCRIPT, 4)]


def check(found, case, want):
    for rank, answer in enumerate(found):
        for name in want:
            np.testing.assert_allclose(answer[case][name], want[name], rtol=2e-5, atol=2e-6,
                                       err_msg=f"{case}: {name} on {rank}")


STEPS = ["Adam", "Momentum", "Adam compiled", "Momentum compiled"]


@pytest.mark.parametrize("world, case", [
    *(("found", case) for case in [*STEPS, "small messages"]), *(("four", case) for case in STEPS)])
def test_steps_are_those_of_the_whole_batch(request, world, case):
    answers = request.getfixturevalue(world)
    kind = "Momentum" if case.startswith("Momentum") else "Adam"
    check(answers, case, worker.train(kind, slice(None)))
    assert all(answer[case] == answers[0][case] for answer in answers)


@pytest.mark.parametrize("world, case", [
    *((world, case) for world in ("found", "four")
      for case in ("wrapped", "wrapped late", "wrapped small")), ("found", "wrapped compiled")])
def test_a_wrapped_network_has_gradients_of_the_whole_batch(request, world, case):
    answers = request.getfixturevalue(world)
    check(answers, case, worker.wrapped(slice(None)))
    assert all(answer[case] == answers[0][case] for answer in answers)


@pytest.mark.parametrize("world", ["found", "four"])
def test_gradients_of_a_wrapped_network_add_up(request, world):
    answers = request.getfixturevalue(world)
    size = len(answers)
    one, two, three = [np.array(each) for each in worker.added_up(slice(None))]
    for rank, answer in enumerate(answers):
        rows = slice(8 // size * rank, 8 // size * (rank + 1))
        alone = worker.added_up(rows)[0]
        for got, want in zip(answer["added up"], (alone, two / size, three / size), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("world", ["found", "four"])
def test_two_calls_of_a_wrapped_network_in_one_gradient(request, world):
    total = sum(worker.batch(number)[0].asnumpy().sum(0) for number in (0, 1))
    for answer in request.getfixturevalue(world):
        once, again = answer["called twice"]
        np.testing.assert_allclose(once, [total, total], rtol=1e-5)
        np.testing.assert_allclose(again, [2 * total, 2 * total], rtol=1e-5)


@pytest.mark.parametrize("world", ["found", "four"])
def test_a_backward_pass_after_one_that_an_error_has_ended(request, world):
    answers = request.getfixturevalue(world)
    told, *want = worker.after_an_error(slice(None))
    assert told.startswith("KeyError")
    for answer in answers:
        again, *gradients = answer["after an error"]
        assert again == told
        for got, its in zip(gradients, want, strict=True):
            np.testing.assert_allclose(got, np.array(its) / len(answers), rtol=1e-5, atol=1e-6)


def test_gradients_of_a_wrapped_network_are_sent_while_others_are_computed(found):
    for answer in found:
        assert answer["sent meanwhile"] == [[3], 5]  # all buckets but those of the first layer


@pytest.mark.parametrize("call, kind, text", [
    (lambda: DistributedDataParallel(3), TypeError, "'module' must be a Cell, but got 3 of type"),
    (lambda: DistributedDataParallel(worker.Net(), bucket_cap_mb=0), ValueError, "above 0"),
    (lambda: DistributedDataParallel(worker.Net(), reducer_mode="x"), ValueError, "but got 'x'"),
], ids=["module", "bucket_cap_mb", "reducer_mode"])
def test_wrong_arguments_of_a_wrapper(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_a_weight_that_one_process_does_not_use(found):
    assert found[0]["unused on one"] == found[1]["unused on one"]
    # its gradient is half of what the process that uses it finds
    assert found[0]["unused on one"]["spare"] != [0.5, -0.5]


def test_model_trains_on_parts_of_the_data(found):
    want = worker.fit({}, 8)
    losses = want.pop("losses")
    check(found, "model", want)
    both = np.mean([answer["model"]["losses"] for answer in found], 0)
    np.testing.assert_allclose(both, losses, rtol=2e-5)


def test_an_overflow_in_one_process_skips_the_update_in_all(found):
    for answer in found:
        over, fine = answer["scaled"]
        assert over == {"overflow": True, "scale": 2.0**11, "moved": False}
        assert fine == {"overflow": False, "scale": 2.0**12, "moved": True}


def test_the_norm_is_that_of_the_whole_batch(found):
    want = worker.clipped(slice(None), reduces=False)
    for answer in found:
        for got, wanted in zip(answer["clipped"], want, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-7)


def test_processes_whose_compiled_functions_differ(found):
    x, = (worker.batch(0)[0].asnumpy(),)
    parts = x[:4], x[4:]
    total = 2 * x.sum()
    mixed = 2 * (parts[0].sum() - parts[1].sum())
    for rank, answer in enumerate(found):
        got = answer["diverging"]
        np.testing.assert_allclose(got["guards"], np.abs([total, total, mixed, total]), rtol=1e-5)
        asked = abs(total + parts[1][0, 0]) if rank else abs(total)
        np.testing.assert_allclose(got["NumPy on one"], [asked] * 3, rtol=1e-5)
        alone = abs(total) if rank else parts[0].sum()
        np.testing.assert_allclose(got["unused on one"], [alone] * 3, rtol=1e-5)
        shapes = [(parts[0][:1] ** 2).sum() + (parts[1][:1 + n] ** 2).sum() for n in (1, 2, 1, 2)]
        np.testing.assert_allclose(got["shapes"], shapes, rtol=1e-5)


def test_processes_that_call_different_collectives_get_one_error(found):
    for answer in found:
        said = dict(answer["disagreeing"])
        assert said.pop("and then") == 2.0
        for case, text in said.items():
            assert text.startswith("Divergence: For '"), (case, text)
            assert "hccl_world_group" in text or "mccl_world_group" in text
            assert "data_parallel_worker.py:" in text
    assert "all_reduce(sum) of 3 float32 elements" in found[1]["disagreeing"]["sizes"]
    assert "process 1: 'AllReduce', all_reduce(sum) of 4" in found[0]["disagreeing"]["sizes"]


def test_weights_may_start_as_those_of_the_first_process(found):
    assert [answer["broadcast"] for answer in found] == [[[1.0, 2.0]]] * 2
    assert [answer["handle"] for answer in found] == [[2.0]] * 2


def test_all_processes_fill_the_same_buckets(monkeypatch):
    monkeypatch.setattr(buckets, "LARGEST", 40)
    monkeypatch.setattr(buckets, "_FIRST", 8)
    sizes = [(6, torch.float32), (2, torch.float32), (1, torch.float16), (9, torch.float32),
             (3, torch.float32), (30, torch.float32), (1, torch.float32)]
    raws = [torch.zeros(size, dtype=kind) for size, kind in sizes]
    assert buckets.cut(raws) == [[6, 5], [4, 3], [2], [1, 0]]
    assert buckets.cut([]) == []
