"""Samplers of the program's own: a class, or any object that gives row numbers."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .errors import in_pipeline
from .samplers import BuiltinSampler, row_numbers


class Sampler(BuiltinSampler):
    """The base of samplers of one's own: ``__iter__`` gives numbers of rows.

    ``self.dataset_size`` is the number of rows there are. `reset`, if defined, is called before
    each further epoch.

    Args:
        num_samples: read at most this many.

    Examples:
        >>> import lamella.dataset as ds
        >>> class Backwards(ds.Sampler):
        ...     def __iter__(self):
        ...         yield from range(self.dataset_size - 1, -1, -1)
        >>> data = ds.NumpySlicesDataset([1, 2, 3], sampler=Backwards())
        >>> [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        [3, 2, 1]
    """

    def __init__(self, num_samples: int | None = None):
        super().__init__(num_samples)
        self.dataset_size = 0
        if self.num_samples is None and hasattr(self, "__len__"):
            self.num_samples = len(self)  # type: ignore[arg-type]

    def __iter__(self) -> Any:
        raise NotImplementedError(f"'{type(self).__name__}' must define '__iter__'.")

    def reset(self) -> None:
        """Called before each epoch but the first."""

    def _orders(self, size: int, seed: int) -> Iterator[np.ndarray]:
        own = _copied(self)  # each iterator has one of its own, so that all begin alike
        own.dataset_size = size
        while True:
            found = own._checked(size)
            if self.num_samples and len(found) < self.num_samples:
                raise in_pipeline(
                    f"The actual amount of data read from generator {len(found)} is different from "
                    f"generator.len {self.num_samples}, you should adjust generator.len to make "
                    f"them match. '{type(self).__name__}' gives that many numbers of rows.")
            yield found
            own.reset()

    def _checked(self, size: int) -> np.ndarray:
        found: list[int] = []
        for place in self:
            found.extend(place if isinstance(place, (list, tuple, np.ndarray)) else [place])
            if self.num_samples and len(found) >= self.num_samples:
                break
        return row_numbers(type(self).__name__, found[: self.num_samples], size)

    def _count(self, size: int) -> int:
        if self.num_samples:
            return self.num_samples
        own = _copied(self)
        own.dataset_size = size
        return len(own._checked(size))


class IterSampler(Sampler):
    """Row numbers from any iterable, read again for each epoch."""

    def __init__(self, sampler: Iterable[int], num_samples: int | None = None):
        if num_samples is None and hasattr(sampler, "__len__"):
            num_samples = len(sampler)  # type: ignore[arg-type]
        super().__init__(num_samples)
        self.sampler = sampler

    def __iter__(self) -> Any:
        return iter(self.sampler)


def _copied(sampler: Sampler) -> Sampler:
    """A copy with a state of its own; the sampler itself where that can't be."""
    try:
        return copy.deepcopy(sampler)
    except Exception:  # what a program keeps in it may refuse, with any error
        return sampler
