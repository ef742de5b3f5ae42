"""Who may use the data of Parameters: many calls at a time, or one run without data.

A run that is recorded for arguments of any size (`tracing.symbolic`) puts tensors without data into
the Parameters it can reach, and takes them out when it is over: no other thread may meet them. It
is done only when no compiled function runs in another thread; calls that come meanwhile wait here,
no longer than `PATIENCE`, which no recording should take. Every other run uses the data itself.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PAUSE = 5e-5  # seconds between two looks at whether all have left
PATIENCE = 60.0  # seconds


class Gate:
    """Passing costs little as long as nobody closes it."""

    def __init__(self) -> None:
        self._closing = threading.RLock()
        self._closed_by: int | None = None
        self._forking = False
        self._inside: set[int] = set()  # adding and discarding one element are atomic

    def enter(self) -> bool:
        """Pass, or wait until it is open; tells whether to `leave` (not if one is inside).

        Raises:
            RuntimeError: if it stays closed, as it does if who has closed it waits for this thread.
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
        """Be outside again."""
        self._inside.discard(threading.get_ident())

    @contextmanager
    def closed(self, patience: float | None = None) -> Iterator[bool]:
        """A block with nobody else inside; a thread may close the gate while it is inside.

        Tells whether nobody is: if not, some stayed inside for longer than `patience` (default
        `PATIENCE`) seconds, and the gate is open.

        Raises:
            RuntimeError: as `enter`.
        """
        me = threading.get_ident()
        was_inside = me in self._inside
        self._inside.discard(me)  # two that want to close it must not wait for each other
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
        """Hold the lock that who closes the gate holds."""
        if not self._closing.acquire(timeout=PATIENCE):
            raise RuntimeError(
                f"For 'jit', a call waited {PATIENCE:g} s for another thread to record a function. "
                f"If that function waits for calls in other threads, it can't be compiled: call it "
                f"without 'jit'.")

    def before_fork(self) -> None:
        """Wait until no run without data is recorded: a child would keep what is in Parameters."""
        me = threading.get_ident()
        self._forking = me not in self._inside and self._closing.acquire(timeout=PATIENCE)

    def after_fork(self) -> None:
        """In the parent: go on."""
        if self._forking:
            self._closing.release()

    def forget(self) -> None:
        """In the child: the other threads are the parent's."""
        me = threading.get_ident()
        self._inside &= {me}
        if self._forking:  # this thread holds the lock
            self._closing.release()
        else:
            self._closing, self._closed_by = threading.RLock(), None


gate = Gate()
os.register_at_fork(before=gate.before_fork, after_in_parent=gate.after_fork,
                    after_in_child=gate.forget)
