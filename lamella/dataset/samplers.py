"""The order in which rows of a source are read: streams of row numbers, one array an epoch."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

import numpy as np

from ..common.mersenne_twister import Mt19937, exponential, weighted
from . import config
from .checks import rows_at_most
from .errors import in_pipeline


class Shuffle(str, Enum):
    """How a source is shuffled: not at all, all rows, or only the order of its files."""

    FALSE = "false"
    ADAPTIVE = "adaptive"
    GLOBAL = "global"
    PARTIAL = "partial"
    FILES = "files"
    INFILE = "infile"


def chained(inner_name: str, outer_name: str, inner: Any, outer: BuiltinSampler) -> None:
    """Check that a sampler can choose among the rows that another one gives.

    Raises:
        RuntimeError: if one shuffles in a way that needs the files.
    """
    many = "When multiple samplers are used, ensure that the shuffle of the"
    if inner is not None and inner.get_shuffle_mode() is Shuffle.PARTIAL:
        raise RuntimeError(f"{many} {inner_name} sampler must not be Shuffle.PARTIAL.")
    if outer.get_shuffle_mode() not in (Shuffle.GLOBAL, Shuffle.FALSE):
        raise RuntimeError(f"{many} {outer_name} sampler must be Shuffle.FALSE or Shuffle.GLOBAL, "
                           f"but got: {outer.get_shuffle_mode()}.")


class BuiltinSampler:
    """The base of samplers. A child sampler, if one is added, says which rows there are."""

    def __init__(self, num_samples: int | None = None):
        if num_samples is not None:
            _integer(self, "num_samples", num_samples)
            rows_at_most(type(self).__name__, num_samples)
        self.num_samples = num_samples or None
        self.child_sampler: BuiltinSampler | None = None

    def epochs(self, size: int, seed: int) -> Iterator[np.ndarray]:
        """The numbers of the rows to read out of `size`, an array an epoch, without end."""
        if self.child_sampler is None:
            yield from self._orders(size, seed)
            return
        inner = self.child_sampler.epochs(size, seed)
        first = next(inner)
        for places in self._orders(len(first), seed):
            yield first[places]
            first = next(inner)

    def _orders(self, size: int, seed: int) -> Iterator[np.ndarray]:
        raise NotImplementedError(f"'{type(self).__name__}' must define '_orders'.")

    def count(self, size: int) -> int:
        """How many rows an epoch has; found without drawing an order."""
        if self.child_sampler is not None:
            size = self.child_sampler.count(size)
        return self._count(size)

    def _count(self, size: int) -> int:
        return min(size, self.num_samples or size)

    def parse(self) -> BuiltinSampler:
        """The sampler, after the checks that MindSpore makes when a pipeline is built.

        Raises:
            RuntimeError: if an argument is out of range.
        """
        return self

    def know(self, column: Any) -> None:
        """Tell the samplers that ask for them the classes of the rows.

        Args:
            column: gives the values of a column by its name; None where there is no such column.
        """
        if self.child_sampler is not None:
            self.child_sampler.know(column)

    def add_child(self, sampler: BuiltinSampler) -> None:
        """Choose among the rows that `sampler` gives.

        Raises:
            RuntimeError: if there is a child already.
        """
        if self.child_sampler is not None:
            raise RuntimeError(f"Cannot add child sampler, this sampler already has a child. For "
                               f"'{type(self).__name__}', 'add_child' was called before.")
        chained("input", "current", sampler, self)
        self.child_sampler = sampler

    def get_child(self) -> BuiltinSampler | None:
        """The child sampler, if there is one."""
        return self.child_sampler

    def get_num_samples(self) -> int | None:
        """How many rows are read at most, children counted in; None without a limit."""
        own, inner = self.num_samples, None
        if self.child_sampler is not None:
            inner = self.child_sampler.get_num_samples()
        return min(n for n in (own, inner) if n) if own or inner else None

    def is_shuffled(self) -> bool:
        """Whether the order is random."""
        return self.child_sampler is not None and self.child_sampler.is_shuffled()

    def is_sharded(self) -> bool:
        """Whether only a part of the rows is read."""
        return self.child_sampler is not None and self.child_sampler.is_sharded()

    def get_shuffle_mode(self) -> Shuffle:
        """How the rows are shuffled."""
        return Shuffle.FALSE


class SequentialSampler(BuiltinSampler):
    """Rows in order.

    Args:
        start_index: the first row.
        num_samples: read at most this many.

    Examples:
        >>> import lamella.dataset as ds
        >>> rows = ds.NumpySlicesDataset([1, 2, 3], sampler=ds.SequentialSampler(start_index=1))
        >>> [int(x) for x, in rows.create_tuple_iterator(output_numpy=True)]
        [2, 3]
    """

    def __init__(self, start_index: int | None = None, num_samples: int | None = None):
        super().__init__(num_samples)
        if start_index is not None:
            _integer(self, "start_index", start_index)
        if start_index is not None and start_index < 0:
            raise ValueError(f"For 'SequentialSampler', 'start_index' must be 0 or more, but got "
                             f"{start_index}.")
        self.start_index = start_index or 0

    def _orders(self, size: int, seed: int) -> Iterator[np.ndarray]:
        order = np.arange(self.start_index, self.start_index + self._count(size))
        while True:
            yield order

    def _count(self, size: int) -> int:
        left = max(0, size - self.start_index)
        return min(left, self.num_samples or left)


class RandomSampler(BuiltinSampler):
    """Rows in random order.

    Args:
        replacement: whether a row may come again.
        num_samples: read at most this many.
        shuffle: for the formats that are read by parts.

    Examples:
        >>> import lamella.dataset as ds
        >>> rows = ds.NumpySlicesDataset([1, 2, 3], sampler=ds.RandomSampler(num_samples=2))
        >>> rows.get_dataset_size()
        2
    """

    def __init__(self, replacement: bool = False, num_samples: int | None = None,
                 shuffle: Any = Shuffle.GLOBAL):
        super().__init__(num_samples)
        _boolean(self, "replacement", replacement)
        self.replacement, self.shuffle = replacement, shuffle
        self.reshuffle = True

    def _orders(self, size: int, seed: int) -> Iterator[np.ndarray]:
        count, order, epoch = self._count(size), np.arange(size), 0
        while True:
            generator = Mt19937(seed + epoch)
            if self.replacement:
                yield np.array([generator.integer(0, size - 1) for _ in range(count)], np.int64)
            else:
                if epoch == 0 or self.reshuffle:
                    order = order[generator.permutation(size)]  # shuffles the last order
                yield order[:count]
            epoch += 1

    def is_shuffled(self) -> bool:
        """Whether the order is random."""
        return True

    def get_shuffle_mode(self) -> Shuffle:
        """How the rows are shuffled."""
        return self.shuffle


class SubsetSampler(BuiltinSampler):
    """The rows with these numbers, in this order."""

    def __init__(self, indices: Iterable[int] | int, num_samples: int | None = None):
        super().__init__(num_samples)
        listed = [indices] if isinstance(indices, (int, np.integer)) else list(indices)
        for place, index in enumerate(listed):
            if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
                raise TypeError(f"SubsetSampler: Type of indices element must be int, but got "
                                f"list[{place}]: {index}, type: {type(index)}. For "
                                f"'{type(self).__name__}', 'indices' must be ints.")
        self.indices = [int(i) for i in listed]

    def _orders(self, size: int, seed: int) -> Iterator[np.ndarray]:
        order = row_numbers(type(self).__name__, self.indices, size)[: self._count(size)]
        while True:
            yield order

    def _count(self, size: int) -> int:
        return min(len(self.indices), self.num_samples or len(self.indices))


class SubsetRandomSampler(SubsetSampler):
    """The rows with these numbers, in random order."""

    def _orders(self, size: int, seed: int) -> Iterator[np.ndarray]:
        order = row_numbers(type(self).__name__, self.indices, size)[: self._count(size)]
        while True:
            order = order[Mt19937(seed).permutation(len(order))]  # the same permutation
            yield order

    def is_shuffled(self) -> bool:
        """Whether the order is random."""
        return True


class WeightedRandomSampler(BuiltinSampler):
    """Rows drawn with these probabilities, up to a factor.

    Args:
        weights: a number of 0 or more for each row.
        num_samples: how many to draw; default: as many as there are rows.
        replacement: whether a row may come again.
    """

    def __init__(self, weights: Iterable[float], num_samples: int | None = None,
                 replacement: bool = True):
        super().__init__(num_samples)
        _boolean(self, "replacement", replacement)
        weights = list(weights) if isinstance(weights, (list, np.ndarray)) else [
            weights]  # type: ignore[list-item]
        for place, weight in enumerate(weights):
            if not isinstance(weight, numbers.Number):
                raise TypeError(f"type of weights element must be number, but got w[{place}]: "
                                f"{weight}, type: {type(weight)}. For 'WeightedRandomSampler', "
                                f"'weights' must be numbers.")
        self.weights = np.asarray(weights, np.float32)
        self.replacement = replacement

    def parse(self) -> WeightedRandomSampler:
        """The sampler, if its weights are 0 or more, and not all 0.

        Raises:
            RuntimeError: if not.
        """
        wrong = ("must not be empty" if not len(self.weights) else
                 f"must not contain negative numbers, got: {self.weights.min()}"
                 if (self.weights < 0).any() else "")
        if wrong:
            raise in_pipeline(f"WeightedRandomSampler: weights vector {wrong}.")
        if not self.weights.sum():
            raise in_pipeline("WeightedRandomSampler: elements of weights vector must not be all "
                              "zero.")
        return self

    def _orders(self, size: int, seed: int) -> Iterator[np.ndarray]:
        self.parse()
        if len(self.weights) > size:
            raise RuntimeError(f"For 'WeightedRandomSampler', there are {len(self.weights)} "
                               f"weights, but {size} rows.")
        draw = weighted if self.replacement else exponential
        while True:
            yield np.array(draw(Mt19937(seed), self.weights, self._count(size)), np.int64)

    def is_shuffled(self) -> bool:
        """Whether the order is random."""
        return True


class DistributedSampler(BuiltinSampler):
    """One of `num_shards` equal parts of the rows; the first rows fill up the last part.

    Args:
        num_shards: into how many parts the rows are divided.
        shard_id: which part to read.
        shuffle: whether the order is random, the same for all parts.
        num_samples: read at most this many.
        offset: which part gets the first row; -1: part 0. With another offset parts may differ in
            length by one row.

    Examples:
        >>> import lamella.dataset as ds
        >>> part = ds.DistributedSampler(3, 1, shuffle=False)
        >>> data = ds.NumpySlicesDataset(list(range(7)), sampler=part)
        >>> [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        [1, 4, 0]
    """

    def __init__(self, num_shards: int, shard_id: int, shuffle: Any = True,
                 num_samples: int | None = None, offset: int = -1):
        super().__init__(num_samples)
        for name, value in (("num_shards", num_shards), ("shard_id", shard_id),
                            ("offset", offset)):
            _integer(self, name, value)
        if num_shards <= 0:
            raise ValueError(f"For 'DistributedSampler', 'num_shards' must be a positive int, "
                             f"but got {num_shards!r}.")
        if not 0 <= shard_id < num_shards:
            raise ValueError(f"For 'DistributedSampler', 'shard_id' must be in [0, {num_shards}), "
                             f"but got {shard_id!r}.")
        if not isinstance(shuffle, (bool, Shuffle)):
            raise TypeError(f"shuffle must be a boolean value or valid shuffle mode but was: "
                            f"{shuffle}. For 'DistributedSampler', 'shuffle' must be a bool or a "
                            f"Shuffle.")
        self.num_shards, self.shard_id, self.offset = num_shards, shard_id, offset
        self.shuffle = (Shuffle.GLOBAL if shuffle else Shuffle.FALSE) if isinstance(
            shuffle, bool) else shuffle
        self.seed = config.pipeline_seed(shared=True)

    def _orders(self, size: int, seed: int) -> Iterator[np.ndarray]:
        self.parse()
        order, epoch = np.arange(size), 0
        count = self._count(size)
        shift = self.shard_id - max(0, self.offset)
        if shift < 0:  # parts before the offset have no row in the first round
            shift += self.num_shards
        while True:
            if self.shuffle is not Shuffle.FALSE:
                order = order[Mt19937(self.seed + 1 + epoch).permutation(size)]
                epoch += 1
            yield order[(shift + self.num_shards * np.arange(count)) % max(1, size)]

    def _count(self, size: int) -> int:
        length = -(-size // self.num_shards)
        if self.offset != -1:  # no row is read twice, but for the one that each part has at least
            whole, rest = divmod(size + self.offset, self.num_shards)
            length = max(1, whole + (self.shard_id < rest) - (self.shard_id < self.offset))
        return min(length, self.num_samples or length)

    def is_shuffled(self) -> bool:
        """Whether the order is random."""
        return self.shuffle is not Shuffle.FALSE

    def is_sharded(self) -> bool:
        """Whether only a part of the rows is read."""
        return self.num_shards > 1

    def parse(self) -> DistributedSampler:
        """The sampler, if its offset is at most the number of shards.

        Raises:
            RuntimeError: if not.
        """
        if self.offset > self.num_shards:
            raise in_pipeline(f"DistributedSampler: offset must be no more than num_shards"
                              f"({self.num_shards}), got: {self.offset}.")
        return self

    def set_offset(self, offset: int) -> DistributedSampler:
        """Set which part gets the first row."""
        self.offset = offset
        return self

    def get_shuffle_mode(self) -> Shuffle:
        """How the rows are shuffled."""
        return self.shuffle


class PKSampler(BuiltinSampler):
    """`num_val` rows of each class, class after class; for sources that know their classes.

    Args:
        num_val: how many rows of each class.
        num_class: not supported, as in MindSpore.
        shuffle: whether the order of classes is random.
        class_column: the column of the class, for `MindDataset`.
        num_samples: read at most this many.
    """

    def __init__(self, num_val: int, num_class: int | None = None, shuffle: bool = False,
                 class_column: str = "label", num_samples: int | None = None):
        super().__init__(num_samples)
        _integer(self, "num_val", num_val)
        if num_class is not None:
            raise NotImplementedError("Not supported to specify num_class for PKSampler.")
        _boolean(self, "shuffle", shuffle)
        if not isinstance(class_column, str):
            raise TypeError(f"class_column must be a str value but was: {class_column}. For "
                            f"'PKSampler', 'class_column' must be the name of a column.")
        self.num_val, self.shuffle, self.class_column = num_val, shuffle, class_column
        self.labels: np.ndarray | None = None

    def know(self, column: Any) -> None:
        """Take the classes of the rows."""
        super().know(column)
        self.labels = column(self.class_column)

    def _classes(self) -> list[np.ndarray]:
        if self.labels is None:
            raise RuntimeError("For 'PKSampler', the source doesn't know the classes of its rows.")
        return [np.flatnonzero(self.labels == label)[: self.num_val]
                for label in np.unique(self.labels)]

    def _orders(self, size: int, seed: int) -> Iterator[np.ndarray]:
        generator = Mt19937(seed)
        parts = self._classes()
        while True:
            if self.shuffle:
                generator.shuffle(parts)
            yield np.concatenate(parts)[: self._count(size)]

    def _count(self, size: int) -> int:
        count = sum(len(part) for part in self._classes())
        return min(count, self.num_samples or count)

    def is_shuffled(self) -> bool:
        """Whether the order is random."""
        return self.shuffle


def _integer(owner: BuiltinSampler, argument: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{argument} must be integer but was: {value}. For "
                        f"'{type(owner).__name__}', '{argument}' must be an int.")


def _boolean(owner: BuiltinSampler, argument: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{argument} must be a boolean value but was: {value}. For "
                        f"'{type(owner).__name__}', '{argument}' must be a bool.")


def row_numbers(name: str, found: list[int], size: int) -> np.ndarray:
    order = np.asarray(found, np.int64).reshape(-1)
    bad = order[(order < 0) | (order >= size)]
    if len(bad):
        raise in_pipeline(f"Sample ID ({bad[0]}) is out of bound, expected range [0, {size - 1}]. "
                          f"For '{name}', the index {bad[0]} is out of range for {size} rows.")
    return order
