"""Random numbers that are drawn again: each of several blocks draws the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.state import state
from ..tensors.random import kept


class RepeatedDraws:
    """Blocks that draw the same random numbers, from where the generators are now.

    In a recording, which can't put generators back, later blocks take the values of the first.
    """

    def __init__(self) -> None:
        self._recorder: Any = None if state.trace is None else state.trace.recorder
        self._back = kept() if self._recorder is None else None
        self._drawn: list[Any] = []
        self._is_first = True

    @contextmanager
    def block(self) -> Iterator[None]:
        """The next block; after one that isn't the first, generators go on where they were."""
        is_first, self._is_first = self._is_first, False
        if self._back is None:
            with self._recorder.draws(self._drawn, again=not is_first):
                yield
        elif is_first:
            yield
        else:
            after = kept()
            self._back()
            try:
                yield
            finally:
                after()
