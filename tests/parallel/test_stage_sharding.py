"""Strategies inside of a pipeline's stages: results are those of one process."""

import json
from pathlib import Path

import pytest

from ..worlds import asked_for, run_world_here
from . import stage_sharding_worker as worker
from .trainings import check_same

SCRIPT = Path(__file__).with_name("stage_sharding_worker.py")
LONG = {name: pytest.mark.long(why) for name, why in (
    ("Momentum layouts", "strategies as tuples and of Cells; layouts are in test_sharding.py"),
    ("Adam rows", "nothing is cut: as in test_pipeline.py"),
    ("Adam split", "'Momentum interleaved'; the order of a 'v' is in test_interleave.py"))}
CASES = [pytest.param(name, marks=LONG.get(name, ())) for name in (
    "Adam tuples", "Momentum layouts", "Momentum cells", "Adam rows", "Adam split",
    "Momentum interleaved", "Adam parts", "clipped AutoParallel")]


@pytest.fixture(scope="module")
def answers(request):
    """The results of four processes, two of each of two stages."""
    asked = json.dumps(sorted(asked_for(request, "case")))
    return [json.loads(out.splitlines()[-1]) for out in run_world_here(
        worker.main, SCRIPT, 4, asked, here=3)]


@pytest.fixture(scope="module")
def wanted():
    return {"Adam": worker.train("Adam"), "Momentum": worker.train("Momentum"),
            "clipped": worker.train("Adam", auto=True)}


@pytest.mark.parametrize("case", CASES)
def test_training_is_that_of_one_process(answers, wanted, case):
    for answer in answers:
        check_same(answer[case], wanted[case.split()[0]])


@pytest.mark.parametrize("case, shape", [
    pytest.param(name, shape, marks=LONG.get(name, ())) for name, shape in (
        ("Adam tuples", [4, 4]), ("Momentum layouts", [2, 8]), ("Momentum interleaved", [4, 4]),
        ("Momentum cells", [4, 8]), ("Adam rows", None))])
def test_each_process_computes_its_part_of_its_stages_products(answers, case, shape):
    """Of 4 rows and 8 columns, in parts by rows or by columns; nothing is spread without
    strategies, whatever another network has."""
    for rank, answer in enumerate(answers):
        for i, held in enumerate(answer[case][3]):
            stage = i % 2 if case.endswith("interleaved") else i // 2
            assert held == (shape if stage == rank // 2 else None)


def test_weights_of_a_stage_are_held_in_parts(answers):
    for answer in answers:
        assert (answer["Adam tuples"][2], answer["Adam parts"][2]) == (1.0, 0.5)


def test_a_batch_that_can_not_be_cut_raises_in_all_processes(answers):
    losses, *_ = worker.train("Adam")
    for rank, answer in enumerate(answers):
        told, after = answer["fault"]
        assert told.startswith("ValueError" if rank == 1 else "RuntimeError")
        assert "must be a multiple of the 4 parts" in told
        assert after == pytest.approx(losses[0], rel=1e-5)
