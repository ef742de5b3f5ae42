"""Operations that only move rows: on row numbers where there is a table, else on the rows."""

from __future__ import annotations

import collections
import copy
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .checks import LARGEST, in_interval, integer, of_type
from .errors import in_pipeline
from .node import Dataset, names
from .order import Buffer, ChosenTable, JoinedTable, Row, Table, chunked, flat, skipped, taken
from .rows import dtype_of
from .samplers import (
    BuiltinSampler,
    DistributedSampler,
    SequentialSampler,
)
from .source import MappableDataset
from .state import Passes, Run, Turns


def others_of(method: str, datasets: Any, several: type) -> list[Dataset]:
    """The datasets that a method of a dataset is given: one, or several.

    Raises:
        TypeError: if it is neither; `several` is the type that the error names for these.
    """
    if isinstance(datasets, (list, tuple)):
        return [*datasets]
    if not isinstance(datasets, Dataset):
        raise TypeError(f"{of_type('datasets', datasets, several, Dataset)} For '{method}', a "
                        f"Dataset or a {several.__name__} of them is expected.")
    return [datasets]


class _Moved(Dataset):
    """An operation on the rows of one dataset that leaves each row as it is."""

    _hands_on = True

    def __init__(self, child: Dataset):
        super().__init__(child)
        self.fresh = child.fresh

    def _table(self) -> Table | None:
        return self.children[0]._table()


class ShuffleDataset(_Moved):
    """The dataset that `Dataset.shuffle` gives."""

    _asks_others = True

    def __init__(self, child: Dataset, buffer_size: int):
        super().__init__(child)
        # as MindSpore says it, though a buffer of one row is let pass
        if isinstance(buffer_size, int) and not isinstance(buffer_size, bool) and buffer_size < 1:
            raise ValueError(f"{in_interval('buffer_size', 2, LARGEST)} For 'shuffle', "
                             f"'buffer_size' must be in [1, {LARGEST}], but got {buffer_size}.")
        self.buffer_size = integer("shuffle", "buffer_size", buffer_size, 1, LARGEST)

    def _draws(self) -> bool:
        return True

    def _buffer(self, run: Run) -> Any:
        return run.keep(self, lambda: HeldBuffer(Buffer(self.buffer_size, run.seed)))

    def _numbers(self, run: Run, skip: int = 0) -> Iterator[np.ndarray]:
        mixed = self._buffer(run).mixed(flat(self.children[0]._numbers(run)))
        return chunked(itertools.islice(mixed, skip, None))

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        if self._table() is not None:
            return super()._rows(run, skip)
        return itertools.islice(self._buffer(run).mixed(iter(self.children[0]._rows(run))), skip,
                                None)

    def _advance(self, run: Run) -> None:
        for _ in self._buffer(run).mixed(iter(range(self.children[0].get_dataset_size()))):
            pass
        super()._advance(run)

    def _count(self) -> int:
        return self.children[0].get_dataset_size()

    def is_shuffled(self) -> bool:
        """Whether the order of rows is random."""
        return True


class HeldBuffer:
    """A Buffer as a reading remembers it."""

    def __init__(self, buffer: Buffer):
        self.mixed, self.generator = buffer.mixed, buffer.generator
        self.state, self.restore = buffer.generator.state, buffer.generator.restore


