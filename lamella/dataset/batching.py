"""Operations that stack rows: `batch`, `padded_batch`, `bucket_batch_by_length`."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import config
from .checks import LARGEST, boolean, in_interval, of_type
from .errors import DataError, in_pipeline, in_user_code
from .node import Dataset, names
from .order import Row, batched
from .processes import Processes
from .rows import as_value, lent, merged, stacked
from .state import Run


def _parameters(function: Any) -> int | None:
    """How many parameters a function has; None where that is not said, or not fixed."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    fixed = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
                for p in found)
    return len(found) if fixed else None


class BatchInfo:
    """The argument of a function of `batch`: which batch of which epoch it makes."""

    def __init__(self, batch_num: int, epoch_num: int):
        self._batch, self._epoch = batch_num, epoch_num

    def get_batch_num(self) -> int:
        """The number of the batch in its epoch, from 0."""
        return self._batch

    def get_epoch_num(self) -> int:
        """The number of the epoch, from 0."""
        return self._epoch


class BatchDataset(Dataset):
    """The dataset that `Dataset.batch` gives."""

    fresh = True

    def __init__(self, child: Dataset, batch_size: Any, drop_remainder: bool = False,
                 num_parallel_workers: int | None = None, per_batch_map: Any = None,
                 input_columns: Any = None, output_columns: Any = None,
                 python_multiprocessing: bool = False, max_rowsize: Any = None):
        super().__init__(child, num_parallel_workers)
        name = self._what = "padded_batch" if isinstance(self, PaddedBatchDataset) else "batch"
        if callable(batch_size):
            if _parameters(batch_size) not in (1, None):
                raise ValueError(f"callable batch_size should take one parameter (BatchInfo). For "
                                 f"'{name}', got {batch_size!r}.")
        else:
            if isinstance(batch_size, bool) or not isinstance(batch_size, int):
                raise TypeError(f"batch_size should either be an int or a callable. For '{name}', "
                                f"'batch_size' must be a positive int or a function, but got "
                                f"{batch_size!r}.")
            if batch_size != -1:
                if not 1 <= batch_size <= LARGEST:
                    raise ValueError(f"{in_interval('batch_size', 1, LARGEST)} For '{name}', "
                                     f"'batch_size' must be a positive int, but got {batch_size}.")
        boolean(name, "drop_remainder", drop_remainder)
        if per_batch_map is not None and not callable(per_batch_map):
            raise ValueError("Input operations should be callable Python function, but got: "
                             f"{per_batch_map}. For '{name}', 'per_batch_map' must be a function.")
        if input_columns is not None and per_batch_map is None:
            raise ValueError(f"input_columns can be specified only when per_batch_map is set. For "
                             f"'{name}', 'input_columns' is what 'per_batch_map' takes.")
        self.workers = config.checked_workers(name, num_parallel_workers)
        self.batch_size: Any = batch_size
        self.drop_remainder = drop_remainder
        self.per_batch_map, self.python_multiprocessing = per_batch_map, python_multiprocessing
        self._hands_on = type(self) is BatchDataset and per_batch_map is None
        self.input_columns = None if input_columns is None else names(name, input_columns)
        if self.input_columns is not None and _parameters(per_batch_map) not in (
                len(self.input_columns) + 1, None):
            raise ValueError(f"The signature of per_batch_map should match with input columns. For "
                             f"'{name}', it takes {len(self.input_columns)} columns and a "
                             f"BatchInfo.")
        self.output_columns = None if output_columns is None else names(
            name, output_columns, "output_columns")

    def _named(self) -> list[str]:
        before = self.children[0].columns
        if self.per_batch_map is None:
            return before
        taken = self._taken()
        given = taken if self.output_columns is None else self.output_columns
        if len(given) == len(taken):
            return [given[taken.index(n)] if n in taken else n for n in before]
        return [*given, *(n for n in before if n not in taken and n not in given)]

    def _taken(self) -> list[str]:
        child = self.children[0]
        if self.input_columns is None:
            return child.columns
        return child._listed(self._what, self.input_columns)

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        child, size = self.children[0], self.batch_size
        if size == -1:  # all rows in one
            size = max(1, child.get_dataset_size())
        table = child._table()
        if isinstance(size, int):
            if table is not None and (table.stacks or table.gathers) and self._hands_on:
                numbers = child._numbers(run, skip * size)
                return map(table.gather, batched(numbers, size, self.drop_remainder))
            lists = self._lists(iter(child._rows(run, skip * size)), size)
            return self._made(lists, run, skip)
        return itertools.islice(self._made(self._sized(run), run, 0), skip, None)

    def _runs_python(self) -> bool:
        return self.per_batch_map is not None or not isinstance(self.batch_size, int)

    def _is_passed_over(self) -> bool:
        return not self._runs_python()

    def _lists(self, rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
        while found := list(itertools.islice(rows, size)):
            if len(found) == size or not self.drop_remainder:
                yield found

    def _sized(self, run: Run) -> Iterator[list[Row]]:
        rows = iter(self.children[0]._rows(run))
        for number in itertools.count():
            size = self.batch_size(BatchInfo(number, run.epoch))
            if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
                raise in_user_code("batch operation: [batch_size]", ValueError(
                    f"For 'batch', the function 'batch_size' must return a positive int, but it "
                    f"returned {size!r}."))
            found = list(itertools.islice(rows, int(size)))
            if not found or (len(found) < size and self.drop_remainder):
                return
            yield found

    def _made(self, lists: Iterator[list[Row]], run: Run, skip: int) -> Iterator[Row]:
        epoch = run.epoch
        items = zip(lists, itertools.count(skip), strict=False)
        if (self.per_batch_map is not None and self.python_multiprocessing and self.workers > 1
                and not config.get_debug_mode()):
            return self._in_processes(items, run, epoch)
        return (self._batch(rows, BatchInfo(number, epoch)) for rows, number in items)

    def _in_processes(self, items: Iterator[Any], run: Run, epoch: int) -> Iterator[Row]:
        pool = run.keep(self, _Pool)
        if pool.processes is None:
            self.columns  # noqa: B018  (found out before there are processes)
            pool.processes = Processes(
                lambda item, _: self._batch(item[0], BatchInfo(item[1], item[2])), [],
                "batch operation: [per_batch_map]", self.workers, run.seed)
            run.closers.append(pool.processes.close)
        numbered: Iterator[Any] = ((rows, number, epoch) for rows, number in items)
        return (row for row, _ in pool.processes.rows(numbered, 0) if row is not None)

    def _batch(self, rows: list[Row], info: BatchInfo) -> Row:
        before = self.children[0].columns
        for row in rows:
            if len(row) != len(before):
                raise in_pipeline(f"For 'batch', each row must have the columns {before}, but one "
                                  f"has {len(row)} values.")
        values = {name: list(column) for name, column in zip(
            before, zip(*rows, strict=True), strict=True)}
        if self.per_batch_map is not None:
            taken = self._taken()
            given = taken if self.output_columns is None else self.output_columns
            try:
                given_back: Any = self.per_batch_map(
                    *([lent(value) for value in values[name]] for name in taken), info)
                out = given_back if isinstance(given_back, tuple) else (given_back,)
                if len(out) != len(given):
                    kept = any(name in before and name not in taken for name in given)
                    raise ValueError(
                        ("columns that are not involved in 'per_batch_map' should not be in "
                         "output_columns." if kept else f"the number of columns returned in "
                         f"'per_batch_map' function should be {len(given)}.")
                        + f" For 'batch', it gave {len(out)} columns, but there are to be "
                        f"{len(given)}: {given}.")
                for name, column in zip(given, out, strict=True):
                    values[name] = _column(column)
                    if isinstance(column, (list, tuple)) and len(column) != len(rows):
                        raise in_pipeline(
                            f"Invalid data, column: {name} expects: {len(rows)} rows returned from "
                            f"'per_batch_map', got: {len(column)}")
            except DataError:
                raise
            except Exception as error:
                raise in_user_code("batch operation: [per_batch_map]", error) from error
        return self._stacked([(name, values[name]) for name in self.columns])

    def _stacked(self, columns: list[tuple[str, list[np.ndarray]]]) -> Row:
        return tuple([values if isinstance(values, (dict, np.ndarray)) else stacked(number, values)
                      for number, (_, values) in enumerate(columns)])

    def _count(self) -> int:
        if callable(self.batch_size):
            return super()._count()
        count = self.children[0].get_dataset_size()
        if self.batch_size == -1:
            return min(count, 1)
        return count // self.batch_size if self.drop_remainder else -(-count // self.batch_size)

    def get_batch_size(self) -> int:
        """How many rows of the source a row holds."""
        return -1 if callable(self.batch_size) else self.batch_size


def _column(given: Any) -> Any:
    """A column that `per_batch_map` gave: a list of values; or a whole batch, an array or dict."""
    if isinstance(given, dict):
        return given
    if isinstance(given, np.ndarray):
        return lent(as_value(given))  # batches have memory of their own
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"For 'batch', 'per_batch_map' must give a tuple of lists, but "
                        f"got {type(given).__name__}.")
    listed = [as_value(value) for value in given]
    if listed and all(isinstance(value, dict) for value in listed):
        return merged(0, listed)
    return listed


