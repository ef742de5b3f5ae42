"""MindRecord files as a source."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..checks import existing_file
from ..numbers import Mt19937
from ..order import Row, Table
from ..rows import as_array
from ..samplers import BuiltinSampler, DistributedSampler, PKSampler, Shuffle
from .files import FilesDataset


class _ByFiles(BuiltinSampler):
    """Rows of several files, of which the files or the rows of each are shuffled.

    Args:
        sizes: how many rows each file has.
        mode: `Shuffle.FILES` or `Shuffle.INFILE`.
    """

    def __init__(self, sizes: list[int], mode: Shuffle):
        super().__init__()
        self.sizes, self.mode = sizes, mode

    def _orders(self, size: int, seed: int) -> Iterator[np.ndarray]:
        starts = np.cumsum([0, *self.sizes])
        rows = [np.arange(a, b) for a, b in itertools.pairwise(starts)]
        padding = np.arange(starts[-1], size)
        for epoch in itertools.count():
            generator = Mt19937(seed + epoch)
            if self.mode is Shuffle.FILES:
                rows = [rows[i] for i in generator.permutation(len(rows))]
            else:
                rows = [part[generator.permutation(len(part))] for part in rows]
            yield np.concatenate([*rows, padding])

    def is_shuffled(self) -> bool:
        """Whether the order is random."""
        return True

    def get_shuffle_mode(self) -> Shuffle:
        """How the rows are shuffled."""
        return self.mode


class MindDataset(FilesDataset):
    """The rows of MindRecord files.

    Args:
        dataset_files: one of the files, or a list of files.
        columns_list: which columns; default: all, sorted.
        num_parallel_workers, shuffle, num_shards, shard_id, sampler: as for `GeneratorDataset`.
        padded_sample: a row to pad the dataset with.
        num_padded: how many copies of it to add.
        num_samples: read at most this many.
        cache: not supported.
    """

    def __init__(self, dataset_files: Any, columns_list: list[str] | None = None,
                 num_parallel_workers: int | None = None, shuffle: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, sampler: Any = None,
                 padded_sample: dict[str, Any] | None = None, num_padded: int | None = None,
                 num_samples: int | None = None, cache: Any = None):
        by_files = shuffle in (Shuffle.FILES, Shuffle.INFILE)
        if by_files and num_samples is not None:
            raise ValueError("For 'MindDataset', 'num_samples' excludes Shuffle.FILES and "
                             "Shuffle.INFILE.")
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        from ..mindrecord.reader import files_of
        self.dataset_files, self.columns_list = dataset_files, columns_list
        names = [dataset_files] if isinstance(dataset_files, str) else dataset_files
        if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
            raise TypeError(f"For 'MindDataset', 'dataset_files' must be a str or a list of str, "
                            f"but got {dataset_files!r}.")
        for name in names:
            existing_file(name)
        self._files = files_of(dataset_files)
        if by_files:
            files = _ByFiles([len(file.rows) for file in self._files], shuffle)
            if num_shards is None or shard_id is None:
                self.sampler = files
            else:
                self.sampler = DistributedSampler(num_shards, shard_id, shuffle=False)
                self.sampler.add_child(files)
        schema = self._files[0].schema
        columns = columns_list or sorted(schema)
        for column in columns:
            if column not in schema:
                raise RuntimeError(f"For 'MindDataset', there is no column {column!r}; there are "
                                   f"{sorted(schema)}.")
        if (padded_sample is None) is not (num_padded is None):
            raise RuntimeError("For 'MindDataset', 'padded_sample' and 'num_padded' go together.")
        if padded_sample is not None and sorted(padded_sample) != sorted(columns):
            raise RuntimeError(f"For 'MindDataset', 'padded_sample' must have the columns "
                               f"{columns}, but got {sorted(padded_sample)}.")
        self._columns = list(columns)
        self.padded_sample, self.num_padded = padded_sample, num_padded or 0

    def _table(self) -> Table:
        if self._rows_table is None:
            starts = np.cumsum([0, *(len(file.rows) for file in self._files)])
            total = int(starts[-1])
            self._rows_table = Table(lambda place: self._at(place, starts, total),
                                     total + self.num_padded)
            self._rows_table.parallel = True
            if isinstance(self.sampler, PKSampler):
                name = self.sampler.class_column
                self.sampler.labels = np.array([v for f in self._files for v in f.field(name)])
            if isinstance(self.sampler, DistributedSampler) and self.num_padded and (
                    total + self.num_padded) % self.sampler.num_shards:
                raise RuntimeError(f"For 'MindDataset', the rows with 'num_padded' must be a "
                                   f"multiple of 'num_shards', {self.sampler.num_shards}, but are "
                                   f"{total + self.num_padded}.")
        return self._rows_table

    def _at(self, place: int, starts: np.ndarray, total: int) -> Row:
        from ..errors import in_pipeline
        from ..mindrecord.exceptions import MRMOpenError
        from ..mindrecord.reader import as_columns
        schema = self._files[0].schema
        if place >= total:
            assert self.padded_sample is not None
            row = {n: v if not isinstance(v, np.ndarray) else as_array(v)
                   for n, v in self.padded_sample.items()}
            return as_columns(row, schema, self.columns)
        which = int(np.searchsorted(starts, place, "right")) - 1
        try:
            row = self._files[which].row(place - int(starts[which]))
        except MRMOpenError as error:
            raise in_pipeline(str(error)) from error
        return as_columns(row, schema, self.columns)
