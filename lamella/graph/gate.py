"""Who may use the data of Parameters: many replays at a time, or one run that is being recorded.

A recorded run lends copies of their data to the Parameters it can reach (`trace`), and gives them
their own again when it is over. What another thread replays in between would be lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PAUSE = 5e-5  # seconds between two looks at whether all have left


class Gate:
    """Passing costs little as long as nobody closes it."""

    def __init__(self) -> None:
        self._closing = threading.RLock()
        self._closed_by: int | None = None
        self._inside: set[int] = set()  # adding and discarding one element are atomic

    def enter(self) -> bool:
        """Pass, or wait until it is open; tells whether to `leave` (not if one is inside)."""
        me = threading.get_ident()
        if me in self._inside or self._closed_by == me:
            return False
        self._inside.add(me)
        while self._closed_by is not None:
            self._inside.discard(me)
            with self._closing:
                self._inside.add(me)
        return True

    def leave(self) -> None:
        """Be outside again."""
        self._inside.discard(threading.get_ident())

    @contextmanager
    def closed(self) -> Iterator[None]:
        """A block with nobody else inside; a thread may close the gate while it is inside."""
        me = threading.get_ident()
        was_inside = me in self._inside
        self._inside.discard(me)  # two that want to close it must not wait for each other
        with self._closing:
            before, self._closed_by = self._closed_by, me
            try:
                while self._inside:
                    time.sleep(PAUSE)
                yield
            finally:
                self._closed_by = before
                if was_inside:
                    self._inside.add(me)


gate = Gate()
