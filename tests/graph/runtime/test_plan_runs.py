"""A run of a plan: what it leaves if a guard or a kernel fails, and what it says of its stages."""

from types import SimpleNamespace

import pytest
import torch

from lamella.graph.ir.operations import CAUGHT
from lamella.graph.ir.stages import FEW_BYTES
from lamella.graph.ir.streams import streams_of
from lamella.graph.runtime import plan as plans
from lamella.graph.runtime.autotuner import Autotuner
from lamella.graph.runtime.plan import KernelFailed, Plan
from lamella.graph.runtime.stage import Heat
from tests.graph.passes.checks import recorded

X = torch.rand(4, 3, generator=torch.Generator().manual_seed(0))
ROW = torch.tensor([0, 3])


def made(fn, *inputs, expected=(), compile=False):
    graph = recorded(fn, *inputs)
    for node in graph.graph.nodes:
        node.meta.pop(CAUGHT, None)
    return Plan(graph, list(expected), len(inputs), compile), streams_of(graph)


def picked(x, i):
    return [torch.rand_like(x), x.index_select(0, i)]


def changed_then_picked(x, i):
    x.add_(1)
    return x.index_select(0, i)


LARGE = torch.zeros(FEW_BYTES // 4 + 4)


@pytest.mark.parametrize("fn, x, undone", [
    (picked, X, True),  # nothing has changed yet
    (changed_then_picked, X, True),  # put back from a copy
    (changed_then_picked, LARGE, False),  # for which it is too large
    (lambda x, i: [x.index_select(0, i), x.add_(1)], LARGE, True)])
def test_a_kernel_that_fails(executor, fn, x, undone):
    plan, streams = made(fn, x, ROW)
    given = [x.clone(), torch.tensor([0, len(x)])]
    torch.manual_seed(5)
    before = torch.get_rng_state()
    with pytest.raises(KernelFailed if undone else (IndexError, RuntimeError)) as failed:
        plan.run([*given], streams)
    assert (type(failed.value) is KernelFailed) is undone
    if undone:
        assert isinstance(failed.value.__cause__, (IndexError, RuntimeError))
    assert torch.equal(given[0], x) is undone and torch.equal(torch.get_rng_state(), before)
    values = [x.clone(), ROW]
    assert plan.run(values, streams)
    again = x.clone()
    torch.manual_seed(5)
    wanted = fn(again, ROW)
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else wanted
    for place, want in zip(plan.results, wanted, strict=True):
        assert torch.equal(values[place], want)
    assert torch.equal(values[0], again)


def test_a_guard_that_fails_leaves_all_as_it_was(executor):
    plan, streams = made(lambda x, i: [x.sum() > 0, (torch.rand_like(x) > 2).any(), x.mul_(2)],
                         X, ROW, expected=[True, False])
    assert len(plan.stages) == 2 and not plan.is_pure
    before = torch.get_rng_state()
    given = [-X, ROW]
    assert plan.run([*given], streams) is False and plan.guards.failed == (0, False)
    assert torch.equal(given[0], -X) and torch.equal(torch.get_rng_state(), before)
    given = [X.clone(), ROW]
    assert plan.run([*given], streams) is True
    assert torch.equal(given[0], X * 2) and not torch.equal(torch.get_rng_state(), before)


def test_a_guard_on_an_input_is_checked_before_anything_runs(executor):
    plan, streams = made(lambda x, i, n: [n, x.index_select(0, i)], X, ROW, torch.tensor(3),
                         expected=[3])
    values = [X, torch.tensor([9, 9]), torch.tensor(4)]
    assert plan.run(values, streams) is False and len(values) == 3
    assert plan.guards.failed == (0, 4) and plan.only_run is None
    with pytest.raises(KernelFailed):
        plan.run([X, torch.tensor([9, 9]), torch.tensor(3)], streams)
    assert plan.run([X, ROW, torch.tensor(3)], streams)


@pytest.mark.parametrize("fn, pure, runs", [
    (lambda x, i: x * 2, True, True), (lambda x, i: x.mul_(2), False, False),
    (lambda x, i: torch.rand_like(x), False, True),
    (lambda x, i: [(x * 3).sum(), x.mul_(2)], False, False)])
@pytest.mark.parametrize("backend, timed", [
    ("replay", False), ("xla", False), ("inductor", False), ("replay", True)])
def test_what_runs_the_only_stage(fn, pure, runs, backend, timed):
    plan, _ = made(fn, X, ROW)
    assert plan.is_pure is pure and plan.settled
    stage = plan.stages[0]
    stage.backend = backend
    if timed:
        stage.run = Autotuner({"a": stage.run, "b": stage.run}, print)
    found = plan.only_run
    assert found is (stage.run if runs and backend != "inductor" and not timed else None)


def stands(settled=False, waits=False, far=False, changes=False, worth=True):
    return SimpleNamespace(settled=settled, waits=waits, is_far_ahead=far,
                           part=SimpleNamespace(changes_inputs=changes, worth=worth))


@pytest.mark.parametrize("stages, waits", [
    ([], False), ([stands(settled=True)], False), ([stands(waits=True)], True),
    ([stands(settled=True, waits=True)], False), ([stands(waits=True), stands()], False),
    ([stands(waits=True), stands(settled=True)], True)])
def test_a_plan_waits_if_all_its_stages_do_that_are_not_settled(stages, waits):
    plan, _ = made(lambda x: x * 2, X)
    plan.stages = stages
    assert plan.waits is waits


@pytest.mark.parametrize("stages, far", [
    ([stands()], False), ([stands(far=True)], True), ([stands(changes=True)], False),
    ([stands(far=True), stands()], False), ([stands(far=True), stands(changes=True)], True),
    ([stands(far=True), stands(worth=False)], True), ([stands(worth=False)], False)])
def test_a_plan_is_far_ahead_if_no_other_stage_counts(monkeypatch, stages, far):
    monkeypatch.setattr(plans, "is_worth_compiling", lambda part: part.worth)
    plan, _ = made(lambda x: x * 2, X)
    plan.stages = stages
    assert plan.is_far_ahead is far


def several(x):
    return (x.sin().exp().cos() + x.tan()).tanh()


@pytest.mark.parametrize("fn, expected, settled", [
    (several, (), [False]), (lambda x: [several(x), x.add_(1)], (), [False, True]),
    (lambda x: [several(x).sum() > 0, several(x) * 2], (True,), [False, False]),
    (lambda x: several(x.add_(1)), (), [True])])
def test_which_stages_may_be_compiled(monkeypatch, fn, expected, settled):
    monkeypatch.setattr("lamella.graph.runtime.stage.ENGINE", "")
    plan, _ = made(fn, X, expected=expected, compile=True)
    assert [stage.settled for stage in plan.stages] == settled
    assert plan.settled is all(settled)
    assert made(fn, X, expected=expected)[0].settled


@pytest.mark.parametrize("fn, given", [
    (several, True), (lambda x: several(x) + torch.rand_like(x), False)])
def test_what_a_stage_is_given_to_settle(monkeypatch, fn, given):
    monkeypatch.setattr("lamella.graph.runtime.stage.ENGINE", "")
    plan, streams = made(fn, X, compile=True)
    (stage,), asked = plan.stages, []
    monkeypatch.setattr(stage, "settle", lambda values, heat, results, prompt: asked.append(
        (len(values), heat, results, prompt)))
    values = [X.clone()]
    assert plan.run(values, streams)
    (result,) = [values[i] for i in plan.results]
    plan.settle(values, Heat.WARM, True)
    (count, heat, found, prompt), = asked
    assert (count, heat, prompt, values) == (1, Heat.WARM, True, [])
    assert (found is not None) is given and (not given or found[0] is result)
