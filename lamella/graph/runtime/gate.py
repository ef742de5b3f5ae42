"""A lock between threads: many compiled calls at a time, or one recording on fake tensors.

A recording for arguments of any size (`tracing.symbolic`) puts fake tensors, which have no data,
into the Parameters it can reach, until it ends; no other thread may read them. It begins only when
no compiled function runs in another thread. Calls that start meanwhile wait here, for at most
`PATIENCE` seconds, which no recording should take. All other runs use the real data.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PAUSE = 5e-5  # seconds between two checks whether all threads have left
PATIENCE = 60.0  # seconds


class Gate:
    """A readers-writer lock: compiled calls enter it, a recording on fake tensors closes it."""

    def __init__(self) -> None:
        self._closing = threading.RLock()
        self._closed_by: int | None = None
        self._forking = False
        self._inside: set[int] = set()  # adding and discarding one element are atomic

    def enter(self) -> bool:
        """Enter when it is open; returns whether to `leave` later (not if already inside).

        Raises:
            RuntimeError: if it stays closed, as when the thread that closed it waits for this one.
        """
        me = threading.get_ident()
        if me in self._inside or self._closed_by == me:
            return False
        self._inside.add(me)
        while self._closed_by is not None:
            self._inside.discard(me)
            self._wait()
            self._inside.add(me)
            self._closing.release()
        return True

    def leave(self) -> None:
        """Leave it."""
        self._inside.discard(threading.get_ident())

    @contextmanager
    def closed(self, patience: float | None = None) -> Iterator[bool]:
        """A block with no other thread inside; a thread may close the gate while it is inside.

        Gives whether it is closed: if not, a thread stayed inside for longer than `patience`
        (default `PATIENCE`) seconds.

        Raises:
            RuntimeError: as `enter`.
        """
        me = threading.get_ident()
        was_inside = me in self._inside
        self._inside.discard(me)  # two threads that close it must not wait for each other
        self._wait()
        before, self._closed_by = self._closed_by, me
        try:
            until = time.monotonic() + (PATIENCE if patience is None else patience)
            while self._inside and time.monotonic() < until:
                time.sleep(PAUSE)
            if self._inside:
                self._closed_by = before
            yield not self._inside
        finally:
            self._closed_by = before
            if was_inside:
                self._inside.add(me)
            self._closing.release()

    def _wait(self) -> None:
        """Take the lock that the thread which closes the gate holds."""
        if not self._closing.acquire(timeout=PATIENCE):
            raise RuntimeError(
                f"For 'jit', a call waited {PATIENCE:g} s for another thread to record a function. "
                f"If that function waits for calls in other threads, it can't be compiled: call it "
                f"without 'jit'.")

    def before_fork(self) -> None:
        """Wait for a recording on fake tensors: a child would keep them in its Parameters."""
        me = threading.get_ident()
        self._forking = me not in self._inside and self._closing.acquire(timeout=PATIENCE)

    def after_fork(self) -> None:
        """In the parent: release the lock."""
        if self._forking:
            self._closing.release()

    def forget(self) -> None:
        """In the child: forget the other threads, which exist only in the parent."""
        me = threading.get_ident()
        self._inside &= {me}
        if self._forking:  # this thread holds the lock
            self._closing.release()
        else:
            self._closing, self._closed_by = threading.RLock(), None


gate = Gate()
os.register_at_fork(before=gate.before_fork, after_in_parent=gate.after_fork,
                    after_in_child=gate.forget)
