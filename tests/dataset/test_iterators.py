"""Iterators: how many epochs they give, where they begin, and how they end."""

import numpy as np
import pytest

import lamella as ms
import lamella.dataset as ds


def data(count=4):
    return ds.NumpySlicesDataset({"a": np.arange(count)}, shuffle=False)


def epochs(iterator, most=3):
    found = []
    for _ in range(most):
        try:
            found.append([int(row[0]) for row in iterator])
        except RuntimeError as error:
            found.append(str(error).split(".")[0])
    return found


BEYOND = "User tries to fetch data beyond the specified number of epochs"


@pytest.mark.parametrize("count, wanted", [
    (1, [[0, 1, 2, 3], BEYOND, BEYOND]), (2, [[0, 1, 2, 3]] * 2 + [BEYOND]),
    (3, [[0, 1, 2, 3]] * 3), (-1, [[0, 1, 2, 3]] * 3)])
def test_epochs(count, wanted):
    assert epochs(data().create_tuple_iterator(num_epochs=count, output_numpy=True)) == wanted


@pytest.mark.parametrize("options, error, words", [
    ({"num_epochs": 0}, ValueError, "must be -1 or positive, but got 0"),
    ({"num_epochs": -2}, ValueError, "num_epochs.* but got -2"),
    ({"num_epochs": True}, TypeError, "num_epochs"), ({"num_epochs": 1.0}, TypeError, "num_epochs"),
    ({"output_numpy": 1}, TypeError, "output_numpy"), ({"output_numpy": None}, TypeError, "bool")])
def test_what_is_refused(options, error, words):
    for make in (data().create_tuple_iterator, data().create_dict_iterator):
        with pytest.raises(error, match=words):
            make(**options)


@pytest.mark.parametrize("step, wanted", [
    (0, [[0, 1, 2, 3]] * 2), (1, [[1, 2, 3], [0, 1, 2, 3]]), (3, [[3], [0, 1, 2, 3]]),
    (4, [[0, 1, 2, 3], BEYOND]), (7, [[3], BEYOND])])
def test_an_iterator_that_begins_at_a_step(step, wanted):
    """Of two epochs of four rows."""
    rows = data()
    rows.set_init_step(step)
    assert epochs(rows.create_tuple_iterator(num_epochs=2, output_numpy=True), 2) == wanted
    again = data().create_tuple_iterator(num_epochs=2, output_numpy=True)
    next(again)
    again._reset(step, 4)
    assert epochs(again, 2) == wanted


@pytest.mark.parametrize("count, step, size, words", [
    (2, 8, 4, "must be less than dataset_size"), (2, 9, 4, "must be less than"),
    (1, 4, 4, "must be less than"), (2, 0, 0, "must be less than"), (-1, 3, 0, "must be less than"),
    (2, -1, 4, "must be >= 0. Got -1")])
def test_steps_that_there_are_not(count, step, size, words):
    rows = data().create_tuple_iterator(num_epochs=count)
    with pytest.raises(RuntimeError, match=words):
        rows._reset(step, size)


def test_any_step_of_epochs_without_number():
    rows = data().create_tuple_iterator(num_epochs=-1, output_numpy=True)
    rows._reset(4001, 4)
    assert epochs(rows, 2) == [[1, 2, 3], [0, 1, 2, 3]]


def test_a_random_order_goes_on_at_a_step():
    ds.config.set_seed(4)
    whole = ds.NumpySlicesDataset({"a": np.arange(5)}).create_tuple_iterator(output_numpy=True)
    rows = [int(next(whole)[0]) if n % 6 < 5 else next(whole, None) for n in range(18)]
    rows = [row for row in rows if row is not None]
    for step in (0, 3, 5, 7, 14):
        later = ds.NumpySlicesDataset({"a": np.arange(5)})
        later.set_init_step(step)
        found = sum(epochs(later.create_tuple_iterator(num_epochs=3, output_numpy=True),
                           3 - step // 5), [])
        assert found == rows[step:15]


def test_an_iterator_that_was_stopped_gives_nothing():
    rows = data().create_tuple_iterator(output_numpy=True)
    assert int(rows.get_next()[0]) == 0
    rows.stop()
    assert list(rows) == [] and next(rows, "end") == "end"
    failing = data().map(lambda a: 1 // (2 - int(a))).create_tuple_iterator(output_numpy=True)
    assert [int(next(failing)[0]) for _ in range(2)] == [0, 1]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        next(failing)
    assert list(failing) == []


def test_a_state_is_for_a_new_iterator():
    rows = data().create_tuple_iterator(num_epochs=2, output_numpy=True)
    next(rows)
    state = rows.state_dict()
    with pytest.raises(RuntimeError, match="the iterator must be a new one"):
        rows.load_state_dict(state)
    ended = data().create_tuple_iterator(num_epochs=2)
    list(ended)
    with pytest.raises(RuntimeError, match="the iterator must be a new one"):
        ended.load_state_dict(state)
    later = data().create_tuple_iterator(num_epochs=2, output_numpy=True)
    later.load_state_dict(state)
    assert epochs(later) == [[1, 2, 3], [0, 1, 2, 3], BEYOND]


def test_columns_of_metadata_are_shown_once_they_are_renamed():
    rows = ds.NumpySlicesDataset({"_meta-a": [1], "b": [2], "_meta-c": [3]}, shuffle=False)
    row, = rows.create_dict_iterator(num_epochs=1, output_numpy=True)
    assert {name: int(value) for name, value in row.items()} == {"b": 2}
    row, = rows.rename("_meta-c", "c").create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert list(map(int, row)) == [2, 3]


def test_given_arrays_are_nobody_elses():
    values = np.arange(6.0).reshape(3, 2)
    rows = ds.NumpySlicesDataset({"a": values}, shuffle=False)
    for numpy in (True, False):
        for row in rows.create_tuple_iterator(num_epochs=1, output_numpy=numpy):
            assert isinstance(row[0], np.ndarray if numpy else ms.Tensor)
            row[0][...] = 7
    assert values.tolist() == [[0, 1], [2, 3], [4, 5]]
    chosen = rows.batch(2).create_tuple_iterator(["a"], 1, True)
    assert [row[0].shape for row in chosen] == [(2, 2), (1, 2)]
