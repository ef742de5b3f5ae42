"""Loops that ask a Tensor in each step, as often in each call as in the first."""

import numpy as np
import pytest

import lamella as ms
from lamella import ops
from lamella.graph.ir.loop import loops_of
from lamella.graph.runtime.compiled import Compiled

from .program_loops import finds_loops, flat, values
from .test_program_loops import counted, fixed_point, of_numbers


def _loops(compiled):
    """How many operations of its last graph are loops; how many guards it has."""
    replay = next(iter(compiled.cache.all_entries())).replay
    return len(loops_of(replay.execution.graph.graph.nodes)), len(replay.execution.expected)


def _descent(a):
    x = a
    for _ in range(4):
        g, rate = 2 * (x - 0.3), 8.0
        while ((x - rate * g - 0.3) ** 2).sum() > 0.9 * ((x - 0.3) ** 2).sum():
            rate = rate * 0.5
        x = x - rate * g
    return x


@finds_loops
@pytest.mark.parametrize("derive", [False, True])
@pytest.mark.parametrize("fn, loops, recordings", [(counted, 1, 3), (fixed_point, 1, 2), (
    _descent, 4, 3), (of_numbers, 1, 3)])
def test_loop_of_as_many_steps_in_each_call_is_an_operation(fn, loops, recordings, derive):
    def total(a):
        found = fn(a)
        return found[0].sum() if isinstance(found, tuple) else found.sum()

    wanted = ms.grad(total) if derive else fn
    compiled = Compiled(wanted)
    for call in (3, 3, 3, 3, 3, 2, 4):  # in the end with other numbers of steps
        for a, b in zip(flat(compiled(values(call))), flat(wanted(values(call))), strict=True):
            np.testing.assert_array_equal(a, b)
    assert _loops(compiled)[0] >= loops
    assert _loops(compiled)[1] == 0
    assert compiled.statistics.traces <= recordings


@finds_loops
def test_loop_that_asks_seldom_or_takes_much_stays_as_it_was_recorded():
    def seldom(a):
        x = a
        while x.max() > 1:
            x = x * 0.5
        return x

    def much(a):
        x = ops.tile(a, (32, 1))
        while x.max() > 1:
            x = x * 0.9
        return x

    for fn, a in ((seldom, values(4)), (much, values(4, 4096))):
        compiled = Compiled(fn)
        for _ in range(3):
            np.testing.assert_array_equal(compiled(a).asnumpy(), fn(a).asnumpy())
        assert _loops(compiled)[0] == 0
        assert _loops(compiled)[1] > 2
        assert compiled.statistics.traces == 1


@finds_loops
def test_loop_that_asks_often_but_cannot_be_an_operation_is_recorded_twice():
    def fn(a):
        x, seen = a, {}
        while x.max() > 0.1:
            x = x * 0.8
            seen[len(seen)] = x.sum()
        return x, len(seen)

    compiled = Compiled(fn)
    for _ in range(4):
        for a, b in zip(flat(compiled(values(3))), flat(fn(values(3))), strict=True):
            np.testing.assert_array_equal(a, b)
    assert compiled.statistics.traces == 1
    assert compiled.statistics.replays == 2
