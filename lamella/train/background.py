"""Writes checkpoints in one background thread, and raises its errors later."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from ..core import log
from ..core.forking import Lock
from ..core.threads import own

__all__ = ["busy", "future", "start", "wait"]

_lock = Lock()
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

    while True:
        wait()
        with _lock:  # another thread of the program may have started one meanwhile
            if _thread in (None, threading.current_thread()):
                _thread = own(threading.Thread(target=run, name="async_save_ckpt"))
                _thread.start()
                return


def wait() -> None:
    """Wait for the thread, and raise what it failed with."""
    global _thread, _failure
    with _lock:
        thread = _thread  # which has been started
    if thread is not None and thread is not threading.current_thread():
        thread.join()
    with _lock:
        if _thread is thread and thread is not threading.current_thread():
            _thread = None  # only now: other threads of the program wait for it, too
        failure, _failure = _failure, None
    if failure is not None:
        path, error = failure
        raise RuntimeError(f"For 'save_checkpoint', saving '{path}' with async_save failed: "
                           f"{error}") from error


@atexit.register  # at import, so that nearly all else is done before
def _fail_at_exit() -> None:
    """End with status 1 where the last save failed and no call has raised the error."""
    if _failure is not None:
        path, error = _failure
        sys.stdout.flush()
        print(f"Saving '{path}' with async_save failed: {error}", file=sys.stderr, flush=True)
        logging.shutdown()
        os._exit(1)  # nothing else changes the status at this point


def _forget() -> None:
    """In a forked process: the thread and its error belong to the parent."""
    global _thread, _failure
    _thread, _failure = None, None


os.register_at_fork(after_in_child=_forget)


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

    own(threading.Thread(target=run, name="load_checkpoint_async")).start()
    return result
