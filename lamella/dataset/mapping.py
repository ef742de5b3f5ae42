"""Operations that run functions on rows: `map` and `filter`."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from typing import Any

import numpy as np

from . import config, threads
from .callback import check_callbacks, notified
from .checks import boolean
from .errors import DataError, SkippedRow, failed, in_pipeline, in_user_code
from .node import Dataset, names
from .order import MappedTable, ReadRow, Row, Table, flat, read_from
from .processes import Processes
from .rows import as_row, as_value
from .state import Run
from .transforms.operation import Streams, TensorOperation, flattened, is_pillow

_TRIED = 8  # rows that are run in this thread to see what they cost
_SLOW = 1e-4  # seconds a row from which on threads pay
_BLOCK = 8  # rows that a thread does at a time


class MapDataset(Dataset):
    """The dataset that `Dataset.map` gives."""

    fresh = False
    _mapped: Table | None = None

    def __init__(self, child: Dataset, operations: Any, input_columns: Any = None,
                 output_columns: Any = None, num_parallel_workers: int | None = None,
                 python_multiprocessing: bool = False, cache: Any = None, callbacks: Any = None,
                 max_rowsize: Any = None, offload: Any = None):
        super().__init__(child, num_parallel_workers, cache)
        listed = operations if isinstance(operations, (list, tuple)) else [
            *(() if operations is None else (operations,))]
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
        work: Any = run.keep(self, lambda: _Work(self, run))
        rows = work.rows(run, skip)
        if self.callbacks:
            return notified(self.callbacks, rows, run, self.get_dataset_size(), skip)
        return rows

    def _advance(self, run: Run) -> None:
        super()._advance(run)
        if self._table() is None:
            run.keep(self, lambda: _Work(self, run)).advance(run, self.children[0])

    def _count(self) -> int:
        return self.children[0].get_dataset_size()

    def applied(self, row: Row, streams: Streams, table: Table | None = None,
                place: int = 0) -> Row:
        """The row that the operations make of a row, which is that of a place of a table's."""
        places, before, columns = self._plan()
        values: Any = tuple([row[p] for p in places])
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


