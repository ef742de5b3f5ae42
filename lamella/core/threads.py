"""Which threads are the program's, and a readers-writer lock.

A recording for arguments of any size puts fake tensors, which have no data, into the Parameters it
can reach, until it ends; no other thread may read them. It begins only when no compiled function
runs in another thread. Calls that start meanwhile wait, for at most `PATIENCE` seconds, which no
recording should take. A run whose side effects are undone begins only when no other thread may
change what it undoes.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

PAUSE = 5e-5  # seconds between two checks whether all threads have left
PATIENCE = 60.0  # seconds
_own: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


def own(thread: threading.Thread) -> threading.Thread:
    """Note that a thread is Lamella's own: without `workers` it runs no code of the program."""
    _own.add(thread)
    return thread


def own_this() -> None:
    """Note that this thread is Lamella's own."""
    own(threading.current_thread())


def is_own(thread: threading.Thread | None) -> bool:
    """Whether a thread is Lamella's own."""
    return thread in _own


class ReadersWriterLock:
    """Many threads may be inside of it, or one that has closed it."""

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
        """A block with no other thread inside; a thread may close it while it is inside.

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
        """Take the lock that the thread which has closed it holds."""
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


compiled_calls = ReadersWriterLock()  # threads that run compiled functions are inside of it
workers = ReadersWriterLock()  # Lamella's own threads are, while they run functions of the program
for _lock in (compiled_calls, workers):
    os.register_at_fork(before=_lock.before_fork, after_in_parent=_lock.after_fork,
                        after_in_child=_lock.forget)
