"""Weights, gradients and optimizer states cut in parts: results are those of one process."""

import json
from pathlib import Path

import numpy as np
import pytest

from ..worlds import asked_for, run_world_here
from . import parts_worker as worker

SCRIPT = Path(__file__).with_name("parts_worker.py")
CUT = {"first.weight", "first.bias", "twice", "norm.gamma", "norm.beta"}


def ran(request, folder, size):
    """What each process of a world says."""
    asked = [case for world, case in asked_for(request, "world", "case")
             if world == {2: "found", 4: "four"}[size]]
    return [json.loads(out.splitlines()[-1]) for out in run_world_here(
        lambda: worker.main(str(folder), sorted(asked)), SCRIPT, size, str(folder),
        json.dumps(sorted(asked)))]


@pytest.fixture(scope="module")
def found(request, tmp_path_factory):
    return ran(request, tmp_path_factory.mktemp("parts"), 2)


@pytest.fixture(scope="module")
def four(request, tmp_path_factory):
    return ran(request, tmp_path_factory.mktemp("four"), 4)


LEVELS = [f"{kind} {level}" for level in ("level1", "level3") for kind in ("Adam", "Momentum")]
LEVELS += ["Adam level1 compiled", "Adam level3 compiled", "Adam level3 clipped",
           "Adam level3 recomputed", "Adam level1 put off", "Adam level3 put off"]
# pairs differ from two processes in one more sum, which each level shows once
BY_PAIRS = ["Adam level1", "Momentum level3", "Adam level3 clipped"]
LONG = pytest.mark.long("pairs in another case, and this case by two processes")


@pytest.mark.parametrize("world, case", [
    *(("found", case) for case in LEVELS),
    *(pytest.param("four", case, marks=() if case in BY_PAIRS else LONG) for case in LEVELS)])
def test_levels(request, world, case):
    """In two parts, by two processes and by two pairs of them."""
    want = worker.state_of(worker.train(case.split()[0], slice(None), clips="clipped" in case))
    answers = request.getfixturevalue(world)
    for answer in answers:
        for name in want:
            np.testing.assert_allclose(answer[case][name], want[name], rtol=1e-4, atol=2e-5,
                                       err_msg=name)
        assert answer[case] == answers[0][case]


def test_few_weights_are_gathered_at_a_time(found):
    for answer in found:
        count, most = answer["wholes"]
        assert count == 2 * 8  # forward and backward
        assert most <= 3


def test_derivatives_of_weights_gathered_on_use(found):
    mean = np.array(worker.second_order(worker.Net(), slice(None))) / 2
    for answer in found:
        again, once = answer["pulled"]
        np.testing.assert_allclose(again, [once] * 2, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(answer["second order"], mean, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(answer["assigned"], worker.assigned(worker.Net()), rtol=1e-4,
                                   atol=1e-5)


@pytest.mark.parametrize("case", ["Adam", "Momentum", "AdamWeightDecay", "later", "clipped",
                                  "loaded", "loaded when put off", "Adam compiled",
                                  "Momentum compiled"])
def test_weights_and_states_are_those_of_one_process(found, case):
    kind = case.split()[0] if case.startswith(("Momentum", "AdamWeightDecay")) else "Adam"
    want = worker.state_of(worker.train(kind, slice(None), clips=case == "clipped"))
    for rank, answer in enumerate(found):
        assert answer[case].keys() == want.keys()
        for name in want:
            np.testing.assert_allclose(answer[case][name], want[name], rtol=1e-4, atol=2e-5,
                                       err_msg=f"{name} on {rank}")
    assert found[0][case] == found[1][case]


def test_each_process_holds_its_part_of_weights_and_states(found):
    for answer in found:
        shapes = answer["shapes"]
        for name, (whole, held) in shapes.items():
            cut = name.partition(".")[2] in CUT if name.startswith("moment") else name in CUT
            assert held == ([whole[0] // 2, *whole[1:]] if cut else whole), name
        assert sum(name.startswith("moment") for name in shapes) == 14
        assert "name=twice, shape=(6, 6)" in answer["printed"]


@pytest.mark.parametrize("world", ["found", "four"])
def test_layouts_are_reported(request, world):
    for answer in request.getfixturevalue(world):
        before, every, own, after = answer["layouts"]
        assert before is None and after is None
        size = len(every)
        assert list(every) == [str(rank) for rank in range(size)] and list(own) == ["0"]
        devices = [size] if size == 2 else [2, 2]
        for named in (*every.values(), *own.values()):
            layout, kind, shape = named["twice"]
            assert layout["device_matrix"] == devices and layout["tensor_map"] == [0, -1]
            assert layout["rank_list"] == list(range(size))
            assert (kind, shape) == ("Float32", [6, 6])
            assert named["moments.twice"] == named["twice"]
            assert named["last.bias"][0]["tensor_map"] == [-1]


def test_a_network_predicts_with_the_whole(found):
    net = worker.train("Adam", slice(None)).network._backbone
    for answer in found:
        np.testing.assert_allclose(answer["predicted"], net(worker.batch(9)[0]).asnumpy(),
                                   rtol=1e-4, atol=1e-5)


def test_an_overflow_in_one_part_skips_the_update_everywhere(found):
    assert [answer["scaled"] for answer in found] == [[True, False, True, 2.0**11]] * 2


def test_the_messages_of_a_step(found):
    """The parts of weights first; then halves of their gradients, and those of the others."""
    sizes = {"first.weight": 96, "first.bias": 24, "twice": 144, "norm.gamma": 24, "norm.beta": 24}
    for answer in found:
        kinds = [kind for kind, _ in answer["bytes"]]
        assert kinds == ["all_gather", "reduce_scatter", "all_reduce"]
        sent = {kind: sum(n for k, n in answer["bytes"] if k == kind) for kind in kinds}
        total = sum(sizes.values())
        assert sent == {"all_gather": total // 2, "reduce_scatter": total,
                        "all_reduce": 4 * (18 + 3)}


def test_wrong_requests_are_errors(found):
    for answer in found:
        assert answer["lamb"].startswith("RuntimeError: 'Lamb' needs whole parameters")
        assert answer["wrong"].startswith("ValueError: For 'Parameter.set_data'")
