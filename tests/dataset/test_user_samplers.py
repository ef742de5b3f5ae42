"""Samplers in Python, and parts of datasets that samplers choose."""

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.dataset.user_samplers import IterSampler


def rows(data):
    return [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


class Drawn(ds.Sampler):
    def __init__(self):
        super().__init__()
        self.generator = np.random.default_rng(0)

    def __iter__(self):
        return iter(self.generator.permutation(5)[: self.generator.integers(1, 5)].tolist())


def test_each_iterator_begins_with_the_sampler_as_it_was():
    data = ds.NumpySlicesDataset(np.arange(5), sampler=Drawn())
    assert data.get_dataset_size() == len(rows(data))
    assert rows(data) == rows(data) == list(Drawn())


class Long:
    def __iter__(self):
        return iter(range(3))

    def __len__(self):
        return 4


def test_a_sampler_with_fewer_rows_than_it_says():
    data = ds.GeneratorDataset(np.arange(9), "a", sampler=Long())
    assert data.get_dataset_size() == 4
    with pytest.raises(RuntimeError, match="read from generator 3 is different from"):
        rows(data)


@pytest.mark.parametrize("most, wanted", [(None, 4), (1, 1), (2, 2), (4, 4)])
def test_a_number_that_is_given_comes_before_the_length(most, wanted):
    class Known(ds.Sampler):
        def __iter__(self):
            return iter(range(self.dataset_size))

        def __len__(self):
            return 4

    assert Known().dataset_size == 0
    assert Known(most).num_samples == IterSampler([0, 1, 2, 3], most).num_samples == wanted
    for sampler in (Known(most), IterSampler([0, 1, 2, 3], most)):
        assert rows(ds.NumpySlicesDataset(np.arange(9), sampler=sampler)) == [0, 1, 2, 3][:wanted]


def test_rows_without_numbers_in_the_order_of_a_sampler():
    def source():
        yield from (np.array(number) for number in range(4))

    both = ds.GeneratorDataset(source, "a") + ds.GeneratorDataset(source, "a")
    both.use_sampler(ds.SubsetSampler([6, 1, 5, 0]))
    assert rows(both) == [0, 0, 1, 1]  # which dataset is next, and of that the next row


def test_parts_of_parts_and_other_samplers_for_them():
    data = ds.NumpySlicesDataset(np.arange(6), shuffle=False)
    first, _ = data.split([5, 1])
    order = rows(first)
    parts = first.split([1, 2, 2], randomize=False)
    assert [rows(part) for part in parts] == [order[:1], order[1:3], order[3:]]
    first.use_sampler(ds.DistributedSampler(2, 1, shuffle=False))
    assert rows(first) == [order[1], order[3], order[0]]


@pytest.mark.parametrize("shares, error, words", [
    ([.15, .15, .15, .15, .15, .25], RuntimeError, "Sum of calculated split sizes 6 is not equal"),
    ([.05, .95], RuntimeError, "Split percentage 0.05 is too small"),
])
def test_shares_that_do_not_fit(shares, error, words):
    with pytest.raises(error, match=words):
        ds.NumpySlicesDataset(np.arange(5)).split(shares)


def test_shares_are_rounded_as_in_mindspore():
    data = ds.NumpySlicesDataset(np.arange(5), shuffle=False)
    assert [rows(part) for part in data.split([.15, .55, .3], randomize=False)] == [
        [0], [1, 2], [3, 4]]


def test_a_shard_is_not_split():
    with pytest.raises(RuntimeError, match="should not be sharded before split"):
        ds.NumpySlicesDataset(np.arange(4), num_shards=2, shard_id=0).split([1, 1])


def test_samplers_that_cannot_stand_on_each_other():
    with pytest.raises(RuntimeError, match="of the input sampler must not be Shuffle.PARTIAL"):
        ds.SequentialSampler().add_child(ds.RandomSampler(shuffle=ds.Shuffle.PARTIAL))
    with pytest.raises(RuntimeError, match="of the current sampler must be Shuffle.FALSE or"):
        ds.RandomSampler(shuffle=ds.Shuffle.INFILE).add_child(ds.RandomSampler())


@pytest.mark.parametrize("step", [1, 2])
def test_no_more_is_asked_of_a_sampler_than_is_read(step):
    given = []

    class Counting(ds.Sampler):
        def __iter__(self):
            for number in range(0, 9, step):
                given.append(number)
                yield list(range(number, number + step)) if step > 1 else number

    data = ds.NumpySlicesDataset(np.arange(10), sampler=Counting(4))
    assert data.get_dataset_size() == 4 and rows(data) == [0, 1, 2, 3]
    assert set(given) == set(range(0, 4, step))


def test_shards_are_one_or_more():
    data = ds.NumpySlicesDataset(np.arange(4), sampler=ds.DistributedSampler(1, 0, False))
    assert rows(data) == [0, 1, 2, 3]
    for count in (0, -1):
        with pytest.raises(ValueError, match=f"'num_shards' must be .*got {count}"):
            ds.DistributedSampler(count, 0)
