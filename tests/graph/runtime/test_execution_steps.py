"""The steps of an execution towards the fastest way to run, in states that are given."""

import threading
from types import SimpleNamespace

import pytest
import torch

from lamella.graph.runtime import execution
from lamella.graph.runtime import stage as stages
from lamella.graph.runtime.execution import LEAST, SOON, Execution, Phase
from lamella.graph.runtime.stage import Heat
from tests.graph.passes.checks import recorded

X = torch.rand(4, 3)
REWRITING, COMPILING, SETTLED, FINAL = Phase
COLD, WARM, HOT = Heat
SPENT = {COLD: 0.0, WARM: 0.1, HOT: 9.0}  # seconds


class Planned:
    """Stands for a plan: how it is asked to settle, and how it is then."""

    def __init__(self, settled=False, far=False, backends=("replay",), error=None):
        self.settled, self.is_far_ahead, self.error = settled, far, error
        self.stages = [SimpleNamespace(backend=b, is_timed=False) for b in backends]
        self.asked = []

    def settle(self, values, heat, prompt):
        self.asked.append((len(values), heat, prompt))
        if self.error is not None:
            raise self.error


def made(heat, monkeypatch, phase=REWRITING, affords=False, lowered=False, small=True, plan=None,
         **settings):
    """An execution, its plan, and how often it has tried rewritings; it is asked to go on."""
    monkeypatch.setattr(stages, "ENGINE", "")
    found, plan, tried = Execution(recorded(lambda x: torch.tanh(x * 2 + 1), X), [], 1, True), (
        plan or Planned()), []
    found.phase, found.plan, found.runs = phase, plan, 2
    found.spent, found.least = SPENT[heat], 1e-4 if small else 1.0
    for name, value in settings.items():
        setattr(found, name, value)
    monkeypatch.setattr(found, "_lower", lambda plan, hot: setattr(found, "_lowered", lowered))
    monkeypatch.setattr(found, "_can_afford_a_trial", lambda: affords)
    monkeypatch.setattr(found, "_try", lambda values: tried.append(len(values)))
    found._settle(plan, [X, X, X], 1)
    return found, plan, tried


@pytest.mark.parametrize("heat, settings, asked, tried", [
    (COLD, {}, [(3, COLD, True)], []), (WARM, {}, [(3, WARM, True)], []),
    (WARM, {"affords": True}, [(3, WARM, True)], []), (HOT, {}, [(3, WARM, True)], []),
    (HOT, {"affords": True}, [], [1]), (HOT, {"small": False}, [(3, WARM, False)], []),
    (HOT, {"phase": COMPILING, "affords": True}, [(3, HOT, True)], []),
    (WARM, {"phase": COMPILING}, [(3, WARM, True)], []),
    (HOT, {"phase": SETTLED, "affords": True}, [], []),
    (COLD, {"nodes": 4000}, [(3, COLD, True)], []),
    (COLD, {"nodes": 4001}, [], []), (WARM, {"nodes": 4001}, [(3, WARM, True)], []),
    (HOT, {"affords": True, "plan": Planned(far=True)}, [(3, HOT, True)], [])])
def test_what_is_done_next(monkeypatch, heat, settings, asked, tried):
    found, plan, tries = made(heat, monkeypatch, **settings)
    assert plan.asked[-1:] == asked and tries == tried
    assert found.phase is (COMPILING if plan.is_far_ahead else settings.get("phase", REWRITING))


@pytest.mark.parametrize("heat, phase, settled, after", [
    (HOT, COMPILING, True, SETTLED), (WARM, COMPILING, True, SETTLED),
    (COLD, COMPILING, False, COMPILING), (HOT, REWRITING, True, REWRITING),
    (COLD, COMPILING, True, SETTLED)])
def test_stages_that_are_settled_settle_a_graph_that_is_rewritten(monkeypatch, heat, phase, settled,
                                                                   after):
    found, _, _ = made(heat, monkeypatch, phase=phase, plan=Planned(settled))
    assert found.phase is after and found.settled is (after is SETTLED)


@pytest.mark.parametrize("runs, spent, phase", [
    (SOON, SOON * LEAST * 0.99, SETTLED), (SOON, SOON * LEAST, REWRITING),
    (SOON - 1, 0.0, REWRITING), (SOON + 1, 0.0, REWRITING)])
def test_a_graph_whose_runs_are_short_is_left_as_it_is(monkeypatch, runs, spent, phase):
    found, plan, _ = made(COLD, monkeypatch, runs=runs, spent=spent)
    assert found.phase is phase and len(plan.asked) == (phase is REWRITING)


