"""Operations that move rows, on row numbers and on rows: from any row on, and at their limits."""

import itertools

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.dataset.state import Run


def numbers(count, name="n"):
    """Rows that a table has."""
    return ds.NumpySlicesDataset({name: np.arange(count)}, shuffle=False)


def drawn(count, name="n"):
    """Rows that only an iterator gives."""
    return ds.GeneratorDataset(lambda: ((np.array(i),) for i in range(count)), [name])


MOVES = {  # an operation, and what it makes of a list
    "as they are": (lambda d: d, lambda rows: rows),
    "take 1": (lambda d: d.take(1), lambda rows: rows[:1]),
    "take 3": (lambda d: d.take(3), lambda rows: rows[:3]),
    "take all": (lambda d: d.take(5), lambda rows: rows),
    "take more": (lambda d: d.take(6), lambda rows: rows),
    "skip none": (lambda d: d.skip(0), lambda rows: rows),
    "skip 1": (lambda d: d.skip(1), lambda rows: rows[1:]),
    "skip 4": (lambda d: d.skip(4), lambda rows: rows[4:]),
    "skip all": (lambda d: d.skip(5), lambda rows: []),
    "repeat 1": (lambda d: d.repeat(1), lambda rows: rows),
    "repeat 3": (lambda d: d.repeat(3), lambda rows: rows * 3),
    "skip, repeat": (lambda d: d.skip(2).repeat(2), lambda rows: rows[2:] * 2),
    "repeat, skip": (lambda d: d.repeat(2).skip(7), lambda rows: (rows * 2)[7:]),
    "repeat, take": (lambda d: d.repeat(3).take(8), lambda rows: (rows * 3)[:8]),
    "take, repeat, take": (lambda d: d.take(2).repeat(3).take(5), lambda rows: (rows[:2] * 3)[:5]),
    "repeat twice": (lambda d: d.take(2).repeat(2).repeat(2), lambda rows: rows[:2] * 4),
    "take of a batch": (lambda d: d.batch(2).take(2), lambda rows: [rows[:2], rows[2:4]]),
    "batch": (lambda d: d.batch(2), lambda rows: [rows[:2], rows[2:4], rows[4:]]),
    "concat": (lambda d: d.take(2) + d.skip(3) + d, lambda rows: rows[:2] + rows[3:] + rows),
    "concat, repeat": (lambda d: (d.take(1) + d.take(2)).repeat(2),
                       lambda rows: (rows[:1] + rows[:2]) * 2),
    "nothing before": (lambda d: d.skip(5) + d.take(2), lambda rows: rows[:2]),
    "project": (lambda d: d.rename("n", "m").project("m"), lambda rows: rows),
    "project, skip, repeat": (lambda d: d.project("n").skip(2).repeat(2),
                              lambda rows: rows[2:] * 2),
}


@pytest.mark.parametrize("source", [numbers, drawn])
@pytest.mark.parametrize("name", MOVES)
def test_rows_from_any_row_on(name, source):
    move, expected = MOVES[name]
    data, wanted = move(source(5)), expected(list(range(5)))
    assert data.get_dataset_size() == len(wanted)
    for skip in range(len(wanted) + 3):
        found = [row[0].tolist() for row in data._rows(Run(data), skip)]
        assert found == wanted[skip:], skip


@pytest.mark.parametrize("source", [numbers, drawn])
@pytest.mark.parametrize("count", [None, -1])
def test_repeated_without_end(source, count):
    data = source(3).repeat(count)
    assert data.get_repeat_count() == -1 and data.get_dataset_size() == 3
    for skip in range(8):
        found = [int(row[0]) for row in itertools.islice(data._rows(Run(data), skip), 7)]
        assert found == [(skip + at) % 3 for at in range(7)]
    none = source(3).skip(3).repeat(count)
    assert list(none._rows(Run(none))) == []  # which would have no end


@pytest.mark.parametrize("source", [numbers, drawn])
@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_shuffled_rows_from_any_row_on(source, size):
    data = source(5).shuffle(size)
    whole = [int(row[0]) for row in data._rows(Run(data, 3))]
    assert sorted(whole) == list(range(5)) and (size > 1 or whole == sorted(whole))
    for skip in range(7):
        assert [int(row[0]) for row in data._rows(Run(data, 3), skip)] == whole[skip:]


@pytest.mark.parametrize("move", [lambda d: d, lambda d: d.take(2), lambda d: d.skip(3),
                                  lambda d: d.take(2).repeat(2), lambda d: d.take(3) + d])
