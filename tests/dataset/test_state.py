"""Iterators that continue from another's state: the same rows, bit for bit."""

import pickle
import random

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.dataset import transforms
from lamella.dataset.processes import PIECE

from .random_pipelines import Noise, check, drawn, noisy, permuted, take


def numbers(count=23, **kwargs):
    return ds.NumpySlicesDataset({"n": list(range(count))}, **kwargs)


class Source:
    def __len__(self):
        return 23

    def __getitem__(self, place):
        return (np.int64(place * 1000 + random.randrange(1000)),)


PIPELINES = {
    "rows": lambda: numbers(),
    "batches": lambda: numbers().batch(4),
    "shuffled": lambda: numbers().shuffle(7).repeat(2).batch(4),
    "random operation": lambda: numbers().map(Noise(), num_parallel_workers=2).batch(4),
    "random operation, shuffled after": lambda: numbers().map(
        Noise(), num_parallel_workers=2).shuffle(5).batch(3),
    "repeated after a random operation": lambda: numbers().map(
        Noise(), num_parallel_workers=2).repeat(3).batch(5),
    "filtered": lambda: numbers().map(Noise()).filter(lambda n: n % 3 > 0).batch(2),
    "concatenated": lambda: (numbers(5) + numbers(8)).skip(2).batch(3),
    "zipped": lambda: ds.zip((numbers(9), numbers(9).rename("n", "m").map(Noise(), "m"))).take(7),
    "python function": lambda: numbers().map(noisy, num_parallel_workers=1).batch(4),
    "python function, repeated": lambda: numbers(5).map(noisy).repeat(4).batch(3),
    "python function, shuffled and repeated": lambda: numbers(5).map(noisy).shuffle(3).repeat(3),
    "python function, repeated and shuffled": lambda: numbers(5).map(noisy).repeat(3).shuffle(4),
    "generator": lambda: drawn().batch(2),
    "generator, repeated": lambda: drawn().repeat(3).batch(4),
    "generator, repeated twice": lambda: drawn().repeat(2).map(noisy).repeat(2),
    "generator and function, repeated": lambda: drawn().map(noisy).repeat(3).batch(4),
    "generator, skipped and repeated": lambda: drawn().skip(2).map(noisy).repeat(3),
    "two functions, repeated": lambda: numbers(4).map(noisy).batch(2).map(
        lambda n: n + np.random.rand()).repeat(4),
    "concatenated functions": lambda: (numbers(3).map(noisy) + drawn()).repeat(2).batch(2),
    "zipped functions": lambda: ds.zip((numbers(5).map(noisy), ds.GeneratorDataset(
        permuted, ["m"]))).repeat(2),
    "filtered functions": lambda: numbers(7).map(noisy).filter(lambda n: n % 3 > 0).repeat(3),
    "random operations at a pass's end": lambda: numbers(4).map(transforms.RandomApply(
        [Noise()], 0.5)).repeat(5).batch(2),
    "random choices, repeated": lambda: numbers(4).map(transforms.RandomChoice(
        [Noise(), lambda n: n])).repeat(5),
    "python function, in buckets": lambda: numbers().map(noisy).bucket_batch_by_length(
        ["n"], [2, 3], [2, 3, 1], lambda n: 1 + int(n) % 3),
    "processes": lambda: numbers().map(noisy, num_parallel_workers=2,
                                       python_multiprocessing=True).batch(4),
    "source in processes": lambda: ds.GeneratorDataset(
        Source(), ["n"], num_parallel_workers=2, shuffle=True).batch(3),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_an_iterator_goes_on_bit_for_bit(name):
    ds.config.set_seed(11)
    rows = PIPELINES[name]().create_tuple_iterator(output_numpy=True)
    stops, states = (*range(10), 13, 20), []  # in a pass, at its end, in the next
    whole, at = [], 0
    for stop in stops:
        whole += take(rows, stop - at)
        at = stop
        states.append(pickle.dumps(rows.state_dict()))
    whole += take(rows, 10)
    rows.stop()
    for stop, state in zip(stops, states, strict=True):
        ds.config.set_seed(99)
        again = PIPELINES[name]().create_tuple_iterator(output_numpy=True)
        again.load_state_dict(pickle.loads(state))
        assert take(again, 10) == whole[stop:stop + 10], stop
        again.stop()


@pytest.mark.parametrize("first", [
    pytest.param(first, marks=pytest.mark.long("five pipelines more of the same kind")
                 if first % 30 else ()) for first in range(0, 100, 10)])
def test_random_pipelines_go_on_bit_for_bit(first):
    assert sum(map(check, range(first, first + 5))) >= 4


# functions that draw in turns, threads that read ahead, passes that are left before their end
@pytest.mark.parametrize("seed", [18, 306, 1318, 5252, 5446, 5473, 5520, 5735])
def test_pipelines_that_once_went_on_otherwise(seed):
    assert check(seed)


@pytest.mark.parametrize("batches", [2, 3, 7, 51, 53])  # threads begin at the third
def test_threads_go_on_bit_for_bit(monkeypatch, batches):
    monkeypatch.setattr("lamella.dataset.map_runs._SLOW", 0)  # threads at once
    ds.config.set_seed(5)

    def pipeline():
        return numbers(200).map(Noise(), num_parallel_workers=2).repeat(2).batch(4)

    rows = pipeline().create_tuple_iterator(output_numpy=True)
    whole = take(rows, batches)
    state = rows.state_dict()
    rest = take(rows, 60)
    later = pipeline().create_tuple_iterator(output_numpy=True)
    later.load_state_dict(state)
    assert take(later, 60) == rest
    rows.stop()
    later.stop()
    monkeypatch.setattr("lamella.dataset.map_runs._SLOW", 1e9)
    ds.config.set_seed(5)
    again = pipeline().create_tuple_iterator(output_numpy=True)
    assert take(again, batches + 60) == whole + rest


def test_a_state_needs_a_new_iterator():
    rows = numbers().create_tuple_iterator()
    next(rows)
    with pytest.raises(RuntimeError, match="must be a new one"):
        rows.load_state_dict(rows.state_dict())


def test_an_iterator_of_one_epoch_ends():
    rows = numbers(2).create_tuple_iterator(num_epochs=1)
    assert len(list(rows)) == 2
    with pytest.raises(RuntimeError, match="made for 1 epochs"):
        next(rows)
    endless = numbers(2).create_tuple_iterator()
    assert [len(list(endless)) for _ in range(3)] == [2, 2, 2]


def test_processes_go_on_from_the_state_that_the_second_epoch_began_with():
    def drawn():
        for number in range(3 * PIECE):
            yield (number + random.randrange(1000),)

    def pipeline():
        made = ds.GeneratorDataset(drawn, ["n"], shuffle=False).shuffle(7)
        made = made.map(noisy, num_parallel_workers=2, python_multiprocessing=True)
        return made.create_tuple_iterator(output_numpy=True)

    ds.config.set_seed(11)
    rows = pipeline()
    take(rows, 3 * PIECE + 1 + 2 * PIECE)  # the 1 is the end of the first epoch
    state = pickle.loads(pickle.dumps(rows.state_dict()))
    wanted = take(rows, 5)
    rows.stop()
    later = pipeline()
    later.load_state_dict(state)
    assert take(later, 5) == wanted
    later.stop()
