"""Base classes of sources that read files, and their checks."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...common.mersenne_twister import Mt19937
from ..errors import DataError, in_pipeline, taken_apart
from ..order import Buffer, Row, Table, rows_from
from ..rows import as_row
from ..samplers import Shuffle
from ..source import MappableDataset, SourceDataset
from ..source_arguments import exclusive, folder, select_sampler
from ..state import Run
from ..vision.conversion import decoded


def file_bytes(path: str) -> np.ndarray:
    """The bytes of a file, as an array of uint8.

    Raises:
        RuntimeError: if it can't be read.
    """
    try:
        return np.fromfile(path, np.uint8)
    except OSError as error:
        raise in_pipeline(f"Invalid file, Failed to open file: {path}. {path} can't be read: "
                          f"{error}") from error


def no_rows(source: Any) -> RuntimeError:
    """The error where a source has no rows."""
    name, where = type(source).__name__, getattr(source, "dataset_dir", None)
    return in_pipeline(f"Invalid data, no valid data matching the dataset API {name}. Please check "
                       f"file path or dataset API: {name} API can't read the data file (interface "
                       f"mismatch or no data found). Check file path: {where}.")


def picture(path: str, decode: bool) -> np.ndarray:
    """An image file's bytes, or its image."""
    data = file_bytes(path)
    if not decode:
        return data
    try:
        return decoded(data)
    except RuntimeError as error:
        raise in_pipeline(f"Invalid image, failed to decode: {path}: {error}") from error


class FilesDataset(MappableDataset):
    """The base of sources with random access: a row is read from its file when needed.

    A subclass defines `_list`, the items, and `_read`, which reads the row of an item.
    """

    _given: tuple[str, ...] = ()  # the columns
    _class_column: int | None = None  # which of an item's values a PKSampler goes by

    def __init__(self, num_samples: Any = None, num_parallel_workers: Any = None,
                 shuffle: Any = None, sampler: Any = None, num_shards: Any = None,
                 shard_id: Any = None, cache: Any = None):
        super().__init__(None, num_parallel_workers, cache)
        name = type(self).__name__
        self.sampler = select_sampler(name, num_samples, sampler, shuffle, num_shards, shard_id)
        if self._given:
            self._columns = list(self._given)
        self._rows_table: Table | None = None

    def _list(self) -> list[Any]:
        raise NotImplementedError

    def _read(self, item: Any) -> Any:
        raise NotImplementedError

    def _paths(self, item: Any) -> Sequence[str]:
        """The files that the row of an item is read from."""
        return (item if isinstance(item, str) else item[0],)

    def _table(self) -> Table | None:
        if self._rows_table is None:
            items = self._list()
            if not items:
                raise no_rows(self)
            self._rows_table = Table(lambda place: self._row(items[place]), len(items),
                                     lambda place: self._paths(items[place]))
            self._rows_table.parallel = True
            if self._class_column is not None:
                self.sampler.know(lambda _: np.array([item[self._class_column] for item in items]))
        return self._rows_table

    def _row(self, item: Any) -> Row:
        try:
            return as_row(self._read(item))
        except DataError:
            raise
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            raise in_pipeline(f"{type(self).__name__}: the row {item!r} can't be read: "
                              f"{type(error).__name__}: {error}") from error


def _alone(path: str) -> tuple[str]:
    return (path,)


