"""Operations that run functions on rows: `map` and `filter`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import config
from .callback import check_callbacks, notified
from .checks import boolean
from .errors import DataError, SkippedRow, failed, in_pipeline, in_user_code
from .map_runs import MapRun
from .node import Dataset, names
from .order import MappedTable, ReadRow, Row, Table, read_from
from .rows import as_row, as_value, lent
from .state import Run
from .transforms.operation import Streams, TensorOperation, flattened, is_pillow


class MapDataset(Dataset):
    """The dataset that `Dataset.map` gives."""

    fresh = False
    _mapped: Table | None = None

    def __init__(self, child: Dataset, operations: Any, input_columns: Any = None,
                 output_columns: Any = None, num_parallel_workers: int | None = None,
                 python_multiprocessing: bool = False, cache: Any = None, callbacks: Any = None,
                 max_rowsize: Any = None, offload: Any = None):
        super().__init__(child, num_parallel_workers, cache)
        several = isinstance(operations, (list, tuple))
        listed = operations if several else [] if operations is None else [operations]
        if not listed:
            raise RuntimeError("Map: No 'operations' are specified. For 'map', give at least one.")
        for function in listed:
            if not callable(function):
                raise ValueError("Parameter operations's element of method map should be a python "
                                 "function or class method which should be callable, but got: "
                                 f"{function}. It doesn't need parentheses for python function or "
                                 "class method. For 'map', each must be a function or a transform.")
            if isinstance(function, type):
                raise ValueError(f"For 'map', each of 'operations' must be a function or a "
                                 f"transform, but got {function!r}. A class is given as an object "
                                 f"of it.")
        boolean("map", "python_multiprocessing", python_multiprocessing)
        if offload:
            config.refuse_independent("Dataset Offload")
        self.offload = None if offload is None else boolean("map", "offload", offload)
        if callbacks is not None:
            config.refuse_independent("Dataset Callbacks")
            check_callbacks(callbacks)
        self.operations: list[Any] = []
        for operation in listed:
            self.operations.extend(operation.unfolded() if hasattr(operation, "unfolded")
                                   else [operation])
        self.workers = config.checked_workers("map", num_parallel_workers)
        self.input_columns = None if input_columns is None else names("map", input_columns)
        self.output_columns = None if output_columns is None else names(
            "map", output_columns, "output_columns")
        self.python_multiprocessing = python_multiprocessing
        self.callbacks = [] if callbacks is None else (
            list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks])

    # -- columns ---------------------------------------------------------------------------------

    def _named(self) -> list[str]:
        before = self.children[0].columns
        taken = self._taken()
        given = taken if self.output_columns is None else self.output_columns
        if len(given) == len(taken):
            found = [given[taken.index(n)] if n in taken else n for n in before]
        else:
            found = [*given, *(n for n in before if n not in taken and n not in given)]
        if len(set(found)) != len(found):
            raise in_pipeline(f"For 'map', names of columns must differ, but got {found}.")
        return found

    def _taken(self) -> list[str]:
        columns = self.children[0].columns
        if self.input_columns is None:
            return columns[:1]
        return self.children[0]._listed("map", self.input_columns)

    # -- rows ------------------------------------------------------------------------------------

    def _table(self) -> Table | None:
        if self._mapped is None:
            table = self.children[0]._table()
            blocks = [getattr(operation, "block", None) for operation in self.operations]
            if (table is None or not table.stacks or None in blocks or self.callbacks
                    or config.get_debug_mode() or len(self._taken()) != 1
                    or len(self.output_columns or [0]) != 1):
                return None
            place = self.children[0].columns.index(self._taken()[0])
            self._mapped = MappedTable(table, lambda row: self._stacked(row, place, blocks))
        return self._mapped

    def _stacked(self, row: Row, place: int, blocks: list[Any]) -> Row:
        value = row[place]
        for operation, block in zip(self.operations, blocks, strict=True):
            try:
                value = block(value)
            except (TypeError, ValueError, RuntimeError) as error:
                raise self._failed(operation, error) from error
        return (*row[:place], value, *row[place + 1:])

    def _numbers(self, run: Run, skip: int = 0) -> Iterator[np.ndarray]:
        return self.children[0]._numbers(run, skip)

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        if self._table() is not None:
            return super()._rows(run, skip)
        work: Any = run.keep(self, lambda: MapRun(self, run))
        rows = work.rows(run, skip)
        if self.callbacks:
            return notified(self.callbacks, rows, run, self.get_dataset_size(), skip)
        return rows

    def _advance(self, run: Run) -> None:
        super()._advance(run)
        if self._table() is None:
            run.keep(self, lambda: MapRun(self, run)).advance(run, self.children[0])

    def _count(self) -> int:
        return self.children[0].get_dataset_size()

    def applied(self, row: Row, streams: Streams, table: Table | None = None,
                place: int = 0) -> Row:
        """The row that the operations make of a row, which is that of a place of a table's."""
        places, before, columns = self._plan()
        values: Any = tuple([lent(row[p]) if self._lends else row[p] for p in places])
        for operation in self.operations:
            try:
                if isinstance(operation, TensorOperation):
                    values = operation.run(tuple([_held(v) for v in values]), streams)
                else:
                    values = operation(*[v.copy() if isinstance(v, np.ndarray) and v.base is not
                                         None else v for v in values])
                    values = values if isinstance(values, tuple) else (values,)
            except (DataError, SkippedRow):
                raise
            except Exception as error:
                raise self._failed(operation, error, _files(row, table, place)) from error
            for hook in config.debug_hooks():
                hook(*values)
        try:
            out = as_row(values)
        except (TypeError, ValueError) as error:
            raise self._failed(self.operations[-1], error,
                               _files(row, table, place)) from error
        if len(out) != len(self._given):
            raise in_user_code("map operation", ValueError(
                f"Invalid columns, the number of columns returned in 'map' operations should match "
                f"the number of 'output_columns': the operations gave {len(out)} columns, but "
                f"'output_columns' names {len(self._given)}: {self._given}."))
        named = {**dict(zip(before, row, strict=True)), **dict(zip(self._given, out, strict=True))}
        made = tuple([named[name] for name in columns])
        if table is not None and table.files is not None:
            return read_from(made, (table.files, place))
        return read_from(made, row.origin) if isinstance(row, ReadRow) else made

    def _plan(self) -> tuple[list[int], list[str], list[str]]:
        if self.__dict__.get("_planned") is None:
            before, taken = self.children[0].columns, self._taken()
            self._given = taken if self.output_columns is None else self.output_columns
            self._lends = self.in_python()
            self._planned = ([before.index(n) for n in taken], before, self.columns)
        return self._planned

    def _failed(self, operation: Any, error: BaseException,
                files: Sequence[str] = ()) -> RuntimeError:
        name = type(operation).__name__
        if isinstance(operation, TensorOperation) and not operation.python:
            return in_pipeline(f"{failed(f'map operation: [{name}]', files)} {error}")
        return in_user_code("map operation: [PyFunc]", error, files)

    def _runs_python(self) -> bool:
        return self.in_python() and not self._pooled()

    def _pooled(self) -> bool:
        """Whether worker processes run it."""
        return (self.python_multiprocessing and self.workers > 1 and self.in_python()
                and not config.get_debug_mode())

    def _draws(self) -> bool:
        return self.in_python() or any(
            getattr(op, "draws", False) for op in flattened(self.operations))

    def _is_passed_over(self) -> bool:
        # its marks count the rows of a pass; threads and processes ask for rows ahead
        below = self.tree()[1:]
        return not any(node._repeats() for node in below) and (
            self._runs_python() or not self._is_above_python())

    def _is_above_python(self) -> bool:
        return any(node._runs_python() for node in self.tree()[1:])

    def in_python(self) -> bool:
        """Whether an operation runs Python code, which threads don't speed up."""
        return any(not isinstance(op, TensorOperation) or op.python
                   for op in flattened(self.operations))


