"""GeneratorDataset: batches that a sampler chooses, counts, and rows by number."""

import itertools

import numpy as np
import pytest

import lamella.dataset as ds

ROWS = [(np.int32(n), np.full(3, 10 * n, np.float32)) for n in range(6)]


class Unknown:
    """A sampler that doesn't know how many batches it gives."""

    def __iter__(self):
        assert self.dataset_size == 6
        return iter([[5, 0], np.array([3]), (1, 1, 4)])

    dataset_size = None


def batches(sampler, **options):
    data = ds.GeneratorDataset(ROWS, ["n", "x"], batch_sampler=sampler, **options)
    return data, [row for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


@pytest.mark.parametrize("sampler, places", [
    ([[5, 0], [2], [1, 3, 4]], [[5, 0], [2], [1, 3, 4]]), ([4, 2], [[4], [2]]),
    (Unknown(), [[5, 0], [3], [1, 1, 4]])])
def test_rows_are_stacked_as_a_sampler_chooses(sampler, places):
    data, found = batches(sampler)
    assert len(data) == len(found) == len(places)
    for (numbers, values), chosen in zip(found, places, strict=True):
        assert numbers.tolist() == chosen and numbers.dtype == np.int32
        assert values.tolist() == [[10.0 * n] * 3 for n in chosen]


@pytest.mark.parametrize("collate, wanted", [
    (lambda n, x: (n, [v + n[0] for v in x]), ([4, 1], [[44.0] * 3, [14.0] * 3])),
    (lambda n, x: (np.array(sum(n)), np.stack(x)[:, 1:]), (5, [[40.0] * 2, [10.0] * 2]))])
def test_columns_that_a_function_collates(collate, wanted):
    _, ((numbers, values),) = batches([[4, 1]], collate_fn=collate)
    assert (numbers.tolist(), values.tolist()) == wanted


def test_one_column_and_errors_of_a_function_that_collates():
    data = ds.GeneratorDataset([row[0] for row in ROWS], ["n"], batch_sampler=[[2, 3]],
                               collate_fn=lambda n: n)
    (row,) = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert [column.tolist() for column in row] == [[2, 3]]
    with pytest.raises(RuntimeError, match="division by zero"):
        batches([[0]], collate_fn=lambda n, x: 1 / 0)


class Counted:
    """An iterable with a length; nothing has a number."""

    def __iter__(self):
        return iter(range(5))

    def __len__(self):
        return 5


@pytest.mark.parametrize("samples, wanted", [(None, 5), (1, 1), (4, 4), (5, 5), (6, 5)])
@pytest.mark.parametrize("source", [Counted(), list(range(5)), lambda: iter(range(5))])
def test_how_many_rows_there_are(source, samples, wanted):
    data = ds.GeneratorDataset(source, ["n"], num_samples=samples, shuffle=False if isinstance(
        source, list) else None)
    found = [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert len(data) == wanted and found == list(range(wanted))


def test_rows_by_number():
    data = ds.GeneratorDataset([10, 11, 12, 13], ["n"], sampler=ds.SequentialSampler(1, 2))
    assert [data[n] for n in (0, 1, -1)] == [11, 12, 12]
    with pytest.raises(RuntimeError, match="rows of this source have no numbers"):
        ds.GeneratorDataset(Counted(), ["n"])[0]


def with_methods(**methods):
    return type("Given", (), {name: staticmethod(call) for name, call in methods.items()})()


def columns_of(*names):
    schema = ds.Schema()
    for name in names:
        schema.add_column(name, "int32", [])
    return schema


@pytest.mark.parametrize("options, wanted", [
    ({"column_names": ["n", "x"]}, ["n", "x"]), ({"schema": columns_of("a", "b")}, ["a", "b"]),
    ({"column_names": ["n", "x"], "schema": columns_of("a", "b")}, ["n", "x"]),
    ({"column_names": ["n", "x"], "column_types": [np.int32, np.float32]}, ["n", "x"])])
def test_names_of_columns(options, wanted):
    data = ds.GeneratorDataset(ROWS, shuffle=False, **options)
    assert data.get_col_names() == wanted
    first = next(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert list(first) == wanted and [v.tolist() for v in first.values()] == [0, [0.0] * 3]


@pytest.mark.parametrize("source, options, error, words", [
    (3, {}, TypeError, "should be callable, iterable or random accessible"),
    (with_methods(), {}, TypeError, "but got Given"),
    (with_methods(__getitem__=lambda place: place), {}, RuntimeError, "'__len__' method is requ"),
    (ROWS, {"column_names": None}, ValueError, "Neither columns_names nor schema"),
    (ROWS, {"column_names": None, "schema": 3}, (ValueError, TypeError), "schema"),
    (ROWS, {"column_types": [np.int32]}, ValueError, "as many as there are columns, 2, but got 1"),
    (ROWS, {"column_types": (np.int32, np.float32)}, TypeError, "column_types"),
    (ROWS, {"sampler": 3}, TypeError, "sampler should be either iterable"),
    (ROWS, {"sampler": ds.PKSampler(1)}, ValueError, "doesn't support PKSampler"),
    (ROWS, {"shuffle": 1}, TypeError, "shuffle"),
    (ROWS, {"num_shards": 2}, (ValueError, RuntimeError), "shard_id"),
    (Counted(), {"sampler": ds.RandomSampler()}, ValueError, "sampler is not supported if source"),
    (Counted(), {"shuffle": True}, ValueError, "shuffle is not supported if source"),
    (Counted(), {"num_shards": 2, "shard_id": 0}, ValueError, "num_shards is not supported"),
    (Counted(), {"batch_sampler": [[0]]}, ValueError, "batch_sampler is not supported if source"),
    (ROWS, {"batch_sampler": 3}, TypeError, "__getitem__ or __iter__"),
    (ROWS, {"collate_fn": max}, ValueError, "only when batch_sampler is set"),
    (ROWS, {"batch_sampler": [[0]], "collate_fn": 3}, TypeError, "collate_fn should be callable"),
    (ROWS, {"batch_sampler": [[0]], "num_samples": 1}, ValueError, "got 'num_samples' too"),
    (ROWS, {"batch_sampler": [[0]], "shuffle": False}, ValueError, "got 'shuffle' too")])
def test_what_gives_no_rows(source, options, error, words):
    with pytest.raises(error, match=words):
        ds.GeneratorDataset(source, **{"column_names": ["n", "x"], **options})


@pytest.mark.parametrize("make", [
    lambda: (n for n in range(4)), lambda: map(abs, range(4)), lambda: iter(range(4)),
    lambda: itertools.islice(itertools.count(), 4)])
def test_what_can_be_read_once_is_kept(make):
    data = ds.GeneratorDataset(make(), ["n"])
    rows = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    for _ in range(2):
        assert [int(row[0]) for row in rows] == list(range(4))


def test_a_generator_is_read_by_two_iterators_in_turn_and_counted_meanwhile():
    data = ds.GeneratorDataset((n for n in range(5)), ["n"])
    pairs = zip(*[data.create_tuple_iterator(num_epochs=1, output_numpy=True) for _ in range(2)],
                strict=True)
    found = []
    for (first,), (second,) in pairs:
        assert data.get_dataset_size() == 5
        found.append((first.item(), second.item()))
    assert found == [(n, n) for n in range(5)]


def test_the_error_that_ended_a_generator_is_raised_in_each_epoch():
    def rows():
        yield from range(2)
        raise KeyError("lost")

    data = ds.GeneratorDataset(rows(), ["n"])
    for _ in range(2):
        seen = []
        with pytest.raises(RuntimeError, match="lost"):
            for (n,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
                seen.append(n.item())
        assert seen == [0, 1]