class _Pool:
    """The processes of a reading; they remember nothing."""

    processes: Any = None

    def state(self) -> None:
        """Nothing."""

    def restore(self, state: Any) -> None:
        """Nothing."""


class PaddedBatchDataset(BatchDataset):
    """The dataset that `Dataset.padded_batch` gives."""

    def __init__(self, child: Dataset, batch_size: Any, drop_remainder: bool = False,
                 num_parallel_workers: int | None = None, pad_info: Any = None):
        super().__init__(child, batch_size, drop_remainder, num_parallel_workers)
        self.pad_info = checked_pad_info("padded_batch", pad_info)

    def _stacked(self, columns: list[tuple[str, list[np.ndarray]]]) -> Row:
        return padded(columns, self.pad_info)


def stacked_rows(child: Dataset, *args: Any, column_order: Any = None, pad_info: Any = None,
                 **kwargs: Any) -> Dataset:
    """What `Dataset.batch` gives, also with the arguments that older versions had.

    `pad_info` makes it `padded_batch`; `column_order` is a `project` behind it.
    """
    made = (BatchDataset(child, *args, **kwargs) if pad_info is None
            else PaddedBatchDataset(child, *args, pad_info=pad_info, **kwargs))
    return made if column_order is None else made.project(column_order)


class BucketBatchByLengthDataset(Dataset):
    """The dataset that `Dataset.bucket_batch_by_length` gives."""

    _asks_others = True

    fresh = True

    def __init__(self, child: Dataset, column_names: Any, bucket_boundaries: Any,
                 bucket_batch_sizes: Any, element_length_function: Callable[..., Any] | None,
                 pad_info: Any, pad_to_bucket_boundary: bool, drop_remainder: bool):
        super().__init__(child)
        name = "bucket_batch_by_length"
        self.column_names = names(name, column_names, "column_names")
        for argument, value in (("bucket_boundaries", bucket_boundaries),
                                ("bucket_batch_sizes", bucket_batch_sizes)):
            if not isinstance(value, list):
                raise TypeError(f"{of_type(argument, value, list)} For '{name}', '{argument}' must "
                                f"be a list of ints, but got {value!r}.")
            if not value:
                raise ValueError(f"{argument} cannot be empty. For '{name}', '{argument}' must be "
                                 f"a list of ints.")
            if any(isinstance(v, bool) or not isinstance(v, int) for v in value):
                raise TypeError(f"{argument} should be a list of int. For '{name}', '{argument}' "
                                f"must be a list of ints, but got {value!r}.")
            if any(v <= 0 for v in value):
                positive = ("must only contain positive numbers" if argument == "bucket_boundaries"
                            else "should be a list of positive numbers")
                raise ValueError(f"{argument} {positive}. For '{name}', '{argument}' must be "
                                 f"positive, but got {value!r}.")
        if any(b <= a for a, b in itertools.pairwise(bucket_boundaries)):
            raise ValueError(f"bucket_boundaries should be strictly increasing. For '{name}', "
                             f"'bucket_boundaries' must increase, but got "
                             f"{bucket_boundaries}.")
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError(f"bucket_batch_sizes must contain one element more than "
                             f"bucket_boundaries. For '{name}', 'bucket_batch_sizes' must have one "
                             f"more than 'bucket_boundaries', but got {bucket_batch_sizes} and "
                             f"{bucket_boundaries}.")
        if element_length_function is not None and not callable(element_length_function):
            raise TypeError("element_length_function object is not callable. For "
                            f"'bucket_batch_by_length', it is {element_length_function!r}.")
        if element_length_function is None and len(self.column_names) != 1:
            raise ValueError(f"If element_length_function is not specified, exactly one column "
                             f"name should be passed. For '{name}', it must be given where there "
                             f"are several 'column_names'.")
        self.boundaries, self.sizes = bucket_boundaries, bucket_batch_sizes
        self.length_function, self.drop_remainder = element_length_function, drop_remainder
        self.pad_info = checked_pad_info(name, pad_info)
        self.pad_to_boundary = pad_to_bucket_boundary

    def _runs_python(self) -> bool:
        return self.length_function is not None

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        return itertools.islice(self._made(run), skip, None)

    def _made(self, run: Run) -> Iterator[Row]:
        child = self.children[0]
        places = [child.columns.index(n)
                  for n in child._listed("bucket_batch_by_length", self.column_names)]
        buckets: list[list[Row]] = [[] for _ in self.sizes]
        for row in child._rows(run):
            length = self._length([lent(row[p]) for p in places])
            bucket = int(np.searchsorted(self.boundaries, length, "right"))
            buckets[bucket].append(row)
            if len(buckets[bucket]) == self.sizes[bucket]:
                yield self._batch(bucket, buckets[bucket])
                buckets[bucket] = []
        if not self.drop_remainder:
            for bucket, rows in enumerate(buckets):
                if rows:
                    yield self._batch(bucket, rows)

    def _length(self, values: list[np.ndarray]) -> int:
        if self.length_function is None:
            if not values[0].ndim:
                raise in_pipeline("For 'bucket_batch_by_length', the column must have a dimension.")
            return len(values[0])
        try:
            length = self.length_function(*values)
        except Exception as error:
            raise in_user_code("bucket_batch_by_length: [PyFunc]", error) from error
        if not np.issubdtype(np.asarray(length).dtype, np.integer) or length < 0:
            raise in_user_code("bucket_batch_by_length: [PyFunc]", TypeError(
                f"'element_length_function' must return an int of 0 or more, but it returned "
                f"{length!r}."))
        return int(length)

    def _batch(self, bucket: int, rows: list[Row]) -> Row:
        columns = [(name, list(values)) for name, values in zip(
            self.columns, zip(*rows, strict=True), strict=True)]
        fill = None
        if self.pad_to_boundary:
            if bucket == len(self.boundaries):
                raise in_pipeline("For 'bucket_batch_by_length', a row is longer than the last "
                                  "boundary, so it can't be padded to it.")
            fill = self.boundaries[bucket] - 1
        return padded(columns, self.pad_info, fill)


