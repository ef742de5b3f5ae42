"""Batches: functions on them, sizes that vary, padding, buckets."""

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.dataset.state import Run


def ragged():
    for i in range(1, 5):
        yield np.arange(i), np.full((2, i), i)


def rows(dataset):
    return [[np.asarray(v).tolist() for v in row]
            for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def numbers(count=6):
    return ds.NumpySlicesDataset({"n": list(range(count))}, shuffle=False)


def test_per_batch_map_gets_the_numbers_of_batch_and_epoch():
    seen = []

    def scaled(column, info):
        seen.append((info.get_batch_num(), info.get_epoch_num()))
        assert isinstance(column, list)
        return ([value * 10 for value in column],)

    data = numbers(5).batch(2, per_batch_map=scaled, input_columns=["n"])
    epochs = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    for _ in range(2):
        assert [row[0].tolist() for row in epochs] == [[0, 10], [20, 30], [40]]
    assert seen == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]

    def added(column, info):
        return column, [np.full(2, info.get_batch_num())] * len(column)

    more = numbers(4).batch(2, per_batch_map=added, input_columns="n", output_columns=["n", "m"])
    assert more.get_col_names() == ["n", "m"]
    assert rows(more) == [[[0, 1], [[0, 0], [0, 0]]], [[2, 3], [[1, 1], [1, 1]]]]


def test_per_batch_map_in_processes():
    here = []

    def added(column, info):
        here.append(info.get_batch_num())
        return ([v + 100 * info.get_batch_num() + 1000 * info.get_epoch_num() for v in column],)

    data = numbers(7).batch(2, per_batch_map=added, input_columns=["n"], num_parallel_workers=2,
                            python_multiprocessing=True)
    epochs = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    for epoch in range(2):
        assert [(row[0] - 1000 * epoch).tolist() for row in epochs] == [
            [0, 1], [102, 103], [204, 205], [306]]
    assert not here


@pytest.mark.parametrize("options", [
    {"num_parallel_workers": 2}, {"num_parallel_workers": 1, "python_multiprocessing": True},
    {"num_parallel_workers": 2, "python_multiprocessing": True, "debug": True}], ids=str)
def test_one_process_suffices(options, monkeypatch):
    if options.get("debug"):
        monkeypatch.setitem(ds.config._VALUES, "debug_mode", True)
    here = []
    data = numbers(5).batch(2, per_batch_map=lambda n, info: (here.append(len(n)), (n,))[1],
                            input_columns=["n"], **{k: v for k, v in options.items()
                                                    if k != "debug"})
    assert rows(data) == [[[0, 1]], [[2, 3]], [[4]]] and here == [2, 2, 1]


def test_batches_of_varying_sizes_are_numbered_for_a_function():
    data = numbers(6).batch(lambda info: info.get_batch_num() + 1, input_columns=["n"],
                            per_batch_map=lambda n, info: ([v + 100 * info.get_batch_num()
                                                            for v in n],))
    assert rows(data) == [[[0]], [[101, 102]], [[203, 204, 205]]]
    assert [[row[0].tolist()] for row in data._rows(Run(data), 2)] == [[[203, 204, 205]]]


@pytest.mark.parametrize("data, own", [
    (numbers().batch(2), False), (numbers().batch(-1), False), (numbers().padded_batch(2), False),
    (numbers().batch(lambda info: 2), True),
    (numbers().batch(2, per_batch_map=lambda n, info: (n,)), True)], ids=range(5))
def test_batches_that_the_program_s_functions_make(data, own):
    assert data._runs_python() is own and data._is_passed_over() is not own


def test_sizes_that_vary():
    assert rows(numbers(7).batch(lambda info: info.get_batch_num() + 1)) == [
        [[0]], [[1, 2]], [[3, 4, 5]], [[6]]]
    assert rows(numbers(7).batch(lambda info: info.get_batch_num() + 1, drop_remainder=True)) == [
        [[0]], [[1, 2]], [[3, 4, 5]]]


