"""Python's garbage collector, where much is made that stays.

Each so many objects made, the collector looks all objects over that there are; while a graph of ten
thousands of nodes is recorded and prepared, that is up to half of the time, and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from ..forking import Lock

SELDOM = 1000  # collections of younger objects, between two of all objects

_lock = Lock()
_blocks: list[tuple[int, int, int]] = []  # of the first block that is running: what was set before


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """A block with hardly any full garbage collections; young objects are collected as always."""
    with _lock:
        before = _blocks[0] if _blocks else gc.get_threshold()
        _blocks.append(before)
        gc.set_threshold(*before[:2], SELDOM)
    try:
        yield
    finally:
        with _lock:
            _blocks.pop()
            if not _blocks and gc.get_threshold() == (*before[:2], SELDOM):
                gc.set_threshold(*before)
                _count_as_old()


def _count_as_old() -> None:
    """Count what was made among the objects that stay: it doesn't make a collection of all due."""
    if not gc.get_freeze_count():  # what the program has frozen stays frozen
        gc.freeze()
        gc.unfreeze()