def test_the_next_pass_is_the_same_whatever_is_left_out_of_this_one(move):
    data = move(numbers(6).shuffle(6))
    run = Run(data, 3)
    first, second = ([int(row[0]) for row in data._rows(run)] for _ in range(2))
    assert first != second
    for skip in range(len(first) + 1):
        run = Run(data, 3)
        assert [int(row[0]) for row in data._rows(run, skip)] == first[skip:]
        assert [int(row[0]) for row in data._rows(run)] == second


@pytest.mark.parametrize("first, second", [(numbers, numbers), (drawn, numbers), (drawn, drawn)])
def test_zipped_rows_from_any_row_on(first, second):
    data = ds.zip((first(5), second(3, "m"), second(4, "k")))
    assert data.get_col_names() == ["n", "m", "k"] and len(data) == 3
    for skip in range(4):
        found = [tuple(map(int, row)) for row in data._rows(Run(data), skip)]
        assert found == [(i, i, i) for i in range(skip, 3)]


LARGEST = 2**31 - 1


@pytest.mark.parametrize("method, value, error, words", [
    ("shuffle", 1, None, ""), ("shuffle", LARGEST, None, ""),
    ("shuffle", 0, ValueError, r"interval of \[2, 2147483647\]"),
    ("shuffle", -1, ValueError, r"interval of \[2, 2147483647\]"),
    ("shuffle", LARGEST + 1, ValueError, "buffer_size"), ("shuffle", True, TypeError, "buffer_siz"),
    ("shuffle", False, TypeError, "buffer_size"), ("shuffle", 2.0, TypeError, "buffer_size"),
    ("repeat", 1, None, ""), ("repeat", -1, None, ""), ("repeat", None, None, ""),
    ("repeat", 0, ValueError, "'count' must be a positive"),
    ("repeat", -2, ValueError, "'count' must be a positive"), ("repeat", True, TypeError, "count"),
    ("repeat", 1.0, TypeError, "count"), ("take", 1, None, ""), ("take", -1, None, ""),
    ("take", 0, ValueError, "'count' must be -1 or positive"), ("take", -2, ValueError, "count"),
    ("take", True, TypeError, "count"), ("take", "1", TypeError, "count"), ("skip", 0, None, ""),
    ("skip", LARGEST, None, ""), ("skip", -1, ValueError, "count"),
    ("skip", LARGEST + 1, ValueError, "count"), ("skip", 1.0, TypeError, "count")])
def test_counts(method, value, error, words):
    if error is None:
        assert getattr(numbers(3), method)(value).get_col_names() == ["n"]
    else:
        with pytest.raises(error, match=words):
            getattr(numbers(3), method)(value)


def two():
    return ds.NumpySlicesDataset({"a": [1, 2], "b": [3, 4], "c": [5, 6]}, shuffle=False)


