"""GeneratorDataset: batches that a sampler chooses, counts, and rows by number."""

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
