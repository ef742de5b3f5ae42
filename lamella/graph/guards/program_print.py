"""The program's `print`, which is another function while a thread records a run."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...core.forking import Lock

_original: Any = builtins.print
_lock = Lock()
_recording = 0  # runs, in all threads


def printer() -> Any:
    """What the program's `print` is now, whether or not a thread is recording."""
    return _original if _recording else builtins.print


def is_pythons() -> bool:
    """Whether the program has left `print` as it is."""
    return isinstance(printer(), types.BuiltinFunctionType)


@contextmanager
def replaced_by(function: Callable[..., None], forget: Callable[[], None]) -> Iterator[None]:
    """A block in which `function` is what the program finds under the name `print`.

    Args:
        function: calls `printer`.
        forget: is called when no thread records any more.
    """
    global _original, _recording
    with _lock:
        if not _recording:
            _original, builtins.print = builtins.print, function
        _recording += 1
    try:
        yield
    finally:
        with _lock:
            _recording -= 1
            if not _recording:
                builtins.print = _original
                forget()
