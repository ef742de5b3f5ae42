"""Lines of text files, and CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..checks import of_type
from ..errors import in_pipeline
from ..samplers import Shuffle
from .files import LinesDataset


class TextFileDataset(LinesDataset):
    """The non-empty lines of text files: `text`.

    Args:
        dataset_files: paths or patterns.
        num_samples: read at most this many rows.
        num_parallel_workers: of no effect: files are read one after the other.
        shuffle: a bool, or `Shuffle.GLOBAL` or `Shuffle.FILES`.
        num_shards, shard_id: read one of `num_shards` parts.
        cache: not supported.
    """

    _given = ("text",)
    _arrays = True

    def __init__(self, dataset_files: Any, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: Any = Shuffle.GLOBAL,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None):
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards,
                         shard_id, cache)

    def _read(self, path: str) -> Iterator[Any]:
        return zip(map(np.array, lines(path)))  # noqa: B905  one iterable: a tuple for each line


def lines(path: str) -> Iterator[str]:
    """The non-empty lines of a file."""
    with open(path, encoding="utf-8", newline="\n") as opened:
        for line in opened:
            line = line.rstrip("\n")
            if line:
                yield line


class CSVDataset(LinesDataset):
    """The rows of CSV files.

    Args:
        dataset_files: paths or patterns.
        field_delim: what separates values.
        column_defaults: a value for each column, for where a row has none; its type is the
            column's. Default: all columns are strings.
        column_names: the names of the columns; default: the first line of the first file.
        num_samples and the rest: as for `TextFileDataset`.
    """

    def __init__(self, dataset_files: Any, field_delim: str = ",",
                 column_defaults: list[Any] | None = None, column_names: list[str] | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None):
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards,
                         shard_id, cache)
        if not isinstance(field_delim, str):
            raise TypeError(f"{of_type('field delim', field_delim, str)} For 'CSVDataset', "
                            "'field_delim' must be one character.")
        if len(field_delim) != 1 or field_delim in '"\n\r':
            raise ValueError(f"For 'CSVDataset', 'field_delim' must be one character, but got "
                             f"{field_delim!r}.")
        if column_defaults is not None and (not isinstance(column_defaults, list) or not all(
                isinstance(v, (int, float, str)) for v in column_defaults)):
            raise TypeError(f"For 'CSVDataset', 'column_defaults' must be a list of ints, floats "
                            f"and str, but got {column_defaults!r}.")
        self.field_delim, self.column_defaults = field_delim, column_defaults
        self.column_names = column_names

    def _named(self) -> list[str]:
        if self.column_names is not None:
            return list(self.column_names)
        try:
            with open(self.files[0], encoding="utf-8", newline="") as opened:
                found = next(csv.reader(opened, delimiter=self.field_delim), None)
        except (OSError, ValueError, csv.Error) as error:
            raise in_pipeline(f"CSVDataset: the names of columns in {self.files[0]} can't be read: "
                              f"{type(error).__name__}: {error}") from error
        if not found:
            raise in_pipeline(f"CSVDataset: the file {self.files[0]} is empty.")
        return found

    def _read(self, path: str) -> Iterator[Any]:
        count = len(self.columns)
        defaults = self.column_defaults or [""] * count
        if len(defaults) != count:
            raise in_pipeline(f"CSVDataset: 'column_defaults' has {len(defaults)} values, but there"
                              f" are {count} columns: {self.columns}.")
        with open(path, encoding="utf-8", newline="") as opened:
            reader = csv.reader(opened, delimiter=self.field_delim)
            for number, words in enumerate(reader):
                if not words or (number == 0 and self.column_names is None):
                    continue
                if len(words) != count:
                    raise in_pipeline(f"CSVDataset: line {number + 1} of {path} has {len(words)} "
                                      f"values, but there are {count} columns.")
                try:
                    yield tuple(_typed(w, d) for w, d in zip(words, defaults, strict=True))
                except ValueError as error:
                    raise in_pipeline(f"CSVDataset: line {number + 1} of {path}: {error}") \
                        from error


def _typed(word: str, default: Any) -> np.ndarray:
    if isinstance(default, str):
        return np.asarray(word or default)
    if isinstance(default, float):
        return np.asarray(float(word) if word else default, np.float32)
    return np.asarray(int(word) if word else default, np.int32)