def checked_pad_info(name: str, pad_info: Any) -> dict[str, tuple[Any, Any]] | None:
    """`pad_info` of an operation.

    Raises:
        TypeError: if it isn't a dict from columns to (shape, value).
    """
    if pad_info is None:
        return None
    if not isinstance(pad_info, dict):
        raise TypeError(f"{of_type('pad_info', pad_info, dict)} For '{name}', 'pad_info' must be "
                        f"a dict, but got {pad_info!r}.")
    for column, info in pad_info.items():
        if not isinstance(info, tuple) or len(info) != 2 or not isinstance(
                info[0], (list, type(None))):
            raise TypeError(f"For '{name}', 'pad_info' must have (shape, value) for each column, "
                            f"but got {info!r} for {column!r}.")
    return pad_info


def padded(columns: list[tuple[str, list[np.ndarray]]], pad_info: dict[str, Any] | None,
           fill: int | None = None) -> Row:
    """Columns padded to one shape each, and stacked.

    Args:
        columns: names and values.
        pad_info: how, by column; None: all columns, with 0.
        fill: the size that None in a shape stands for; default: the largest there is.
    """
    pad_info = pad_info or None
    for column in pad_info or ():
        if column not in [name for name, _ in columns]:
            raise in_pipeline(f"For 'pad_info', there is no column {column!r}; the columns are "
                              f"{[name for name, _ in columns]}.")
    out = []
    for number, (name, values) in enumerate(columns):
        if (pad_info is None or name in pad_info) and not isinstance(values[0], dict):
            shape, value = (None, None) if pad_info is None else pad_info[name]
            values = _padded(name, values, shape, value, fill)
        out.append(stacked(number, values))
    return tuple(out)


