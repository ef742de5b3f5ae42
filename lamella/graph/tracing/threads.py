"""Finds other threads that may run the program's code while a run is undone."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import clock_gettime_ns
from types import FrameType
from typing import Any

from ...core.threads import compiled_calls, is_own, workers
from .outside import USERS, origin_of

PATIENCE = 0.1  # seconds for Lamella's own threads to end what they do for the program


@contextmanager
def alone() -> Iterator[bool]:
    """A block in which no other thread runs code of the program; gives whether that is so."""
    with compiled_calls.closed(0.0) as no_calls:
        if not no_calls or other_thread() is not None:
            yield False
            return
        with workers.closed(PATIENCE) as no_work:
            yield no_work


def other_thread() -> str | None:
    """The name of another thread that may run code of the program; None if there is none."""
    return next((name for _, name in _other_threads()), None)


def _other_threads() -> Iterator[tuple[int, str]]:
    """The other threads that may run code of the program: the system's number, and the name.

    Lamella's own threads don't count, nor do those of installed packages, such as a notebook's or
    a progress bar's, unless they are in the program's code now.
    """
    threads = {thread.ident: thread for thread in threading.enumerate()}
    for number, frame in sys._current_frames().items():
        thread = threads.get(number)
        if number != threading.get_ident() and not is_own(thread) and (
                _is_in_program(frame) or not _is_of_package(thread, frame)):
            yield (0, "") if thread is None else (thread.native_id or 0, thread.name)


class Beside:
    """The program's other threads, and how long they have run when this is made.

    A thread that waits changes nothing. So what a run has read and changed in a time in which no
    other thread ran is the run's own.
    """

    def __init__(self) -> None:
        self._before = {number: (name, _time_of(number)) for number, name in _other_threads()}

    def ran(self) -> str | None:
        """The name of a thread that has run since then, or may have; None if there is none."""
        now = {number: (name, _time_of(number)) for number, name in _other_threads()}
        for number, (name, time) in {**self._before, **now}.items():
            if time is None or self._before.get(number) != now.get(number):
                return name
        return None


def _time_of(number: int) -> int | None:
    """The time of a processor that a thread has taken; None where that isn't known."""
    try:
        return clock_gettime_ns(~number << 3 | 6) if number and sys.platform == "linux" else None
    except OSError:  # it has ended
        return None


def _is_in_program(frame: FrameType | None) -> bool:
    while frame is not None:
        if not _is_package(file := frame.f_code.co_filename) and origin_of(file) == USERS:
            return True
        frame = frame.f_back
    return False


def _is_of_package(thread: threading.Thread | None, frame: FrameType) -> bool:
    """Whether what a thread runs is written in an installed package."""
    if thread is None:  # started without `threading`: its first function is what it runs
        while frame.f_back is not None:
            frame = frame.f_back
        return _is_package(frame.f_code.co_filename)
    work: Any = getattr(thread, "_target", None) or getattr(type(thread), "run", None)
    while isinstance(work, functools.partial):
        work = work.func
    try:
        return _is_package(inspect.getfile(inspect.unwrap(work)))
    except (OSError, TypeError, ValueError):  # a callable object
        return False


def _is_package(file: str) -> bool:
    return "-packages" in file
