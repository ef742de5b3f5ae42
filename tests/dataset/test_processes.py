"""What a worker process does, done in this one: its random numbers, and what it sends."""

import random

import numpy as np
import pytest
import torch

import lamella.dataset as ds
from lamella.dataset import processes
from lamella.dataset.errors import DataError, SkippedRow
from lamella.dataset.state import Run, kept_random_state


@pytest.fixture(autouse=True)
def _kept():
    with kept_random_state():
        yield


def work(make=lambda item, streams: (np.array(item),)):
    return processes._Work(make, [], "test operation")


@pytest.mark.parametrize("seed", [0, 1, 77, 2**32 - 1, 2**32, 2**32 + 5])
def test_random_numbers_begin_at_the_seed(seed):
    work().start(seed, None)
    assert random.random() == random.Random(seed).random()
    assert np.random.rand() == np.random.RandomState(seed % 2**32).rand()


@pytest.mark.parametrize("draw, drawn", [
    (lambda: None, False), (lambda: random.random(), True), (lambda: np.random.rand(), True),
    (lambda: np.random.rand(700), True)])
def test_a_state_comes_back_where_numbers_were_drawn(draw, drawn):
    def make(item, streams):
        draw()
        return (np.array(item),)

    worker = work(make)
    worker.start(5, None)
    rows, state = worker[[1, 2]]
    assert [int(row[0]) for row in rows] == [1, 2]
    assert (state is not None) == drawn
    first = (random.random(), np.random.rand())
    if state is None:
        plain = work()
        plain.start(5, None)
    else:
        work().start(5, state)  # goes on from there
    assert (random.random(), np.random.rand()) == first


def test_rows_that_are_left_out_and_that_fail():
    def make(item, streams):
        if item == 1:
            raise SkippedRow
        if item == 2:
            raise DataError("told before")
        if item == 3:
            raise ValueError("not told")
        return (np.array(item),)

    worker = work(make)
    worker.start(0, None)
    assert worker[[0, 1]][0][1] is None
    assert worker[[0, 2]].text == "told before"
    assert "not told" in worker[[3]].text and "test operation" in worker[[3]].text


@pytest.mark.parametrize("array, shared", [
    (np.zeros(4096, np.uint8), True), (np.zeros(4095, np.uint8), False),
    (np.zeros(512), True), (np.zeros(511), False), (np.full(1024, "abcd"), False),
    (np.full(5000, b"a"), False), (np.zeros((64, 128))[:, ::2], True),
    (np.array([{}] * 1024, object), False)])
def test_large_arrays_go_through_shared_memory(array, shared):
    worker = work()
    sent = worker._sent(array)
    assert isinstance(sent, torch.Tensor) is shared
    if shared:
        assert np.array_equal(sent.numpy(), array)
    else:
        assert sent is array
    worker.share = False
    assert worker._sent(array) is array
    about = {"a": np.zeros(5000)}
    assert worker._sent(about) is about


def numbers():
    return ds.NumpySlicesDataset({"n": [1, 2, 3]}, shuffle=False)


def plain(n):
    return n


@pytest.mark.parametrize("make, several", [
    (lambda: numbers(), False), (lambda: numbers().map(plain), False),
    (lambda: numbers().map(plain).batch(2).map(plain), True),
    (lambda: numbers().map(plain).map(plain).map(plain), True),
    (lambda: numbers().map(plain).batch(lambda info: 2), True),
    (lambda: numbers().batch(lambda info: 2), False),
    (lambda: numbers().batch(2, per_batch_map=lambda n, info: n), False),
    (lambda: numbers().batch(2).map(plain), False)])
def test_two_operations_in_python_take_turns(make, several):
    assert Run(make()).is_interleaved is several


@pytest.mark.parametrize("make, again", [
    (lambda: numbers(), False), (lambda: numbers().take(2), False),
    (lambda: numbers().map(plain), False), (lambda: numbers().map(plain).take(2), True),
    (lambda: numbers().batch(2).take(1), False), (lambda: numbers().shuffle(2), False),
    (lambda: numbers().map(plain) + numbers().map(plain), True),
    (lambda: numbers().map(plain).repeat(2), False),
    (lambda: numbers().map(plain).map(plain).repeat(2), True)])
def test_rows_are_made_again_where_draws_can_not_be_passed_over(make, again):
    assert Run(make())._runs_all_again is again
