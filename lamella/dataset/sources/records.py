"""MindRecord files as a source."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import existing_file
from ..errors import in_pipeline
from ..mindrecord.exceptions import MRMOpenError
from ..mindrecord.reader import as_columns, files_of, no_column
from ..order import Row, Table
from ..rows import as_array
from ..samplers import DistributedSampler, RandomSampler, Shuffle
from ..state import Passes, Run
from .files import FilesDataset
from .record_order import orders


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

    _modes = True

    def __init__(self, dataset_files: Any, columns_list: list[str] | None = None,
                 num_parallel_workers: int | None = None, shuffle: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, sampler: Any = None,
                 padded_sample: dict[str, Any] | None = None, num_padded: int | None = None,
                 num_samples: int | None = None, cache: Any = None):
        by_files = shuffle in (Shuffle.FILES, Shuffle.INFILE)
        if by_files and num_samples is not None:
            raise ValueError("'Shuffle.FILES' or 'Shuffle.INFILE' and 'num_samples' cannot be "
                             "specified at the same time. For 'MindDataset', 'num_samples' is for "
                             "other orders.")
        super().__init__(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)
        self.dataset_files, self.columns_list = dataset_files, columns_list
        names = [dataset_files] if isinstance(dataset_files, str) else dataset_files
        if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
            raise TypeError(f"For 'MindDataset', 'dataset_files' must be a str or a list of str, "
                            f"but got {dataset_files!r}.")
        for name in names:
            existing_file(name)
        self._files = files_of(dataset_files)
        if isinstance(shuffle, Shuffle) and num_samples is None:
            self.sampler = RandomSampler(shuffle=shuffle) if num_shards is None else (
                DistributedSampler(num_shards, shard_id, shuffle))  # type: ignore[arg-type]
        schema = self._files[0].schema
        columns = columns_list or sorted(schema)
        for column in columns:
            if column not in schema:
                raise RuntimeError(no_column(column))
        if padded_sample is None and num_padded is not None:
            raise RuntimeError("num_padded is specified but padded_sample is not.")
        if padded_sample is not None and num_padded is None:
            raise RuntimeError("padded_sample is specified and requires num_padded as well.")
        if num_padded is not None and num_padded < 0:
            raise ValueError(f"num_padded is invalid, num_padded={num_padded}.")
        if padded_sample is not None and sorted(padded_sample) != sorted(columns):
            raise ValueError(f"padded_sample cannot match columns_list. For 'MindDataset', it must "
                             f"have the columns {columns}, but got {sorted(padded_sample)}.")
        self._columns = list(columns)
        self.padded_sample, self.num_padded = padded_sample, num_padded or 0

    @classmethod
    def _check_arguments(cls, arguments: dict[str, Any]) -> None:
        if isinstance(arguments.get("dataset_files"), str):
            existing_file(arguments["dataset_files"])
        super()._check_arguments(arguments)

    def _order(self, run: Run) -> Any:
        sampler = self.sampler
        if sampler.child_sampler is None and not self.num_padded and (
                type(sampler) is RandomSampler and not sampler.replacement and sampler.reshuffle
                or type(sampler) is DistributedSampler and sampler.offset == -1):
            # the processes of a distributed reading draw from one seed
            seed = sampler.seed if isinstance(sampler, DistributedSampler) else run.seed
            sizes = [len(file.rows) for file in self._files]
            return run.keep(self, lambda: Passes(orders(sampler, sizes, seed)))
        return super()._order(run)

    def _table(self) -> Table:
        if self._rows_table is None:
            if self.num_padded and self.sampler.child_sampler is not None:
                raise RuntimeError("When the padded sample logic is enabled and use sampler chain,"
                                   "the first sampler which is specified by parameter sampler "
                                   "must read all rows. For 'MindDataset', give one sampler.")
            starts = np.cumsum([0, *(len(file.rows) for file in self._files)])
            total = int(starts[-1])
            self._rows_table = Table(lambda place: self._at(place, starts, total),
                                     total + self.num_padded,
                                     lambda place: self._file_of(place, starts))
            self._rows_table.parallel = True
            self.sampler.know(
                lambda name: np.array([v for f in self._files for v in f.field(name)]))
            if isinstance(self.sampler, DistributedSampler) and self.num_padded and (
                    total + self.num_padded) % self.sampler.num_shards:
                raise RuntimeError(f"For 'MindDataset', the rows with 'num_padded' must be a "
                                   f"multiple of 'num_shards', {self.sampler.num_shards}, but are "
                                   f"{total + self.num_padded}.")
        return self._rows_table

    def _file_of(self, place: int, starts: np.ndarray) -> list[str]:
        which = int(np.searchsorted(starts, place, "right")) - 1
        return [file.path for file in self._files[which:which + 1]]

    def _at(self, place: int, starts: np.ndarray, total: int) -> Row:
        schema = self._files[0].schema
        if place >= total:
            assert self.padded_sample is not None
            for name, value in self.padded_sample.items():
                if isinstance(value, np.ndarray) and "shape" not in schema[name] and value.ndim:
                    # the braces are in MindSpore's sentence, too
                    raise in_pipeline(f"Invalid padded_sample, the value of column: {name} should "
                                      "be string or number but got: {}, check 'padded_sample'. It "
                                      f"is {value}.")
            row = {n: v if not isinstance(v, np.ndarray) else as_array(v)
                   for n, v in self.padded_sample.items()}
            return as_columns(row, schema, self.columns)
        which = int(np.searchsorted(starts, place, "right")) - 1
        try:
            row = self._files[which].row(place - int(starts[which]))
        except MRMOpenError as error:
            raise in_pipeline(str(error)) from error
        return as_columns(row, schema, self.columns)
