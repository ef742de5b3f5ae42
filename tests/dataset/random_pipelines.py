"""Random pipelines, continued from each row: ``python -m tests.dataset.random_pipelines N FIRST``.

A pipeline is a source and a few operations, many of which draw random numbers: Python's, NumPy's
and those of operations. An iterator over it is saved after each row and at each epoch's end; from
each of these states another iterator has to give the same rows.
"""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import lamella.dataset as ds
from lamella.dataset import transforms
from lamella.dataset.transforms.operation import TensorOperation

STOPS = 14  # rows and ends of epochs after which a state is saved
AHEAD = 10  # those that are compared from each state on


class Noise(TensorOperation):
    """Draws from the streams of operations."""

    draws = True

    def run(self, values: Any, streams: Any) -> Any:
        """The value, and something random."""
        return (values[0] + streams.of(self).word() % 1000 * 1000,)


def noisy(n: Any) -> Any:
    """Draws from Python's and NumPy's random numbers."""
    return n * 1000 + random.randrange(1000) + np.random.randint(1000) * 1000000


def permuted() -> Iterator[Any]:
    """Draws once for a pass, and once for each row."""
    for n in np.random.permutation(6):
        yield (np.int64(n * 1000 + random.randrange(1000)),)


def drawn() -> Any:
    """A source in Python that draws."""
    return ds.GeneratorDataset(permuted, ["n"])


def _added(d: Any, draw: random.Random) -> Any:
    other = _source(draw) if draw.random() < 0.5 else pipeline(draw, nested=True)
    if draw.random() < 0.7:
        return d + other
    zipped = ds.zip((d, other.rename("n", "m")))
    return zipped.map(lambda n, m: n * 2 + m, ["n", "m"], ["n"])


OPERATIONS: list[Callable[[Any, random.Random], Any]] = [
    lambda d, draw: d.map(noisy, num_parallel_workers=draw.choice([1, 2])),
    lambda d, draw: d.map(Noise(), num_parallel_workers=draw.choice([1, 2])),
    lambda d, draw: d.map(transforms.RandomApply([Noise()], 0.5)),
    lambda d, draw: d.map(transforms.RandomChoice([Noise(), lambda n: n])),
    lambda d, draw: d.repeat(draw.choice([2, 3])),
    lambda d, draw: d.shuffle(draw.choice([2, 4])),
    lambda d, draw: d.skip(1),
    lambda d, draw: d.take(draw.choice([2, 3, 7])),
    lambda d, draw: d.filter(lambda n: bool((n % 7 != 0).all())),
    lambda d, draw: d.batch(draw.choice([2, 3]), drop_remainder=True),
    lambda d, draw: d.batch(2, drop_remainder=True, per_batch_map=lambda n, info: (
        [v + random.randrange(9) for v in n],)),
    _added,
]


def _source(draw: random.Random) -> Any:
    if draw.random() < 0.4:
        return drawn()
    return ds.NumpySlicesDataset({"n": list(range(draw.choice([3, 5, 8])))},
                                 shuffle=draw.random() < 0.5)


def pipeline(draw: random.Random, nested: bool = False) -> Any:
    """A random pipeline; inside of another it has no sums and zips."""
    made = _source(draw)
    for _ in range(draw.randint(1, 2 if nested else 5)):
        made = draw.choice(OPERATIONS[:-1] if nested else OPERATIONS)(made, draw)
    return made


def take(rows: Any, count: int) -> list[Any]:
    """So many rows; the end of an epoch counts as one."""
    out: list[Any] = []
    while len(out) < count:
        try:
            out.append([value.tolist() for value in next(rows)])
        except StopIteration:
            out.append("epoch")
    return out


def _rows(seed: int, numbers: int) -> Any:
    random.seed(numbers)
    np.random.seed(numbers)
    ds.config.set_seed(numbers)
    return pipeline(random.Random(seed)).create_tuple_iterator(output_numpy=True)


def check(seed: int) -> bool:
    """Continue one pipeline from each state; False if it can't be read at all.

    Raises:
        AssertionError: if the rows differ.
    """
    rows = _rows(seed, 11)
    whole, states = [], []
    try:
        for _ in range(STOPS):
            states.append(pickle.dumps(rows.state_dict()))
            whole += take(rows, 1)
        whole += take(rows, AHEAD)
    except RuntimeError:  # such as batches of unequal sizes behind one another
        return False
    finally:
        rows.stop()
    for stop, state in enumerate(states):
        again = _rows(seed, 99)
        again.load_state_dict(pickle.loads(state))
        found = take(again, AHEAD)
        again.stop()
        assert found == whole[stop:stop + AHEAD], f"seed {seed}, after {stop}"
    return True


def main(count: int, first: int = 0) -> int:
    """Check pipelines; returns how many differ."""
    wrong = read = 0
    for seed in range(first, first + count):
        try:
            read += check(seed)
        except AssertionError as error:
            wrong += 1
            print(error, flush=True)
    print(f"{read + wrong} of {count} pipelines can be read, {wrong} go on with other rows")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
