"""Sources that read many rows at once: row groups of Parquet, archives, batches of Arrow.

Reading in random order would read a piece for each row. So an epoch shuffles the pieces, and then
rows within a window of some pieces. Shards get parts of that sequence that follow one another, of
one length, as the processes of a distributed training must have.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..order import Row, Table
from ..samplers import DistributedSampler, RandomSampler, SequentialSampler
from ..source import MappableDataset
from ..source_arguments import select_sampler
from ..state import Passes, Run

WINDOW = 1 << 16  # rows that are shuffled among each other, in whole pieces
FEWEST = 2  # pieces that a window has at least


def orders(sizes: Sequence[int], seed: int, shuffle: bool, shards: int = 1, shard: int = 0,
           most: int | None = None) -> Iterator[np.ndarray]:
    """The numbers of the rows of each epoch, without end.

    Args:
        sizes: how many rows each piece has.
        seed: of the shuffling.
        shuffle: whether to shuffle.
        shards, shard: how many parts there are, and which one is read.
        most: read at most this many rows.
    """
    ends = np.cumsum(sizes, dtype=np.int64)
    starts, total = ends - sizes, int(ends[-1]) if len(ends) else 0
    size = -(-total // shards)
    for epoch in itertools.count():
        random = np.random.default_rng((seed, epoch))
        pieces = random.permutation(len(sizes)) if shuffle else range(len(sizes))
        rows = np.concatenate([np.arange(starts[i], ends[i]) for i in pieces] or [ends])
        if shards > 1:
            rows = rows[(shard * size + np.arange(size)) % max(total, 1)]
        if shuffle:
            _mix(rows, max(WINDOW, FEWEST * max(sizes, default=1)), random)
        yield rows[:most]


def _mix(rows: np.ndarray, window: int, random: np.random.Generator) -> None:
    for part in np.split(rows, range(window, len(rows), window)):
        random.shuffle(part)


class PiecesTable(Table):
    """Rows that lie in pieces, of which the latest few are held.

    Args:
        read: the columns of a piece, each with ``[place]`` and ``take(places)``.
        sizes: how many rows each piece has.
        held: how many pieces to hold; None: all.
        stacks: whether rows can be stacked.
        files: gives the files of a piece.
    """

    def __init__(self, read: Callable[[int], Sequence[Any]], sizes: Sequence[int],
                 held: int | None, stacks: bool,
                 files: Callable[[int], Sequence[str]] = lambda piece: ()):
        self._ends = np.cumsum(sizes, dtype=np.int64)
        self._starts = self._ends - np.asarray(sizes, np.int64)
        super().__init__(self._row, int(self._ends[-1]) if len(sizes) else 0,
                         lambda place: files(self._piece_of(place)))
        self._read, self._held, self.stacks = read, held, stacks
        self._pieces: dict[int, Sequence[Any]] = {}

    def _piece_of(self, place: int) -> int:
        return int(self._ends.searchsorted(place, "right"))

    def _columns(self, piece: int) -> Sequence[Any]:
        columns = self._pieces.get(piece)
        if columns is None:
            columns = self._read(piece)
            if self._held is not None:  # other threads may do the same
                for oldest in list(self._pieces)[:max(0, len(self._pieces) + 1 - self._held)]:
                    self._pieces.pop(oldest, None)
            self._pieces[piece] = columns
        return columns

    def _row(self, place: int) -> Row:
        piece = self._piece_of(place)
        inside = int(place - self._starts[piece])
        return tuple([column[inside] for column in self._columns(piece)])

    def gather(self, places: np.ndarray) -> Row:
        """The rows of these numbers, stacked, in memory of their own."""
        which = self._ends.searchsorted(places, "right")
        present = np.unique(which)
        if len(present) == 1:
            return self._taken(int(present[0]), places)
        order = np.argsort(which, kind="stable")
        parts = [self._taken(int(piece), places[which == piece]) for piece in present]
        back = np.argsort(order, kind="stable")
        return tuple([np.concatenate(column)[back] for column in zip(*parts, strict=True)])

    def _taken(self, piece: int, places: np.ndarray) -> Row:
        inside = places - self._starts[piece]
        return tuple([column.take(inside) for column in self._columns(piece)])


class PiecewiseDataset(MappableDataset):
    """The base of sources that read rows piece by piece.

    A subclass defines `_sizes`, the rows of each piece, and `_make_table`.
    """

    def __init__(self, num_samples: Any, num_parallel_workers: Any, shuffle: Any, sampler: Any,
                 num_shards: Any, shard_id: Any):
        super().__init__(None, num_parallel_workers)
        self.sampler = self._own = select_sampler(
            type(self).__name__, num_samples, sampler, shuffle, num_shards, shard_id)
        self._by_pieces = sampler is None
        self._rows_table: Table | None = None

    def _sizes(self) -> Sequence[int]:
        raise NotImplementedError

    def _make_table(self) -> Table:
        raise NotImplementedError

    def _table(self) -> Table:
        if self._rows_table is None:
            self._rows_table = self._make_table()
        return self._rows_table

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows_table": None}  # each process reads pieces itself

    def _order(self, run: Run) -> Any:
        own = self.sampler
        if not self._by_pieces or own is not self._own or own.child_sampler is not None:
            return super()._order(run)
        assert isinstance(own, (DistributedSampler, RandomSampler, SequentialSampler))
        sharded = isinstance(own, DistributedSampler)
        parts = (own.num_shards, own.shard_id) if sharded else (1, 0)
        # the processes of a distributed reading draw from one seed
        seed = own.seed if sharded else run.seed
        return run.keep(self, lambda: Passes(orders(
            self._sizes(), seed, self.is_shuffled(), *parts, most=own.num_samples or None)))

    def _window(self) -> int:
        """How many pieces a window of shuffled rows may touch."""
        sizes = self._sizes()
        mean = max(1.0, sum(sizes) / max(1, len(sizes)))
        largest = max(sizes, default=1)
        return 2 + math.ceil(max(WINDOW, FEWEST * largest) / mean)
