"""How a recorded graph is improved while it runs."""

from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn
from lamella.graph.runtime import execution
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.runtime.direct import REST
from lamella.graph.runtime.plan import Plan
from lamella.graph.runtime.stage import Heat
from tests.graph.passes.checks import recorded


def test_a_graph_is_settled_once_its_passes_have_been_tried():
    """Also one with too few kernels to be compiled, so that nothing else is to come."""
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.ReLU())
    tried = []

    def attempt(self, values):
        tried.append(self.plan.settled)
        self.phase = execution.Phase.COMPILING

    x = ms.Tensor(np.random.default_rng(0).standard_normal((4, 1, 16, 16)), ms.float32)
    step = ms.jit(net)
    with mock.patch.multiple(execution, HOT=float("inf"), WARM=0.0, SOON=10**6, SMALL=1.0), (
            mock.patch.object(execution.Execution, "_try", attempt)):
        for _ in range(60):
            step(x)
        assert not tried and not step.settled
        execution.HOT = 0.0
        with mock.patch.object(execution.Execution, "_can_afford_a_trial", lambda self: True):
            for _ in range(2 * REST + 60):  # calls on the short path are counted together
                step(x)
    assert tried


@pytest.mark.parametrize("far", [True, False])
def test_no_passes_are_tried_where_machine_code_is_far_ahead(far):
    """A trial makes copies of the whole graph."""
    tried = []

    def attempt(self, values):
        tried.append(0)
        self.phase = execution.Phase.COMPILING

    x = ms.ops.ones((4, 4))
    step = ms.jit(lambda x: ms.ops.tanh(x * 2 + 1).sum() * x - ms.ops.exp(x))
    with mock.patch.multiple(execution, HOT=0.0, WARM=0.0, SOON=10**6, SMALL=1.0), (
            mock.patch.object(execution.Execution, "_try", attempt)), (
            mock.patch.object(execution.Execution, "_can_afford_a_trial", lambda self: True)), (
            mock.patch.object(Plan, "is_far_ahead", far)):
        for _ in range(2 * REST + 60):
            step(x)
    assert bool(tried) is not far


def test_a_plan_is_far_ahead_if_machine_code_takes_far_less_time():
    step = Compiled(lambda x: ms.ops.tanh(x * 2 + 1).sum() * x - ms.ops.exp(x), level="O1")
    x = ms.ops.ones((4, 4))
    for _ in range(3):
        step(x)
    (graph,) = step.graphs(x)
    plan = graph.execution.plan
    (stage,) = plan.stages
    stage.settle([x._raw, *graph.inputs.constants, *plan.constants], Heat.COLD)
    assert not plan.is_far_ahead
    stage._finish("xla", stage.replay, {"replay": 1.0, "xla": 0.4})
    assert plan.is_far_ahead and stage.settled
    stage._finish("xla", stage.replay, {"replay": 1.0, "xla": 0.6})
    assert not plan.is_far_ahead and not stage.settled


X = torch.rand(4, 3)
HOT, WARM, SOON = execution.HOT, execution.WARM, execution.SOON
Phase, Execution = execution.Phase, execution.Execution
END = float("inf")


def made(fn=lambda x: torch.tanh(x * 2 + 1), expected=(), compile=True, **settings):
    """How a function's graph is run, in a state that is given."""
    found = Execution(recorded(fn, X), list(expected), 1, compile)
    for name, value in settings.items():
        setattr(found, name, value)
    return found


class Planned:
    """Stands for a plan in a state that is given."""

    def __init__(self, waits=False, settled=False, backends=("replay",), timed=False):
        self.waits, self.settled = waits, settled
        self.stages = [SimpleNamespace(backend=b, is_timed=timed) for b in backends]


SMALL = execution.SMALL * 5  # of the five nodes of the graph above


@pytest.mark.parametrize("runs, spent, least, heat", [
    (1, 9.0, 1e-4, Heat.COLD), (2, 9.0, 1e-4, Heat.HOT), (2, HOT, 1e-4, Heat.WARM),
    (2, HOT, 1.0, Heat.COLD), (2, WARM, 1e-4, Heat.COLD), (2, WARM * 1.01, 1e-4, Heat.WARM),
    (2, 0.0, 1e-4, Heat.COLD), (2, WARM * 1.01, execution.LEAST, Heat.COLD),
    (2, WARM * 1.01, execution.LEAST * 1.01, Heat.WARM), (2, WARM * 1.01, SMALL, Heat.COLD),
    (2, WARM * 1.01, SMALL * 0.99, Heat.WARM), (2, END, END, Heat.HOT)])
def test_how_hot_a_graph_is(runs, spent, least, heat):
    assert made(runs=runs, spent=spent, least=least)._heat() is heat


@pytest.mark.parametrize("phase, runs, spent, waits, lowered, goes_on", [
    (Phase.REWRITING, 1, 0.0, False, False, True), (Phase.REWRITING, SOON, 0.0, True, True, True),
    (Phase.REWRITING, 2, 0.0, False, False, False), (Phase.REWRITING, 2, WARM, False, False, False),
    (Phase.REWRITING, 2, 2 * WARM, False, False, True),
    (Phase.REWRITING, 2, 2 * WARM, True, True, True),
    (Phase.COMPILING, 2, 2 * WARM, True, True, False),
    (Phase.COMPILING, 2, 2 * WARM, True, False, True),
    (Phase.COMPILING, 2, 2 * WARM, False, True, True),
    (Phase.COMPILING, 1, 0.0, True, True, True), (Phase.SETTLED, 2, 2 * WARM, True, True, True),
    (Phase.FINAL, 1, END, False, False, False), (Phase.FINAL, SOON, END, False, False, False),
    (Phase.FINAL, 2, END, False, False, False)])