def _padded(name: str, values: list[np.ndarray], shape: Any, value: Any,
            fill: int | None) -> list[np.ndarray]:
    rank = values[0].ndim
    if any(v.ndim != rank for v in values):
        raise in_pipeline(f"Cannot pad column {name!r}: its values differ in the number of "
                          f"dimensions.")
    wanted = [None] * rank if shape is None else list(shape)
    if len(wanted) != rank:
        raise in_pipeline(f"Cannot pad column {name!r}: it has {rank} dimensions, but the shape "
                          f"is {wanted}.")
    largest = [max(sizes) for sizes in zip(*(v.shape for v in values), strict=True)]
    # a boundary stands for the first free size only where there is no shape
    full = [(big if fill is None else fill) if w is None or w == -1 else w
            for w, big in zip(wanted, largest, strict=True)]
    kind = values[0].dtype
    if kind.kind in "US":
        kind = np.result_type(*values, *(() if value is None else [np.asarray(value)]))
    out = []
    for v in values:
        made = np.full(full, ("" if kind.kind == "U" else b"" if kind.kind == "S" else 0)
                       if value is None else value, kind)
        kept = tuple(slice(min(s, w)) for s, w in zip(v.shape, full, strict=True))
        made[kept] = v[kept]  # what is larger than asked for is cut
        out.append(made)
    return out
