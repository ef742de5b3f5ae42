"""Python's garbage collector, which is paused while graphs are recorded and prepared.

The collector examines new objects whenever there are a few hundred of them. For a graph of ten
thousand nodes that is a tenth of the time of recording it, and nothing is found.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.RLock()  # a finalizer may record, too
_paused: list[int] = []  # the threads that need a pause, once for each of their blocks
_collects = False  # whether the end of the last pause switches collection on again
_frozen = False  # whether the program has frozen objects, as far as is known


def pause() -> None:
    """Pause garbage collection until `resume`.

    The switch is one for all threads, and several of them may need a pause.
    """
    global _collects
    with _lock:
        if not _paused:
            _collects = gc.isenabled()
        _paused.append(threading.get_ident())
        gc.disable()


def resume() -> None:
    """Resume garbage collection, unless another thread still needs the pause.

    What was made meanwhile counts as old: it doesn't make a collection due.
    """
    global _frozen
    # what the program has frozen stays frozen; they are counted once, which takes long for many
    _frozen = _frozen or gc.get_freeze_count() > 0
    if not _frozen:
        gc.freeze()
        gc.unfreeze()
    with _lock:
        _paused.remove(threading.get_ident())
        _collect_again()


def _collect_again() -> None:
    global _collects
    if not _paused and _collects:
        gc.enable()
        _collects = False


def _forget_other_threads() -> None:
    """In a forked process: only the thread that forked goes on, and no thread holds the lock."""
    global _lock
    _lock = threading.RLock()
    _paused[:] = [thread for thread in _paused if thread == threading.get_ident()]
    _collect_again()


os.register_at_fork(after_in_child=_forget_other_threads)


@contextmanager
def not_collecting() -> Iterator[None]:
    """A block without garbage collection, for work that makes many objects that stay."""
    pause()
    try:
        yield
    finally:
        resume()
