"""Datasets divided into parts."""

from __future__ import annotations

import copy
from typing import Any

from .checks import boolean
from .moving import Buffer, HeldBuffer, ShuffleDataset
from .node import Dataset
from .samplers import BuiltinSampler, RandomSampler, SequentialSampler, SubsetSampler
from .source import MappableDataset


def split(dataset: Dataset, sizes: Any, randomize: bool) -> tuple[Dataset, ...]:
    """Divide the rows of a dataset; see `Dataset.split`."""
    if dataset.is_sharded():
        raise RuntimeError("Dataset should not be sharded before split.")
    counts = _sizes(dataset.get_dataset_size(), sizes, randomize)
    parts, start = [], 0
    for count in counts:
        if isinstance(dataset, MappableDataset) and dataset._table() is not None:
            parts.append(_part(dataset, start, count, randomize))
        else:
            part: Dataset = dataset
            if randomize:
                shuffled = ShuffleDataset(dataset, max(1, dataset.get_dataset_size()))
                shuffled._buffer = lambda run, of=shuffled: HeldBuffer(  # type: ignore[method-assign]
                    Buffer(of.buffer_size, run.seed))  # the same order in every epoch
                part = shuffled
            if start:
                part = part.skip(start)
            parts.append(part.take(count))
        start += count
    return tuple(parts)


def _part(dataset: MappableDataset, start: int, count: int, randomize: bool) -> Dataset:
    part = copy.copy(dataset)
    part._counted = None
    old, chosen = dataset.sampler, SequentialSampler(start, count)
    inner: BuiltinSampler | None = old if _steady(old) and not _whole(old) else None
    if randomize:
        order = RandomSampler()
        order.reshuffle, order.child_sampler, inner = False, inner, order
    chosen.child_sampler = inner
    if _steady(old):
        part.sampler = SequentialSampler()  # what `use_sampler` takes the place of
        part.sampler.child_sampler = chosen
        return part
    part.sampler = copy.copy(old)
    last = part.sampler
    while last.child_sampler is not None:
        last.child_sampler = copy.copy(last.child_sampler)
        last = last.child_sampler
    last.child_sampler = chosen
    return part


def _whole(sampler: BuiltinSampler) -> bool:
    """Whether a sampler gives all rows in their order."""
    return (isinstance(sampler, SequentialSampler) and not sampler.start_index
            and not sampler.num_samples and sampler.child_sampler is None)


def _steady(sampler: BuiltinSampler | None) -> bool:
    """Whether a sampler gives the same rows in every epoch."""
    if sampler is None:
        return True
    fixed = type(sampler) in (SequentialSampler, SubsetSampler) or (
        isinstance(sampler, RandomSampler) and not sampler.reshuffle)
    return fixed and _steady(sampler.child_sampler)


def _sizes(total: int, sizes: Any, randomize: Any) -> list[int]:
    if not isinstance(sizes, list):
        raise TypeError(f"For 'split', 'sizes' must be a list, but got {sizes!r}.")
    boolean("split", "randomize", randomize)
    if not sizes:
        raise ValueError("sizes cannot be empty. For 'split', 'sizes' must not be empty.")
    if all(isinstance(s, int) and not isinstance(s, bool) for s in sizes):
        if any(s <= 0 for s in sizes):
            raise ValueError(f"sizes is a list of int, but there should be no negative or zero "
                             f"numbers. For 'split', 'sizes' must be positive, but got {sizes}.")
        if sum(sizes) != total:
            raise RuntimeError(f"Sum of split sizes {sum(sizes)} is not equal to dataset size "
                               f"{total}. For 'split', 'sizes' must sum up to the {total} rows of "
                               f"the dataset, but got {sizes}.")
        return sizes
    if not all(isinstance(s, float) for s in sizes):
        raise ValueError(f"sizes should be list of int or list of float. For 'split', 'sizes' must "
                         f"be ints, or floats, but got {sizes}.")
    if any(not 0 < s <= 1 for s in sizes) or abs(sum(sizes) - 1) > 1e-5:
        why = ("there should be no numbers outside the range (0, 1]"
               if any(not 0 < s <= 1 for s in sizes) else "the percentages do not sum up to 1")
        raise ValueError(f"sizes is a list of float, but {why}. For 'split', shares "
                         f"must be in (0, 1] and sum up to 1, but got {sizes}.")
    counts = [round(share * total) for share in sizes]
    for share, count in zip(sizes, counts, strict=True):
        if not count:
            raise RuntimeError(f"Split percentage {share} is too small. For 'split', a part would "
                               f"have no rows: {sizes} of {total} rows.")
    missing = total - sum(counts)
    place = 0 if missing > 0 else next(
        (at for at, count in enumerate(counts) if count + missing > 0), None)
    if place is None:
        raise RuntimeError(f"Sum of calculated split sizes {sum(counts)} is not equal to dataset "
                           f"size {total}. For 'split', got {sizes}.")
    counts[place] += missing
    return counts
