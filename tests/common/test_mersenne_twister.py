"""Orders and random numbers, against those recorded from MindSpore 2.10 with the seed 7."""

import json
import pathlib

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.common.mersenne_twister import Mt19937, Mt19937x64, weighted
from lamella.dataset.transforms.operation import TensorOperation

RECORDED = json.loads((pathlib.Path(__file__).parents[1] / "data/dataset_orders.json").read_text())
FLIPS = RECORDED.pop("flips")


def numbers(count, **kwargs):
    return ds.NumpySlicesDataset({"n": list(range(count))}, **kwargs)


class Eight:
    def __len__(self):
        return 8

    def __getitem__(self, place):
        return (np.int64(place),)


def six():
    for i in range(6):
        yield (np.int64(i),)


def random_within_sequential():
    sampler = ds.RandomSampler()
    sampler.add_child(ds.SequentialSampler(2, 6))
    return numbers(10, sampler=sampler)


WEIGHTS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
PIPELINES = {
    "random 10": lambda: numbers(10, shuffle=True),
    "random 101": lambda: numbers(101, sampler=ds.RandomSampler()),
    "random num_samples 4 of 10": lambda: numbers(10, shuffle=True, num_samples=4),
    "RandomSampler num_samples 4 of 10": lambda: numbers(10, sampler=ds.RandomSampler(False, 4)),
    "replacement 6 of 10": lambda: numbers(10, sampler=ds.RandomSampler(True, 6)),
    "replacement of 10": lambda: numbers(10, sampler=ds.RandomSampler(True)),
    "subset random": lambda: numbers(10, sampler=ds.SubsetRandomSampler([9, 1, 3, 5, 7, 0])),
    "subset random 3": lambda: numbers(10, sampler=ds.SubsetRandomSampler([9, 1, 3, 5, 7, 0], 3)),
    "weighted": lambda: numbers(6, sampler=ds.WeightedRandomSampler(WEIGHTS, 8)),
    "weighted no replacement": lambda: numbers(
        6, sampler=ds.WeightedRandomSampler(WEIGHTS, 4, False)),
    "distributed 0 of 3 of 10": lambda: numbers(10, num_shards=3, shard_id=0),
    "distributed 2 of 3 of 10": lambda: numbers(10, num_shards=3, shard_id=2),
    "distributed offset": lambda: numbers(
        10, sampler=ds.DistributedSampler(3, 1, False, None, 1)),
    "distributed num_samples": lambda: numbers(10, sampler=ds.DistributedSampler(3, 1, False, 2)),
    "distributed noshuffle 2 of 3": lambda: numbers(10, shuffle=False, num_shards=3, shard_id=2),
    "shuffle 4 of 10": lambda: numbers(10, shuffle=False).shuffle(4),
    "shuffle 10 of 10": lambda: numbers(10, shuffle=False).shuffle(10),
    "shuffle 37 of 50": lambda: numbers(50, shuffle=False).shuffle(37),
    "shuffle 4 repeat 2": lambda: numbers(6, shuffle=False).shuffle(4).repeat(2),
    "repeat 2 shuffle 4": lambda: numbers(6, shuffle=False).repeat(2).shuffle(4),
    "two shuffles": lambda: numbers(8, shuffle=True).shuffle(4),
    "random repeat 2": lambda: numbers(6, shuffle=True).repeat(2),
    "split random 0": lambda: numbers(10, shuffle=False).split([7, 3])[0],
    "split random 1": lambda: numbers(10, shuffle=False).split([0.7, 0.3])[1],
    "split sequential": lambda: numbers(10, shuffle=False).split([7, 3], randomize=False)[1],
    "child": random_within_sequential,
    "python sampler": lambda: numbers(10, sampler=[3, 1, 2]),
    "generator random W2": lambda: ds.GeneratorDataset(
        Eight(), ["x"], num_parallel_workers=2, shuffle=True, python_multiprocessing=False),
    "generator func shuffle": lambda: ds.GeneratorDataset(six, ["x"]),
    "concat": lambda: numbers(3, shuffle=True) + numbers(4, shuffle=True),
    "random 3 zip": lambda: ds.zip((numbers(5, shuffle=True).rename("n", "a"),
                                    numbers(5, shuffle=True))),
    "take of shuffled": lambda: numbers(8, shuffle=True).take(3),
    "skip of shuffled": lambda: numbers(8, shuffle=True).skip(5),
    "filter": lambda: numbers(10, shuffle=True).filter(lambda x: x % 2 == 0),
    "batch repeat": lambda: numbers(5, shuffle=True).batch(2).repeat(2),
    "repeat batch": lambda: numbers(5, shuffle=True).repeat(2).batch(4),
}


