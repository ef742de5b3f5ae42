"""Dicts as values of columns, and lists and tuples, which become arrays.

Values are what MindSpore 2.10 gives.
"""

import numpy as np
import pytest

import lamella as ms
import lamella.dataset as ds
from lamella.dataset import transforms, vision


def described(value):
    """A value as its kinds and numbers."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tolist()
    if isinstance(value, ms.Tensor):
        return "Tensor", str(value.dtype), value.shape, value.asnumpy().tolist()
    if isinstance(value, dict):
        return {key: described(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(described(one) for one in value)
    return value


def given(values, change=lambda data: data, numpy=True):
    """What the rows of one column become."""
    data = change(ds.GeneratorDataset([(value,) for value in values], ["a"], shuffle=False))
    return [described(row[0]) for row in data.create_tuple_iterator(None, 1, numpy)]


@pytest.mark.parametrize("value, wanted", [
    ([1, 2], ("int64", (2,), [1, 2])),
    ((1, 2), ("int64", (2,), [1, 2])),
    (["a", "bc"], ("<U2", (2,), ["a", "bc"])),
    ([], ("float64", (0,), [])),
    ([1.0, 2], ("float64", (2,), [1.0, 2.0])),
    ([[1, 2], [3, 4]], ("int64", (2, 2), [[1, 2], [3, 4]])),
    ([True, False], ("bool", (2,), [True, False])),
    ([b"a", b"bc"], ("|S2", (2,), [b"a", b"bc"])),
    ([ms.Tensor([1])], ("int64", (1, 1), [[1]])),
    (b"abc", ("|S3", (), b"abc")),
])
def test_lists_become_arrays(value, wanted):
    assert given([value]) == [wanted]
    assert given([0], lambda data: data.map(lambda _: value if isinstance(value, list)
                                            else (value,))) == [wanted]


@pytest.mark.parametrize("value", [[[1], [2, 3]], None, object(), {1, 2}, [None], [{"a": 1}]])
def test_other_objects_are_refused(value):
    with pytest.raises(RuntimeError, match="Exception thrown from user defined Python function"):
        given([value])
    with pytest.raises(RuntimeError, match="Exception thrown from user defined Python function"):
        given([0], lambda data: data.map(lambda _: value))


NESTED = {"k": 1, "n": {"z": [1, 2]}, "t": (1, "x"), "o": None, "a": np.array([1])}


def test_dicts_are_handed_on_and_given_with_arrays():
    seen = []

    def look(value):
        seen.append(value)
        return value
    assert given([NESTED], lambda data: data.map(look)) == [{
        "k": ("int64", (), 1), "n": {"z": [("int64", (), 1), ("int64", (), 2)]},
        "t": (("int64", (), 1), ("<U1", (), "x")), "o": None, "a": ("int64", (1,), [1])}]
    assert seen == [NESTED]
    assert given([NESTED], numpy=False)[0]["n"] == {"z": [("Tensor", "Int64", (), 1),
                                                          ("Tensor", "Int64", (), 2)]}
    assert given([{"k": {1, 2}}]) == [{"k": {1, 2}}]
    assert given([{3: 1}]) == [{3: ("int64", (), 1)}]


def test_dicts_pass_through_operations():
    data = ds.GeneratorDataset([({"a": 1}, 5), ({"a": 2}, 6)], ["d", "n"], shuffle=False)
    assert data.output_types() == [np.dtype(object), np.dtype("int64")]
    assert data.output_shapes() == [[0], []]
    kept = data.filter(lambda d: d["a"] == 2, "d").repeat(2).project("d")
    assert [described(row[0]) for row in kept.create_tuple_iterator(num_epochs=1,
                                                                    output_numpy=True)] == [
        {"a": ("int64", (), 2)}] * 2
    alone = ds.GeneratorDataset([{"a": 1}], ["d"])
    assert described(next(alone.create_dict_iterator(output_numpy=True))) == {
        "d": {"a": ("int64", (), 1)}}
    joined = data.shuffle(2).concat(data)
    assert len(list(joined.create_tuple_iterator(num_epochs=1))) == 4


def test_worker_processes_hand_on_dicts():
    data = ds.GeneratorDataset([{"a": i} for i in range(4)], ["d"], shuffle=False)
    data = data.map(lambda d: {"b": d["a"] + 1, "c": np.zeros(2000)}, num_parallel_workers=2,
                    python_multiprocessing=True)
    rows = [row[0] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert [int(row["b"]) for row in rows] == [1, 2, 3, 4]
    assert rows[0]["c"].shape == (2000,)


@pytest.mark.parametrize("first, second, wanted", [
    ([1, 2], [3, 4], ("int64", (2, 2), [[1, 2], [3, 4]])),
    ("x", "yz", ("<U2", (2,), ["x", "yz"])),
    (1, 2.5, ("float64", (2,), [1.0, 2.5])),
    (ms.Tensor([1]), ms.Tensor([2]), ("int64", (2, 1), [[1], [2]])),
    (True, False, ("bool", (2,), [True, False])),
])
def test_batches_of_dicts_are_stacked_by_key(first, second, wanted):
    assert given([{"k": first}, {"k": second}], lambda data: data.batch(2)) == [{"k": wanted}]
    assert given([{"k": first}, {"k": second}], lambda data: data.padded_batch(2)) == [
        {"k": wanted}]


@pytest.mark.parametrize("first, second, message", [
    ({"k": None}, {"k": None}, "define a custom 'per_batch_map'"),
    ({"k": {"z": 1}}, {"k": {"z": 2}}, "define a custom 'per_batch_map'"),
    ({"k": [1]}, {"k": [1, 2]}, "Failed to create a NumPy array"),
    ({"k": 1}, {"j": 1}, "keys do not match when creating a batch: j was not found"),
    ({"k": 1, "j": 2}, {"k": 1}, "First row: 2, current row: 1"),
    ({"k": 1}, 3, "some of its values are dicts"),
    (3, {"k": 1}, "some of its values are dicts"),
])
def test_batches_of_unlike_dicts_are_refused(first, second, message):
    with pytest.raises(RuntimeError, match=message):
        given([first, second], lambda data: data.batch(2))


def test_per_batch_map_gives_dicts():
    def batched(function, values=({"a": 1}, {"a": 2}), **options):
        return given(values, lambda data: data.batch(2, per_batch_map=function, **options))
    both = [("int64", (), 1), ("int64", (), 2)]
    assert batched(lambda column, info: {"n": 3, "c": column}) == [
        {"n": ("int64", (), 3), "c": [{"a": both[0]}, {"a": both[1]}]}]
    assert batched(lambda column, info: (column,)) == [{"a": both}]
    assert batched(lambda column, info: ((3, 4),)) == [("int64", (2,), [3, 4])]
    with pytest.raises(RuntimeError, match="expects: 2 rows returned from 'per_batch_map', got: 3"):
        batched(lambda column, info: ([1, 2, 3],))


def increased(value):
    """Changes an array in place, and gives it."""
    value += 1
    return value


SOURCES = {
    "a list": lambda arrays: ds.GeneratorDataset(list(arrays), ["a"], shuffle=False),
    "views": lambda arrays: ds.NumpySlicesDataset(arrays, ["a"], shuffle=False),
    "a map before": lambda arrays: ds.NumpySlicesDataset([0, 1], ["n"], shuffle=False).map(
        lambda n: arrays[n], ["n"], ["a"])}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("changed, wanted", [
    (lambda data: data.map(increased), [[1, 1], [1, 1]]),
    (lambda data: data.map([transforms.RandomApply([increased], 1.0)]), [[1, 1], [1, 1]]),
    (lambda data: data.map(lambda a: (a, a), ["a"], ["a", "b"]).map(increased, ["b"]),
     [[0, 0], [0, 0]]),
    (lambda data: data.map(vision.RandomErasing(1.0, (0.2, 0.3), (1, 1), 5, inplace=True)), None),
    (lambda data: data.filter(lambda a: increased(a).sum() > 0), [[0, 0], [0, 0]]),
    (lambda data: data.batch(2, per_batch_map=lambda column, _: ([*map(increased, column)],)),
     [[[1, 1], [1, 1]]]),
    (lambda data: data.bucket_batch_by_length(["a"], [9], [2, 2], lambda a: len(increased(a))),
     [[[0, 0], [0, 0]]])], ids="map random_apply map_again erasing filter batch bucket".split())
def test_functions_may_change_what_they_are_given(source, changed, wanted):
    """They are given copies: neither other columns nor what the source holds changes."""
    whole = np.zeros((2, 2) if wanted else (2, 3, 8, 8), np.float32)
    arrays = whole if source == "views" else [np.array(part) for part in whole]
    data = changed(SOURCES[source](arrays))
    for _ in range(2):  # epochs begin alike
        found = [row[0] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        if wanted:
            assert [value.tolist() for value in found] == wanted
    assert np.array_equal(np.array(arrays), whole) and not np.any(arrays)


def test_batches_do_not_share_memory_with_what_a_function_gave():
    kept = np.zeros((2, 2))
    data = ds.NumpySlicesDataset([1, 2, 3, 4], ["a"], shuffle=False).batch(
        2, per_batch_map=lambda column, info: (kept, increased(kept)), output_columns=["a", "b"])
    for numpy in (False, True):
        kept[:] = 0
        rows = [np.array([np.asarray(value)[0, 0] for value in row]).tolist()
                for row in list(data.create_tuple_iterator(num_epochs=1, output_numpy=numpy))]
        assert rows == [[1, 1], [2, 2]]
        first, second = next(data.create_tuple_iterator(num_epochs=1, output_numpy=numpy))
        first[0] = 9
        assert np.asarray(second).max() < 9 and kept.max() < 9
