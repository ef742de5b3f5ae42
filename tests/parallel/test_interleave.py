"""Stages that run several chunks of a network: results are those of one process."""

import json
from pathlib import Path

import pytest

import lamella as ms
from lamella import nn

from ..worlds import asked_for, run_world_here
from . import interleave_worker as worker
from .trainings import check_moved_alike, check_same

SCRIPT = Path(__file__).with_name("interleave_worker.py")
CASES = ["1f1b Adam", "gpipe Momentum", "zero_bubble_v Adam", "recomputed Adam", "compiled Adam",
         "parts Adam", "AutoParallel loop", "AutoParallel v"]
# each is run by four stages, or by two of two processes, which have Parameters in parts
BY_TWO = ["parts Adam", "AutoParallel loop", "compiled Adam", "later"]
LONG = pytest.mark.long("the same training by the other number of stages")


def by_stages(cases, *others):
    """Each case by four stages and by two, of which one is long."""
    names = ", ".join(["world", "case", *others])
    return pytest.mark.parametrize(names, [
        pytest.param(stages, *case, id=f"{name}-{case[0]}",
                     marks=LONG if (stages == 2) != (case[0] in BY_TWO) else ())
        for stages, name in ((4, "4"), (2, "2x2")) for case in cases], indirect=["world"])


@pytest.fixture(scope="module")
def answers(request):
    """The results of each process, by the number of stages."""
    pairs = sorted(asked_for(request, "world", "case"))
    asked = json.dumps({stages: [case for count, case in pairs if count == stages]
                        for stages in (4, 2)})
    return [json.loads(out.splitlines()[-1]) for out in run_world_here(
        worker.main, SCRIPT, 4, asked, here=2)]


@pytest.fixture(scope="module", params=[4, 2], ids=["4", "2x2"])
def world(request, answers):
    """The number of stages, and the results of each process."""
    return request.param, [answer[str(request.param)] for answer in answers]


@pytest.fixture(scope="module")
def wanted():
    found = {kind: worker.train(kind) for kind in ("Adam", "Momentum")}
    return found | {"AutoParallel": worker.train("Adam", how="AutoParallel"),
                    "narrow": worker.train("Adam", how="narrow")}


@by_stages([(case,) for case in CASES])
def test_training_is_that_of_one_process(world, wanted, case):
    one = wanted[case.split()[case.split()[0] != "AutoParallel"]]
    for answer in world[1]:
        check_same(answer[case], one)


@by_stages([("narrow",), ("later",)])
def test_gradients_too_small_for_float16_start_from_the_scale(world, wanted, case):
    before = worker.Deep().last.weight.asnumpy()
    for answer in world[1]:
        check_moved_alike(answer[case], wanted["narrow"], before, 0.01)


@by_stages([("1f1b Adam", "loop"), ("zero_bubble_v Adam", "v")], "way")
def test_each_process_holds_the_parameters_of_its_chunks(world, case, way):
    stages, answers = world
    for rank, answer in enumerate(answers):
        mine = [i for i, block in enumerate(worker.Deep(stages, way).blocks)
                if block.pipeline_stage == rank * stages // len(answers)]
        names = [f"blocks.{i}.{kind}" for i in mine for kind in ("weight", "bias")
                 if (i, kind) != (6, "weight")]  # it is that of block 1
        found = [name.removeprefix("_backbone.") for name in answer[case][2]]
        assert [name for name in found if not name.startswith("last.")] == names


def test_an_error_of_a_split_backward_pass_is_raised_in_all_processes(world):
    _, answers = world
    want = float(nn.PipelineCell(nn.WithLossCell(worker.Deep(), nn.MSELoss()), worker.PARTS)(
        *worker.batch(0)))
    assert answers[-1]["fault"][0].startswith("KeyError")
    for answer in answers:
        told, after = answer["fault"]
        assert "the gradient" in told
        assert after == pytest.approx(want, rel=1e-5)


REFUSED = {
    "parts": "2 chunks each in the order '1f1b' can't have 5 parts of a batch",
    "back": "of stage 1 gets what stage 0 computes, but values go to the last stage and back",
    "segment": "'pipeline_segment' of 'cells_in_order.1' must be 0 or 1, but got 2",
    "seqpipe": "'1f1b', 'gpipe' or 'zero_bubble_v', but got 'seqpipe'",
    "seqvpp": "but got 'seqvpp', which also cuts the sequences",
    "seqsmartvpp": "but got 'seqsmartvpp', which also cuts the sequences"}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_networks_and_settings(answers, case):
    for answer in answers:
        assert REFUSED[case] in answer["2"]["refused"][case]


def test_the_segment_of_a_cell():
    cell = nn.Dense(2, 2)
    with pytest.raises(AttributeError, match="no attribute 'pipeline_segment'"):
        cell.pipeline_segment  # noqa: B018
    with pytest.raises(TypeError, match="'pipeline_segment' must be int type"):
        cell.pipeline_segment = True
    with pytest.raises(ValueError, match="'pipeline_segment' can not be less than 0"):
        cell.pipeline_segment = -1
    ms.nn.PipelineCell(cell, 1, {str(cell): 0}, {str(cell): 1})
    assert cell.pipeline_segment == 1