@pytest.mark.parametrize("phase, lowered, built, backends, final", [
    (SETTLED, True, True, ["xla"], True), (SETTLED, True, False, ["xla"], False),
    (SETTLED, True, False, ["replay", "xla"], False), (SETTLED, True, False, ["replay"], True),
    (SETTLED, False, True, ["replay"], False), (COMPILING, True, True, ["replay"], False)])
def test_all_is_final_once_the_executors_are_built(monkeypatch, phase, lowered, built, backends,
                                                   final):
    monkeypatch.setattr(execution.client.extension, "is_finished", built)
    found, _, _ = made(COLD, monkeypatch, phase=phase, lowered=lowered,
                       plan=Planned(backends=backends))
    assert found.is_final is final


def test_an_error_of_a_step_ends_the_steps_and_is_raised_only_where_one_compiler_is_forced(
        monkeypatch):
    found, _, _ = made(HOT, monkeypatch, phase=COMPILING, plan=Planned(error=OSError("full")))
    assert found.phase is SETTLED
    plan = found.plan
    found.phase = COMPILING
    monkeypatch.setattr(stages, "ENGINE", "xla")
    with pytest.raises(OSError, match="full"):
        found._settle(plan, [X], 1)
    assert found.phase is COMPILING
    assert found._settling.acquire(blocking=False)
    found._settling.release()


def test_an_old_plan_and_another_thread_do_nothing(monkeypatch):
    found, plan, _ = made(WARM, monkeypatch)
    old = Planned()
    found._settle(old, [X], 1)
    assert not old.asked and len(plan.asked) == 1
    with found._settling:
        thread = threading.Thread(target=found._settle, args=(plan, [X], 1))
        thread.start()
        thread.join(60)
        assert not thread.is_alive() and len(plan.asked) == 1


@pytest.mark.parametrize("compile, phase, known, most, calls, after", [
    (True, REWRITING, False, 5, ["in_place"], REWRITING),
    (True, REWRITING, True, 5, ["in_place", "measure"], COMPILING),
    (True, REWRITING, True, 4, ["in_place"], REWRITING),
    (True, COMPILING, True, 5, ["in_place"], COMPILING), (False, SETTLED, True, 5, [], SETTLED)])
def test_what_the_first_run_makes_of_a_graph(monkeypatch, compile, phase, known, most, calls,
                                             after):
    seen = []
    monkeypatch.setattr(execution, "MOST_AT_ONCE", most)
    monkeypatch.setattr(execution, "was_measured_before", lambda graph, values: known)
    monkeypatch.setattr(execution, "improve", lambda graph, values, **how: (
        seen.extend(name for name, is_so in how.items() if is_so) or graph))
    found = Execution(recorded(lambda x: torch.tanh(x * 2 + 1), X), [], 1, compile)
    found.phase = phase
    assert found.graphs() == [found.graph]
    plan = found.planned([X])
    assert seen == calls and found.phase is after and found.planned([X]) is plan
    (graph,) = found.graphs()
    assert graph is not found.graph and torch.equal(graph(X)[0], torch.tanh(X * 2 + 1))


@pytest.mark.parametrize("is_open, phase", [(True, REWRITING), (False, COMPILING)])
def test_a_trial_may_leave_others_to_come(monkeypatch, is_open, phase):
    found = Execution(recorded(lambda x: torch.tanh(x * 2 + 1), X), [], 1, True)
    seen = []

    def improve(graph, values, **how):
        seen.append(how)
        graph.meta["open"] = is_open
        return graph

    monkeypatch.setattr(execution, "improve", improve)
    found._try([X])
    assert seen == [{"measure": True}] and found.phase is phase and 0 < found._tried < 60
    assert torch.equal(found.run([X])[0], torch.tanh(X * 2 + 1))


def test_when_a_run_looks_for_what_there_is_to_do(monkeypatch):
    monkeypatch.setattr(execution, "SOON", 5)
    monkeypatch.setattr(execution, "WARM", float("inf"))
    monkeypatch.setattr(execution, "HOT", float("inf"))
    found, looks = Execution(recorded(lambda x: x * 2, X), [], 1, True), []
    monkeypatch.setattr(found, "_settle", lambda plan, values, count: looks.append(
        (found.runs, len(values), count)))
    for _ in range(6):
        found.run([X])
    assert looks == [(1, 2, 1), (5, 2, 1)] and 0 < found.least <= found.spent / 6 < 60
    found.spent = 1.0  # warm; but it looks again only after a while
    monkeypatch.setattr(execution, "WARM", 0.05)
    found._looks_at = float("inf")
    found.run([X])
    assert len(looks) == 2
    found._looks_at = 1.0
    found.run([X])
    assert [runs for runs, *_ in looks] == [1, 5, 8]
    assert found.spent < found._looks_at <= found.spent + 1e-3
    found.phase = FINAL
    found._looks_at = 0.0
    found.run([X])
    assert len(looks) == 3
