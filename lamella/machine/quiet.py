"""Runs a command without slowing down another process.

Called as ``python -I -S quiet.py PARENT FOLDER SECONDS COMMAND...``. For the first SECONDS of
processor time the command runs like any other process: a job of a few seconds is worth them.

A core that compiles beside a training step costs more than its share: each parallel region of the
step waits for its slowest thread. So the command runs with the policy SCHED_IDLE, and is stopped
every `PERIOD` seconds to measure whether a core that it may use is idle without it. If one is, it
continues; if not, it gets `LAMELLA_COMPILE_SHARE` (0.05) of a core. With a share of 1 it runs like
any other process. If the process PARENT ends, or this one gets SIGTERM, the command and everything
that it has started are killed, and FOLDER with its unfinished files is removed.

Only Python's library is imported, to save memory: this process lives as long as the command.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

PERIOD = 0.5  # seconds from one measurement to the next
LOOK = 0.1  # seconds of a measurement, during which the command is stopped
IDLE = 0.85  # of a core must be idle for the command to run freely
SHARE = 0.05  # of a core that the command gets otherwise
_PDEATHSIG = 1  # of prctl(2), which is Linux's
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100  # per second, in /proc/stat


def main(parent: int, folder: str, seconds: float, command: list[str]) -> int:
    """Run `command` for the process `parent`; returns its exit status."""
    share = share_of(os.environ.get("LAMELLA_COMPILE_SHARE"))
    is_quiet = share < 1.0 and not seconds
    worker = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                              preexec_fn=lambda: _become(is_quiet))
    signal.signal(signal.SIGTERM, lambda *_: _end(worker, folder))
    # `background` starts this process with SIGTERM blocked, so that none comes too early
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    while worker.poll() is None:
        if os.getppid() != parent:
            _end(worker, folder)
        elif share >= 1.0 or seconds and not _has_used(worker, seconds):
            _wait(worker, PERIOD)
        elif not is_quiet:
            is_quiet, seconds = True, 0.0
            _yield_to_others(worker)
        elif _look(worker):
            _wait(worker, PERIOD - LOOK)
        else:
            _wait(worker, PERIOD * share)
            _signal(worker, signal.SIGSTOP)
            time.sleep(PERIOD * (1.0 - share) - LOOK)
    return worker.returncode


def share_of(text: str | None) -> float:
    """The share of a core that compiling may take beside a busy process; 0.01 at least."""
    with contextlib.suppress(ValueError, TypeError):
        return min(max(float(text), 0.01), 1.0)  # type: ignore[arg-type]
    return SHARE


def idle_seconds() -> float:
    """The idle seconds of all cores that this process may use; 0 where they are unknown."""
    found = 0.0
    with contextlib.suppress(OSError, ValueError, AttributeError), open("/proc/stat") as file:
        own = os.sched_getaffinity(0)
        for line in file:
            name, *numbers = line.split()
            if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in own:
                found += (int(numbers[3]) + int(numbers[4])) / _TICKS
    return found


def _look(worker: subprocess.Popen) -> bool:
    """Stop the command for a moment; returns whether a core is idle then."""
    _signal(worker, signal.SIGSTOP)
    before, start = idle_seconds(), time.monotonic()
    time.sleep(LOOK)
    idle = (idle_seconds() - before) / (time.monotonic() - start)
    _signal(worker, signal.SIGCONT)
    return idle >= IDLE


def _has_used(worker: subprocess.Popen, seconds: float) -> bool:
    """Whether the command has used so much processor time; where that is unknown, it has."""
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{worker.pid}/stat") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / _TICKS >= seconds
    return True


def _yield_to_others(worker: subprocess.Popen) -> None:
    """Give the command the lowest priority."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PGRP, worker.pid, 19)


def _become(quiet: bool) -> None:
    """In the child: a new process group, the lowest priority, and death with this process."""
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    scheduler: Any = getattr(os, "sched_setscheduler", None)
    with contextlib.suppress(OSError):
        if quiet and scheduler is not None and hasattr(os, "SCHED_IDLE"):
            scheduler(0, os.SCHED_IDLE, os.sched_param(0))
        elif quiet:
            os.nice(19)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)


def _wait(worker: subprocess.Popen, seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        worker.wait(seconds)


def _signal(worker: subprocess.Popen, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(worker.pid, number)


def _end(worker: subprocess.Popen, folder: str) -> None:
    """Kill the command: a stopped process would not handle any other signal."""
    _signal(worker, signal.SIGKILL)
    worker.wait()
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4:]))
