"""Checks of the arguments that many sources have, and of those that exclude each other."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import config
from .checks import LARGEST, integer, of_type, rows_at_most
from .samplers import (
    BuiltinSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    Shuffle,
    SubsetSampler,
)
from .user_samplers import IterSampler

_TYPES: dict[str, tuple[type, ...]] = {
    "num_samples": (int,), "num_parallel_workers": (int,), "num_shards": (int,),
    "shard_id": (int,), "num_images": (int,), "num_classes": (int,), "base_seed": (int,),
    "total_rows": (int,), "num_padded": (int,),
    "decode": (bool,), "background": (bool,), "compat": (bool,), "small": (bool,),
    "shard_equal_rows": (bool,), "python_multiprocessing": (bool,), "extra_metadata": (bool,),
    "extensions": (list,), "classes": (list,), "columns_list": (list,), "class_indexing": (dict,)}
_MODES = ("shuffle must be of boolean or enum of 'Shuffle' values like 'Shuffle.ADAPTIVE' or "
          "'Shuffle.GLOBAL' or 'Shuffle.PARTIAL' or 'Shuffle.FILES' or 'Shuffle.INFILE'.")


def checked(name: str, given: dict[str, Any], modes: bool) -> None:
    """Check the arguments of a source that are checked by their name alone.

    Args:
        name: the source's.
        given: arguments by name; None counts as not given.
        modes: whether `shuffle` may be a `Shuffle`.

    Raises:
        TypeError, ValueError: if one is of the wrong type, or out of range.
        RuntimeError: if two exclude each other.
    """
    given = {argument: value for argument, value in given.items() if value is not None}
    if "dataset_dir" in given:
        folder(name, given["dataset_dir"])
    if not callable(given.get("decrypt", len)):
        raise TypeError(f"Argument decrypt is not a callable object, but got "
                        f"{type(given['decrypt'])}. For '{name}', 'decrypt' must be a function.")
    for argument, value in given.items():
        if argument in _TYPES:
            _check_type(name, argument, value, _TYPES[argument])
    if "num_samples" in given:
        rows_at_most(name, given["num_samples"])
    if "num_parallel_workers" in given:
        config.checked_workers(name, given["num_parallel_workers"])
    if "shuffle" in given:
        _check_shuffle(name, given["shuffle"], modes)


def _check_type(name: str, argument: str, value: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds) or int in kinds and isinstance(value, bool):
        raise TypeError(f"{of_type(argument, value, *kinds)} For '{name}', '{argument}' must be "
                        f"of type {kinds[0].__name__}.")


def _check_shuffle(name: str, value: Any, modes: bool) -> None:
    if not modes:
        _check_type(name, "shuffle", value, (bool,))
    elif not isinstance(value, (bool, Shuffle)):
        raise TypeError(f"{_MODES} For '{name}', got {value!r}.")


def folder(name: str, path: Any, argument: str = "dataset_dir") -> str:
    """An existing folder.

    Raises:
        TypeError, ValueError: if it isn't.
    """
    _check_type(name, argument, path, (str,))
    if not os.path.isdir(path) or not os.access(path, os.R_OK):
        raise ValueError(f"The folder {path} does not exist or is not a directory or permission "
                         f"denied!")
    return path


def exclusive(name: str, num_samples: Any, sampler: Any, shuffle: Any, num_shards: Any,
              shard_id: Any) -> None:
    """Check that a sampler is given alone, and that the two of a shard are given together.

    Raises:
        RuntimeError: if not.
        ValueError: if the shard isn't among them.
    """
    if sampler is not None:
        others = {"shuffle": shuffle is not None, "num_samples": num_samples is not None,
                  "sharding": num_shards is not None or shard_id is not None}
        for other in ("shuffle", "sharding", "num_samples"):
            if others[other]:
                raise RuntimeError(f"sampler and {other} cannot be specified at the same time. For "
                                   f"'{name}', 'sampler' says which rows are read.")
    if num_shards is not None:
        integer(name, "num_shards", num_shards, 1, LARGEST)
    if (num_shards is None) is not (shard_id is None):
        lone = ("shard_id is specified but num_shards is not." if num_shards is None else
                "num_shards is specified and currently requires shard_id as well.")
        raise RuntimeError(f"{lone} For '{name}', 'num_shards' and 'shard_id' go together, but got "
                           f"{num_shards!r} and {shard_id!r}.")
    if num_shards is not None:
        integer(name, "shard_id", shard_id, 0, num_shards - 1)


def select_sampler(name: str, num_samples: Any, sampler: Any, shuffle: Any, num_shards: Any,
                   shard_id: Any, in_memory: bool = False) -> BuiltinSampler:
    """The sampler that a source's arguments ask for.

    Raises:
        TypeError, ValueError, RuntimeError: if it is no sampler, or two arguments exclude each
            other.
    """
    if not in_memory:
        exclusive(name, num_samples, sampler, shuffle, num_shards, shard_id)
    elif not isinstance(sampler, BuiltinSampler):
        exclusive(name, None, sampler, shuffle, num_shards, shard_id)
    if sampler is None:
        mixed = shuffle in (None, True) or (shuffle is not False and shuffle is not Shuffle.FALSE)
        if num_shards is not None:
            return DistributedSampler(num_shards, shard_id, mixed, num_samples)
        if mixed:
            return RandomSampler(bool(num_samples), num_samples)
        return SequentialSampler(None, num_samples)
    given = [n for n, v in (("shuffle", shuffle), ("num_shards", num_shards),
                            ("num_samples", num_samples)) if v is not None]
    if isinstance(sampler, BuiltinSampler) and given:
        raise ValueError(f"Conflicting arguments during sampler assignments. num_samples: "
                         f"{num_samples}, num_shards: {num_shards}, shard_id: {shard_id}, "
                         f"shuffle: {shuffle}. For '{name}', 'sampler' excludes {given[0]!r}.")
    return as_sampler(name, sampler, num_samples)


def as_sampler(name: str, sampler: Any, num_samples: int | None = None) -> BuiltinSampler:
    """A sampler of what says which rows are read: a sampler, a row's number, or numbers.

    Raises:
        TypeError: if it is neither.
    """
    if isinstance(sampler, BuiltinSampler):
        return sampler
    if isinstance(sampler, int):
        return SubsetSampler([int(sampler)])
    if isinstance(sampler, (list, tuple, np.ndarray)):
        return SubsetSampler(sampler, num_samples)
    if (isinstance(sampler, Iterable) or hasattr(sampler, "__getitem__")) and not isinstance(
            sampler, str):
        return IterSampler(sampler, num_samples)
    raise TypeError(f"Unsupported sampler object of type ({type(sampler)}). For '{name}', "
                    f"'sampler' must be a Sampler or an iterable of row numbers, but "
                    f"got {type(sampler).__name__}.")
