"""Prefetching: rows are copied to the device before they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .order import Row

AHEAD = 2  # rows that are on their way while the program uses one


class Ahead:
    """Rows whose values are sent to the device two rows before the program asks for them.

    So a copy goes on beside the kernels of two steps, also where the program waits for the device
    in each step.

    Args:
        rows: the rows.
        sent: gives a row's values on the device, to which they may still be copied.
        state: gives the state of the pipeline after a number of rows.
        given: how many rows of the epoch were given before.

    Attributes:
        state: the state of the pipeline after the last row that was given.
    """

    def __init__(self, rows: Iterator[Row], sent: Callable[[Row], Any],
                 state: Callable[[int], Any], given: int):
        self._rows, self._sent, self._state_after, self._read = rows, sent, state, given
        self._waiting: deque[tuple[Any, Any]] = deque()
        self._ended: Exception | None = None
        self.state: Any = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while self._ended is None and len(self._waiting) <= AHEAD:
            try:
                row = next(self._rows)
            except Exception as reason:  # also the end; the rows before it are given first
                self._ended = reason
            else:
                self._read += 1
                self._waiting.append((self._sent(row), self._state_after(self._read)))
        if not self._waiting:
            assert self._ended is not None
            raise self._ended
        values, self.state = self._waiting.popleft()
        return values
