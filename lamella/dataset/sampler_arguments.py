"""The sampler that the arguments of a source ask for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .checks import LARGEST, boolean, integer, rows_at_most
from .samplers import (
    BuiltinSampler,
    DistributedSampler,
    IterSampler,
    RandomSampler,
    SequentialSampler,
    Shuffle,
    SubsetSampler,
)


def select_sampler(name: str, num_samples: Any, sampler: Any, shuffle: Any, num_shards: Any,
                   shard_id: Any, in_memory: bool = False) -> BuiltinSampler:
    """The sampler that a source's arguments ask for.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type, or two exclude each other.
    """
    if shuffle is not None and not isinstance(shuffle, (bool, Shuffle)):
        boolean(name, "shuffle", shuffle)
    if num_samples is not None:
        rows_at_most(name, integer(name, "num_samples", num_samples))
    if (num_shards is None) is not (shard_id is None):
        lone = ("shard_id is specified but num_shards is not." if num_shards is None else
                "num_shards is specified and currently requires shard_id as well.")
        raise RuntimeError(f"{lone} For '{name}', 'num_shards' and 'shard_id' go together, but got "
                           f"{num_shards!r} and {shard_id!r}.")
    if num_shards is not None:
        integer(name, "num_shards", num_shards, 1, LARGEST)
        integer(name, "shard_id", shard_id, 0, num_shards - 1)
    if sampler is None:
        mixed = shuffle in (None, True) or (shuffle is not False and shuffle is not Shuffle.FALSE)
        if num_shards is not None:
            return DistributedSampler(num_shards, shard_id, mixed, num_samples)
        if mixed:
            return RandomSampler(bool(num_samples), num_samples)
        return SequentialSampler(None, num_samples)
    given = [n for n, v in (("shuffle", shuffle), ("num_shards", num_shards),
                            ("num_samples", num_samples)) if v is not None]
    if isinstance(sampler, BuiltinSampler) and (in_memory or not given):
        if given:
            raise ValueError(f"Conflicting arguments during sampler assignments. num_samples: "
                             f"{num_samples}, num_shards: {num_shards}, shard_id: {shard_id}, "
                             f"shuffle: {shuffle}. For '{name}', 'sampler' excludes {given[0]!r}.")
        return sampler
    if shuffle is not None or num_shards is not None or isinstance(sampler, BuiltinSampler):
        other = "shuffle" if shuffle is not None else (
            "sharding" if num_shards is not None else "num_samples")
        raise RuntimeError(f"sampler and {other} cannot be specified at the same time. For "
                           f"'{name}', 'sampler' excludes {given[0]!r}.")
    if isinstance(sampler, int):
        return SubsetSampler([sampler])
    if isinstance(sampler, (list, tuple, np.ndarray)):
        return SubsetSampler(sampler, num_samples)
    if (isinstance(sampler, Iterable) or hasattr(sampler, "__getitem__")) and not isinstance(
            sampler, str):
        return IterSampler(sampler, num_samples)
    raise TypeError(f"Unsupported sampler object of type ({type(sampler)}). For '{name}', "
                    f"'sampler' must be a Sampler or an iterable of row numbers, but "
                    f"got {type(sampler).__name__}.")
