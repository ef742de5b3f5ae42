"""Where rows come from: Python objects and arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .node import Dataset, Row, as_row
from .samplers import DistributedSampler, RandomSampler, Sampler, SequentialSampler, SubsetSampler


class GeneratorDataset(Dataset):
    """Rows from a Python object.

    Args:
        source: an object with ``__getitem__`` and ``__len__``, an iterable, or a function that
            returns an iterator. Each row is a tuple of arrays or numbers, or a single one.
        column_names: the names of the columns.
        column_types: the data type of each column.
        schema: not supported.
        num_samples: read at most this many rows.
        num_parallel_workers, python_multiprocessing, max_rowsize: accepted as MindSpore does; rows
            are read in this thread.
        shuffle: whether to read in random order; by default yes, where `source` can be indexed.
        sampler: in which order to read; instead of `shuffle`.
        num_shards, shard_id: read one of `num_shards` parts.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type, or two exclude each other.

    Examples:
        >>> import lamella.dataset as ds
        >>> data = ds.GeneratorDataset([(1, 2.0), (3, 4.0)], ["a", "b"], shuffle=False)
        >>> for row in data.create_dict_iterator():
        ...     print(row["a"], row["b"])
        1 2.0
        3 4.0
    """

    def __init__(self, source: Any, column_names: Any = None, column_types: Any = None,
                 schema: Any = None, num_samples: int | None = None,
                 num_parallel_workers: int = 1, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None,
                 python_multiprocessing: bool = True, max_rowsize: Any = None):
        name = type(self).__name__
        if schema is not None:
            raise ValueError(f"For '{name}', 'schema' is not supported; give 'column_names'.")
        if column_names is None:
            raise ValueError(f"For '{name}', 'column_names' must be given.")
        names = [column_names] if isinstance(column_names, str) else list(column_names)
        self.source = source
        self.indexed = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if not (self.indexed or callable(source) or isinstance(source, Iterable)):
            raise TypeError(f"For '{name}', 'source' must be an object with __getitem__ and "
                            f"__len__, an iterable or a function, but got "
                            f"{type(source).__name__}.")
        self.types = column_types
        self.num_samples = num_samples
        self.sampler = _checked_sampler(name, self.indexed, shuffle, sampler, num_shards, shard_id)
        super().__init__(names)

    def rows(self) -> Iterator[Row]:
        """The rows of one epoch."""
        given: Any = self._indexed() if self.indexed else self.source
        raws: Any = given() if callable(given) else given
        for number, raw in enumerate(raws):
            if self.num_samples and number >= self.num_samples:
                return
            row = as_row(raw, self.types)
            if len(row) != len(self.columns):
                raise ValueError(f"For '{type(self).__name__}', each row must have the "
                                 f"{len(self.columns)} columns {self.columns}, but row {number} "
                                 f"has {len(row)}.")
            yield row

    def _indexed(self) -> Iterator[Any]:
        for place in self.sampler.places(len(self.source)):
            yield self.source[place]

    def get_dataset_size(self) -> int:
        """The number of rows."""
        if self.indexed and isinstance(self.sampler, (RandomSampler, SequentialSampler)):
            size = min(len(self.source), self.sampler.num_samples or len(self.source))
        elif self.indexed:
            size = len(self.sampler.places(len(self.source)))
        else:
            size = sum(1 for _ in self.rows())
        return min(size, self.num_samples or size)


def _checked_sampler(name: str, indexed: bool, shuffle: Any, sampler: Any, num_shards: Any,
                     shard_id: Any) -> Sampler:
    if shuffle is not None and not isinstance(shuffle, bool):
        raise TypeError(f"For '{name}', 'shuffle' must be a bool or None, but got {shuffle!r}.")
    if (num_shards is None) is not (shard_id is None):
        raise ValueError(f"For '{name}', 'num_shards' and 'shard_id' go together, but got "
                         f"{num_shards!r} and {shard_id!r}.")
    if sampler is not None and (shuffle is not None or num_shards is not None):
        raise ValueError(f"For '{name}', 'sampler' excludes 'shuffle', 'num_shards' and "
                         f"'shard_id'.")
    if not indexed and (shuffle or sampler is not None or num_shards is not None):
        raise ValueError(f"For '{name}', 'shuffle', 'sampler' and 'num_shards' need a source with "
                         f"__getitem__ and __len__.")
    if sampler is not None:
        return sampler if isinstance(sampler, Sampler) else _Given(sampler)
    if num_shards is not None:
        return DistributedSampler(num_shards, shard_id, shuffle is not False)
    return SequentialSampler() if shuffle is False or not indexed else RandomSampler()


class _Given(SubsetSampler):
    """Row numbers from any iterable, read again for each epoch."""

    def __init__(self, order: Iterable[int]):
        super().__init__([])
        self.order = order

    def __iter__(self) -> Any:
        return iter(self.order)


class NumpySlicesDataset(GeneratorDataset):
    """Rows from arrays, along their first dimension.

    Args:
        data: an array or list; a tuple of them, a column each; or a dict of them by column name.
        column_names: the names of the columns; default: the keys of a dict, else ``column_0``, ...
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as for
            `GeneratorDataset`.

    Raises:
        ValueError: if the columns' lengths differ, or there are none.

    Examples:
        >>> import lamella.dataset as ds
        >>> data = ds.NumpySlicesDataset({"x": [[1, 2], [3, 4]], "y": [5, 6]}, shuffle=False)
        >>> for x, y in data.batch(2):
        ...     print(x.shape, y)
        (2, 2) [5 6]
    """

    def __init__(self, data: Any, column_names: Any = None, num_samples: int | None = None,
                 num_parallel_workers: int = 1, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None):
        if isinstance(data, dict):
            names, arrays = list(data), list(data.values())
        else:
            arrays = list(data) if isinstance(data, tuple) else [data]
            names = [f"column_{i}" for i in range(len(arrays))]
        if not arrays:
            raise ValueError("For 'NumpySlicesDataset', 'data' must not be empty.")
        columns = [np.asarray(a) for a in arrays]
        lengths = {len(c) if c.ndim else -1 for c in columns}
        if len(lengths) != 1 or -1 in lengths:
            raise ValueError(f"For 'NumpySlicesDataset', all columns must have one length, but got "
                             f"shapes {[c.shape for c in columns]}.")
        super().__init__(_Slices(columns), column_names or names, num_samples=num_samples,
                         num_parallel_workers=num_parallel_workers, shuffle=shuffle,
                         sampler=sampler, num_shards=num_shards, shard_id=shard_id)


class _Slices:
    def __init__(self, columns: list[np.ndarray]):
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, place: int) -> tuple:
        return tuple(column[place] for column in self.columns)