class _Work:
    """One run of a `map`: which worker computes which row, and where the run can continue."""

    def __init__(self, node: MapDataset, run: Run):
        self.node, self.workers = node, node.workers
        self.random = [op for op in flattened(node.operations) if getattr(op, "draws", False)]
        self.streams = [Streams(run.seed + k, self.random) for k in range(self.workers)]
        self.passes, self.place, self.turn = 0, 0, 0
        self.lanes: threads.Lanes | None = None
        self.processes: Any = None
        self.latest: Any = None  # a mark of the last block, where work is done ahead
        self.working: list[Future[Any]] = []  # what threads were asked for last
        self.slow: bool | None = None  # whether threads pay; None: not yet known
        saved = run.saved(node)
        self.decided: bool | None = saved and saved.get("slow")  # before the state was saved
        self.restored = run.mark(node)
        self.ahead = max(1, config.get_prefetch_size() // _BLOCK)  # blocks that threads work on
        self.wanted, self.waited = node.workers, 0.0  # for autotuning; see there

    states: Any = None
    rows_before = 0  # of the pass before

    def state(self) -> dict[str, Any]:
        """The state that an epoch begins with."""
        self.latest, self.place = None, 0  # the last pass may have been left, as by `take`
        return self._marked(0, self.turn)

    def restore(self, state: dict[str, Any]) -> None:
        """Begin an epoch with the state of an earlier one."""
        self.passes, self.turn = state["passes"], state["turn"] % self.workers
        self.place = 0
        self._set(state)

    def _set(self, state: dict[str, Any]) -> None:
        for streams, kept in zip(self.streams, state["streams"], strict=True):
            streams.restore(kept)
        self.states, self.slow = state["python"], state.get("slow")

    def rows_ahead(self) -> int:
        """How many rows each thread is ahead of the program, at most."""
        return self.ahead * _BLOCK

    def mark(self) -> dict[str, Any]:
        """A position to continue from without computing the rows before it."""
        return self.latest or self._marked(self.place, self.turn)

    def _marked(self, place: int, turn: int, streams: Any = None) -> dict[str, Any]:
        return {"passes": self.passes, "place": place, "turn": turn, "slow": self.slow,
                "rows": self.rows_before,
                "streams": streams or [s.state() for s in self.streams],
                "python": self.processes.states if self.processes else self.states}

    def advance(self, run: Run, child: Dataset) -> None:
        """Skip a pass; the random state after it is in the mark of a later one."""
        if self.restored is not None and self.restored["passes"] == self.passes:
            self._set(self.restored)  # all rows of this pass had been read
            self.restored = None
        if self.node._runs_python():
            run.pass_over(self.node)
        self.passes += 1
        self.turn = (self.turn + child.get_dataset_size() + 1) % self.workers

    def rows(self, run: Run, skip: int) -> Iterator[Row]:
        """The rows of an epoch, from `skip` on."""
        mark, self.restored = self.restored, None
        start = 0
        # with fewer rows than the pass had, what is above has read ahead
        if (mark is not None and (mark["passes"], mark["place"]) == (self.passes + 1, 0)
                and 0 < skip >= mark.get("rows", 0)):
            self._set(mark)  # all rows of this epoch have been read
            self.passes, self.turn = mark["passes"], mark["turn"] % self.workers
            if self.node._runs_python():
                run.pass_over(self.node)
            self.node.children[0]._advance(run)
            return iter(())
        if mark is not None and mark["passes"] == self.passes and mark["place"] <= skip:
            self._set(mark)
            start, self.turn = mark["place"], mark["turn"] % self.workers
        elif not self.random and not self.node._pooled():
            start, self.turn = skip, (self.turn + skip) % self.workers
        at = mark is not None and mark["passes"] == self.passes and mark["place"] == start
        if self.node._runs_python():
            run.begin_pass(self.node, not at)
        self.place = start
        child = self.node.children[0]
        table = child._table()
        # at once: the child's order of this pass is drawn, even where no row is asked for
        items = flat(child._numbers(run, start)) if table else iter(child._rows(run, start))
        rows = self._made(run, items, table)
        return itertools.islice(rows, skip - start, None) if skip > start else rows

    def _made(self, run: Run, items: Iterator[Any], table: Table | None) -> Iterator[Row]:
        node = self.node
        if self.wanted != self.workers and self.lanes is not None:
            self.lanes.close()
            self.lanes, self.workers, self.turn = None, self.wanted, 0
        if node._pooled():
            yield from self._in_processes(run, items, table)
        elif node.in_python() or config.get_debug_mode():
            yield from self._here(items, table)
        else:
            if self.slow is None and run.is_interleaved and node._is_above_python():
                self.slow = True  # by the pipeline, not by time: it changes who draws first
            if self.slow is None:
                yield from self._tried(items, table)
            yield from (self._in_threads(run, items, table) if self.slow
                        else self._here(items, table))
        self.rows_before, self.place = self.place, 0
        self.passes, self.latest = self.passes + 1, None
        self.turn = (self.turn + 1) % self.workers  # the end of an epoch takes a turn too

    def _tried(self, items: Iterator[Any], table: Table | None) -> Iterator[Row]:
        spent, count, began = 0.0, 0, time.perf_counter()
        for row in self._here(itertools.islice(items, _TRIED), table):
            spent, count = spent + time.perf_counter() - began, count + 1
            yield row
            began = time.perf_counter()
        if count:
            self.slow = spent / count > _SLOW if self.decided is None else self.decided

    def _here(self, items: Iterator[Any], table: Table | None) -> Iterator[Row]:
        for item in items:
            streams = self.streams[self.turn % len(self.streams)]
            self.turn, self.place = (self.turn + 1) % self.workers, self.place + 1
            row = self._row(item, table, streams)
            if row is not None:
                yield row

    def _row(self, item: Any, table: Table | None, streams: Streams) -> Row | None:
        mode = config.get_error_samples_mode()
        try:
            if table is None:
                return self.node.applied(item, streams)
            return self.node.applied(table.row(item), streams, table, item)
        except RuntimeError:
            if mode == config.ErrorSamplesMode.RETURN:
                raise
            if mode == config.ErrorSamplesMode.REPLACE and self.good is not None:
                return self.node.applied(table.row(self.good) if table else self.good, streams)
            return None
        finally:
            if mode == config.ErrorSamplesMode.REPLACE and self.good is None:
                self.good = item

    good: Any = None  # an item that takes the place of one that fails

    def _in_threads(self, run: Run, items: Iterator[Any], table: Table | None) -> Iterator[Row]:
        if self.lanes is None:
            self.lanes = threads.Lanes(self.workers)
            run.closers.append(self.lanes.close)
        lanes, size = self.lanes, _BLOCK * self.workers
        reads = table if table is not None and table.parallel else None

        def work(lane: int, part: list[Any]) -> Any:
            streams = self.streams[lane % len(self.streams)]
            return [self._row(item, reads, streams) for item in part], streams.state()

        def start(block: list[Any]) -> Any:
            turn = self.turn
            if table is not None and reads is None:
                block = [table.row(item) for item in block]
            begun = [lanes.submit(k, work, k, block[(k - turn) % self.workers::self.workers])
                     for k in range(self.workers)]
            self.turn, self.working = (turn + len(block)) % self.workers, begun
            return begun, block, turn

        blocks = iter(lambda: list(itertools.islice(items, size)), [])
        place = self.place
        self.latest = self._marked(place, self.turn)  # before the threads draw anything
        for begun, block, turn in threads.ahead(blocks, start, lambda: self.ahead):
            since = time.perf_counter()
            parts, length = [future.result() for future in begun], len(block)
            self.waited += time.perf_counter() - since
            for number in range(length):
                row = parts[(turn + number) % self.workers][0][number // self.workers]
                if number == length - 1:
                    place += length
                    self.latest = self._marked(place, (turn + length) % self.workers,
                                               [part[1] for part in parts]
                                               if self.random else None)
                if row is not None:
                    try:
                        yield row
                    except GeneratorExit:  # a pass that is left, as by `take` or `zip`
                        self._left(block[:number + 1] if number < length - 1 else [], reads)
                        raise
        self.place = place

    def _left(self, block: list[Any], reads: Table | None) -> None:
        """Have the streams where they are after the rows that were given, not those made ahead.

        `block` are the items of the block's rows that were given, unless all of them were.
        """
        if not self.random or self.lanes is None or self.lanes.is_closed:
            return
        wait(self.working)
        self.working = []
        for streams, kept in zip(self.streams, self.latest["streams"], strict=True):
            streams.restore(kept)
        self.turn = self.latest["turn"]
        for item in block:
            self._row(item, reads, self.streams[self.turn])
            self.turn = (self.turn + 1) % self.workers

    def _in_processes(self, run: Run, items: Iterator[Any], table: Table | None) -> Iterator[Row]:
        if self.processes is None:
            node = self.node

            def make(item: Any, streams: Streams) -> Row:
                row = self._row(item, table, streams)
                if row is None:
                    raise SkippedRow
                return row

            node._plan()
            self.processes = Processes(make, self.random, "map operation: [PyFunc]", self.workers,
                                       run.seed, self.states)
            run.closers.append(self.processes.close)
        place, turn, since = self.place, self.turn, 0
        self.latest = self._marked(place, turn)
        for row, whole in self.processes.rows(items, turn):
            since += 1
            if whole:
                place, turn, since = place + since, (turn + since) % self.workers, 0
                self.latest = self._marked(place, turn)
                self.latest["python"] = self.processes.states
            if row is not None:
                yield row
        self.turn, self.place = turn, place + since


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
            [row[p] for p in places])), skip, None)

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
