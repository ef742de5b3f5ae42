"""A dry run is undone, so it may only change what was inspected; nothing happens twice."""

import weakref

import numpy as np
import pytest

from lamella import Tensor, jit, ops
from lamella.graph.tracing.symbolic import preparation

from .agreement import Plain as State

X = Tensor([1.0, 2.0])


class Key:
    pass


def weak_keys():
    key, weak = Key(), weakref.WeakKeyDictionary()
    weak[key] = 1.0

    def change():
        weak[key] *= 0.5

    return change, lambda: weak[key]


def large_array():
    array = np.zeros(100_000)

    def change():
        array[0] += 1

    return change, lambda: array[0]


def large_dict():
    table = dict.fromkeys(range(100_000), 0)

    def change():
        table[0] += 1

    return change, lambda: table[0]


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("make", [weak_keys, large_array, large_dict])
def test_another_branch_that_uses_what_was_not_inspected(make, executor):
    """The third call is tried with a stand-in, and only the sixth calls the other function."""
    found = []
    for way in (lambda f: f, jit):
        change, value = make()
        state = State()
        state.count = 0

        def step(x, state=state, change=change):
            state.count += 1
            if state.count > 5:
                change()
            return x * state.count

        run, seen = way(step), []
        for _ in range(9):
            seen.append((run(X).asnumpy().tolist(), float(value())))
        found.append(seen)
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_after_a_run_whose_guard_came_too_late(executor):
    """That run has no graph, and the next is a dry run with the number as a stand-in."""
    change, value = weak_keys()
    buffer = Tensor(np.zeros(3, np.float32))

    @jit
    def step(x):
        change()
        buffer[0:2] = x
        return x / 4 if float(ops.abs(buffer).max()) > 50 else x

    for call in range(1, 5):
        step(X)
        assert value() == 0.5**call


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_another_branch_for_a_larger_size():
    preparation.begin()
    preparation.finished.wait()
    change, value = large_dict()

    @jit
    def step(x):
        if x.shape[0] > 5:
            change()
        return x * 2

    for size in range(2, 12):
        step(ops.ones((size,)))
        assert value() == max(0, size - 5)