class RepeatDataset(_Moved):
    """The dataset that `Dataset.repeat` gives."""

    def __init__(self, child: Dataset, count: int | None = None):
        super().__init__(child)
        if count is not None and count != -1:
            if isinstance(count, bool) or not isinstance(count, int):
                raise TypeError(f"{of_type('count', count, int, type(None))} For 'repeat', 'count' "
                                f"must be an int or None, but got {count!r}.")
            if count < 1:
                raise ValueError(f"count should be either -1 or positive integer, range[1, "
                                 f"INT32_MAX]. For 'repeat', 'count' must be a positive "
                                 f"int, -1 or None, but "
                                 f"got {count!r}.")
        self.count = -1 if count is None else count

    def _repeats(self) -> bool:
        return self._table() is None

    def _is_passed_over(self) -> bool:
        # the state of a pass is in one mark, and where two draw, one may be a pass ahead
        return not self._repeats() or sum(node._draws() for node in self.tree()[1:]
                                          if node._table() is None) <= 1

    def _passes(self, run: Run, skip: int, read: Any, turns: Turns) -> Iterator[Any]:
        child, done = self.children[0], 0
        turns.rows = skip
        if turns.restored is not None and turns.restored[1] <= skip:
            passes, before = turns.restored  # passes may differ in length, as behind a `filter`
            for _ in range(passes):
                child._advance(run)
            skip, done = skip - before, passes
        elif skip:
            size = child.get_dataset_size()
            while size and skip >= size and (self.count < 0 or done < self.count):
                child._advance(run)
                skip, done = skip - size, done + 1
        turns.restored = None
        while self.count < 0 or done < self.count:
            empty, turns.done, turns.before = True, done, turns.rows - skip
            for item in read(run, skip):
                empty = False
                turns.rows += 1
                yield item
            if empty and not skip and self.count < 0:
                return  # repeating no rows without end would not stop
            skip, done = 0, done + 1

    def _numbers(self, run: Run, skip: int = 0) -> Iterator[np.ndarray]:
        return self._passes(run, skip, self.children[0]._numbers, Turns(None))

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        if self._table() is not None:
            return super()._rows(run, skip)
        turns: Any = run.keep(self, lambda: Turns(run.mark(self)))
        return self._passes(run, skip, self.children[0]._rows, turns)

    def _advance(self, run: Run) -> None:
        for _ in range(max(self.count, 0)):
            self.children[0]._advance(run)

    def _count(self) -> int:
        return self.children[0].get_dataset_size() * max(self.count, 1)

    def get_repeat_count(self) -> int:
        """How often the rows are repeated."""
        return super().get_repeat_count() if self.count == 1 else self.count


class TakeDataset(_Moved):
    """The dataset that `Dataset.take` gives."""

    _asks_others = True

    def __init__(self, child: Dataset, count: int):
        super().__init__(child)
        integer("take", "count", count)
        if count < 1:
            raise ValueError(f"count should be either -1 or within the required interval of "
                             f"(0, {LARGEST}], got {count}. For 'take', 'count' must be -1 or "
                             f"positive, but got {count}.")
        self.count = count

    def _numbers(self, run: Run, skip: int = 0) -> Iterator[np.ndarray]:
        if skip >= self.count:
            self._advance(run)
            return iter(())
        return taken(self.children[0]._numbers(run, skip), self.count - skip)

    def _advance(self, run: Run) -> None:
        if self._table() is None:
            super()._advance(run)
        else:  # only the passes below that its rows are of
            collections.deque(taken(self.children[0]._numbers(run), self.count), 0)

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        if self._table() is not None:
            return super()._rows(run, skip)
        return itertools.islice(self.children[0]._rows(run, skip), max(0, self.count - skip))

    def _count(self) -> int:
        return min(self.count, self.children[0].get_dataset_size())


class SkipDataset(_Moved):
    """The dataset that `Dataset.skip` gives."""

    def __init__(self, child: Dataset, count: int):
        super().__init__(child)
        self.count = integer("skip", "count", count, 0, LARGEST)

    def _numbers(self, run: Run, skip: int = 0) -> Iterator[np.ndarray]:
        return skipped(self.children[0]._numbers(run), self.count + skip)

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        if self._table() is not None:
            return super()._rows(run, skip)
        if skip:
            return iter(self.children[0]._rows(run, self.count + skip))
        return itertools.islice(self.children[0]._rows(run), self.count, None)

    def _count(self) -> int:
        return max(0, self.children[0].get_dataset_size() - self.count)


class RenameDataset(_Moved):
    """The dataset that `Dataset.rename` gives."""

    _hands_on = False

    def __init__(self, child: Dataset, input_columns: Any, output_columns: Any):
        super().__init__(child)
        old, new = names("rename", input_columns), names(
            "rename", output_columns, "output_columns")
        if len(old) != len(new):
            raise ValueError(f"Number of column in input_columns and output_columns is not equal. "
                             f"For 'rename', as many names must come out as go in, but got {old} "
                             f"and {new}.")
        self.input_columns, self.output_columns = old, new

    def _named(self) -> list[str]:
        old = self.children[0]._listed("rename", self.input_columns)
        changed = dict(zip(old, self.output_columns, strict=True))
        found = [changed.get(name, name) for name in self.children[0].columns]
        if len(set(found)) != len(found):
            raise in_pipeline(f"For 'rename', names of columns must differ, but got {found}.")
        return found

    def _numbers(self, run: Run, skip: int = 0) -> Iterator[np.ndarray]:
        return self.children[0]._numbers(run, skip)

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        self.columns  # noqa: B018  (checks the names)
        return self.children[0]._rows(run, skip)

    def _count(self) -> int:
        return self.children[0].get_dataset_size()


