"""Row numbers: shuffling, repeating and skipping work on these; data are read afterwards.

A `Table` gives rows by number. A pipeline whose operations only move rows (samplers, `shuffle`,
`repeat`, `take`, `skip`, `split`, `concat`) is a table and a stream of arrays of row numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..common.mersenne_twister import Mt19937x64

Row = tuple[Any, ...]  # of NumPy arrays, and of dicts
CHUNK = 1024  # row numbers handed on at once


class ReadRow(tuple):
    """A row that remembers where it was read, for errors: a function and what it takes."""

    __slots__ = ()
    origin: tuple[Callable[[Any], Sequence[str]], Any]

    @property
    def files(self) -> Sequence[str]:
        """The files that it was read from."""
        return self.origin[0](self.origin[1])

    def __reduce__(self) -> Any:
        return read_from, (tuple(self), (list, tuple(self.files)))


def read_from(row: Iterable[Any], origin: tuple[Callable[[Any], Sequence[str]], Any]) -> ReadRow:
    """A row with its origin."""
    made = _Noted(row)
    made.origin = origin
    return made


class _Noted(ReadRow):
    """A row with an origin of its own."""


def rows_from(origin: tuple[Callable[[Any], Sequence[str]], Any]) -> type[ReadRow]:
    """The class of many rows with one origin, which takes less time for each of them."""
    return type("ReadRow", (ReadRow,), {"__slots__": (), "origin": origin})


class Table:
    """Rows by number.

    Args:
        row: gives the row of a number.
        size: how many rows there are.
        files: gives the files that the row of a number is read from; None: it is read from none.
    """

    stacks = False  # whether `gather` works: all rows have one shape
    gathers = False  # whether `gather` gives rows stacked, or says why they can't be
    parallel = False  # whether threads may read rows at once

    def __init__(self, row: Callable[[int], Row], size: int,
                 files: Callable[[int], Sequence[str]] | None = None):
        self.row, self.size, self.files = row, size, files

    def gather(self, places: np.ndarray) -> Row:
        """The rows of these numbers, stacked, in memory of their own."""
        raise NotImplementedError


def _gathered(column: np.ndarray, places: np.ndarray) -> np.ndarray:
    # `take` is up to twice as fast, but copies the whole of an array that isn't in one piece
    return column.take(places, 0) if column.flags.c_contiguous else column[places]


class ArrayTable(Table):
    """Rows along the first dimension of arrays in memory."""

    stacks = True

    def __init__(self, columns: list[np.ndarray],
                 files: Callable[[int], Sequence[str]] | None = None):
        super().__init__(self._row, len(columns[0]), files)
        self.columns = columns

    def _row(self, place: int) -> Row:
        return tuple(np.asarray(column[place]) for column in self.columns)

    def gather(self, places: np.ndarray) -> Row:
        """The rows of these numbers, stacked, in memory of their own."""
        return tuple([_gathered(column, places) for column in self.columns])


class MappedTable(Table):
    """Rows of another table with a function applied that does each row alone, and the same.

    Args:
        of: the table.
        apply: makes stacked columns of stacked columns.
    """

    def __init__(self, of: Table, apply: Callable[[Row], Row]):
        super().__init__(self._row, of.size, of.files)
        self.of, self.apply, self.stacks = of, apply, of.stacks

    def _row(self, place: int) -> Row:
        return tuple(np.asarray(v[0]) for v in self.apply(self.of.gather(np.array([place]))))

    def gather(self, places: np.ndarray) -> Row:
        """The rows of these numbers, stacked, in memory of their own."""
        return self.apply(self.of.gather(places))


class ChosenTable(Table):
    """Some columns of another table."""

    def __init__(self, of: Table, columns: list[int]):
        super().__init__(self._row, of.size, of.files)
        self.of, self.columns, self.stacks = of, columns, of.stacks

    def _row(self, place: int) -> Row:
        row = self.of.row(place)
        return tuple([row[c] for c in self.columns])

    def gather(self, places: np.ndarray) -> Row:
        """The rows of these numbers, stacked, in memory of their own."""
        if isinstance(self.of, ArrayTable):
            return tuple([_gathered(self.of.columns[c], places) for c in self.columns])
        rows = self.of.gather(places)
        return tuple([rows[c] for c in self.columns])


class JoinedTable(Table):
    """The rows of several tables, one table after the other."""

    def __init__(self, tables: list[Table]):
        self.tables = tables
        self.starts = np.cumsum([0, *(table.size for table in tables)])
        super().__init__(self._row, int(self.starts[-1]), self._files)

    def _place(self, place: int) -> tuple[Table, int]:
        which = int(np.searchsorted(self.starts, place, "right")) - 1
        return self.tables[which], place - int(self.starts[which])

    def _row(self, place: int) -> Row:
        table, inside = self._place(place)
        return table.row(inside)

    def _files(self, place: int) -> Sequence[str]:
        table, inside = self._place(place)
        return table.files(inside) if table.files is not None else ()


class Buffer:
    """The shuffle of `Dataset.shuffle`: each item is drawn among the next `size`."""

    def __init__(self, size: int, seed: int):
        self.size, self.generator = size, Mt19937x64(seed)

    def mixed(self, items: Iterator[Any]) -> Iterator[Any]:
        """The items, mixed; the generator goes on with the next epoch."""
        held, draw = list(itertools.islice(items, self.size)), self.generator.word
        if len(held) == self.size:
            for item in items:
                slot = draw() % self.size
                yield held[slot]
                held[slot] = held[-1]
                held[-1] = item
        while held:
            slot = draw() % len(held)
            yield held[slot]
            held[slot] = held[-1]
            held.pop()


def chunked(numbers: Iterable[int], size: int = CHUNK) -> Iterator[np.ndarray]:
    """A stream of numbers as arrays."""
    numbers = iter(numbers)
    while found := list(itertools.islice(numbers, size)):
        yield np.array(found, np.int64)


def flat(chunks: Iterable[np.ndarray]) -> Iterator[int]:
    """A stream of arrays as numbers."""
    for chunk in chunks:
        yield from chunk.tolist()


def taken(chunks: Iterable[np.ndarray], count: int) -> Iterator[np.ndarray]:
    """The first `count` numbers."""
    for chunk in chunks:
        if len(chunk) >= count:
            yield chunk[:count]
            return
        count -= len(chunk)
        yield chunk


def skipped(chunks: Iterable[np.ndarray], count: int) -> Iterator[np.ndarray]:
    """All but the first `count` numbers."""
    for chunk in chunks:
        if count < len(chunk):
            yield chunk[count:]
            count = 0
        else:
            count -= len(chunk)


def batched(chunks: Iterable[np.ndarray], size: int, drop: bool) -> Iterator[np.ndarray]:
    """The numbers in arrays of `size`; the last one may be shorter, unless `drop`."""
    held = np.empty(0, np.int64)
    for chunk in chunks:
        held = np.concatenate([held, chunk]) if len(held) else chunk
        start = 0
        while start + size <= len(held):
            yield held[start:start + size]
            start += size
        held = held[start:]
    if len(held) and not drop:
        yield held
