"""What a forked process needs: locks that no thread holds, and kernels that wait for no thread.

Of all threads, only the one that forks goes on in the child. A lock that another thread held would
stay locked there forever, and OpenMP would wait for threads that it started in the parent.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

import torch


class Lock:
    """A lock that is free in a forked process, unless the forking thread holds it.

    Examples:
        >>> lock = Lock()
        >>> with lock:
        ...     print(lock.acquire(blocking=False))
        False
    """

    __slots__ = ("__weakref__", "_lock", "_owner")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0  # the thread that holds it
        _locks.add(self)

    def acquire(self, blocking: bool = True) -> bool:
        """Take it; returns whether it was taken."""
        taken = self._lock.acquire(blocking)
        if taken:
            self._owner = threading.get_ident()
        return taken

    def release(self) -> None:
        """Give it back."""
        self._owner = 0
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: Any) -> None:
        self.release()


class ReentrantLock(Lock):
    """A `Lock` that the thread which holds it may take again, as finalizers do."""

    __slots__ = ("_depth",)

    def acquire(self, blocking: bool = True) -> bool:
        if self._owner == threading.get_ident():
            self._depth += 1
            return True
        taken = super().acquire(blocking)
        if taken:
            self._depth = 1
        return taken

    def release(self) -> None:
        self._depth -= 1
        if not self._depth:
            super().release()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def _start_again() -> None:
    me = threading.get_ident()
    for lock in _locks:
        if lock._owner != me:
            lock._lock, lock._owner = threading.Lock(), 0
    torch.set_num_threads(1)


os.register_at_fork(after_in_child=_start_again)
