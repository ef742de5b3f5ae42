"""Trials: whether a rewritten graph is right and faster."""

import time

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.passes import order, trial
from lamella.graph.passes.trial import NotYet, pays
from lamella.machine import timing
from tests.graph.passes.checks import check_same, count, recorded, used


def slow(x):
    for _ in range(30):
        x = x.sin()
    return x


def test_a_faster_graph_pays_and_a_trial_mutates_nothing():
    inputs = [torch.randn(100, 100)]
    before = inputs[0].clone()
    state = torch.get_rng_state()
    graph = recorded(lambda x: (slow(x).mul(0), x.add_(1))[0] + torch.rand_like(x), *inputs)
    other = recorded(lambda x: (x.mul(0), x.add_(1))[0] + torch.rand_like(x), *inputs)
    state = torch.get_rng_state()
    assert pays(graph, other, inputs)
    assert not pays(other, graph, inputs)
    assert torch.equal(inputs[0], before) and torch.equal(torch.get_rng_state(), state)


def test_a_wrong_graph_never_pays():
    inputs = [torch.randn(100, 100)]
    assert not pays(recorded(slow, *inputs), recorded(lambda x: x * 2, *inputs), inputs)
    assert not pays(recorded(lambda x: slow(x) + 0 * x.add_(1), *inputs),
                    recorded(lambda x: slow(x), *inputs), inputs)
    assert not pays(recorded(lambda x: slow(x).t(), *inputs),
                    recorded(lambda x: x.t().contiguous(), *inputs), inputs)


def test_final_mutations_of_inputs_are_left_out_of_a_trial():
    x, weight = torch.randn(100, 100), torch.randn(1000, 1000)
    inputs, before = [x, weight], weight.clone()
    graph = recorded(lambda x, w: w.sub_(slow(x).mul(0).sum()), *inputs)
    other = recorded(lambda x, w: w.sub_(x.mul(0).sum()), *inputs)
    wrong = recorded(lambda x, w: w.sub_(x.mul(0).sum() + 1), *inputs)
    differs = recorded(lambda x, w: w.add_(x.mul(0).sum()).add_(1), *inputs)
    found = []
    assert used(lambda: found.append(pays(graph, other, inputs)))[0] < weight.nbytes
    assert found == [True] and torch.equal(weight, before)
    assert not pays(graph, wrong, inputs) and not pays(graph, differs, inputs)


def test_another_input_that_is_mutated_is_no_equal_ending():
    inputs = [torch.randn(30, 30) for _ in range(3)]
    graph = recorded(lambda x, v, w: [v.sub_(slow(x).mul(0).sum()), w.mul_(2)], *inputs)
    for change, right in ((lambda v, w, x: [v.sub_(x), w.mul_(2)], True),
                          (lambda v, w, x: [w.sub_(x), v.mul_(2)], False),
                          (lambda v, w, x: [v.sub_(x), v.mul_(2)], False),
                          (lambda v, w, x: [v.sub_(x), w.mul_(3)], False),
                          (lambda v, w, x: [v.sub_(x, alpha=2), w.mul_(2)], True),
                          (lambda v, w, x: [v.sub_(x + 1, alpha=2), w.mul_(2)], False),
                          (lambda v, w, x: [v.sub_(x), w.mul_(2), w.mul_(2)], False),
                          (lambda v, w, x: [v.sub_(x), w.mul_(2)][::-1], False),
                          (lambda v, w, x: [v.sub_(x), (w.mul_(2), v)[1]], False)):
        other = recorded(lambda x, v, w, c=change: c(v, w, x.mul(0).sum()), *inputs)
        assert pays(graph, other, inputs) is right


def test_rounding_at_a_kink_passes_and_wrong_elements_fail():
    x, w = torch.randn(400, 64), torch.randn(64, 64)
    inputs = [x, w]

    def step(x, w):
        y = (x @ w).relu()
        return (y * x).sum(0), (y > 0).float().t() @ x

    def otherwise(x, w):
        y = (x[:, :32] @ w[:32] + x[:, 32:] @ w[32:]).relu()
        return (y * x).sum(0), (y > 0).float().t() @ x

    graph = recorded(step, *inputs)
    assert trial.is_right(graph, recorded(otherwise, *inputs), inputs, [])
    scaled = recorded(lambda x, w: (step(x, w)[0] * 1.001, step(x, w)[1]), *inputs)
    assert not trial.is_right(graph, scaled, inputs, [])
    one = recorded(lambda x, w: (step(x, w)[0] + 0.3 * (x[0] == x[0].max()), step(x, w)[1]),
                   *inputs)
    assert not trial.is_right(graph, one, inputs, [])


