"""Reads a file in a process that has bounds on its time and memory, and may run no code."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

SECONDS = 20  # of processor time
MEGABYTES = 600  # beside what the process has already
# what a reader has no business with: each ends the process
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen",
             "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.kill",
             "shutil.rmtree", "socket.connect", "socket.bind", "ctypes.dlopen")
RAN = 77  # the status of a process that did so


class Read(NamedTuple):
    """What came of reading a file.

    Attributes:
        status: 0 if there are data; 1 for an error; else how the process ended.
        error: the name of the error's class.
        text: its text, or what the data are.
    """

    status: int
    error: str
    text: str


def read(reader: Callable[[], Any]) -> Read:
    """What a function gives, called in a forked process."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(ours)
            status = _read(reader, theirs)
        finally:
            os._exit(status)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        told = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Read(status, *json.loads(told)) if told else Read(status, "", "")


def _read(reader: Callable[[], Any], pipe: int) -> int:
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_AS, (size + MEGABYTES * 2**20, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # what libraries in C print
    os.dup2(null, 2)

    def audit(event: str, _: tuple) -> None:
        if event in FORBIDDEN:
            os.write(pipe, json.dumps(["ran", event]).encode())
            os._exit(RAN)

    gc.disable()  # it would copy all pages that hold objects
    sys.dont_write_bytecode = True  # of modules that are imported now
    sys.addaudithook(audit)
    try:
        found = reader()
        status, told = 0, ["", repr(found)[:500]]
    except Exception as error:  # noqa: BLE001  (what a user would see)
        status, told = 1, [type(error).__name__, str(error)[:4000]]
    os.write(pipe, json.dumps(told).encode())
    return status


def is_clear(found: Read, path: str) -> bool:
    """Whether there are data, or an error that names the file or the function."""
    return found.status == 0 or found.status == 1 and found.error not in (
        "MemoryError", "RecursionError", "SystemError", "AssertionError") and (
            path in found.text or "For '" in found.text)
