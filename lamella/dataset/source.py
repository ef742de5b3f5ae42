"""Sources: datasets that read rows from somewhere, most of them in the order of a sampler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .node import Dataset
from .order import skipped
from .samplers import BuiltinSampler, chained
from .source_arguments import checked
from .state import Passes, Run


class SourceDataset(Dataset):
    """A dataset that reads rows from somewhere."""

    _modes = False  # whether `shuffle` may be a `Shuffle`

    @classmethod
    def _check_arguments(cls, arguments: dict[str, Any]) -> None:
        checked(cls.__name__, arguments, cls._modes)


class MappableDataset(SourceDataset):
    """A source whose rows have numbers, read in the order that a sampler gives."""

    sampler: Any

    def _order(self, run: Run) -> Any:
        table = self._table()
        assert table is not None  # every source of this kind has one
        return run.keep(self, lambda: Passes(self.sampler.epochs(table.size, run.seed)))

    def _numbers(self, run: Run, skip: int = 0) -> Iterator[np.ndarray]:
        order = self._order(run).next()
        return skipped([order], skip) if skip else iter([order])

    def _advance(self, run: Run) -> None:
        self._order(run).next()

    def _count(self) -> int:
        table = self._table()
        return self.sampler.count(table.size) if table is not None else super()._count()

    def _draws(self) -> bool:
        return self._runs_python() or self.is_shuffled()

    def is_shuffled(self) -> bool:
        """Whether the order of rows is random."""
        return self.sampler.is_shuffled()

    def is_sharded(self) -> bool:
        """Whether only a part of the source is read."""
        return self.sampler.is_sharded()

    def add_sampler(self, new_sampler: Any) -> None:
        """Choose, with another sampler, among the rows that this source reads."""
        if not isinstance(new_sampler, BuiltinSampler):
            raise TypeError(f"Input sampler is not an instance of a sampler. For 'add_sampler', "
                            f"'new_sampler' must be a sampler, but got "
                            f"{type(new_sampler).__name__}.")
        chained("current", "input", self.sampler, new_sampler)
        if self.sampler is not None:
            new_sampler.add_child(self.sampler)
        self.sampler, self._counted = new_sampler, None

    def use_sampler(self, new_sampler: Any) -> None:
        """Read in the order of another sampler instead."""
        if new_sampler is None:
            raise TypeError("Input sampler can not be None. For 'use_sampler', 'new_sampler' must "
                            "not be None.")
        if not isinstance(new_sampler, BuiltinSampler):
            raise TypeError(f"Input sampler is not an instance of a sampler. For 'use_sampler', "
                            f"'new_sampler' must be a sampler, but got "
                            f"{type(new_sampler).__name__}.")
        inner = self.sampler.child_sampler if self.sampler is not None else None
        if inner is not None and new_sampler.child_sampler is None:
            new_sampler.child_sampler = inner
        self.sampler, self._counted = new_sampler, None
