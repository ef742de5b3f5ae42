"""Rows that wait for a condition, and rows that go to a queue."""

import numpy as np
import pytest

import lamella.dataset as ds


def numbers(count=6):
    return ds.NumpySlicesDataset({"x": np.arange(count)}, shuffle=False)


def values(dataset):
    return [int(row[0]) for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]


@pytest.mark.parametrize("step", [1, 2, 3])
def test_rows_pass_as_they_are_let_pass(step):
    told = []
    data = numbers().sync_wait("ready", step, told.append)
    assert data.is_sync() and data.batch(2).is_sync() and not numbers().is_sync()
    assert len(data) == 6 and list(data.batch(2).get_sync_notifiers()) == ["ready"]
    seen = []
    for number, row in enumerate(data.create_tuple_iterator(num_epochs=1, output_numpy=True), 1):
        seen.append(int(row[0]))
        if number % step == 0 and number < 6:
            data.sync_update("ready", data=number)
    assert seen == list(range(6)) and told == list(range(step, 6, step))


def test_a_row_asked_for_too_early_is_an_error_until_waiting_is_disabled():
    data = numbers().sync_wait("ready", 2)
    for let, asked in ((None, 4), (1, 3), (3, 5)):
        rows = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        next(rows)
        data.sync_update("ready", let)
        for _ in range(asked - 1):
            next(rows)
        with pytest.raises(RuntimeError, match=rf"row {asked} was asked for before.*'ready'"):
            next(rows)
    twice = data.sync_wait("other", 1)
    assert list(twice.get_sync_notifiers()) == ["ready", "other"]
    twice.disable_sync()
    assert values(twice) == list(range(6))


@pytest.mark.parametrize("call, error, words", [
    (lambda data: data.sync_wait("more", callback=3), TypeError, "'callback' must be a function|"
     "Argument callback"),
    (lambda data: data.sync_wait("ready"), RuntimeError, "there is a condition 'ready' already"),
    (lambda data: data.sync_wait("more", True), (TypeError, ValueError), "num_batch"),
    (lambda data: data.sync_update("other"), RuntimeError,
     r"no condition 'other'; there are \['ready'\]"),
    (lambda data: data.sync_update("ready", 0), RuntimeError, "'num_batch' must be a positive int"),
    (lambda data: data.sync_update("ready", 1.5), RuntimeError, "positive int, but got 1.5"),
    (lambda data: data.sync_update("ready", True), RuntimeError, "positive int, but got True"),
])
def test_wrong_calls(call, error, words):
    with pytest.raises(error, match=words):
        call(numbers().sync_wait("ready"))


def test_a_queue_receives_one_epoch_after_the_other():
    queue = numbers(3).device_que()
    with pytest.raises(RuntimeError, match="'send' must be called first"):
        queue.receive()
    for iterator in (queue.create_dict_iterator, queue.create_tuple_iterator):
        with pytest.raises(RuntimeError, match="is not iterable"):
            iterator()
    queue.send(2)
    assert [int(queue.receive()[0].asnumpy()) for _ in range(6)] == [0, 1, 2] * 2
    queue.stop_send()
    queue.continue_send()
    types, shapes = queue.get_data_info()
    assert len(queue) == 3 and types == [np.dtype(int)] and shapes == [[]] and queue.queue_name
    queue.release()
    with pytest.raises(RuntimeError, match="'send' must be called first"):
        queue.receive()