def test_padded_batch():
    data = ds.GeneratorDataset(ragged, ["a", "b"])
    first = rows(data.padded_batch(2))[0]
    assert first == [[[0, 0], [0, 1]], [[[1, 0], [1, 0]], [[2, 2], [2, 2]]]]
    info = {"a": ([5], -1), "b": ([None, 4], 7)}
    a, b = rows(data.padded_batch(3, pad_info=info))[0]
    assert a == [[0, -1, -1, -1, -1], [0, 1, -1, -1, -1], [0, 1, 2, -1, -1]]
    assert b[0] == [[1, 7, 7, 7]] * 2
    assert rows(data.padded_batch(3, pad_info={"a": ([2], 0), "b": ([2, 1], 0)}))[0] == [
        [[0, 0], [0, 1], [0, 1]], [[[k], [k]] for k in (1, 2, 3)]]  # what is larger is cut
    assert rows(data.padded_batch(2, pad_info={}))[0] == first
    with pytest.raises(RuntimeError, match="there is no column 'c'"):
        rows(data.padded_batch(2, pad_info={"c": ([2], 0)}))


def test_buckets():
    data = ds.GeneratorDataset(ragged, ["a", "b"]).project(["a"])
    assert rows(data.bucket_batch_by_length(["a"], [3], [2, 2])) == [
        [[[0, 0], [0, 1]]], [[[0, 1, 2, 0], [0, 1, 2, 3]]]]
    lengths = data.bucket_batch_by_length(
        ["a"], [2, 4], [1, 2, 1], element_length_function=lambda a: len(a), drop_remainder=True,
        pad_info={"a": ([None], -1)}, pad_to_bucket_boundary=False)
    assert rows(lengths) == [[[[0]]], [[[0, 1, -1], [0, 1, 2]]], [[[0, 1, 2, 3]]]]
    with pytest.raises(RuntimeError, match="longer than the last boundary"):
        rows(data.bucket_batch_by_length(["a"], [2], [1, 1], pad_to_bucket_boundary=True))


def test_strings_and_shapes_that_vary():
    words = ds.NumpySlicesDataset(["ab", "c", "def"], shuffle=False)
    assert rows(words.batch(3)) == [[["ab", "c", "def"]]]
    data = ds.GeneratorDataset(ragged, ["a", "b"])
    assert data.output_shapes(estimate=True) == [[None], [2, None]]
    assert data.output_shapes() == [[1], [2, 1]]