def test_decisions_are_remembered(monkeypatch, tmp_path):
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    asked = []
    inputs = [torch.randn(4, 4)]
    graph = recorded(slow, *inputs)
    monkeypatch.setattr(order, "ATTEMPTS", {"twice": lambda g, _: recorded(slow, *inputs)})
    monkeypatch.setattr(order, "pays", lambda *_: asked.append(1) or True)
    for _ in range(3):
        graph.meta.clear()  # as in another process
        check_same(graph, order.improve(graph, inputs, measure=True), inputs)
    assert len(asked) == 1
    graph.meta.clear()
    for file in tmp_path.rglob("paid"):
        file.write_text("nonsense")
    order.improve(graph, inputs, measure=True)
    assert len(asked) == 2


def test_one_trial_in_a_call(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    asked = []
    inputs = [torch.randn(4, 4)]
    graph = recorded(slow, *inputs)
    monkeypatch.setattr(order, "ATTEMPTS", {
        "first": lambda g, _: order.copied(g), "none": lambda g, _: None,
        "second": lambda g, _: order.copied(g)})
    monkeypatch.setattr(order, "pays", lambda *_: asked.append(1) or False)
    assert order.improve(graph, inputs, measure=True).meta["open"] and len(asked) == 1
    for _ in range(2):
        assert not order.improve(graph, inputs, measure=True).meta["open"] and len(asked) == 2


def test_an_attempt_that_takes_long_is_tried_in_the_next_call(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    monkeypatch.setattr(order, "LONG", -1.0)
    made, asked, waits = [], [], [True, True]
    inputs = [torch.randn(4, 4)]
    graph = recorded(slow, *inputs)

    def attempt(graph, _):
        made.append(1)
        if waits and waits.pop():
            raise NotYet
        return recorded(lambda x: slow(x).clone(), *inputs)

    monkeypatch.setattr(order, "ATTEMPTS", {"it": attempt})
    monkeypatch.setattr(order, "pays", lambda *_: asked.append(1) or True)
    seen = []
    for _ in range(5):
        found = order.improve(graph, inputs, measure=True)
        check_same(graph, found, inputs)
        seen.append((len(made), len(asked), found.meta["open"]))
    assert seen == [(1, 0, True), (2, 0, True), (3, 0, True), (3, 1, True), (3, 1, False)]


def test_a_rewriting_that_others_build_on_is_made_once(monkeypatch):
    """Also if the other one has more to time than fits in a call."""
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    made, waits = [], [True, True, True]
    inputs = [torch.randn(4, 4)]
    graph = recorded(slow, *inputs)

    def first(graph, _):
        made.append(1)
        return recorded(lambda x: slow(x).clone(), *inputs)

    def convolutions(graph, _):
        if waits and waits.pop():
            raise NotYet
        return order.copied(graph)

    monkeypatch.setattr(order, "convolutions", convolutions)
    monkeypatch.setattr(order, "ATTEMPTS", {"both": order._with_products(first)})
    monkeypatch.setattr(order, "pays", lambda *_: True)
    for last in (False, False, False, True):
        found = order.improve(graph, inputs, measure=True)
        check_same(graph, found, inputs)
        assert found.meta["open"] is not last
    assert made == [1]
    assert not graph.meta["search"].half_done


def test_what_has_paid_is_made_once(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    made = []
    inputs = [torch.randn(4, 4)]
    graph = recorded(slow, *inputs)

    def attempt(graph, _):
        made.append(1)
        return recorded(lambda x: slow(x).clone(), *inputs)

    monkeypatch.setattr(order, "ATTEMPTS", {
        "it": attempt, **{f"other {i}": lambda g, _: order.copied(g) for i in range(3)}})
    monkeypatch.setattr(order, "pays", lambda *_: len(made) == 1 and made.append("paid") is None)
    for last in (False, False, False, True):
        found = order.improve(graph, inputs, measure=True)
        check_same(graph, found, inputs)
        assert found.meta["open"] is not last and len(found.graph.nodes) > len(graph.graph.nodes)
    assert made == [1, "paid"]


def test_slow_graphs_run_a_few_times(monkeypatch):
    inputs = [torch.randn(100, 100)]
    graph, other = recorded(slow, *inputs), recorded(slow, *inputs)
    monkeypatch.setattr(trial, "PATIENCE", 0.0)
    monkeypatch.setattr(timing, "BRIEF", 0.0)
    runs = []
    run = trial._run
    monkeypatch.setattr(trial, "_run", lambda *args: runs.append(1) or run(*args))
    pays(graph, other, inputs)
    assert len(runs) <= 2 + 2 * trial.FEWEST


def test_a_real_trial(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    inputs = [torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)]
    graph = recorded(lambda x, w: F.max_pool2d(F.conv2d(x, w), 2), *inputs)
    check_same(graph, order.improve(graph, inputs, measure=True), inputs)


def rounds(monkeypatch, before, after):
    """How often both graphs are timed that take so many seconds; whether the second one pays."""
    now, runs = [8.0], []

    def run(graph, inputs):
        runs.append("after" if count(graph, "cos") else "before")
        now[0] += after if runs[-1] == "after" else before
        return inputs

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(trial, "_run", run)
    inputs = [torch.randn(4)]
    other = recorded(lambda x: x.cos(), *inputs)
    other.meta["verified"] = True
    paid = pays(recorded(lambda x: x.sin(), *inputs), other, inputs)
    assert runs[::2] == ["before"] * (len(runs) // 2)
    assert runs[1::2] == ["after"] * (len(runs) // 2)
    return len(runs) // 2, paid


@pytest.mark.parametrize("before, after, want", [
    (1 / 64, 1 / 64, (25, False)), (1 / 64, 1.0625 / 64, (25, False)),
    (1 / 64, 1.125 / 64, (4, False)), (1 / 64, 1 / 128, (25, True)),
    (1 / 64, 1 / 16, (3, False)), (1 / 8, 1 / 8, (5, False)), (1.0, 0.5, (3, True)),
    (1 / 32, 1 / 32, (17, False))])
def test_how_long_a_trial_goes_on(monkeypatch, before, after, want):
    """For 25 rounds, or a second; three at least. What is slower is given up after a tenth."""
    assert rounds(monkeypatch, before, after) == want


@pytest.mark.parametrize("is_sure", [True, False])
def test_a_trial_tells_whether_its_times_were_clear(monkeypatch, is_sure):
    monkeypatch.setattr(timing.Rounds, "is_sure", is_sure)
    inputs = [torch.randn(4)]
    graph, other = recorded(slow, *inputs), recorded(slow, *inputs)
    other.meta["unsure"] = is_sure
    pays(graph, other, inputs)
    assert other.meta["unsure"] is not is_sure


def test_a_wrong_graph_that_takes_no_inputs_never_pays():
    graph = recorded(lambda: [torch.ones(9).sin()])
    assert not pays(graph, recorded(lambda: [torch.ones(9).cos()]), [])


def test_a_graph_whose_kernel_refuses_its_arguments_never_pays():
    inputs = [torch.randn(4)]
    graph, other = recorded(slow, *inputs), recorded(lambda x: x.view(4), *inputs)
    next(n for n in other.graph.nodes if "view" in str(n.target)).args = (
        next(iter(other.graph.nodes)), [3])
    assert not pays(graph, other, inputs)


def test_what_is_verified_is_not_compared():
    inputs = [torch.randn(100, 100)]
    graph, other = recorded(slow, *inputs), recorded(lambda x: x * 2, *inputs)
    assert not pays(graph, other, inputs)
    other.meta["verified"] = True
    assert pays(graph, other, inputs)


def test_inputs_that_are_written_are_copied():
    x, y = torch.randn(4, requires_grad=True), torch.randn(4)
    graph = recorded(lambda x, y: [y.add_(x)], x.detach(), y)
    first, second = trial.copies(graph, [x, y])
    assert first.data_ptr() == x.data_ptr() and not first.requires_grad
    assert second.data_ptr() != y.data_ptr() and torch.equal(second, y)