class LinesDataset(SourceDataset):
    """The base of sources whose rows are read in sequence, from one file or several.

    A subclass defines `_read`, the rows of a file. With `Shuffle.GLOBAL` files are shuffled, and
    rows within a buffer of 10,000 or of four files' rows; with `Shuffle.FILES` only the files.
    """

    _given: tuple[str, ...] = ()
    _modes = True
    _arrays = False  # whether `_read` gives tuples of arrays

    def __init__(self, files: Any, num_samples: Any = None, num_parallel_workers: Any = None,
                 shuffle: Any = Shuffle.GLOBAL, num_shards: Any = None, shard_id: Any = None,
                 cache: Any = None):
        super().__init__(None, num_parallel_workers, cache)
        name = type(self).__name__
        exclusive(name, num_samples, None, None, num_shards, shard_id)
        self.shuffle_mode = shuffle if isinstance(shuffle, Shuffle) else (
            Shuffle.GLOBAL if shuffle else Shuffle.FALSE)
        if self.shuffle_mode not in (Shuffle.GLOBAL, Shuffle.FILES, Shuffle.FALSE):
            raise ValueError(f"For '{name}', 'shuffle' must be GLOBAL, FILES or FALSE, but got "
                             f"{shuffle!r}.")
        self.files = found_files(name, files)
        self.num_samples, self.num_shards, self.shard_id = num_samples, num_shards, shard_id
        self._total: int | None = None
        if self._given:
            self._columns = list(self._given)

    def _read(self, path: str) -> Iterator[Any]:
        raise NotImplementedError

    def _checked(self, path: str) -> Iterator[Row]:
        with taken_apart(type(self).__name__, path):
            kind = rows_from((_alone, path))
            rows = self._read(path)
            yield from map(kind, rows if self._arrays else map(as_row, rows))

    def total(self) -> int:
        """How many rows all files have."""
        if self._total is None:
            self._total = sum(sum(1 for _ in self._checked(path)) for path in self.files)
        return self._total

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        files = self.files
        if self.shuffle_mode is not Shuffle.FALSE:
            state: Any = run.keep(self, lambda: _Shuffled(self, run.seed))
            files = state.next_files()
        rows = itertools.chain.from_iterable(self._checked(path) for path in files)
        if self.num_shards is not None:
            size = -(-self.total() // self.num_shards)
            start = self.shard_id * size
            rows = itertools.islice(itertools.chain(rows, *(self._checked(p) for p in files)),
                                    start, start + size)
        if self.shuffle_mode is Shuffle.GLOBAL:
            rows = run.keep(self, lambda: None).buffer.mixed(iter(rows))
        if self.num_samples:
            rows = itertools.islice(rows, self.num_samples)
        return itertools.islice(rows, skip, None)

    def _advance(self, run: Run) -> None:
        for _ in self._rows(run):
            pass

    def _count(self) -> int:
        count = self.total()
        if self.num_shards is not None:
            count = -(-count // self.num_shards)
        return min(count, self.num_samples or count)

    def is_shuffled(self) -> bool:
        """Whether the order of rows is random."""
        return self.shuffle_mode is not Shuffle.FALSE

    def is_sharded(self) -> bool:
        """Whether only a part of the rows is read."""
        return self.num_shards is not None and self.num_shards > 1


class _Shuffled:
    """The shuffled order of files in each epoch, and the shuffle buffer of rows."""

    def __init__(self, node: LinesDataset, seed: int):
        self.files, self.seed, self.epochs = list(node.files), seed, 0
        average = 4 * node.total() // max(1, len(node.files))
        self.buffer = Buffer(max(average, 10000), seed)

    def next_files(self) -> list[str]:
        """The files in the order of this epoch."""
        Mt19937(self.seed + self.epochs).shuffle(self.files)
        self.epochs += 1
        return list(self.files)

    def state(self) -> Any:
        """The state at the beginning of the epoch."""
        return list(self.files), self.epochs, self.buffer.generator.state()

    def restore(self, state: Any) -> None:
        """Begin an epoch from a saved state."""
        self.files, self.epochs = list(state[0]), state[1]
        self.buffer.generator.restore(state[2])


def found_files(name: str, files: Any) -> list[str]:
    """Sorted paths of the files that match paths or patterns.

    Raises:
        TypeError, ValueError: if there are none.
    """
    listed = [files] if isinstance(files, str) else files
    if not isinstance(listed, (list, tuple)) or not all(isinstance(f, str) for f in listed):
        raise TypeError(f"For '{name}', 'dataset_files' must be a str or a list of str, but got "
                        f"{files!r}.")
    found: list[str] = []
    missing = []
    for path in listed:
        matches = [path] if os.path.isfile(path) else sorted(
            m for m in glob.glob(path, recursive=True) if os.path.isfile(m))
        found += matches
        if not matches:
            missing.append(path)
    if missing or not found:
        if not all(listed):
            raise ValueError(f"Input dataset_files can not be empty, but got: {listed}. For "
                             f"'{name}', it names files.")
        raise ValueError(f"The following patterns did not match any files: {missing or listed}.")
    return sorted(found)


__all__ = ["FilesDataset", "LinesDataset", "file_bytes", "folder", "found_files",
           "picture"]
