"""The order in which rows of a source are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from . import config


class Sampler:
    """The base of samplers: a subclass gives the numbers of the rows to read in ``__iter__``.

    Args:
        num_samples: read at most this many.

    Examples:
        >>> import lamella.dataset as ds
        >>> class Backwards(ds.Sampler):
        ...     def __iter__(self):
        ...         yield from range(self.dataset_size - 1, -1, -1)
        >>> data = ds.NumpySlicesDataset([1, 2, 3], sampler=Backwards())
        >>> [int(row[0]) for row in data.create_tuple_iterator(output_numpy=True)]
        [3, 2, 1]
    """

    def __init__(self, num_samples: int | None = None):
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples < 0):
            raise ValueError(f"For '{type(self).__name__}', 'num_samples' must be an int of 0 or "
                             f"more, or None, but got {num_samples!r}.")
        self.num_samples = num_samples
        self.dataset_size = 0

    def __iter__(self) -> Any:
        raise NotImplementedError(f"'{type(self).__name__}' must define '__iter__'.")

    def places(self, size: int) -> list[int]:
        """The numbers of the rows to read out of `size`."""
        self.dataset_size = size
        found = [int(place) for place in self]
        return found[: self.num_samples] if self.num_samples else found


class SequentialSampler(Sampler):
    """Rows in order, from `start_index` on."""

    def __init__(self, start_index: int | None = None, num_samples: int | None = None):
        super().__init__(num_samples)
        self.start_index = start_index or 0

    def __iter__(self) -> Any:
        return iter(range(self.start_index, self.dataset_size))


class RandomSampler(Sampler):
    """Rows in random order.

    Args:
        replacement: whether a row may come again.
        num_samples: read at most this many.
    """

    def __init__(self, replacement: bool = False, num_samples: int | None = None):
        super().__init__(num_samples)
        self.replacement = replacement

    def __iter__(self) -> Any:
        rng = config.generator()
        if self.replacement:
            return iter(rng.integers(0, self.dataset_size, self.num_samples or self.dataset_size))
        return iter(rng.permutation(self.dataset_size))


class SubsetSampler(Sampler):
    """The rows with these numbers, in this order."""

    def __init__(self, indices: Iterable[int], num_samples: int | None = None):
        super().__init__(num_samples)
        self.indices = [indices] if isinstance(indices, int) else list(indices)

    def __iter__(self) -> Any:
        for index in self.indices:
            if not 0 <= index < self.dataset_size:
                raise IndexError(f"For '{type(self).__name__}', the index {index} is out of range "
                                 f"for {self.dataset_size} rows.")
        return iter(self.indices)


class SubsetRandomSampler(SubsetSampler):
    """The rows with these numbers, in random order."""

    def __iter__(self) -> Any:
        return iter(config.generator().permutation(list(super().__iter__())))


class WeightedRandomSampler(Sampler):
    """Rows drawn with these probabilities, up to a factor."""

    def __init__(self, weights: Iterable[float], num_samples: int | None = None,
                 replacement: bool = True):
        super().__init__(num_samples)
        self.weights = np.asarray(list(weights), np.float64)
        self.replacement = replacement
        if not len(self.weights) or (self.weights < 0).any() or not self.weights.sum():
            raise ValueError("For 'WeightedRandomSampler', 'weights' must be 0 or more, and not "
                             "all 0.")

    def __iter__(self) -> Any:
        count = self.num_samples or len(self.weights)
        return iter(config.generator().choice(len(self.weights), count, self.replacement,
                                              self.weights / self.weights.sum()))


class DistributedSampler(Sampler):
    """One of `num_shards` equal parts of the rows; the first rows fill up the last part.

    Args:
        num_shards: into how many parts the rows are divided.
        shard_id: which part to read.
        shuffle: whether the order is random, the same for all parts.
        num_samples: read at most this many.
        seed: of the order; counted up with every epoch.
    """

    def __init__(self, num_shards: int, shard_id: int, shuffle: bool = True,
                 num_samples: int | None = None, seed: int | None = None, offset: int = -1):
        super().__init__(num_samples)
        if not isinstance(num_shards, int) or num_shards <= 0:
            raise ValueError(f"For 'DistributedSampler', 'num_shards' must be a positive int, "
                             f"but got {num_shards!r}.")
        if not isinstance(shard_id, int) or not 0 <= shard_id < num_shards:
            raise ValueError(f"For 'DistributedSampler', 'shard_id' must be in [0, {num_shards}), "
                             f"but got {shard_id!r}.")
        self.num_shards, self.shard_id, self.shuffle = num_shards, shard_id, shuffle
        self.seed, self.epoch = seed or 0, 0

    def __iter__(self) -> Any:
        order = np.arange(self.dataset_size)
        if self.shuffle:
            order = np.random.default_rng((self.seed, self.epoch)).permutation(order)
            self.epoch += 1
        length = -(-self.dataset_size // self.num_shards)
        return iter(np.resize(order, length * self.num_shards)[self.shard_id::self.num_shards])