def test_when_there_may_be_something_to_do(phase, runs, spent, waits, lowered, goes_on):
    found = made(phase=phase, runs=runs, spent=spent, _lowered=lowered)
    assert found._may_go_on(Planned(waits)) is goes_on


@pytest.mark.parametrize("settings, plan, rests", [
    ({"phase": Phase.FINAL}, None, False), ({"phase": Phase.FINAL}, Planned(), True),
    ({"_lowered": True, "spent": HOT}, Planned(settled=True), True),
    ({"_lowered": True, "spent": HOT * 1.01}, Planned(settled=True), False),
    ({"_lowered": False, "spent": HOT}, Planned(settled=True), False),
    ({"_lowered": True, "spent": HOT}, Planned(), False),
    ({"runs": SOON + 1}, Planned(backends=["xla"]), True),
    ({"runs": SOON}, Planned(backends=["xla"]), False),
    ({"runs": SOON + 1}, Planned(backends=["replay"]), False),
    ({"runs": SOON + 1}, Planned(backends=["xla"], timed=True), False),
    ({"runs": SOON + 1}, Planned(backends=["xla", "xla"]), False), ({"runs": 999}, None, False)])
def test_when_it_runs_as_it_will_for_a_while(settings, plan, rests):
    assert made(plan=plan, **settings).rests is rests


@pytest.mark.parametrize("backends, named", [
    ((), "replay"), (("replay", "replay"), "replay"), (("replay", "xla"), "xla"),
    (("inductor", "xla"), "inductor")])
def test_the_compiler_of_any_stage_is_named(backends, named):
    assert made(plan=Planned(backends=backends)).backend == named
    assert made().backend == "replay"


def test_what_a_graph_begins_with():
    assert made().phase is Phase.REWRITING and made(compile=False).phase is Phase.SETTLED
    assert not made().settled and made(compile=False).settled
    assert made(phase=Phase.FINAL).is_final and not made(phase=Phase.SETTLED).is_final
    assert made().nodes == 5 and made(lambda x: x).nodes == 2
    assert made().streams == [] and made(torch.rand_like).streams == [torch.default_generator]
    assert made(plan=None).only_run is None and made().failed_guard([]) is None


@pytest.mark.parametrize("value, expected, holds", [
    (torch.ones(4, 3), 12.0, True), (torch.zeros(4, 3), 12.0, False)])
def test_a_run_whose_guard_fails_is_none(value, expected, holds):
    found = made(lambda x: [x.sum(), x * 2], [expected], compile=False)
    results = found.run([value])
    assert (results is not None) is holds and found.runs == holds
    assert (found.spent > 0) is holds and (found.least < END) is holds
    if holds:
        (result,) = results
        assert torch.equal(result, value * 2) and found.failed_guard(["?"]) is None
    else:
        assert found.failed_guard([" (a line)"]) == (
            "the value of a Tensor (a line)", repr(expected), "0.0")


def test_runs_on_the_short_path_count_as_the_shortest():
    found = made(runs=3, spent=1.0, least=0.25)
    found.note_others(4)
    assert (found.runs, found.spent, found.least) == (7, 2.0, 0.25)


@pytest.mark.parametrize("share, runs, spent, tried, pays", [
    # a trial takes 104 runs, or a second, or 9 runs if these take longer
    ("0.5", 100, 10.0, 0.0, True), ("0.1", 100, 10.0, 0.0, True), ("0.09", 100, 10.0, 0.0, False),
    ("0.1", 100, 10.0, 0.01, False), ("0.2", 100, 10.0, 1.0, True), ("0.5", 10, 5.0, 0.0, False),
    ("0.5", 9, 4.5, 0.0, False), ("0.9", 10, 10.0, 0.0, True), ("0.89", 10, 10.0, 0.0, False),
    ("1", 1, 1e-9, END, True), ("0.5", 208, 13 / 64, 0.0, True),
    ("0.5", 204, 51 / 256, 0.0, False)])
def test_trials_stay_within_their_share_of_time(monkeypatch, share, runs, spent, tried, pays):
    monkeypatch.setenv("LAMELLA_COMPILE_SHARE", share)
    monkeypatch.setattr(execution.background, "is_busy", lambda: False)
    monkeypatch.setattr(execution.allocator, "is_finished", True)
    for kernel in (execution.few_rows, execution.few_queries, execution.attention,
                   execution.batch_norm, execution.cross_entropy, execution.layer_norm,
                   execution.activation, execution.winograd):
        monkeypatch.setattr(kernel.extension, "_requested", False)
    found = made(runs=runs, spent=spent, _tried=tried)
    assert found._can_afford_a_trial() is pays
    monkeypatch.setattr(execution.background, "is_busy", lambda: True)
    assert found._can_afford_a_trial() is (pays and share != "1")
    monkeypatch.setattr(execution.background, "is_busy", lambda: False)
    monkeypatch.setattr(execution.winograd.extension, "_requested", True)  # a kernel is awaited
    for finished in (True, False):
        monkeypatch.setattr(execution.winograd.extension, "is_finished", finished)
        assert found._can_afford_a_trial() is (pays and finished)
    monkeypatch.setattr(execution.winograd.extension, "_requested", False)
    monkeypatch.setattr(execution.allocator, "is_finished", False)
    assert not found._can_afford_a_trial()
