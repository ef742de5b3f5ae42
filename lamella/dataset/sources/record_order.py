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

from ...common.congruential import Congruential
from ..samplers import DistributedSampler, RandomSampler, Shuffle

_BLOCK = 1_000_000  # rows that Shuffle.PARTIAL shuffles at once


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
            return np.concatenate([p[Congruential(seed).permutation(len(p))] for p in parts])
        return np.concatenate([parts[k] for k in Congruential(seed).permutation(len(parts))])
    return rows[Congruential(seed).permutation(len(rows))]


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
                part[Congruential(seed + epoch).permutation(len(part))]
                for part in np.split(chosen, range(_BLOCK, len(chosen), _BLOCK))])
        yield chosen[:sampler.num_samples]


def _shard(sampler: DistributedSampler, total: int) -> np.ndarray:
    size = -(-total // sampler.num_shards)
    if os.environ.get("MS_DEV_MINDRECORD_SHARD_BY_BLOCK", "").lower() == "true":
        places = sampler.shard_id * size + np.arange(size)
    else:
        places = sampler.shard_id + sampler.num_shards * np.arange(size)
    return places % total