@pytest.mark.parametrize("call, error, message", [
    (lambda: numbers().batch(2, per_batch_map=3), ValueError, "'per_batch_map' must be a function"),
    (lambda: rows(numbers().batch(2, per_batch_map=lambda n, i: 3)), RuntimeError,
     "must give a tuple of lists, but got int"),
    (lambda: rows(numbers().batch(lambda info: 0)), RuntimeError, "must return a positive int"),
    (lambda: numbers().padded_batch(2, pad_info=[1]), TypeError, "'pad_info' must be a dict"),
    (lambda: numbers().bucket_batch_by_length(["n"], [3, 2], [1, 1, 1]), ValueError,
     "must increase"),
    (lambda: numbers().bucket_batch_by_length(["n"], [3], [1]), ValueError, "must have one more"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_all_rows_in_one_batch():
    source = ds.NumpySlicesDataset([1, 2, 3], ["a"], shuffle=False)
    for rows, count in ((source, 1), (source.take(1), 1)):
        batched = rows.batch(-1)
        assert batched.get_dataset_size() == len(list(batched)) == count


def test_rows_may_have_the_length_0():
    rows = ds.NumpySlicesDataset([[1], [2], [3]], ["a"], shuffle=False).bucket_batch_by_length(
        ["a"], [1], [1, 2], lambda x: int(x[0] > 1))
    found = [a.tolist() for (a,) in rows.create_tuple_iterator(output_numpy=True)]
    assert found == [[[1]], [[2], [3]]]


@pytest.mark.parametrize("size", [0, -1, 1.0, True, False, None, "2"])
def test_a_function_of_the_size_must_return_a_positive_int(size):
    data = ds.NumpySlicesDataset({"x": np.arange(4)}, shuffle=False).batch(lambda info: size)
    with pytest.raises((RuntimeError, ValueError), match="must return a positive int, but it|"
                                                         "batch_size"):
        next(iter(data))


@pytest.mark.parametrize("drop, expected", [(False, [[0], [1, 2], [3, 4, 5], [6]]),
                                            (True, [[0], [1, 2], [3, 4, 5]])])
def test_sizes_by_a_function_of_number_and_epoch(drop, expected):
    seen = []

    def size(info):
        seen.append((info.get_epoch_num(), info.get_batch_num()))
        return info.get_batch_num() + 1

    data = ds.NumpySlicesDataset({"x": np.arange(7)}, shuffle=False).batch(size, drop)
    rows = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    seen.clear()
    for epoch in range(2):
        assert [row[0].tolist() for row in rows] == expected
        assert [number for at, number in seen if at == epoch][:4] == list(range(4))


@pytest.mark.parametrize("size, error, words", [
    (-1, None, ""), (1, None, ""), (2**31 - 1, None, ""),
    (0, ValueError, "not within the required"),
    (-2, ValueError, "not within the required"), (2**31, ValueError, "not within the required"),
    (True, TypeError, "int or a callable"), (2.0, TypeError, "int or a callable"),
    (None, TypeError, "int or a callable"), (lambda: 1, ValueError, "should take one parameter"),
    (lambda a, b: 1, ValueError, "should take one parameter"), (lambda info: 1, None, ""),
    (lambda a, b=1: 1, None, "")])
@pytest.mark.parametrize("kind", ["batch", "padded_batch"])
def test_sizes_of_batches(kind, size, error, words):
    if error is None:
        batched = getattr(numbers(), kind)(size)
        assert batched.get_batch_size() == (size if isinstance(size, int) else -1)
    else:
        with pytest.raises(error, match=f"{words}.* For '{kind}'"):
            getattr(numbers(), kind)(size)


@pytest.mark.parametrize("count, size, drop, wanted", [
    (6, 3, False, 2), (7, 3, False, 3), (7, 3, True, 2), (6, 3, True, 2), (2, 3, True, 0),
    (2, 3, False, 1), (6, -1, False, 1), (6, -1, True, 1)])
def test_how_many_batches_there_are(count, size, drop, wanted):
    for data in (numbers(count).batch(size, drop), numbers(count).padded_batch(size, drop),
                 numbers(count).batch(lambda info: 3, drop) if size == 3 else numbers(wanted)):
        assert data.get_dataset_size() == len(rows(data)) == wanted


@pytest.mark.parametrize("columns, function, fits", [
    (["n"], lambda n, info: (n,), True), (["n"], lambda n: (n,), False),
    (["n"], lambda n, m, info: (n,), False), (["n", "m"], lambda n, m, info: (n, m), True),
    (["n"], lambda *all: (all[0],), True), (["n"], lambda n, info, more=1: (n,), True)])
def test_functions_take_their_columns_and_the_number(columns, function, fits):
    data = ds.NumpySlicesDataset({"n": [1, 2], "m": [3, 4]}, shuffle=False)
    if fits:
        assert rows(data.batch(2, per_batch_map=function, input_columns=columns)) == [
            [[1, 2], [3, 4]]]
    else:
        with pytest.raises(ValueError, match="signature of per_batch_map should match"):
            data.batch(2, per_batch_map=function, input_columns=columns)


def test_columns_without_a_function():
    with pytest.raises(ValueError, match="only when per_batch_map is set"):
        numbers().batch(2, input_columns=["n"])
    with pytest.raises(TypeError, match="drop_remainder"):
        numbers().batch(2, 1)


@pytest.mark.parametrize("given, names, wanted", [
    (["n"], None, ["n", "m"]), (["m"], None, ["n", "m"]), (["m"], ["k"], ["n", "k"]),
    (["m", "n"], ["k", "l"], ["l", "k"]), (["n"], ["k", "l"], ["k", "l", "m"]),
    (["n"], ["n", "l"], ["n", "l", "m"]), (None, ["k", "l", "o"], ["k", "l", "o"])])
def test_names_of_what_a_function_gives(given, names, wanted):
    """As many take the places of those before; else they come first."""
    taken = given or ["n", "m"]
    data = ds.NumpySlicesDataset({"n": [1, 2], "m": [3, 4]}, shuffle=False)
    values = {"n": [1, 2], "m": [3, 4]}

    def function(*columns):
        out = list(columns[:len(taken)])
        for place in range(len(out), len(names or taken)):
            out.append([10 * place, 10 * place + 1])
        return tuple(out)

    made = data.batch(2, per_batch_map=function, input_columns=given, output_columns=names)
    assert made.get_col_names() == wanted
    found = dict(zip(wanted, rows(made)[0], strict=True))
    for place, name in enumerate(names or taken):
        assert found[name] == (values[taken[place]] if place < len(taken)
                               else [10 * place, 10 * place + 1])
    for name in {"n", "m"} - set(taken):
        assert found[name] == values[name]


@pytest.mark.parametrize("function, words", [
    (lambda n, info: ([1],), r"column: n expects: 2 rows returned from 'per_batch_map', got: 1"),
    (lambda n, info: ([1, 2, 3],), "expects: 2 rows .* got: 3"),
    (lambda n, info: (n, n), "columns returned in 'per_batch_map' function should be 1"),
    (lambda n, info: 1 // 0, "per_batch_map")])
def test_what_a_function_must_give(function, words):
    with pytest.raises(RuntimeError, match=words):
        rows(numbers().batch(2, per_batch_map=function, input_columns=["n"]))


def test_whole_batches_that_a_function_gives():
    whole = numbers().batch(2, per_batch_map=lambda n, info: np.full((3, 1), info.get_batch_num()),
                            input_columns=["n"])
    assert rows(whole) == [[[[k]] * 3] for k in range(3)]
    named = numbers(2).batch(2, per_batch_map=lambda n, info: ({"a": np.array(n) + 1},),
                             input_columns=["n"])
    row, = named.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert row[0]["a"].tolist() == [1, 2]


def test_columns_that_are_not_the_functions():
    data = ds.NumpySlicesDataset({"n": [1], "m": [3]}, shuffle=False).batch(
        1, per_batch_map=lambda n, info: (n,), input_columns=["n"], output_columns=["n", "m"])
    with pytest.raises(RuntimeError, match="columns that are not involved in 'per_batch_map'"):
        rows(data)


def lengths(*sizes):
    return ds.GeneratorDataset([(np.full(n, n),) for n in sizes], ["a"], shuffle=False)


@pytest.mark.parametrize("sizes, boundaries, batches, wanted", [
    ([1, 2, 3, 4], [3], [9, 9], [[1, 2], [3, 4]]), ([3, 2, 5], [2, 3, 5], [9] * 4, [[2], [3], [5]]),
    ([1, 1, 1], [2], [2, 1], [[1, 1], [1]]), ([7, 1, 8], [2, 8], [1, 2, 1], [[1], [8], [7]])])
def test_a_boundary_is_of_the_next_bucket(sizes, boundaries, batches, wanted):
    data = lengths(*sizes).bucket_batch_by_length(["a"], boundaries, batches)
    assert [[row[-1] or row[0] for row in batch] for batch, in rows(data.map(
        lambda a: a.max(-1, keepdims=True), "a"))] == wanted


@pytest.mark.parametrize("size, width", [(1, 2), (2, 4), (4, 4)])
def test_rows_are_filled_up_to_one_below_their_boundary(size, width):
    data = lengths(size).bucket_batch_by_length(["a"], [3, 5], [1, 1, 1],
                                                pad_to_bucket_boundary=True)
    if size == 2:
        width = 2
    assert rows(data) == [[[[size] * size + [0] * (width - size)]]]
    given = lengths(size).bucket_batch_by_length(["a"], [3, 5], [1, 1, 1], pad_info={
        "a": ([6], -1)}, pad_to_bucket_boundary=True)
    assert rows(given) == [[[[size] * size + [-1] * (6 - size)]]]


@pytest.mark.parametrize("columns, boundaries, sizes, function, error, words", [
    (["a"], 3, [1, 1], None, TypeError, "bucket_boundaries"),
    (["a"], [3], 1, None, TypeError, "bucket_batch_sizes"),
    (["a"], [], [1], None, ValueError, "bucket_boundaries cannot be empty"),
    (["a"], [3], [], None, ValueError, "bucket_batch_sizes cannot be empty"),
    (["a"], [0], [1, 1], None, ValueError, "must only contain positive numbers"),
    (["a"], [3], [1, 0], None, ValueError, "should be a list of positive numbers"),
    (["a"], [3.0], [1, 1], None, TypeError, "bucket_boundaries should be a list of int"),
    (["a"], [True], [1, 1], None, TypeError, "bucket_boundaries should be a list of int"),
    (["a"], [3, 3], [1, 1, 1], None, ValueError, "strictly increasing"),
    (["a"], [3], [1, 1, 1], None, ValueError, "one element more"),
    (["a"], [3], [1, 1], 3, TypeError, "not callable"),
    (["a", "b"], [3], [1, 1], None, ValueError, "exactly one column")])
def test_buckets_that_can_not_be(columns, boundaries, sizes, function, error, words):
    with pytest.raises(error, match=words):
        lengths(1).bucket_batch_by_length(columns, boundaries, sizes, function)
    lengths(1).bucket_batch_by_length(["a"], [1], [1, 1])  # the least there can be


@pytest.mark.parametrize("length", [-1, 1.0, "a", None])
def test_a_length_is_an_int(length):
    data = lengths(1).bucket_batch_by_length(["a"], [2], [1, 1], lambda a: length)
    with pytest.raises(RuntimeError, match="bucket_batch_by_length"):
        rows(data)
    with pytest.raises(RuntimeError, match="the column must have a dimension"):
        rows(numbers().bucket_batch_by_length(["n"], [2], [1, 1]))


@pytest.mark.parametrize("info, words", [
    ([1], "must be a dict"), ({"n": [[2], 0]}, "must have .shape, value."),
    ({"n": ([2],)}, "must have .shape, value."), ({"n": ([2], 0, 1)}, "must have .shape, value."),
    ({"n": ((2,), 0)}, "must have .shape, value."), ({"n": (None, 0)}, "")])
def test_how_columns_are_padded(info, words):
    if words:
        with pytest.raises(TypeError, match=words):
            numbers().padded_batch(2, pad_info=info)
    else:
        assert rows(numbers(2).padded_batch(2, pad_info=info)) == [[[0, 1]]]


def test_shapes_that_can_not_be_padded():
    mixed = ds.GeneratorDataset([(np.zeros(2),), (np.zeros((1, 2)),)], ["a"], shuffle=False)
    with pytest.raises(RuntimeError, match="its values differ in the number of dimensions"):
        rows(mixed.padded_batch(2))
    with pytest.raises(RuntimeError, match="it has 1 dimensions, but the shape is"):
        rows(lengths(1, 2).padded_batch(2, pad_info={"a": ([2, None], 0)}))
    free = rows(lengths(1, 3).padded_batch(2, pad_info={"a": ([-1], 5)}))
    assert free == [[[[1, 5, 5], [3, 3, 3]]]]


@pytest.mark.parametrize("kind, value, wanted", [
    (str, None, [["ab", ""], ["c", "d"]]), (str, "long", [["ab", "long"], ["c", "d"]]),
    (bytes, None, [[b"ab", b""], [b"c", b"d"]]), (bytes, b"xyz", [[b"ab", b"xyz"], [b"c", b"d"]])])
def test_words_are_padded(kind, value, wanted):
    rows_of = [[kind("ab", "ascii") if kind is bytes else "ab"],
               [kind("c", "ascii"), kind("d", "ascii")] if kind is bytes else ["c", "d"]]
    data = ds.GeneratorDataset([(np.array(row),) for row in rows_of], ["a"], shuffle=False)
    padded = data.padded_batch(2, pad_info={"a": ([None], value)})
    assert rows(padded) == [[wanted]]
