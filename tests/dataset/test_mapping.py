"""`map`: which columns it takes and gives, and in which order."""

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.dataset import transforms
from lamella.dataset.state import Run


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


def three(count=2):
    rows = np.arange(count)
    return ds.NumpySlicesDataset({"a": rows, "b": rows + 10, "c": rows + 20}, shuffle=False)


def dicts(data):
    return [{k: np.asarray(v).tolist() for k, v in row.items()}
            for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


@pytest.mark.parametrize("taken, given, columns", [
    (None, None, ["a", "b", "c"]), (["b"], None, ["a", "b", "c"]), (["b"], ["x"], ["a", "x", "c"]),
    (["c", "a"], None, ["a", "b", "c"]), (["c", "a"], ["x", "y"], ["y", "b", "x"]),
    (["b"], ["x", "y"], ["x", "y", "a", "c"]), (["b"], ["b", "y"], ["b", "y", "a", "c"]),
    (["c", "a"], ["x"], ["x", "b"]), (["c", "a"], ["a"], ["a", "b"]),
    (["b"], ["a", "y"], ["a", "y", "c"])])
def test_columns_that_a_function_takes_and_gives(taken, given, columns):
    """As many take the places of those before; else they come first."""
    seen, names = taken or ["a"], given or taken or ["a"]

    def function(*values):
        assert [int(v) // 10 for v in values] == ["abc".index(name) for name in seen]
        return tuple(100 * (place + 1) + int(values[0]) % 10 for place in range(len(names)))

    data = three().map(function, taken, given)
    assert data.get_col_names() == columns
    for number, row in enumerate(dicts(data)):
        whole = {"a": number, "b": 10 + number, "c": 20 + number}
        whole |= {name: 100 * (place + 1) + number for place, name in enumerate(names)}
        assert row == {name: whole[name] for name in columns}


@pytest.mark.parametrize("call, error, words", [
    (lambda: three().map([], "a"), RuntimeError, "No 'operations' are specified"),
    (lambda: three().map(int, "a"), ValueError, "A class is given as an object"),
    (lambda: three().map([abs, 3], "a"), ValueError, "should be callable, but got: 3"),
    (lambda: three().map(abs, "a", ["b"]).get_col_names(), RuntimeError, "names of columns must"),
    (lambda: dicts(three().map(lambda a: (a, a), "a")), RuntimeError, "gave 2 columns"),
    (lambda: dicts(three().map(lambda a: a, "a", ["a", "x"])), RuntimeError, "gave 1 columns"),
    (lambda: dicts(three().map(lambda a: None, "a")), RuntimeError, "PyFunc"),
    (lambda: three().map(abs, "a", python_multiprocessing=1), TypeError, "python_multiprocessing"),
    (lambda: three().filter(3), TypeError, "function"),
    (lambda: dicts(three().filter(lambda a: "yes", "a")), RuntimeError, "must return a bool"),
    (lambda: dicts(three().filter(lambda a: None, "a")), RuntimeError, "must return a bool"),
    (lambda: dicts(three().filter(lambda a: 1 // 0, "a")), RuntimeError, "ZeroDivisionError"),
    (lambda: dicts(three().filter(lambda a: True, "z")), RuntimeError, "'z'")])
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("predicate, columns, wanted", [
    (lambda a, b, c: a + b + c > 33, None, [2, 3, 4]), (lambda a: a % 2 == 0, ["a"], [0, 2, 4]),
    (lambda a: int(a) - 1, "a", [0, 2, 3, 4]), (lambda a: np.array([a > 2]), "a", [3, 4]),
    (lambda c, a: 20 <= c < 24 and a > 0, ["c", "a"], [1, 2, 3]),
    (lambda a: np.bool_(a == 4), "a", [4]), (lambda a: False, "a", [])])
def test_rows_that_a_predicate_keeps(predicate, columns, wanted):
    data = three(5).filter(predicate, columns)
    assert [row["a"] for row in dicts(data)] == wanted and len(data) == len(wanted)
    for skip in range(len(wanted) + 2):
        assert [int(row[0]) for row in data._rows(Run(data), skip)] == wanted[skip:]


@pytest.mark.parametrize("source", ["table", "iterator"])
@pytest.mark.parametrize("bad, replaced", [
    ({1}, [0, 0, 2, 3]), ({0}, [1, 2, 3]), ({0, 2}, [1, 1, 3]), ({3}, [0, 1, 2, 0]),
    ({0, 1, 2, 3}, [])])
def test_rows_that_can_not_be_made(source, bad, replaced):
    """They raise, are left out, or the first good one takes their place."""
    def function(a):
        if int(a) in bad:
            raise ValueError("bad row")
        return a

    rows = ds.NumpySlicesDataset({"a": np.arange(4)}, shuffle=False) if source == "table" else (
        ds.GeneratorDataset(lambda: ((np.array(i),) for i in range(4)), ["a"]))
    mode, before = ds.config.ErrorSamplesMode, ds.config.get_error_samples_mode()
    try:
        for how, wanted in ((mode.SKIP, [a for a in range(4) if a not in bad]),
                            (mode.REPLACE, replaced)):
            ds.config.set_error_samples_mode(how)
            assert [row["a"] for row in dicts(rows.map(function, "a"))] == wanted
        ds.config.set_error_samples_mode(mode.RETURN)
        with pytest.raises(RuntimeError, match="bad row"):
            dicts(rows.map(function, "a"))
    finally:
        ds.config.set_error_samples_mode(before)


def test_hooks_see_the_row_after_each_operation():
    seen, seed = [], ds.config.get_seed()
    ds.config.set_debug_mode(True, [lambda *row: seen.append([int(v) for v in row])])
    try:
        data = three().map([lambda a, b: (a + 1, b), lambda a, b: a * b], ["a", "b"], "x")
        assert [row["x"] for row in dicts(data)] == [10, 22]
    finally:
        ds.config.set_debug_mode(False)
        ds.config.set_seed(seed)
    assert seen == [[1, 10], [10], [2, 11], [22]]


def test_a_function_may_change_what_it_gets():
    values = np.arange(6.0).reshape(3, 2)
    data = ds.NumpySlicesDataset({"a": values}, shuffle=False)

    def doubled(a):
        a *= 2
        return a

    for _ in range(2):
        assert [row["a"] for row in dicts(data.map(doubled, "a"))] == [[0, 2], [4, 6], [8, 10]]
    assert values.tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("operation, python, draws", [
    (lambda a: a, True, True), (transforms.TypeCast(np.int32), False, False),
    (transforms.RandomApply([transforms.TypeCast(np.int32)], 0.5), False, True),
    (transforms.RandomApply([lambda a: a], 0.5), True, True),
    (transforms.Compose([transforms.TypeCast(np.int32)]), False, False),
    ([transforms.TypeCast(np.int32), lambda a: a], True, True)])
def test_what_operations_run_and_draw(operation, python, draws):
    node = three().map(operation, "a")
    assert (node.in_python(), node._draws()) == (python, draws)
    pooled = three().map(operation, "a", num_parallel_workers=2, python_multiprocessing=True)
    assert pooled._pooled() is python and pooled._runs_python() is False
    alone = three().map(operation, "a", num_parallel_workers=1, python_multiprocessing=True)
    assert alone._pooled() is False and alone._runs_python() is python
