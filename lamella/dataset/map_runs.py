"""How a `map` runs: which worker computes which row, and where the run can continue."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

from . import config, threads
from .errors import SkippedRow
from .order import Row, Table, flat
from .processes import Processes
from .state import Run
from .transforms.operation import Streams, flattened

if TYPE_CHECKING:
    from .mapping import MapDataset
    from .node import Dataset

_TRIED = 8  # rows that are run in this thread to see what they cost
_SLOW = 1e-4  # seconds a row from which on threads pay
_BLOCK = 8  # rows that a thread does at a time


class MapRun:
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
            row = (self.node.applied(item, streams) if table is None
                   else self.node.applied(table.row(item), streams, table, item))
        except RuntimeError:
            if mode == config.ErrorSamplesMode.RETURN:
                raise
            if mode == config.ErrorSamplesMode.REPLACE and self.good is not None:
                return self.node.applied(table.row(self.good) if table else self.good, streams)
            return None
        if mode == config.ErrorSamplesMode.REPLACE and self.good is None:
            self.good = item
        return row

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
