"""One thread at a time that writes a checkpoint, whose error is not lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from .. import log

__all__ = ["busy", "future", "start", "wait"]

_lock = threading.Lock()
_thread: threading.Thread | None = None
_failure: tuple[str, Exception] | None = None


def start(path: str, work: Callable[[], Any]) -> None:
    """Run `work`, which writes the file `path`, in a thread that the program's end waits for."""
    global _thread

    def run() -> None:
        global _failure
        try:
            work()
        except Exception as error:  # handed to the caller by `wait`
            log.error(f"Saving the checkpoint '{path}' in the background failed: {error}")
            _failure = path, error

    wait()
    thread = threading.Thread(target=run, name="async_save_ckpt")
    with _lock:
        _thread = thread
        thread.start()


def wait() -> None:
    """Wait for the thread, and raise what it failed with."""
    global _thread, _failure
    with _lock:
        thread, _thread = _thread, None
    if thread is not None and thread is not threading.current_thread():
        thread.join()
    with _lock:
        failure, _failure = _failure, None
    if failure is not None:
        path, error = failure
        raise RuntimeError(f"For 'save_checkpoint', saving '{path}' with async_save failed: "
                           f"{error}") from error


def busy() -> bool:
    """Whether the thread still runs."""
    thread = _thread
    return thread is not None and thread.is_alive()


def future(work: Callable[[], Any]) -> Future:
    """Run `work` in a thread of its own; the Future gives its result."""
    result: Future = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except Exception as error:
            result.set_exception(error)

    threading.Thread(target=run, name="load_checkpoint_async").start()
    return result
