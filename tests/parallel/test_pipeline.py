"""Pipelines over several processes: results are those of one process that runs all stages."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella.parallel import merge_pipeline_strategys, transform_checkpoints
from lamella.parallel.stages import Elsewhere, stand_in

from ..worlds import asked_for, run_world_here, start_world
from . import pipeline_worker as worker
from .trainings import check_moved_alike, check_same

SCRIPT = Path(__file__).with_name("pipeline_worker.py")
CASES = ["Adam None", "Momentum None", "Adam clipped", "Momentum scaled", "Momentum compiled",
         "Adam tied", "Adam clipped parts", "Momentum scaled parts", "Adam tied parts",
         "Adam gpipe", "Adam AutoParallel", "Adam cells"]
NARROW = ["Adam narrow", "Adam narrow later"]
# each is run by four stages, or by two of two processes, which have Parameters in parts
BY_TWO = ["Adam clipped parts", "Momentum scaled parts", "Adam tied parts", "Adam AutoParallel",
          "Adam narrow later"]
LONG = pytest.mark.long("the same training by the other number of stages")
PLAIN = pytest.mark.long("'Adam None', and Momentum in 'Momentum scaled'")


def by_stages(cases):
    """Each case by four stages and by two, of which one is long."""
    return pytest.mark.parametrize("world, case", [
        pytest.param(stages, case, id=f"{name}-{case}", marks=(
            LONG if (stages == 2) != (case in BY_TWO) else
            PLAIN if case == "Momentum None" else ()))
        for stages, name in ((4, "4"), (2, "2x2")) for case in cases], indirect=["world"])


@pytest.fixture(scope="module")
def answers(request):
    """The results of each process, by the number of stages; and the losses of a training that was
    saved by one number of stages and resumed by another."""
    pairs = sorted(asked_for(request, "world", "case"))
    asked = json.dumps({stages: [case for count, case in pairs if count == stages]
                        for stages in (4, 2)})
    with tempfile.TemporaryDirectory() as folder:
        found = [json.loads(out.splitlines()[-1]) for out in run_world_here(
            worker.main, SCRIPT, 4, folder, asked, here=1)]
        found[0]["losses"]["1"] = worker.trained(1, slice(None), [2, 3], folder)[1]
        merge_pipeline_strategys(f"{folder}/stages", f"{folder}/merged.ckpt")
        transform_checkpoints(f"{folder}/slices", folder, "net", f"{folder}/merged.ckpt")
        whole = ms.load_checkpoint(f"{folder}/rank_0/net0.ckpt")
        found[0]["whole"] = {name: np.unique(value.asnumpy()).tolist()
                             for name, value in whole.items()}
    return found


@pytest.fixture(scope="module", params=[4, 2], ids=["4", "2x2"])
def world(request, answers):
    """The number of stages, and the results of each process."""
    return request.param, [answer[str(request.param)] for answer in answers]


@pytest.fixture(scope="module")
def wanted():
    return {f"{kind} {way}": worker.train(kind, way=way) for kind, way in (
        ("Adam", None), ("Momentum", None), ("Adam", "clipped"), ("Adam", "tied"),
        ("Adam", "narrow"))}


@by_stages(CASES)
def test_training_is_that_of_one_process(world, wanted, case):
    one = wanted.get(case.removesuffix(" parts")) or wanted[f"{case.split()[0]} None"]
    for answer in world[1]:
        check_same(answer[case], one)


@by_stages(NARROW)
def test_gradients_too_small_for_float16_start_from_the_scale(world, wanted, case):
    """The loss is scaled before the backward pass, not the gradients after it."""
    before = worker.Net().last.weight.asnumpy()
    for answer in world[1]:
        check_moved_alike(answer[case], wanted["Adam narrow"], before, 0.03)


def test_each_process_holds_the_parameters_and_states_of_its_stage(world):
    stages, answers = world
    for rank, answer in enumerate(answers):
        stage = rank * stages // len(answers)
        mine = [i for i in range(4) if i * stages // 4 == stage]
        names = [f"blocks.{i}.dense.{kind}" for i in mine for kind in ("weight", "bias")]
        names += ["last.weight", "last.bias"] * (stage == stages - 1)
        for case in set(CASES) & answer.keys():
            held, states, cut = answer[case][2]
            for name, count in cut.items():  # each of 2 processes has half of what can be cut in 2
                wanted = len(answers) // stages if "parts" in case and "last" not in name else 1
                assert count == wanted, name
            if "tied" in case:
                continue
            assert held == states
            assert [name.removeprefix("_backbone.") for name in held] == names


def test_without_gradients(world):
    want = float(worker.loss_of(parts=1)(*worker.batch(0)))
    for answer in world[1]:
        assert answer["evaluated"] == pytest.approx(want, rel=1e-5)


@by_stages(["Momentum compiled"])
def test_a_compiled_step_says_why_it_runs_eagerly(world, case):
    for answer in world[1]:
        assert "runs eagerly: it runs the stages of a pipeline" in answer["reason"]


@pytest.mark.parametrize("case, raises, text", [
    ("plan", 0, "call 1"), ("forward", 0, "call 3"), ("backward", -1, "the gradient")])
def test_when_one_process_raises_all_raise(world, case, raises, text):
    _, answers = world
    faulty = answers[raises]
    assert faulty["faults"][case].startswith("KeyError") and text in faulty["faults"][case]
    for answer in answers:
        if answer is not faulty:
            assert "For 'PipelineCell'" in answer["faults"][case]
            assert text in answer["faults"][case]


def test_when_steps_differ_all_raise_and_go_on(world):
    want = float(worker.loss_of()(*worker.batch(0)))
    for answer in world[1]:
        for case, text in (("shapes", "runs stages whose first Cell gives"),
                           ("gradients", "with gradients by 0 Parameters"),
                           ("orders", "in the order gpipe")):
            assert "exchange different things" in answer["faults"][case]
            assert text in answer["faults"][case]
        assert answer["faults"]["goes on"] == pytest.approx(want, rel=1e-5)


def test_when_a_process_dies_the_other_raises():
    processes = start_world(SCRIPT, 2, "lost")
    try:
        out = processes[0].communicate(timeout=900)[0]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert out.startswith("RuntimeError: For 'PipelineCell', exchange ")
    assert "in group 'mccl_world_group' of [0, 1]" in out and "pipeline_worker.py" in out


def test_a_stage_prints_what_it_computes(world):
    """Also if the network was compiled ahead by `compile`, which changes no Parameter."""
    stages, answers = world
    for rank, answer in enumerate(answers):
        stage = rank * stages // len(answers)
        wanted = {0: ["first"], stages - 1: ["between", "last"]}
        assert answer["printed"] == wanted.get(stage, [])


def test_what_stages_save_other_stages_load(answers):
    wanted = worker.trained(1, slice(None), range(4))[1]
    for answer in answers:
        assert answer["losses"]["4"] == pytest.approx(wanted[:2], rel=1e-5)
        assert answer["losses"]["2"] == pytest.approx(wanted[2:], rel=1e-5)
    assert answers[0]["losses"]["1"] == pytest.approx(wanted[2:], rel=1e-5)


def test_slices_of_stages_become_wholes(answers):
    """Broadcasts give a stage the values of its first process, which the merged files then hold."""
    for rank, answer in enumerate(answers):
        held, refused = answer["slices"]
        assert set(map(tuple, held.values())) == {(rank // 2 * 2,)}
        assert "'initial_rank' must be" in refused
    assert answers[0]["whole"] == answers[0]["slices"][0] | answers[2]["slices"][0]


REFUSED = {
    "assigned": "another stage that uses it can't assign it",
    "noisy": "drawn between Cells, are used by stages 0 and 1",
    "backward": "ValueError: For 'PipelineCell', a Cell Dense of stage 0 gets what stage 1",
    "none": "ValueError: For 'PipelineCell', no Cell of the network has a 'pipeline_stage'",
    "too large": "of 'cells_in_order.1' must be less than the 2 stages, but got 2",
    "nested": "a Cell Chain of stage 0 has Cells of stages [1] inside",
    "rows": "must be a multiple of the 3 parts",
    "by inputs": "gradients by Parameters only, not by inputs",
    "tuple": "TypeError: For 'PipelineCell', the network must give a Tensor",
    "nothing": "there are 2 stages of a pipeline, but nothing was run by stages",
    "mode": "'semi_auto_parallel' or 'auto_parallel', but got 'data_parallel'",
    "scheduler": "but got 'seqpipe', which also cuts the sequences",
    "multiple": "must be a multiple of the 3 'pipeline_stages', but got 2 processes"}


@pytest.fixture(scope="module")
def said():
    return [json.loads(out.splitlines()[-1]) for out in run_world_here(
        worker.main, SCRIPT, 2, "refused")]


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_networks_and_settings(said, case):
    for answer in said:
        assert REFUSED[case] in answer[case]


def test_stand_ins_for_gradients_have_no_values():
    raw = stand_in(ms.ops.ones((2, 3))._raw, 1)
    scaled = raw * 2
    assert isinstance(scaled, Elsewhere) and scaled.stage == 1 and scaled.shape == (2, 3)
    with pytest.raises(RuntimeError, match="only the processes of stage 1 of the pipeline"):
        raw.tolist()
    with pytest.raises(RuntimeError, match="stage 1"):
        ms.ops.ones((2, 3))._raw + raw