class ProjectDataset(_Moved):
    """The dataset that `Dataset.project` gives."""

    def __init__(self, child: Dataset, columns: Any):
        super().__init__(child)
        self.chosen = names("project", columns, "columns")
        if not self.chosen:
            raise ValueError("For 'project', 'columns' must not be empty.")
        self._kept: Table | None = None

    def _named(self) -> list[str]:
        return self.children[0]._listed("project", self.chosen)

    def _places(self) -> list[int]:
        return [self.children[0].columns.index(name) for name in self.columns]

    def _table(self) -> Table | None:
        table = self.children[0]._table()
        if table is None:
            return None
        if self._kept is None:
            self._kept = ChosenTable(table, self._places())
        return self._kept

    def _numbers(self, run: Run, skip: int = 0) -> Iterator[np.ndarray]:
        return self.children[0]._numbers(run, skip)

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        places = self._places()
        return (tuple([row[p] for p in places]) for row in self.children[0]._rows(run, skip))

    def _count(self) -> int:
        return self.children[0].get_dataset_size()


class ConcatDataset(Dataset):
    """The dataset that `Dataset.concat` gives."""

    _hands_on = True

    _asks_others = True

    def __init__(self, datasets: list[Dataset]):
        for place, part in enumerate(datasets[1:]):
            if not isinstance(part, Dataset):
                raise TypeError(f"{of_type(f'dataset[{place}]', part, Dataset)} For 'concat', each "
                                "of 'datasets' must be a Dataset.")
        super().__init__(datasets)
        self.sampler: Any = None
        self._joined: Table | None = None

    def _table(self) -> Table | None:
        if self.sampler is None and all(type(c._table()) is not type(None) for c in self.children):
            if self._joined is None:
                self._joined = JoinedTable([c._table() for c in self.children])  # type: ignore
            self._checked()
            return self._joined
        return None

    def _checked(self) -> None:
        first = self.children[0].columns
        for part in self.children[1:]:
            if part.columns != first:
                raise in_pipeline(f"For 'concat', all datasets must have the columns {first}, but "
                                  f"got {part.columns}.")

    def _numbers(self, run: Run, skip: int = 0) -> Iterator[np.ndarray]:
        table = self._table()
        assert isinstance(table, JoinedTable)
        for start, part in zip(table.starts, self.children, strict=False):
            size = part.get_dataset_size() if skip else 0
            if skip and skip >= size:
                part._advance(run)
                skip -= size
                continue
            for chunk in part._numbers(run, skip):
                yield chunk + start
            skip = 0

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        if self.sampler is not None:
            return self._sampled(run, skip)
        self._checked()
        return self._typed(run) if not skip else itertools.islice(self._typed(run), skip, None)

    def _typed(self, run: Run) -> Iterator[Row]:
        known: list[np.dtype] | None = None
        for part in self.children:
            for number, row in enumerate(part._rows(run)):
                if number == 0:
                    types = [dtype_of(v) for v in row]
                    if known is not None and types != known:
                        raise in_pipeline(f"For 'concat', all datasets must have the same types, "
                                          f"but got {known} and {types}.")
                    known = types
                yield row

    def use_sampler(self, sampler: Any) -> None:
        """Read the rows of all datasets in the order of a sampler.

        Args:
            sampler: a DistributedSampler that doesn't shuffle: sources whose rows have numbers are
                read in order then, so that the shards of several processes have no row in common;
                or another sampler, for datasets whose rows have numbers.

        Raises:
            TypeError: if it is no sampler, or one of the datasets has batches.
            ValueError: if a DistributedSampler shuffles, or it or a dataset reads a number of rows
                at most.
        """
        if not isinstance(sampler, BuiltinSampler):
            raise TypeError(f"The parameter {sampler} of concat must be DistributedSampler or "
                            "RandomSampler!")
        if isinstance(sampler, DistributedSampler):
            if sampler.is_shuffled():
                raise ValueError("The parameter shuffle of DistributedSampler must be False! For "
                                 "'use_sampler', the rows of a concatenation keep their order.")
            if sampler.num_samples is not None:
                raise ValueError("The parameter num_samples of DistributedSampler is not support "
                                 "to be set! For 'use_sampler', all rows of a shard are read.")
            for part in self.children:
                if getattr(getattr(part, "sampler", None), "num_samples", None) is not None:
                    raise ValueError(f"The parameter NumSamples of {part} is not support to be "
                                     "set!")
        for part in self.children:
            if hasattr(part, "batch_size"):
                raise TypeError(f"The parameter {part} of concat must not be BatchDataset or "
                                "PaddedBatchDataset!")
        if isinstance(sampler, DistributedSampler):
            self.children = [_in_order(part) for part in self.children]
        self.sampler, self._counted = sampler, None

    def _sampled(self, run: Run, skip: int) -> Iterator[Row]:
        self._checked()
        if not isinstance(self.sampler, DistributedSampler):
            yield from self._picked(run, skip)
            return
        shards, shard = self.sampler.num_shards, self.sampler.shard_id
        rows = itertools.chain.from_iterable(part._rows(run) for part in self.children)
        yield from itertools.islice(rows, shard + skip * shards, None, shards)

    def _picked(self, run: Run, skip: int) -> Iterator[Row]:
        """The rows that a sampler picks among those that the datasets give."""
        tables = [part._table() for part in self.children]
        if any(table is None for table in tables):
            return itertools.islice(self._drawn(run), skip, None)
        joined = JoinedTable(tables)  # type: ignore[arg-type]
        places = np.concatenate([start + place for start, part in zip(
            joined.starts, self.children, strict=False) for place in part._numbers(run)])
        order = run.keep(self, lambda: Passes(self.sampler.epochs(len(places), run.seed)))
        return map(joined.row, places[order.next()][skip:].tolist())

    def _drawn(self, run: Run) -> Iterator[Row]:
        """The sampler says from which dataset the next row comes, where rows have no numbers."""
        sizes = [part.get_dataset_size() for part in self.children]
        total, ends = sum(sizes), np.cumsum(sizes)
        order = run.keep(self, lambda: Passes(self.sampler.epochs(total, run.seed))).next()
        parts = [iter(part._rows(run)) for part in self.children]
        for place in order:
            row = next(parts[int(np.searchsorted(ends, place, "right"))], None)
            if row is not None:
                yield row

    def _count(self) -> int:
        count = sum(part.get_dataset_size() for part in self.children)
        if isinstance(self.sampler, DistributedSampler):
            return len(range(self.sampler.shard_id, count, self.sampler.num_shards))
        return count if self.sampler is None else self.sampler.count(count)


