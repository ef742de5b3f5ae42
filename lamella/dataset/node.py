"""A Dataset: rows, operations that make a new Dataset of one, and iterators over it."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..dtype import Type, dtype_to_nptype, pytype_to_dtype
from ..tensor import Tensor
from . import config

Row = tuple[np.ndarray, ...]


def as_row(raw: Any, types: Any = None) -> Row:
    """A row of arrays from what a source or a function gave."""
    values = raw if isinstance(raw, tuple) else (raw,)
    row = tuple(v.asnumpy() if isinstance(v, Tensor) else np.asarray(v) for v in values)
    if types is not None:
        listed = types if isinstance(types, (list, tuple)) else [types]
        row = tuple(v.astype(dtype_to_nptype(t)) for v, t in builtins.zip(row, listed, strict=True))
    return row


class Dataset:
    """The base of all datasets. A subclass gives the rows of one epoch in `rows`.

    Operations leave the Dataset as it is and return a new one.
    """

    def __init__(self, columns: list[str]):
        self.columns = columns

    def rows(self) -> Iterator[Row]:
        """The rows of one epoch."""
        raise NotImplementedError(f"'{type(self).__name__}' must define 'rows'.")

    def get_dataset_size(self) -> int:
        """The number of rows of one epoch."""
        return sum(1 for _ in self.rows())

    def __len__(self) -> int:
        return self.get_dataset_size()

    # -- operations ------------------------------------------------------------------------------

    def map(self, operations: Any, input_columns: Any = None, output_columns: Any = None,
            num_parallel_workers: int | None = None, **kwargs: Any) -> Dataset:
        """Apply functions, one after the other, to columns of each row.

        Args:
            operations: a function or a list of them; the first takes an array for each of
                `input_columns`, each next one what the one before gave.
            input_columns: names of columns; default: the first.
            output_columns: the names of what comes out; default: `input_columns`.
            num_parallel_workers, **kwargs: accepted as MindSpore does.
        """
        functions = operations if isinstance(operations, (list, tuple)) else [operations]
        for function in functions:
            if not callable(function):
                raise TypeError(f"For 'map', each of 'operations' must be a function, "
                                f"but got {type(function).__name__}.")
        taken = self._listed("map", input_columns or self.columns[:1])
        given = taken if output_columns is None else _names(output_columns)
        places = [self.columns.index(name) for name in taken]
        kept = [name for name in self.columns if name not in taken]
        columns = [*given, *kept] if len(given) != len(taken) else [
            given[taken.index(n)] if n in taken else n for n in self.columns]

        def mapped() -> Iterator[Row]:
            for row in self.rows():
                values: Any = tuple(row[p] for p in places)
                for function in functions:
                    values = function(*values)
                    values = values if isinstance(values, tuple) else (values,)
                out = as_row(values)
                if len(out) != len(given):
                    raise ValueError(f"For 'map', the operations gave {len(out)} columns, but "
                                     f"'output_columns' names {len(given)}: {given}.")
                named = {**dict(builtins.zip(self.columns, row, strict=True)),
                         **dict(builtins.zip(given, out, strict=True))}
                yield tuple(named[name] for name in columns)

        return _Made(columns, mapped, self.get_dataset_size, self)

    def batch(self, batch_size: int, drop_remainder: bool = False,
              num_parallel_workers: int | None = None, **kwargs: Any) -> Dataset:
        """Stack rows.

        Args:
            batch_size: how many.
            drop_remainder: whether to leave out a last batch with fewer.
            num_parallel_workers, **kwargs: accepted as MindSpore does; `per_batch_map` is not
                supported.
        """
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size <= 0:
            raise ValueError(f"For 'batch', 'batch_size' must be a positive int, "
                             f"but got {batch_size!r}.")
        if kwargs.get("per_batch_map") is not None:
            raise ValueError("For 'batch', 'per_batch_map' is not supported; use 'map'.")

        def batched() -> Iterator[Row]:
            rows = self.rows()
            while chunk := list(itertools.islice(rows, batch_size)):
                if len(chunk) < batch_size and drop_remainder:
                    return
                yield tuple(_stacked(name, column) for name, column in builtins.zip(
                    self.columns, builtins.zip(*chunk, strict=True), strict=True))

        def size() -> int:
            count = self.get_dataset_size()
            return count // batch_size if drop_remainder else -(-count // batch_size)

        made = _Made(list(self.columns), batched, size, self)
        made.batch_size = batch_size
        return made

    def shuffle(self, buffer_size: int) -> Dataset:
        """Draw each row at random from the next `buffer_size`."""
        if isinstance(buffer_size, bool) or not isinstance(buffer_size, int) or buffer_size < 1:
            raise ValueError(f"For 'shuffle', 'buffer_size' must be an int of 1 or more, "
                             f"but got {buffer_size!r}.")

        def shuffled() -> Iterator[Row]:
            rng, rows = config.generator(), self.rows()
            buffer = list(itertools.islice(rows, buffer_size))
            for row in rows:
                place = rng.integers(len(buffer))
                yield buffer[place]
                buffer[place] = row
            for place in rng.permutation(len(buffer)):
                yield buffer[place]

        return _Made(list(self.columns), shuffled, self.get_dataset_size, self)

    def repeat(self, count: int | None = None) -> Dataset:
        """The rows `count` times over; without end where None or -1."""
        if count is not None and (not isinstance(count, int) or count == 0 or count < -1):
            raise ValueError(f"For 'repeat', 'count' must be a positive int, -1 or None, "
                             f"but got {count!r}.")
        times = itertools.count() if count in (None, -1) else range(count)  # type: ignore[arg-type]

        def repeated() -> Iterator[Row]:
            for _ in times:
                yield from self.rows()

        made = _Made(list(self.columns), repeated,
                     lambda: self.get_dataset_size() * (count if count and count > 0 else 1), self)
        made.repeat_count = count or -1
        return made

    def take(self, count: int = -1) -> Dataset:
        """The first `count` rows; all where -1."""
        stop = None if count == -1 else count
        return _Made(list(self.columns), lambda: itertools.islice(self.rows(), stop),
                     lambda: min(self.get_dataset_size(), self.get_dataset_size()
                                 if stop is None else stop), self)

    def skip(self, count: int) -> Dataset:
        """All but the first `count` rows."""
        return _Made(list(self.columns), lambda: itertools.islice(self.rows(), count, None),
                     lambda: max(0, self.get_dataset_size() - count), self)

    def filter(self, predicate: Callable[..., Any], input_columns: Any = None,
               num_parallel_workers: int | None = None) -> Dataset:
        """The rows for which `predicate`, given `input_columns` (default: all), is true."""
        names = self._listed("filter", input_columns or self.columns)
        places = [self.columns.index(name) for name in names]

        def kept() -> Iterator[Row]:
            return (row for row in self.rows() if bool(predicate(*(row[p] for p in places))))

        return _Made(list(self.columns), kept, None, self)

    def project(self, columns: Any) -> Dataset:
        """Only these columns, in this order."""
        names = self._listed("project", columns)
        places = [self.columns.index(name) for name in names]
        return _Made(names, lambda: (tuple(row[p] for p in places) for row in self.rows()),
                     self.get_dataset_size, self)

    def rename(self, input_columns: Any, output_columns: Any) -> Dataset:
        """Other names for columns."""
        old, new = self._listed("rename", input_columns), _names(output_columns)
        if len(old) != len(new):
            raise ValueError(f"For 'rename', as many names must come out as go in, but got {old} "
                             f"and {new}.")
        changed = dict(builtins.zip(old, new, strict=True))
        return _Made([changed.get(name, name) for name in self.columns], self.rows,
                     self.get_dataset_size, self)

    def concat(self, datasets: Any) -> Dataset:
        """These rows, then those of other datasets with the same columns."""
        parts = [self, *(datasets if isinstance(datasets, (list, tuple)) else [datasets])]
        for part in parts:
            if part.columns != self.columns:
                raise ValueError(f"For 'concat', all datasets must have the columns "
                                 f"{self.columns}, but got {part.columns}.")
        return _Made(list(self.columns),
                     lambda: itertools.chain.from_iterable(p.rows() for p in parts),
                     lambda: sum(p.get_dataset_size() for p in parts), self)

    __add__ = concat

    def zip(self, datasets: Any) -> Dataset:
        """Rows side by side with those of other datasets, up to the shortest."""
        return zip((self, *(datasets if isinstance(datasets, tuple) else (datasets,))))

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """What `apply_func` makes of this dataset."""
        made = apply_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"For 'apply', 'apply_func' must return a Dataset, "
                            f"but it returned {type(made).__name__}.")
        return made

    # -- reading ---------------------------------------------------------------------------------

    def create_tuple_iterator(self, columns: Any = None, num_epochs: int = -1,
                              output_numpy: bool = False, do_copy: bool = False) -> Any:
        """An iterator over rows as lists; each ``iter`` of it reads one epoch.

        Args:
            columns: which columns; default: all.
            num_epochs: how many epochs will be read; accepted as MindSpore does.
            output_numpy: give NumPy arrays instead of Tensors.
            do_copy: accepted as MindSpore does.
        """
        return _Epochs(self if columns is None else self.project(columns), list, output_numpy)

    def create_dict_iterator(self, num_epochs: int = -1, output_numpy: bool = False,
                             do_copy: bool = False) -> Any:
        """As `create_tuple_iterator`, with rows as dicts by column name."""
        return _Epochs(self, dict, output_numpy)

    def __iter__(self) -> Iterator[list[Any]]:
        return iter(self.create_tuple_iterator())

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    def output_shapes(self, estimate: bool = False) -> list[list[int]]:
        """The shape of each column in the first row."""
        return [list(value.shape) for value in next(self.rows())]

    def output_types(self) -> list[Type]:
        """The data type of each column in the first row."""
        return [pytype_to_dtype(value.dtype.type) for value in next(self.rows())]

    def get_batch_size(self) -> int:
        """How many rows of the source a row holds."""
        return 1

    def get_repeat_count(self) -> int:
        """How often the rows are repeated."""
        return 1

    def reset(self) -> None:
        """Start again with the next epoch; every ``iter`` does."""

    def _listed(self, where: str, columns: Any) -> list[str]:
        names = _names(columns)
        for name in names:
            if name not in self.columns:
                raise ValueError(f"For '{where}', there is no column {name!r}; the columns are "
                                 f"{self.columns}.")
        return names


class _Made(Dataset):
    """A dataset that an operation made."""

    batch_size: int | None = None
    repeat_count: int | None = None

    def __init__(self, columns: list[str], rows: Callable[[], Iterator[Row]],
                 size: Callable[[], int] | None, of: Dataset):
        super().__init__(columns)
        self._rows, self._size, self._of = rows, size, of

    def rows(self) -> Iterator[Row]:
        """The rows of one epoch."""
        return iter(self._rows())

    def get_dataset_size(self) -> int:
        """The number of rows of one epoch."""
        return super().get_dataset_size() if self._size is None else self._size()

    def get_batch_size(self) -> int:
        """How many rows of the source a row holds."""
        return self._of.get_batch_size() if self.batch_size is None else self.batch_size

    def get_repeat_count(self) -> int:
        """How often the rows are repeated."""
        return self._of.get_repeat_count() if self.repeat_count is None else self.repeat_count


class _Epochs:
    """An iterator that can be read epoch after epoch."""

    def __init__(self, dataset: Dataset, form: type, output_numpy: bool):
        self.dataset, self.form, self.output_numpy = dataset, form, output_numpy
        self.current: Iterator[Row] | None = None

    def __iter__(self) -> _Epochs:
        self.current = self.dataset.rows()
        return self

    def __next__(self) -> Any:
        if self.current is None:
            self.current = self.dataset.rows()
        row = next(self.current)
        values = list(row) if self.output_numpy else [Tensor(value) for value in row]
        if self.form is list:
            return values
        return dict(builtins.zip(self.dataset.columns, values, strict=True))


def zip(datasets: tuple[Dataset, ...]) -> Dataset:
    """Rows of several datasets side by side, up to the shortest.

    Examples:
        >>> import lamella.dataset as ds
        >>> a = ds.NumpySlicesDataset({"a": [1, 2]}, shuffle=False)
        >>> b = ds.NumpySlicesDataset({"b": [3, 4]}, shuffle=False)
        >>> [[int(v) for v in row] for row in ds.zip((a, b))]
        [[1, 3], [2, 4]]
    """
    if not isinstance(datasets, tuple) or len(datasets) < 2:
        raise ValueError("For 'zip', a tuple of two datasets or more is expected.")
    columns = [name for part in datasets for name in part.columns]
    if len(set(columns)) != len(columns):
        raise ValueError(f"For 'zip', the datasets must have different columns, but got {columns}.")
    return _Made(columns,
                 lambda: (tuple(itertools.chain.from_iterable(rows)) for rows in builtins.zip(
                     *(part.rows() for part in datasets), strict=False)),
                 lambda: min(part.get_dataset_size() for part in datasets), datasets[0])


def _names(columns: Any) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)


def _stacked(name: str, values: tuple[np.ndarray, ...]) -> np.ndarray:
    shapes = {value.shape for value in values}
    if len(shapes) != 1:
        raise ValueError(f"For 'batch', the rows of a batch must have one shape, but column "
                         f"{name!r} has {sorted(shapes)}.")
    return np.stack(values)
