"""Which rows each sampler reads: limits of starts, counts, parts and weights."""

import itertools

import numpy as np
import pytest

import lamella.dataset as ds


def read(sampler, size=7, epochs=1):
    data = ds.NumpySlicesDataset(list(range(size)), ["x"], sampler=sampler)
    iterator = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    found = [[int(row[0]) for row in iterator] for _ in range(epochs)]
    assert all(len(each) == data.get_dataset_size() for each in found)
    return found[0] if epochs == 1 else found


def dealt(size, parts, part, first):
    """The rows of one part, dealt one by one and from the start again, to part `first` first."""
    owners = itertools.islice(itertools.cycle(range(parts)), first, None)
    return (row for row, owner in zip(itertools.cycle(range(size)), owners, strict=False)
            if owner == part)


@pytest.mark.parametrize("size, parts", [(1, 1), (1, 3), (7, 1), (7, 2), (6, 3), (7, 3), (2, 4),
                                         (9, 4)])
def test_parts_are_dealt_row_by_row(size, parts):
    for part, offset in itertools.product(range(parts), range(-1, parts + 1)):
        found = read(ds.DistributedSampler(parts, part, False, offset=offset), size)
        assert found == list(itertools.islice(dealt(size, parts, part, max(0, offset)),
                                              len(found)))
        if offset < 0:
            assert len(found) == -(-size // parts)
        else:
            own = sum((row + offset) % parts == part for row in range(size))
            assert len(found) == max(1, own)


def test_the_first_row_is_of_one_of_the_parts():
    with pytest.raises(RuntimeError, match="offset must be no more than num_shards.2., got: 3"):
        read(ds.DistributedSampler(2, 0, False, offset=3))


@pytest.mark.parametrize("sampler, sharded", [
    (ds.SequentialSampler(), False), (ds.DistributedSampler(1, 0), False),
    (ds.DistributedSampler(2, 0), True), (ds.DistributedSampler(3, 2), True)])
def test_more_parts_than_one_are_a_shard(sampler, sharded):
    assert sampler.is_sharded() is sharded
    around = ds.SequentialSampler()
    around.add_child(sampler)
    assert around.is_sharded() is sharded


@pytest.mark.parametrize("most", [None, 1, 3, 4, 5])
@pytest.mark.parametrize("shuffle", [False, True])
def test_some_rows_of_each_class(most, shuffle):
    sampler = ds.PKSampler(2, shuffle=shuffle, num_samples=most, class_column="kind")
    with pytest.raises(RuntimeError, match="doesn't know the classes"):
        sampler.count(7)
    labels = np.array([3, 1, 3, 1, 3, 1, 2])
    sampler.know({"kind": labels}.get)
    classes = [[1, 3], [6], [0, 2]]
    assert sampler.count(7) == min(most or 5, 5) and sampler.is_shuffled() is shuffle
    orders = [sum(order, [])[:most] for order in itertools.permutations(classes)]
    for _, found in zip(range(3), sampler.epochs(7, 1), strict=False):
        assert found.tolist() in (orders if shuffle else [sum(classes, [])[:most]])


@pytest.mark.parametrize("start", [6, 7, 8])
def test_no_rows_are_left_behind_the_last(start):
    sampler = ds.SequentialSampler(start)
    assert sampler.count(7) == max(0, 7 - start) == len(next(sampler.epochs(7, 0)))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_part_of_some_rows(count):
    found = read(ds.DistributedSampler(2, 1, False, count), 6)
    assert found == [1, 3, 5][:count]


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_shuffled_parts_are_of_one_order_that_changes(parts):
    ds.config.set_seed(3)
    found = [read(ds.DistributedSampler(parts, part, True), 12, 3) for part in range(parts)]
    orders = [[row for rows in zip(*(part[epoch] for part in found), strict=True) for row in rows]
              for epoch in range(3)]
    assert all(sorted(order) == list(range(12)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3


@pytest.mark.parametrize("start, count, wanted", [
    (None, None, range(7)), (0, 3, range(3)), (1, None, range(1, 7)), (2, 5, range(2, 7)),
    (2, 6, range(2, 7)), (2, 4, range(2, 6)), (6, 1, [6]), (None, 8, range(7))])
def test_rows_from_a_start(start, count, wanted):
    assert read(ds.SequentialSampler(start, count)) == list(wanted)


@pytest.mark.parametrize("count", [None, 1, 6, 7, 8])
def test_rows_in_random_order(count):
    ds.config.set_seed(5)
    plain = read(ds.RandomSampler(False, count), epochs=3)
    again = read(ds.RandomSampler(True, count), epochs=60)
    for epoch in plain:
        assert len(set(epoch)) == len(epoch) == min(count or 7, 7)
        assert set(epoch) <= set(range(7))
    assert count == 1 or len({tuple(epoch) for epoch in plain}) == 3
    counts = np.bincount(np.concatenate(again), minlength=7)
    assert len(counts) == 7 and counts.min() > 0 and counts.max() < 3.5 * counts.mean()


@pytest.mark.parametrize("kind", [ds.SubsetSampler, ds.SubsetRandomSampler])
@pytest.mark.parametrize("count", [None, 1, 3, 4, 5])
def test_rows_of_a_list(kind, count):
    rows = [6, 0, 3, 3]
    found = read(kind(rows, count), epochs=2)
    for epoch in found:
        wanted = rows[:count]
        if kind is ds.SubsetRandomSampler:
            epoch, wanted = sorted(epoch), sorted(wanted)
        assert epoch == wanted
    assert read(kind(5)) == [5]
    for wrong in (7, -8):
        with pytest.raises(RuntimeError, match=f"{abs(wrong)}"):
            read(kind([0, wrong]))


@pytest.mark.parametrize("replacement", [False, True])
def test_rows_come_as_often_as_their_weights(replacement):
    weights, found = [1.0, 0.0, 6.0, 1.0, 0.0, 0.0, 2.0], []
    for seed in range(100 if replacement else 500):
        ds.config.set_seed(seed)
        found += read(ds.WeightedRandomSampler(weights, 7 if replacement else 1, replacement))
    shares = np.bincount(found, minlength=7) / len(found)
    np.testing.assert_allclose(shares, np.divide(weights, 10), atol=0.06)
    assert not shares[[1, 4, 5]].any()
    whole = read(ds.WeightedRandomSampler([3, 1, 2, 4, 1, 1, 1], 7, False))
    assert sorted(whole) == list(range(7))


@pytest.mark.parametrize("make, error, words", [
    (lambda: ds.DistributedSampler(0, 0), ValueError, "'num_shards' must be a positive int"),
    (lambda: ds.DistributedSampler(2, 2), ValueError, r"in \[0, 2\), but got 2"),
    (lambda: ds.DistributedSampler(2, -1), ValueError, r"in \[0, 2\), but got -1"),
    (lambda: ds.DistributedSampler(2, 1, 1), TypeError, "shuffle must be a boolean"),
    (lambda: ds.DistributedSampler(True, 0), TypeError, "num_shards must be integer but was: True"),
    (lambda: ds.DistributedSampler(2, 1.0), TypeError, "shard_id must be integer but was: 1.0"),
    (lambda: ds.PKSampler(2, 1), NotImplementedError, "num_class"),
    (lambda: ds.PKSampler(2, shuffle=1), TypeError, "shuffle must be a boolean value but was: 1"),
    (lambda: ds.PKSampler(2, class_column=1), TypeError, "class_column must be a str"),
    (lambda: ds.RandomSampler(1), TypeError, "replacement must be a boolean value but was: 1"),
    (lambda: ds.SequentialSampler(-1), ValueError, "'start_index' must be 0 or more, but got -1"),
    (lambda: ds.SequentialSampler(0, -1), ValueError, "num_samples"),
    (lambda: ds.SubsetSampler([1, True]), TypeError, r"got list\[1\]: True"),
    (lambda: ds.WeightedRandomSampler([1, "a"]), TypeError, r"got w\[1\]: a"),
    (lambda: read(ds.WeightedRandomSampler([])), RuntimeError, "must not be empty"),
    (lambda: read(ds.WeightedRandomSampler([1, -2])), RuntimeError, "negative numbers, got: -2"),
    (lambda: read(ds.WeightedRandomSampler([0, 0])), RuntimeError, "not be all zero"),
    (lambda: read(ds.WeightedRandomSampler([1] * 8)), RuntimeError, "8 weights, but 7 rows")])
def test_what_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_the_least_of_the_counts_of_samplers_on_one_another():
    outer, inner = ds.SequentialSampler(0, 5), ds.SequentialSampler(1, 3)
    assert outer.get_num_samples() == 5 and ds.SequentialSampler().get_num_samples() is None
    outer.add_child(inner)
    assert outer.get_num_samples() == 3 and read(outer) == [1, 2, 3]
    with pytest.raises(RuntimeError, match="already has a child"):
        outer.add_child(ds.SequentialSampler())
    plain = ds.SequentialSampler()
    plain.add_child(ds.RandomSampler(num_samples=2))
    assert plain.get_num_samples() == 2 and plain.is_shuffled() and not outer.is_shuffled()


@pytest.mark.parametrize("seed, weights, wanted", [
    (1, [1, 0, 2, 3], [2, 3, 0, 1]), (1, [0, 0, 1, 1], [2, 3, 0, 1]),
    (1, [0.5, 0, 0.1, 0], [2, 0, 1, 3]), (1, [1, 1, 1, 1], [2, 1, 0, 3]),
    (5, [1, 0, 2, 3], [0, 2, 3, 1]), (5, [1e-30, 1, 1e30, 2], [2, 1, 3, 0])])
def test_weights_of_0_draw_too(seed, weights, wanted):
    """The orders that 2.10 gives after the same seed."""
    sampler = ds.WeightedRandomSampler(weights, None, False)
    assert next(sampler.epochs(len(weights), seed)).tolist() == wanted
