"""Which numbers have differed between calls, and what follows from that."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

from lamella.graph.guards.search import reachable_from_call
from lamella.graph.runtime import scalar_profile
from lamella.graph.runtime.scalar_profile import ScalarProfile, input_kind
from lamella.graph.tracing.refusals import CannotTrace, Cause

THING = [1, 2]
NAN = float("nan")


@pytest.fixture
def its():
    return ScalarProfile()


def test_what_differs_between_calls(its):
    state = {"rate": 0.1, "same": 3, "steps": [1], "kept": [1], "text": "a"}

    def step(x):
        return x * state["rate"] + state["same"] + len(state["steps"]) + len(state["kept"])

    def note(*given):
        return its.note(("key", *given), given, reachable_from_call(step, (1,), {}))

    assert not note(1, 2.0) and its.sources == its.lists == {} and its.inputs((1, 2.0)) == []
    assert not note(1, 2.0) and its.place("kind", (1, 2.0)) is None
    state["rate"], state["text"] = 0.2, "b"
    assert note(1, 2.0) and [source.get() for source in its.sources.values()] == [0.2]
    assert its.lists == {}
    state["steps"].append(2)
    assert note(1, 2.0) and its.grown() == {id(state["steps"]): state["steps"]}
    assert its.arguments.places == set()
    assert note(1, 3.0) and its.inputs((1, 4.0)) == [4.0]
    assert its.place("kind", (1, 4.0)) == ("kind", ("1",)) != its.place("kind", (2, 4.0))


def test_a_full_deque_grows_at_its_end(its):
    kept = deque([[1], [2]], 2)
    reach = reachable_from_call(lambda x: x + len(kept), (1,), {})
    assert not its.note("key", (1,), reach)
    kept[0] = [3]  # which isn't what appending does
    assert not its.note("key", (1,), reach) and its.grown() == {}
    kept.append([4])
    assert its.note("key", (1,), reach) and its.grown() == {id(kept): kept}


@pytest.mark.parametrize("name, value", [("draws", True), ("reads", SimpleNamespace(places={1}))])
def test_reads_and_draws_count_as_well(its, name, value):
    reach = reachable_from_call(lambda x: x, (1,), {})
    assert not its.note("key", (1,), reach)
    setattr(its, name, value)
    assert its.note("key", (1,), reach)


def test_recordings_for_other_numbers_are_counted(its):
    reach, most = reachable_from_call(lambda x: x, (1,), {}), scalar_profile.MOST_RECORDINGS
    for number in range(most):
        its.note(number, (number,), reach)
    its.note(0, (5,), reach)
    assert not its.was_recorded_too_often
    its.note(most, (1,), reach)
    assert its.was_recorded_too_often
    for number in range(2 * most):
        its.note(number, (number,), reach)
    assert len(its.keys) == 2 * most + 1
    its.arguments.places.clear()
    assert not its.was_recorded_too_often


@pytest.mark.parametrize("before, now, want", [
    (1, 2, True), (1, 1, False), (1, 2.0, False), (1, 1.0, False), (True, False, False),
    (0.0, -0.0, True), (NAN, NAN, False), (1.5, 2.5, True), (1, True, False), (2j, 3j, True)])
def test_numbers_that_differ(before, now, want):
    assert scalar_profile._differ(before, now) is want


FULL, OPEN = deque([1, 2], 2), deque([1, 2])


@pytest.mark.parametrize("before, now, want", [
    ((THING, 1, "a"), (THING, 2, "b"), True), ((THING, 1, "a"), (THING, 2, "a"), True),
    ((THING, 2, "a"), (THING, 2, "b"), False), ((THING, 3, "a"), (THING, 2, "b"), False),
    ((THING, 1, "a"), ([1, 2], 2, "b"), False), ((FULL, 2, "a"), (FULL, 2, "b"), True),
    ((FULL, 2, "a"), (FULL, 2, "a"), False), ((FULL, 1, "a"), (FULL, 2, "a"), True),
    ((OPEN, 2, "a"), (OPEN, 2, "b"), False), ((OPEN, 1, "a"), (OPEN, 2, "b"), True),
    ((deque([1, 2], 2), 2, "a"), (FULL, 2, "b"), False)])
def test_lists_that_have_grown(before, now, want):
    assert bool(scalar_profile._has_grown(before, now)) is want


def test_numbers_that_were_read(its):
    its.note_reads([1, 2.0, True])
    its.note_reads([1, 3.0, False])
    assert its.reads.places == {1}
    its.note_reads([1, 3.0, False], counted=[0])
    assert its.reads.places == {0, 1} and not its.may_hold_reads([5])
    its.refuse("why")  # the first time only the reads are given up
    assert its.refused == "" and its.reads.places == set() and not its.may_hold_reads([5])
    its.note_reads([1])
    its.note_reads([2])
    assert its.reads.places == set() and not its.may_count()
    its.refuse("why")
    assert its.refused == "why"
    assert its.refused_draws == "it draws random numbers that are not Lamella's, and why"


@pytest.mark.parametrize("read, places", [
    ([], set()), ([True, False], set()), ([1, True, 2.0], {0, 2})])
def test_numbers_that_a_graph_may_hold(its, read, places):
    assert its.may_hold_reads(read) is bool(places) and its.reads.places == places
    its.refused = "why"
    assert not its.may_hold_reads(read)


def test_a_graph_may_count_once(its):
    assert its.may_count() and not its.may_count()
    other = ScalarProfile()
    other.refused = "why"
    assert not other.may_count()


def test_draws_of_random_numbers(its):
    found = [its.may_hold_draws() for _ in range(scalar_profile.MOST_DRAWN + 2)]
    assert found == [True] * scalar_profile.MOST_DRAWN + [False] * 2 and its.draws
    other = ScalarProfile()
    other.refused = "why"
    assert not other.may_hold_draws() and other.draws


def refusal(cause, text="it prints"):
    error = CannotTrace(text)
    error.cause = cause
    return error


@pytest.mark.parametrize("draws, error, reads, refused, places", [
    (False, refusal(Cause.NOT_INSPECTED), [1], "", set()),
    (False, refusal(Cause.LATE_GUARD), [1], "", {0}),
    (False, refusal(Cause.LATE_GUARD), [True], "CannotTrace: it prints", set()),
    (True, refusal(Cause.LATE_GUARD), [True], "it prints", set()),
    (True, ValueError("mine"), [1], "", set()),
    (False, ValueError("mine"), [1], "ValueError: mine", set()),
    (False, ValueError("mine (a.py:3)"), [], "ValueError: mine (a.py:3)", set())])
def test_why_a_dry_run_failed(its, draws, error, reads, refused, places):
    its.draws = draws
    its.refuse_for(error, reads)
    assert its.refused == refused and its.reads.places == places


@pytest.mark.parametrize("refused, waits, text", [
    ("", None, "decides by them what to compute"), ("x", None, "what to compute (x)"),
    ("x", "T", "what to compute (x)"), ("", "T", "while the thread 'T' runs, whose changes")])
def test_why_it_was_recorded_too_often(its, refused, waits, text):
    its.refused, its.waits_for = refused, waits
    assert its.why_recorded.startswith("it is called with other numbers again and again, and ")
    assert text in its.why_recorded


def test_kinds_of_inputs():
    assert [input_kind(leaf) for leaf in (1, 2.0, True, "a", None, [1])] == [
        int, float, None, None, None, None]
    one, other = (np.arange(n, dtype=np.float32) for n in (2, 3))
    assert input_kind(one) == input_kind(one * 2) != input_kind(other)


@pytest.mark.parametrize("text, has_line", [("mine", True), ("mine (a.py:3)", False)])
@pytest.mark.parametrize("draws", [False, True])
def test_a_line_is_named_unless_the_error_does(its, text, has_line, draws):
    try:
        raise CannotTrace(text)
    except CannotTrace as error:
        its.draws = draws
        its.refuse_for(error, [])
    assert its.refused.startswith(text if draws else f"CannotTrace: {text}")
    assert (__file__ in its.refused) is (has_line and draws)
