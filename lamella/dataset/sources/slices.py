"""Rows from arrays in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...tensors.tensor import Tensor
from ..checks import of_type
from ..node import names
from ..order import ArrayTable, Table
from ..rows import as_array
from ..samplers import BuiltinSampler, PKSampler, SequentialSampler
from ..source import MappableDataset
from ..source_arguments import select_sampler

_SINGLE = (str, bytes, int, float, type(None))  # no rows


class ArraysDataset(MappableDataset):
    """The base of sources that hold all columns as arrays, which `_arrays` returns."""

    _class_column: str | None = None  # where a PKSampler finds classes

    def __init__(self, column_names: list[str], sampler: BuiltinSampler,
                 num_parallel_workers: int | None = None, cache: Any = None):
        super().__init__(None, num_parallel_workers, cache)
        self._columns, self.sampler = column_names, sampler
        self._held: ArrayTable | None = None
        self._origins: list[tuple[Sequence[str], int]] = []  # files, and how many rows they have

    def _arrays(self) -> list[np.ndarray]:
        raise NotImplementedError

    def _files_of(self, place: int) -> Sequence[str]:
        for files, count in self._origins:
            if place < count:
                return files
            place -= count
        return ()

    def _table(self) -> Table | None:
        if self._held is None:
            self._held = ArrayTable(self._arrays(), self._files_of if self._origins else None)
            if self._class_column in self.columns:
                place = self.columns.index(self._class_column)  # type: ignore[arg-type]
                labels = self._held.columns[place]
                self.sampler.know(lambda _: labels)
        return self._held


class NumpySlicesDataset(ArraysDataset):
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

    in_memory = True

    def __init__(self, data: Any, column_names: Any = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = 1, shuffle: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None):
        if isinstance(data, _SINGLE):
            raise TypeError(f"{of_type('data', data, list, tuple, dict, np.ndarray)} For "
                            "'NumpySlicesDataset', give arrays or lists.")
        if isinstance(data, dict):
            found, arrays = list(data), list(data.values())
        else:
            arrays = list(data) if isinstance(data, tuple) else [data]
            found = [f"column_{i}" for i in range(len(arrays))]
        if not arrays:
            raise ValueError("Argument data cannot be empty. For 'NumpySlicesDataset', 'data' must "
                             "hold rows.")
        if isinstance(data, tuple):
            for place, part in enumerate(arrays):
                if isinstance(part, _SINGLE):
                    raise TypeError(f"{of_type(f'data[{place}]', part, list, np.ndarray)} For "
                                    "'NumpySlicesDataset', give arrays or lists.")
        columns = [a.asnumpy() if isinstance(a, Tensor) else np.asarray(a) for a in arrays]
        lengths = {len(c) if c.ndim else -1 for c in columns}
        if len(lengths) > 1 and -1 not in lengths:
            raise ValueError(f"Data length in each column is not equal. For 'NumpySlicesDataset', "
                             f"all columns must have one length, but got shapes "
                             f"{[c.shape for c in columns]}.")
        if len(lengths) != 1 or -1 in lengths:
            raise ValueError(f"For 'NumpySlicesDataset', all columns must have one length, but got "
                             f"shapes {[c.shape for c in columns]}.")
        if any(c.dtype == object for c in columns):
            raise TypeError("For 'NumpySlicesDataset', 'data' must be arrays of numbers or "
                            "strings, but got one of objects.")
        given = found if column_names is None else names(
            "NumpySlicesDataset", column_names, "column_names")
        if len(given) != len(columns):
            why = "" if isinstance(data, (tuple, dict)) else " as data is list"
            raise ValueError(f"Num of input column names is {len(given)}, but required is "
                             f"{len(columns)}{why}. For 'NumpySlicesDataset', "
                             f"got 'column_names' {given}.")
        chosen = select_sampler("NumpySlicesDataset", num_samples, sampler, shuffle, num_shards,
                                shard_id, True)
        if isinstance(chosen, PKSampler):
            raise ValueError("NumpySlicesDataset doesn't support PKSampler.")
        super().__init__(given, chosen, num_parallel_workers)
        self._data = columns

    def _arrays(self) -> list[np.ndarray]:
        return self._data

    def __getitem__(self, index: int) -> Any:
        row = ArrayTable(self._data).row(index)
        return row[0] if len(row) == 1 else row


class PaddedDataset(MappableDataset):
    """Rows given as dicts, to pad another dataset with.

    Args:
        padded_samples: a list of dicts, a value by column name.
    """

    def __init__(self, padded_samples: list[dict[str, Any]]):
        if not isinstance(padded_samples, (list, type(None))):
            raise TypeError(f"For 'PaddedDataset', 'padded_samples' must be a list of dicts, but "
                            f"got {type(padded_samples).__name__}.")
        if not padded_samples:
            raise ValueError("padded_samples cannot be empty. For 'PaddedDataset', it is a list of "
                             "dicts.")
        if not all(isinstance(sample, dict) for sample in padded_samples):
            raise TypeError("For 'PaddedDataset', each of 'padded_samples' must be a dict.")
        super().__init__()
        self._columns = list(padded_samples[0])
        self.padded_samples, self.sampler = padded_samples, SequentialSampler()
        self._rows_table = Table(lambda i: tuple(
            [as_array(padded_samples[i][n]) for n in self.columns]), len(padded_samples))

    def _table(self) -> Table | None:
        return self._rows_table
