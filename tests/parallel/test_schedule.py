"""The orders of a pipeline's stages, and the messages between them."""

import itertools
import random

import numpy as np
import pytest

from lamella.parallel.chunks import Chunks
from lamella.parallel.schedule import Action, Move, Step, orders, timetable

SCHEDULES = [("1f1b", "once", 1), ("gpipe", "once", 1), ("1f1b", "loop", 2), ("1f1b", "loop", 3),
             ("gpipe", "loop", 2), ("gpipe", "v", 2), ("zero_bubble_v", "v", 2)]


@pytest.mark.parametrize("kind, ahead", [("1f1b", [3, 2, 1]), ("gpipe", [5, 5, 5])])
def test_a_stage_keeps_as_few_micro_batches_as_possible(kind, ahead):
    for stage, actions in enumerate(orders(kind, Chunks(3), 3, 5)):
        kept = np.cumsum([1 if action.forward else -1 for action in actions])
        assert (kept.max(), kept[-1]) == (ahead[stage], 0)
        for forward in (True, False):
            assert [a.part for a in actions if a.forward is forward] == list(range(5))


@pytest.mark.parametrize("scheduler, way, segments", SCHEDULES)
@pytest.mark.parametrize("stages, parts", [(2, 1), (2, 4), (3, 3), (4, 8)])
def test_each_chunk_has_all_passes_of_each_part(scheduler, way, segments, stages, parts):
    chunks = Chunks(stages, way)
    found = orders(scheduler, chunks, stages * segments, parts)
    for stage, actions in enumerate(found):
        mine = [chunk for chunk in range(stages * segments) if chunks.stage(chunk) == stage]
        assert len(mine) == segments
        for chunk, part in itertools.product(mine, range(parts)):
            passes = [a.kind for a in actions if (a.chunk, a.part) == (chunk, part)]
            assert passes in (["F", "B"], ["F", "I", "W"])
    assert len({action for actions in found for action in actions}) == sum(map(len, found))


def test_interleaving_begins_the_second_chunk_before_the_first_has_all_parts():
    actions = orders("1f1b", Chunks(2, "loop"), 4, 8)[0]
    assert actions.index(Action("F", 2, 0)) < actions.index(Action("F", 0, 4))
    split = orders("zero_bubble_v", Chunks(2, "v"), 4, 4)[1]
    assert split.index(Action("W", 2, 3)) - split.index(Action("I", 2, 3)) > 1


def test_a_number_of_parts_that_an_order_is_not_for():
    with pytest.raises(ValueError, match="multiple of the number of rounds"):
        orders("1f1b", Chunks(2, "loop"), 4, 5)


@pytest.mark.parametrize("scheduler, way, segments", SCHEDULES)
@pytest.mark.parametrize("seed", range(4))
def test_messages_arrive_where_sending_waits_for_receiving(scheduler, way, segments, seed):
    """Also values that skip chunks; both stages begin the messages between them in one order."""
    stages, parts, choose = 4, 8, random.Random(seed)
    chunks, count = Chunks(stages, way), stages * segments
    values = {a: [b for b in range(a + 1, count) if b == a + 1 or choose.random() < 0.3]
              for a in range(count)}
    gradients = {a: [b for b in range(a) if a in values[b] and choose.random() < 0.9]
                 for a in range(count)}
    rows = timetable(orders(scheduler, chunks, count, parts), chunks, values, gradients)
    at, box = [0] * stages, set()
    while any(at[stage] < len(row) for stage, row in enumerate(rows)):
        moved = False
        for stage, row in enumerate(rows):
            each = row[at[stage]] if at[stage] < len(row) else None
            if isinstance(each, Step):
                for message in each.takes:
                    box.remove((stage, message))
                box.update((stage, message) for message in each.gives)
                at[stage] += 1
                moved = True
            elif isinstance(each, Move) and each.sends:
                theirs = rows[each.other][at[each.other]]
                if isinstance(theirs, Move) and theirs.message == each.message:
                    assert not theirs.sends and theirs.other == stage
                    box.remove((stage, each.message))
                    box.add((each.other, each.message))
                    at[stage] += 1
                    at[each.other] += 1
                    moved = True
        assert moved, "the stages wait for each other"
    assert not box


def test_orders_that_would_wait_for_ever():
    with pytest.raises(RuntimeError, match="wait for each other"):
        timetable([[Action("F", 0, 0), Action("B", 0, 0)], [Action("B", 1, 0), Action("F", 1, 0)]],
                  Chunks(2), {0: [1], 1: []}, {0: [1], 1: [0]})