def _files(row: Row, table: Table | None, place: int) -> Sequence[str]:
    """The files that a row was read from, as far as they are known."""
    if table is not None:
        return table.files(place) if table.files is not None else ()
    return row.files if isinstance(row, ReadRow) else ()


def _held(value: Any) -> Any:
    """A value as operations hold it: what a function before gave may be a list or a Tensor."""
    if isinstance(value, (np.ndarray, dict)) or is_pillow(value):
        return value
    try:
        return as_value(value)
    except (TypeError, ValueError):
        return value  # an object that the operation may know


def mapped(child: Dataset, *args: Any, column_order: Any = None, **kwargs: Any) -> Dataset:
    """What `Dataset.map` gives; `column_order` is older versions' word for `project`."""
    made = MapDataset(child, *args, **kwargs)
    return made if column_order is None else made.project(column_order)


class FilterDataset(Dataset):
    """The dataset that `Dataset.filter` gives."""

    _asks_others = True

    def __init__(self, child: Dataset, predicate: Callable[..., Any], input_columns: Any = None,
                 num_parallel_workers: int | None = None):
        super().__init__(child, num_parallel_workers)
        if not callable(predicate):
            raise TypeError(f"Predicate should be a Python function or a callable Python object. "
                            f"For 'filter', 'predicate' must be a function, but got "
                            f"{type(predicate).__name__}.")
        config.checked_workers("filter", num_parallel_workers)
        self.predicate = predicate
        self.input_columns = None if input_columns is None else names("filter", input_columns)
        self.fresh = child.fresh

    def _runs_python(self) -> bool:
        return True

    def _rows(self, run: Run, skip: int = 0) -> Iterator[Row]:
        child = self.children[0]
        listed = self.input_columns or child.columns
        places = [child.columns.index(n) for n in child._listed("filter", listed)]
        return itertools.islice((row for row in child._rows(run) if self._keeps(
            [lent(row[p]) for p in places])), skip, None)

    def _keeps(self, values: list[np.ndarray]) -> bool:
        try:
            kept = self.predicate(*values)
        except Exception as error:
            raise in_user_code("filter operation: [PyFunc]", error) from error
        if not isinstance(kept, (bool, np.bool_, int, np.ndarray)):
            raise in_user_code("filter operation: [PyFunc]", TypeError(
                f"For 'filter', 'predicate' must return a bool, but it returned "
                f"{type(kept).__name__}."))
        return bool(kept)