def epochs(dataset, count):
    rows = dataset.create_tuple_iterator(num_epochs=count, output_numpy=True)
    return [[np.asarray(row[0]).tolist() for row in rows] for _ in range(count)]


@pytest.mark.parametrize("name", PIPELINES)
def test_orders_are_mindspores(name):
    ds.config.set_seed(7)
    recorded = RECORDED[name]
    assert epochs(PIPELINES[name](), len(recorded)) == recorded


def test_the_order_of_many_rows_is_mindspores():
    order = list(range(70000))
    for epoch, recorded in enumerate(RECORDED["random 70000 every 997th"]):
        Mt19937(7 + epoch).shuffle(order)
        assert order[::997] == recorded


class Flip(TensorOperation):
    draws = True

    def run(self, values, streams):
        return (1 - values[0],) if streams.of(self).bernoulli(0.5) else values


@pytest.mark.parametrize("workers", [1, 2])
def test_each_worker_draws_its_own_numbers_and_goes_on(workers):
    names = [n for n in FLIPS if n[0].isdigit() and n.split()[1] == str(workers)]
    assert names
    for name in names:
        ds.config.set_seed(7)
        rows, _, count = map(int, name.split())
        data = ds.NumpySlicesDataset(np.zeros(rows, int), shuffle=False)
        assert epochs(data.map(Flip(), num_parallel_workers=workers), count) == FLIPS[name]
    ds.config.set_seed(7)
    data = ds.NumpySlicesDataset(np.zeros(5, int), shuffle=False)
    repeated = data.map(Flip(), num_parallel_workers=2).repeat(3)
    assert epochs(repeated, 2) == FLIPS["repeat 5 2"]


def test_generators_by_their_definitions():
    first, bits = Mt19937(5489), Mt19937x64(5489)
    assert [first.word() for _ in range(10000)][-1] == 4123659995
    assert [bits.word() for _ in range(10000)][-1] == 9981545732273789042
    kept = first.state()
    drawn = [first.float64(0, 1) for _ in range(5)]
    first.restore(kept)
    assert drawn == [first.float64(0, 1) for _ in range(5)]


def test_the_ends_of_what_is_drawn():
    class Most(Mt19937):
        def word(self):
            return 2**32 - 1

    least, usual = np.float32(0.25), Mt19937(5489)
    assert Most(1).float32(least, 0.75) == np.nextafter(np.float32(1), np.float32(0)) / 2 + least
    assert [usual.integer(-5, 2**32 - 6) for _ in range(2)] == [
        word - 5 for word in (lambda g: (g.word(), g.word()))(Mt19937(5489))]


def test_a_sample_is_libstdcxx_s():
    generator = Mt19937(5)
    assert [generator.sample(5, 3) for _ in range(4)] == [
        [0, 1, 2], [1, 3, 4], [0, 3, 4], [0, 1, 2]]
    assert [generator.sample(1, 1), generator.sample(4, 2)] == [[0], [0, 3]]
    assert generator.word() == 1521011312


@pytest.mark.parametrize("weights", [[1], [5, 1], [1, 5], [3, 0, 1], [0, 2, 1, 7], [0.1] * 9,
                                     [1, 2, 3, 4, 0]])
def test_numbers_by_weights(weights):
    """Each draw is the first number up to which the shares add up to it."""
    found = weighted(Mt19937(7), np.array(weights), 300)
    draws, total = Mt19937(7), sum(weights)
    for number in found:
        drawn = draws.canonical()
        assert sum(weights[:number]) / total < drawn + 1e-6
        assert drawn < sum(weights[:number + 1]) / total + 1e-6
    assert set(found) == {number for number, weight in enumerate(weights) if weight}
