"""`map`: which columns it takes and gives, and in which order."""

import pytest

import lamella.dataset as ds


def data():
    return ds.NumpySlicesDataset({"x": [1, 2], "y": [3, 4], "z": [5, 6]}, shuffle=False)


def rows(dataset):
    return dataset.get_col_names(), [[int(v) for v in row] for row in dataset.create_tuple_iterator(
        num_epochs=1, output_numpy=True)]


@pytest.mark.parametrize("given, taken, columns, wanted", [
    (None, None, ["x", "y", "z"], [[10, 3, 5], [20, 4, 6]]),  # the first column alone
    ("y", None, ["x", "y", "z"], [[1, 30, 5], [2, 40, 6]]),
    (["z"], ["w"], ["x", "y", "w"], [[1, 3, 50], [2, 4, 60]]),
    (["z"], "x2", ["x", "y", "x2"], [[1, 3, 50], [2, 4, 60]])])
def test_one_column_stays_in_its_place(given, taken, columns, wanted):
    assert rows(data().map(lambda x: x * 10, given, taken)) == (columns, wanted)


def test_as_many_columns_stay_in_their_places():
    names, found = rows(data().map(lambda z, x: (z + x, z - x), ["z", "x"], ["a", "b"]))
    assert names == ["b", "y", "a"] and found == [[4, 3, 6], [4, 4, 8]]


def test_more_or_fewer_columns_come_first():
    names, found = rows(data().map(lambda x: (x, x + 1), ["y"], ["a", "b"]))
    assert names == ["a", "b", "x", "z"] and found == [[3, 4, 1, 5], [4, 5, 2, 6]]
    names, found = rows(data().map(lambda x, y: x + y, ["x", "y"], ["a"]))
    assert names == ["a", "z"] and found == [[4, 5], [6, 6]]


def test_names_differ():
    with pytest.raises(RuntimeError, match="names of columns must differ, but got"):
        data().map(lambda x: x, ["x"], ["y"]).get_col_names()
    with pytest.raises((ValueError, RuntimeError), match="'?none'?"):
        data().map(lambda x: x, ["none"]).get_col_names()
