"""Which values are freed after which stage of a graph."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lamella.graph.runtime.liveness import Liveness
from lamella.graph.runtime.plan_guards import PlacedGuard


def stage(takes, results, settled=True, waits=False, is_timed=False):
    return SimpleNamespace(takes=takes, part=SimpleNamespace(results=[None] * results),
                           settled=settled, waits=waits, is_timed=is_timed)


def stages(**last):
    """Two inputs are the places 0 and 1; then follow the results: 2, 3 and 4, and none."""
    return [stage([0], 2), stage([1, 2], 1), stage([3, 4], 0, **last)]


def guard(place):
    return PlacedGuard(*[place] * len(PlacedGuard._fields))


@pytest.mark.parametrize("checks, stays, after, by_it", [
    ({}, (), [[], [2], [3, 4]], [[], [2], [3, 4]]), ({}, (3,), [[], [2], [4]], [[], [2], [4]]),
    ({3: [guard(2)]}, (), [[], [], [2, 3, 4]], [[], [], [3, 4]]),
    ({2: [guard(2)]}, (), [[], [2], [3, 4]], [[], [2], [3, 4]]),
    ({1: [guard(2), guard(0)]}, (), [[], [2], [3, 4]], [[], [2], [3, 4]])])
def test_values_are_freed_after_their_last_use(checks, stays, after, by_it):
    found = Liveness(stages(), 2, checks, set(stays))
    assert found.uses == [(0, 2, 3), (1, 2, 4), (3, 4)]
    freed = found.freed()
    assert [sorted(places) for places in freed.after] == after
    assert [sorted(places) for places in freed.by_it] == by_it


def test_a_result_that_nothing_reads():
    freed = Liveness([stage([0], 2), stage([1], 1)], 1, {}, set()).freed()
    assert freed.after == [[2], [1, 3]] and freed.by_it == [[], [1]]


@pytest.mark.parametrize("settled, waits, is_timed, kept", [
    (True, False, False, False), (False, False, False, True), (False, True, False, False),
    (False, False, True, False), (True, True, True, False)])
def test_what_a_stage_may_have_to_compare_stays(settled, waits, is_timed, kept):
    given = stages(settled=settled, waits=waits, is_timed=is_timed)
    assert Liveness(given, 2, {}, set()).freed().after == [[], [2], [] if kept else [3, 4]]
