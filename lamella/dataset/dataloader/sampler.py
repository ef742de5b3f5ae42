"""Which samples a `DataLoader` reads, and in what order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np

from ...core.errors import describe
from .checks import check_positive, check_type, length_of

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """The base of samplers; a subclass gives `__iter__`, and `__len__` if it can.

    Args:
        data_source: the dataset sampled.
    """

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} must implement __iter__ method.")


class SequentialSampler(Sampler[int]):
    """All samples in order.

    Args:
        data_source: the dataset; only its length is needed.

    Examples:
        >>> list(SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Any) -> None:
        super().__init__(data_source)
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(length_of("data_source", self.data_source, type(self).__name__)))

    def __len__(self) -> int:
        return length_of("data_source", self.data_source, type(self).__name__)


class RandomSampler(Sampler[int]):
    """Samples in random order.

    Args:
        data_source: the dataset; only its length is needed.
        replacement: a sample may be drawn more than once.
        num_samples: how many to draw; default: the dataset's length.
        generator: a `numpy.random.Generator`; default: a new one, seeded from NumPy's own stream.

    Raises:
        TypeError, ValueError: for other arguments.

    Examples:
        >>> import numpy as np
        >>> list(RandomSampler("abcde", generator=np.random.default_rng(7)))
        [2, 0, 4, 1, 3]
    """

    def __init__(self, data_source: Any, replacement: bool = False,
                 num_samples: int | None = None,
                 generator: np.random.Generator | None = None) -> None:
        super().__init__(data_source)
        check_type("replacement", replacement, bool)
        check_positive("num_samples", num_samples, optional=True)
        check_type("generator", generator, np.random.Generator, optional=True)
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator

    @property
    def num_samples(self) -> int:
        """How many are drawn."""
        if self._num_samples is not None:
            return self._num_samples
        return length_of("data_source", self.data_source, type(self).__name__)

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        size = length_of("data_source", self.data_source, type(self).__name__)
        if generator is None:
            generator = np.random.default_rng(np.random.randint(0, 2**63, dtype=np.int64))
        whole, rest = divmod(self.num_samples, 32 if self.replacement else max(size, 1))
        if self.replacement:  # in pieces of 32, so that one stream gives one order
            for count in (*[32] * whole, rest):
                yield from generator.integers(0, size, count, np.int64).tolist()
            return
        for _ in range(whole):
            yield from generator.permutation(size).tolist()
        yield from generator.permutation(size).tolist()[:rest]

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The numbers that another sampler gives, in batches.

    Args:
        sampler: gives the numbers.
        batch_size: how many in a batch.
        drop_last: leave out a last batch that isn't full.

    Raises:
        TypeError, ValueError: for other arguments.

    Examples:
        >>> list(BatchSampler(SequentialSampler("abcde"), 2, False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        super().__init__()
        check_positive("batch_size", batch_size)
        check_type("drop_last", drop_last, bool)
        if not hasattr(sampler, "__iter__"):
            raise TypeError(f"For 'BatchSampler', 'sampler' must be a Sampler or another iterable "
                            f"of numbers, but got {describe(sampler)}.")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        length = length_of("sampler", self.sampler, type(self).__name__)
        whole, rest = divmod(length, self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


class InfiniteSampler(Sampler[None]):
    """None without end: what stands for the numbers of an `IterableDataset`."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)
