"""Batches: functions on them, sizes that vary, padding, buckets."""

import numpy as np
import pytest

import lamella.dataset as ds


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
    data = numbers(7).batch(2, per_batch_map=lambda n, info: ([v + 100 for v in n],),
                            input_columns=["n"], num_parallel_workers=2,
                            python_multiprocessing=True)
    assert rows(data) == [[[100, 101]], [[102, 103]], [[104, 105]], [[106]]]


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