def dicts(data):
    return [{k: int(v) for k, v in row.items()}
            for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


@pytest.mark.parametrize("old, new, wanted", [
    ("b", "d", ["a", "d", "c"]), (["c", "a"], ["x", "y"], ["y", "b", "x"]),
    (["a", "b"], ["b", "a"], ["b", "a", "c"]), (["a"], ["a"], ["a", "b", "c"])])
def test_names_of_columns(old, new, wanted):
    data = two().rename(old, new)
    assert data.get_col_names() == wanted
    assert dicts(data) == [dict(zip(wanted, row, strict=True)) for row in ((1, 3, 5), (2, 4, 6))]


@pytest.mark.parametrize("columns", ["b", ["c"], ["c", "a"], ["b", "c", "a"]])
@pytest.mark.parametrize("mapped", [False, True])
def test_chosen_columns(columns, mapped):
    data = two().map(lambda a: a, "a") if mapped else two()
    data = data.project(columns)
    wanted = [columns] if isinstance(columns, str) else columns
    assert data.get_col_names() == wanted
    values = {"a": 1, "b": 3, "c": 5}
    assert dicts(data) == [{n: values[n] + k for n in wanted} for k in range(2)]


@pytest.mark.parametrize("call, error, words", [
    (lambda: two().rename(["a", "b"], ["x"]), ValueError, "is not equal"),
    (lambda: two().rename("a", "b").get_col_names(), RuntimeError, "names of columns must differ"),
    (lambda: two().rename("z", "b").get_col_names(), RuntimeError, "'z' of 'input_columns' does"),
    (lambda: two().rename(["a", "a"], ["x", "y"]), ValueError, "same"),
    (lambda: two().project("z").get_col_names(), RuntimeError, "'z' of 'input_columns' doesn't"),
    (lambda: two().project(["a", "a"]), ValueError, "same"),
    (lambda: two().project([]), ValueError, "empty"),
    (lambda: two().project([""]), ValueError, "str"),
    (lambda: two().project(["a", 1]), TypeError, r"columns\[1\]"),
    (lambda: two().project({"a": 1}), TypeError, "columns"),
    (lambda: dicts(two() + numbers(2)), RuntimeError, "must have the columns"),
    (lambda: dicts(drawn(2) + drawn(2).map(lambda n: n * 0.5)), RuntimeError, "the same types"),
    (lambda: dicts(drawn(1) + drawn(1).map(lambda n: n * 0.5)), RuntimeError, "the same types"),
    (lambda: two() + [two(), 3], TypeError, r"dataset\[1\]"),
    (lambda: two().zip(3), TypeError, "zip"),
    (lambda: ds.zip((two(),)), ValueError, "just one"), (lambda: ds.zip([two()]), TypeError, "zip"),
    (lambda: dicts(two().zip(two().project("a"))), RuntimeError, "must have different columns")])
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("shards, shard", [(1, 0), (2, 0), (2, 1), (3, 1), (3, 2), (8, 7), (9, 8)])
@pytest.mark.parametrize("source", [numbers, drawn])
def test_a_part_of_joined_datasets(source, shards, shard):
    data = source(3) + source(5)
    data.use_sampler(ds.DistributedSampler(shards, shard, shuffle=False))
    wanted = [0, 1, 2, 0, 1, 2, 3, 4][shard::shards]
    assert data.get_dataset_size() == len(wanted)
    for skip in range(len(wanted) + 2):
        assert [int(row[0]) for row in data._rows(Run(data), skip)] == wanted[skip:]


def test_parts_of_joined_datasets_that_are_shuffled_have_no_row_in_common():
    """Sources are read in order: each process may have random numbers of its own."""
    first, found = ds.NumpySlicesDataset([0, 1, 2], ["n"]), []
    for shard in range(2):
        data = first + ds.NumpySlicesDataset([3, 4, 5, 6], ["n"], num_shards=2, shard_id=0)
        data.use_sampler(ds.DistributedSampler(2, shard, shuffle=False))
        assert data.get_dataset_size() == 4 - shard and not data.is_shuffled()
        rows = data.create_tuple_iterator(output_numpy=True)
        for _ in range(2):
            found.append([int(row[0]) for row in rows])
    assert found == [[0, 2, 4, 6]] * 2 + [[1, 3, 5]] * 2
    assert first.is_shuffled()  # it stays as it is


@pytest.mark.parametrize("source", [numbers, drawn])
def test_joined_datasets_in_the_order_of_a_sampler(source):
    data = source(3) + source(5)
    data.use_sampler(ds.SubsetSampler([7, 3, 2, 0]))
    wanted = [4, 0, 2, 0] if source is numbers else [0, 1, 0, 1]  # what the dataset gives next
    assert data.get_dataset_size() == 4
    for skip in range(5):
        assert [int(row[0]) for row in data._rows(Run(data), skip)] == wanted[skip:]


@pytest.mark.parametrize("sampler, error, words", [
    (ds.DistributedSampler(2, 0, True), ValueError, "shuffle of DistributedSampler must be False"),
    (ds.DistributedSampler(2, 0, False, 3), ValueError, "num_samples of DistributedSampler"),
    ([0], TypeError, "must be DistributedSampler or RandomSampler")])
def test_samplers_of_joined_datasets(sampler, error, words):
    with pytest.raises(error, match=words):
        (numbers(3) + numbers(3)).use_sampler(sampler)
    some = ds.NumpySlicesDataset({"n": np.arange(3)}, num_samples=2)
    with pytest.raises(ValueError, match="parameter NumSamples of"):
        (numbers(3) + some).use_sampler(ds.DistributedSampler(2, 0, False))
    with pytest.raises(TypeError, match="must not be BatchDataset"):
        (numbers(3) + numbers(3).batch(2)).use_sampler(ds.SequentialSampler())


@pytest.mark.parametrize("data, over", [
    (numbers(5), True), (numbers(5).map(abs), True), (drawn(5), True), (numbers(5).map(abs), True),
    (drawn(5).map(abs), False), (numbers(5).map(abs).map(abs), False),
    (numbers(5).map(abs).batch(2).map(abs), False), (numbers(5).shuffle(3), True),
    (drawn(5).shuffle(2), False), (numbers(5).shuffle(2).map(abs), True)])
def test_passes_in_which_one_operation_draws_can_be_passed_over(data, over):
    assert data.repeat(2)._is_passed_over() is over


def test_chosen_columns_of_a_table_are_a_table():
    data = two().project(["c", "a"])
    table = data._table()
    assert table is data._table() and table.size == 2
    assert [int(v) for v in table.row(1)] == [6, 2]
    assert drawn(2).project("n")._table() is None
