"""Background work: one job after another, in processes of low priority.

Jobs of seconds have a lane of their own, so that none waits for a job of minutes.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence

from ..core import log as messages
from ..core.forking import Lock
from ..core.threads import own
from . import quiet

PATIENCE_AT_EXIT = 30.0  # seconds

LANES = ("lamella-background", "lamella-quick")  # the names of their threads

Jobs = queue.Queue[Callable[[], None] | None]  # None ends the thread

_jobs: dict[str, Jobs] = {lane: queue.Queue() for lane in LANES}
_running: list[subprocess.Popen] = []
_threads: list[threading.Thread] = []
_awaited: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
_servers: dict[str, threading.Thread] = {}
_starting = Lock()


def submit(job: Callable[[], None], quick: bool = False) -> None:
    """Queue a job for the background thread, which runs one after another.

    Args:
        job: the job.
        quick: whether it takes seconds, and goes to the thread for such jobs.
    """
    lane = LANES[quick]
    jobs = _jobs[lane]
    jobs.put(job)
    with _starting:
        if lane not in _servers or not _servers[lane].is_alive():
            _servers[lane] = _started(lane, lambda: _serve(jobs))


def is_busy() -> bool:
    """Whether a submitted job runs or waits."""
    return any(jobs.unfinished_tasks > 0 for jobs in _jobs.values())


def start(name: str, work: Callable[[], object], interrupted: bool = True) -> threading.Thread:
    """Call `work` in a new thread; at its end the program interrupts it, or else waits for it."""
    with _starting:
        return _started(name, work, interrupted)


def _started(name: str, work: Callable[[], object], interrupted: bool = True) -> threading.Thread:
    """As `start`; called by one thread at a time, since those not yet alive would be forgotten."""
    thread = own(threading.Thread(target=work, name=name, daemon=True))
    if not interrupted:
        _awaited.add(thread)
    _threads[:] = [each for each in _threads if each.is_alive()] + [thread]
    thread.start()
    return thread


def run(command: Sequence[str], folder: pathlib.Path, patience: float,
        environment: dict[str, str] | None = None, prompt: float = 0.0) -> bool:
    """Run a command by `quiet`, in a job; its output goes to the file ``log`` in `folder`.

    Args:
        command: the program and its arguments.
        folder: its working directory; removed if this process ends meanwhile.
        patience: seconds after which it is stopped.
        environment: variables, besides those of this process.
        prompt: seconds of processor time for which it runs like any other process.

    Returns:
        Whether it ended by itself, with status 0.
    """
    # in a session of its own, so that Ctrl-C in the terminal reaches only the program
    with open(folder / "log", "wb") as log:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", quiet.__file__, str(os.getpid()), str(folder),
                 str(prompt), *command],
                cwd=folder, env={**os.environ, **_scratch(folder), **(environment or {})},
                start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    _running.append(process)
    try:
        return process.wait(patience) == 0
    except subprocess.TimeoutExpired:
        _end(process)
        return False
    finally:
        with contextlib.suppress(ValueError):  # forgotten in a forked process
            _running.remove(process)


def _scratch(folder: pathlib.Path) -> dict[str, str]:
    """Variables that put temporary files into `folder`, so that they are removed with it."""
    blank = any(c.isspace() for c in str(folder))  # some programs don't quote such a name
    return {} if blank else {"TMPDIR": str(folder)}


def _serve(jobs: Jobs) -> None:
    """Run the submitted jobs, until the process ends."""
    while (job := jobs.get()) is not None:
        try:
            job()
        except OSError:
            pass  # a full disk: nothing is kept
        except Exception as error:  # the next job may succeed
            messages.warning(f"Nothing was compiled in the background: {error!r}.")
        finally:
            jobs.task_done()


def _end(process: subprocess.Popen) -> None:
    process.terminate()  # `quiet` then stops its command
    process.wait()


@atexit.register
def _stop() -> None:
    """Stop all threads: one that runs inside of PyTorch while Python ends would abort."""
    for jobs in _jobs.values():
        jobs.put(None)
    stop = time.monotonic() + PATIENCE_AT_EXIT
    while (alive := [thread for thread in _threads if thread.is_alive()]) \
            and time.monotonic() < stop:
        for process in list(_running):
            _end(process)
        for thread in alive:  # repeatedly, since a job may catch the exception
            if thread not in _awaited:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0),
                                                           ctypes.py_object(SystemExit))
            thread.join(0.1)


def _forget() -> None:
    """In a forked process: forget the jobs, which the parent runs."""
    _jobs.update({lane: queue.Queue() for lane in LANES})
    _running.clear()
    _servers.clear()
    _threads.clear()


os.register_at_fork(after_in_child=_forget)