def _in_order(part: Dataset) -> Dataset:
    """A source whose rows have numbers, without its sampler; any other dataset as it is."""
    if not isinstance(part, MappableDataset) or not getattr(part, "indexed", True):
        return part
    part = copy.copy(part)
    part.use_sampler(SequentialSampler())
    return part


class ZipDataset(Dataset):
    """The dataset that `zip` gives."""

    _hands_on = True

    _asks_others = True

    def __init__(self, datasets: tuple[Dataset, ...]):
        if not isinstance(datasets, tuple):
            raise TypeError(f"{of_type('datasets', datasets, tuple)} For 'zip', a tuple of two "
                            "datasets or more is expected.")
        if len(datasets) < 2:
            raise ValueError("Can't zip empty or just one dataset! For 'zip', a tuple of two "
                             "datasets or more is expected.")
        for part in datasets:
            if not isinstance(part, Dataset):
                raise TypeError(f"Invalid dataset, expected Dataset object, but got {type(part)}! "
                                "For 'zip', each of 'datasets' must be a Dataset.")
        super().__init__(datasets)
        self.fresh = all(part.fresh for part in datasets)

    def _named(self) -> list[str]:
        found = [name for part in self.children for name in part.columns]
        if len(set(found)) != len(found):
            raise in_pipeline(f"For 'zip', the datasets must have different columns, but got "
                              f"{found}.")
        return found

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        self.columns  # noqa: B018  (checks the names)
        return (tuple(itertools.chain.from_iterable(rows)) for rows in zip(
            *(part._rows(run, skip) for part in self.children), strict=False))

    def _count(self) -> int:
        return min(part.get_dataset_size() for part in self.children)
