"""The orders in which the rows of MindRecord files are read: MindSpore 2.10's, for each seed.

`Shuffle.FILES` moves whole files, `Shuffle.INFILE` the rows inside of each file, `Shuffle.PARTIAL`
files and then rows in blocks of a million, other modes all rows. Shards get every n-th row, or,
with the environment variable MS_DEV_MINDRECORD_SHARD_BY_BLOCK=true, rows that follow one another.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import numpy as np

from ..samplers import DistributedSampler, RandomSampler, Shuffle

_BLOCK = 1_000_000  # rows that Shuffle.PARTIAL shuffles at once
_MODULUS = 2**31 - 1


class _Congruential:
    """`std::minstd_rand0`, and libstdc++'s `std::shuffle` with it (C++ standard, [rand.predef])."""

    def __init__(self, seed: int):
        self.word = seed % _MODULUS or 1

    def below(self, count: int) -> int:
        """A number from 0 to `count` - 1, each as likely."""
        scale = (_MODULUS - 2) // count
        while True:
            self.word = self.word * 16807 % _MODULUS
            if self.word - 1 < count * scale:
                return (self.word - 1) // scale

    def permutation(self, count: int) -> np.ndarray:
        """The numbers below `count`, shuffled."""
        order = list(range(count))
        paired = count and (_MODULUS - 2) // count >= count  # one draw for two places
        place = 1
        if paired and count % 2 == 0:
            self._swap(order, place, self.below(2))
            place = 2
        while place < count:
            if paired:
                first, second = divmod(self.below((place + 1) * (place + 2)), place + 2)
                self._swap(order, place, first)
                self._swap(order, place + 1, second)
                place += 2
            else:
                self._swap(order, place, self.below(place + 1))
                place += 1
        return np.array(order, np.int64)

    @staticmethod
    def _swap(order: list[int], one: int, other: int) -> None:
        order[one], order[other] = order[other], order[one]


def shuffled(rows: np.ndarray, sizes: list[int], mode: Shuffle, seed: int) -> np.ndarray:
    """The rows in another order.

    Args:
        rows: numbers of rows.
        sizes: how many rows each file has.
        mode: what is shuffled.
        seed: of the generator, which is made anew for each file and block.
    """
    if mode is Shuffle.FALSE:
        return rows
    if mode in (Shuffle.FILES, Shuffle.INFILE, Shuffle.PARTIAL):
        parts = np.split(rows, np.cumsum(sizes)[:-1])
        if mode is Shuffle.INFILE:
            return np.concatenate([p[_Congruential(seed).permutation(len(p))] for p in parts])
        return np.concatenate([parts[k] for k in _Congruential(seed).permutation(len(parts))])
    return rows[_Congruential(seed).permutation(len(rows))]


def orders(sampler: RandomSampler | DistributedSampler, sizes: list[int],
           seed: int) -> Iterator[np.ndarray]:
    """The numbers of the rows of each epoch, without end.

    Args:
        sampler: says how rows are shuffled, and which part is read.
        sizes: how many rows each file has.
        seed: the pipeline's.
    """
    mode, total = sampler.shuffle, sum(sizes)
    start = rows = np.arange(total)
    for epoch in itertools.count(1):
        # shards, and blocks of rows, begin anew with each epoch; else an order is shuffled further
        anew = isinstance(sampler, DistributedSampler) or mode is Shuffle.PARTIAL
        rows = shuffled(start if anew else rows, sizes, mode, seed + epoch)
        chosen = rows
        if isinstance(sampler, DistributedSampler):
            chosen = rows[_shard(sampler, total)]
        if mode is Shuffle.PARTIAL:
            chosen = np.concatenate([
                part[_Congruential(seed + epoch).permutation(len(part))]
                for part in np.split(chosen, range(_BLOCK, len(chosen), _BLOCK))])
        yield chosen[:sampler.num_samples]


def _shard(sampler: DistributedSampler, total: int) -> np.ndarray:
    size = -(-total // sampler.num_shards)
    if os.environ.get("MS_DEV_MINDRECORD_SHARD_BY_BLOCK", "").lower() == "true":
        places = sampler.shard_id * size + np.arange(size)
    else:
        places = sampler.shard_id + sampler.num_shards * np.arange(size)
    return places % total
