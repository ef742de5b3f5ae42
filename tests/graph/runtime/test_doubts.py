"""Recordings that another thread disturbs, at moments that are chosen."""

import queue
import threading
import warnings

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor
from lamella.graph.runtime import recording
from lamella.graph.runtime.doubts import MOST_DOUBTS, REHEARSALS


class Own:
    """What the two threads share."""

    def __init__(self):
        self.value, self.inner, self.numbers, self.names = 1.0, {"value": 1.0}, [1.0], {1.0}


@pytest.fixture
def other():
    """A function that runs another one in a thread of the program's, and waits for it."""
    jobs, done = queue.SimpleQueue(), queue.SimpleQueue()

    def work():
        while (job := jobs.get()) is not None:
            done.put(job())

    thread = threading.Thread(target=work, name="beside")
    thread.start()
    yield lambda job: (jobs.put(job), done.get(timeout=60))
    jobs.put(None)
    thread.join(60)


def an_attribute(own, value):
    own.value = value


def an_object(own, value):
    own.inner = {"value": value}


def a_list(own, value):
    own.numbers[0] = value


def a_set(own, value):
    own.names.clear()
    own.names.add(value)


READS = {an_attribute: lambda own: own.value, an_object: lambda own: own.inner["value"],
         a_list: lambda own: own.numbers[0], a_set: lambda own: 1.0 if 1.0 in own.names else 2.0}


def disturb(monkeypatch, name, before, after=None, times=1):
    """Do something before and after a step of recordings."""
    step, left = getattr(recording, name), [times]

    def disturbed(*args, **kwargs):
        left[0] -= 1
        if left[0] < 0:
            return step(*args, **kwargs)
        before()
        found = step(*args, **kwargs)
        if after is not None:
            after()
        return found

    monkeypatch.setattr(recording, name, disturbed)


def follows(step, own, change):
    """Whether results are those of the state, which the calls leave as it is."""
    for value in (1.0, 2.0, 1.0, 2.0):
        change(own, value)
        assert float(step(Tensor([1.0])).asnumpy()[0]) == value
        assert READS[change](own) == value


@pytest.mark.parametrize("change", READS)
@pytest.mark.parametrize("when", ["Snapshot", "run_traced"])
def test_a_change_while_a_call_is_recorded(other, monkeypatch, change, when):
    """Between the fingerprint and the snapshot, and between that and the run."""
    own = Own()
    step = ms.jit(lambda x: x * READS[change](own))
    disturb(monkeypatch, when, lambda: other(lambda: change(own, 2.0)))
    assert float(step(Tensor([1.0])).asnumpy()[0]) == 2.0
    follows(step, own, change)


@pytest.mark.parametrize("change", READS)
def test_a_change_that_is_undone_before_the_recording_ends(other, monkeypatch, change):
    own = Own()
    step = ms.jit(lambda x: x * READS[change](own))
    disturb(monkeypatch, "run_traced", lambda: other(lambda: change(own, 2.0)),
            lambda: other(lambda: change(own, 1.0)))
    assert float(step(Tensor([1.0])).asnumpy()[0]) == 2.0
    follows(step, own, change)


def test_a_list_among_the_arguments(other, monkeypatch):
    given = [1.0]
    step = ms.jit(lambda x, numbers: x * numbers[0])
    disturb(monkeypatch, "run_traced", lambda: other(lambda: given.__setitem__(0, 2.0)))
    for _ in range(3):
        assert float(step(Tensor([1.0]), given).asnumpy()[0]) == given[0] == 2.0
    given[0] = 1.0
    assert float(step(Tensor([1.0]), given).asnumpy()[0]) == given[0] == 1.0


def test_an_object_that_is_replaced_after_the_search_is_watched(other, monkeypatch):
    own = Own()
    step = ms.jit(lambda x: x * own.inner["value"])
    disturb(monkeypatch, "Guard", lambda: other(lambda: an_object(own, 1.0)))
    step(Tensor([1.0]))
    for value in (2.0, 3.0):
        own.inner["value"] = value
        assert float(step(Tensor([1.0])).asnumpy()[0]) == value


def test_a_parameter_that_another_thread_gives_another_size(other, monkeypatch):
    weight = Parameter(Tensor([1.0]), name="w")
    step = ms.jit(lambda x: x * weight[0])
    disturb(monkeypatch, "run_traced", lambda: other(
        lambda: weight.set_data(Tensor([2.0, 2.0]), slice_shape=True)))
    step(Tensor([1.0]))
    for size in (1, 2, 1):
        weight.set_data(Tensor(np.full(size, 3.0, np.float32)), slice_shape=True)
        step(Tensor([1.0]))
        assert weight.shape == (size,) and float(weight.asnumpy()[0]) == 3.0


def test_assignments_of_its_own_beside_a_thread_that_runs(other, monkeypatch):
    """A Tensor that the run has computed is its own; a number may be the other thread's."""
    own = Own()

    def step(x):
        own.value = x * 2
        return own.value + 1

    compiled = ms.jit(step)
    disturb(monkeypatch, "run_traced", lambda: other(int), times=99)
    for number in range(8):
        found = compiled(Tensor([float(number)]))
        assert float(own.value.asnumpy()[0]) == 2 * number == float(found.asnumpy()[0]) - 1
    assert compiled.report()["replays"] >= 8 - REHEARSALS - 3


def test_a_thread_that_disturbs_each_recording(other, monkeypatch):
    own = Own()
    values = iter(range(2, 99))
    step = ms.jit(lambda x: x * own.value)
    disturb(monkeypatch, "run_traced",
            lambda: other(lambda: an_attribute(own, float(next(values)))), times=99)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(MOST_DOUBTS + 2):
            own.value = 1.0
            step(Tensor([1.0]))
    assert any("eagerly: it uses or changes what another thread of the program, 'beside', may"
               in str(warning.message) for warning in found)
    own.value = 1.0
    assert float(step(Tensor([1.0])).asnumpy()[0]) == own.value == 1.0


def test_a_thread_that_waits_disturbs_nothing(other):
    own = Own()
    compiled = ms.jit(lambda x: x * own.value)
    other(int)
    for _ in range(4 + REHEARSALS):  # it may still run for a moment, until it waits
        compiled(Tensor([1.0]))
    assert compiled.report()["traces"] == 1 and compiled.report()["replays"] >= 3
