"""Programs run in processes that are forked from one which has imported Lamella already.

Importing PyTorch takes most of a small program's time, and tests run hundreds. This is for those
whose subject isn't how a process starts: `run_together` starts them, this module run as a program
(once for each process of tests) forks them. For tests of what happens when Lamella is imported
there is another such process, which has imported PyTorch alone (`bare`).
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import importlib
import json
import os
import random
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, NoReturn

ROOT = Path(__file__).parents[1]


class Ended(NamedTuple):
    """What a process has left."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: object, env: Mapping[str, str] | None = None, cwd: object = None,
        input: str = "", timeout: float = 300, bare: bool = False) -> Ended:
    """Run what `python *arguments` would, with its options `-W`, `-c` and `-m`.

    Args:
        bare: whether the process has imported PyTorch only, and not Lamella.
    """
    return run_together([[*map(str, arguments)]], [os.environ if env is None else env],
                        timeout, cwd, input, bare)[0]


def run_together(commands: Sequence[Sequence[str]], environments: Sequence[Mapping[str, str]],
                 timeout: float = 900, cwd: object = None, input: str = "",
                 bare: bool = False) -> list[Ended]:
    """Run programs side by side, each with its arguments and its environment.

    A program that takes longer is killed, and its status is -9.
    """
    with tempfile.TemporaryDirectory() as folder:
        outputs = [str(Path(folder, str(i))) for i in range(len(commands))]
        Path(folder, "input").write_text(input)
        pids = _ask([{"arguments": [str(part) for part in command], "environment": dict(given),
                      "output": output, "cwd": str(cwd or os.getcwd()),
                      "input": f"{folder}/input"} for command, given, output in zip(
                          commands, environments, outputs, strict=True)], bare)
        codes = _ask({"pids": pids, "timeout": timeout}, bare)
        return [Ended(code, Path(output + ".out").read_text(), Path(output + ".err").read_text())
                for code, output in zip(codes, outputs, strict=True)]


class Started:
    """A program that runs beside the test, as `subprocess.Popen` with pipes is.

    It leads a group of processes.
    """

    returncode: int | None = None

    def __init__(self, *arguments: object, env: Mapping[str, str] | None = None,
                 cwd: object = None) -> None:
        with tempfile.TemporaryDirectory() as folder:
            output = str(Path(folder, "pipe"))
            for suffix in (".out", ".err"):
                os.mkfifo(output + suffix)
            self.pid, = _ask([{"arguments": [*map(str, arguments)], "output": output,
                               "environment": dict(os.environ if env is None else env),
                               "cwd": str(cwd or os.getcwd()), "input": os.devnull}])
            self.stdout, self.stderr = open(output + ".out"), open(output + ".err")

    def poll(self) -> int | None:
        """Its status, or None while it runs."""
        if self.returncode is None:
            self.returncode, = _ask({"pids": [self.pid], "timeout": None})
        return self.returncode

    def wait(self, timeout: float = 300) -> int:
        """Its status, once it has ended."""
        end = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.01)
        return status

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        """What is left of its output and its errors, once it has ended."""
        if self.stdout.closed:
            return "", ""
        with ThreadPoolExecutor(2) as readers, self.stdout, self.stderr:
            out, error = (readers.submit(file.read) for file in (self.stdout, self.stderr))
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()  # else the readers don't end
                raise
            return out.result(), error.result()

    def kill(self) -> None:
        """End it, if it hasn't ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def import_once(*modules: str) -> None:
    """Have modules imported that several programs import, before these are forked."""
    _ask({"modules": modules})


def _ask(request: object, bare: bool = False) -> list:
    """Send the server a request: programs to start, those whose end is awaited, or modules."""
    server = _server(bare)
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


@functools.cache
def _server(bare: bool = False) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("OMPI", "MS_", "LAMELLA_LOGS", "GLOG"))}
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.zygote", *["bare"] * bare], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**environment, "OMP_NUM_THREADS": "1"})
    atexit.register(server.kill)
    return server


def _serve() -> dict | None:
    """Fork what is asked for, until nothing more is; in a forked process, returns what to run."""
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, dict) and "modules" in asked:
            found = [importlib.import_module(name).__name__ for name in asked["modules"]]
            gc.collect()
            gc.freeze()
        elif isinstance(asked, dict):
            found = _statuses(asked["pids"], asked["timeout"])
        else:
            found = []
            for run in asked:
                pid = os.fork()
                if pid == 0:
                    return run
                found.append(pid)
        print(json.dumps(found), flush=True)
    return None


def _statuses(pids: list[int], timeout: float | None) -> list[int | None]:
    """The statuses of processes, which are killed after a time; without one, as it is now."""
    end, found = time.monotonic() + (timeout or 0.0), dict.fromkeys(pids)
    while True:
        for pid in [pid for pid, status in found.items() if status is None]:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                found[pid] = os.waitstatus_to_exitcode(status)
            elif timeout is not None and time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
        if timeout is None or None not in found.values():
            return [found[pid] for pid in pids]
        time.sleep(0.005)


def _become(run: dict) -> None:
    """Run a program in this process, as a new one would."""
    os.setsid()
    for number, suffix in ((1, ".out"), (2, ".err")):
        file = os.open(run["output"] + suffix, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    given = os.open(run["input"], os.O_RDONLY)
    os.dup2(given, 0)
    os.close(given)
    sys.stdin = open(0, closefd=False)
    os.environ.clear()
    os.environ.update(run["environment"])
    os.chdir(run["cwd"])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[1:1] = [path for path in [*paths, str(ROOT)] if path not in sys.path[1:]]
    random.seed()
    np.random.seed()
    arguments = run["arguments"]
    while arguments[0] == "-W":
        warnings.simplefilter(arguments[1])
        arguments = arguments[2:]
    status: object = None
    try:
        _execute(arguments)
    except SystemExit as ended:
        status = ended.code
    except Exception as error:
        inner = error.__traceback__
        while inner and inner.tb_frame.f_code.co_filename == __file__:  # not the program's
            inner = inner.tb_next
        sys.excepthook(type(error), error.with_traceback(inner), inner)
        status = 1
    _end(status)


def _end(status: object) -> NoReturn:
    """End this process as the interpreter does, but leave its memory to the system.

    To free each object would copy all pages that it shares with the process it was forked from.
    """
    threading._shutdown()  # type: ignore[attr-defined] # waits for threads
    atexit._run_exitfuncs()
    if status is not None and not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    for file in (sys.stdout, sys.stderr):
        if file is not None and not file.closed:
            file.flush()
    ctypes.CDLL(None).fflush(None)
    os._exit((status or 0) & 0xFF)


def _execute(arguments: list[str]) -> None:
    """Run code, a module or a file as the main program."""
    sys.modules["__main__"] = main = ModuleType("__main__")
    if arguments[0] == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *arguments[2:]]
        exec(compile(arguments[1], "<string>", "exec", dont_inherit=True), vars(main))
    else:
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        sys.argv = arguments
        main.__file__ = arguments[0]
        exec(compile(Path(arguments[0]).read_bytes(), arguments[0], "exec", dont_inherit=True),
             vars(main))


def _import_lamella() -> None:
    """Import what programs need, and what tensors in parts and graphs with open sizes import.

    The latter are 900 modules, which take 2 s.
    """
    for name in ("pytest",  # for files of tests that run in processes of their own
                 "torch._dynamo", "torch.distributed.tensor",
                 "torch.fx.experimental.symbolic_shapes", "lamella.commands.cli",
                 "lamella.communication", "lamella.compat.alias", "lamella.dataset", "lamella.nn",
                 "lamella.numpy", "lamella.ops", "lamella.parallel", "lamella.train"):
        importlib.import_module(name)


if __name__ == "__main__":
    import numpy as np
    import torch  # noqa: F401

    if sys.argv[1:] != ["bare"]:
        _import_lamella()
    gc.collect()
    gc.freeze()  # else a collection in a forked process copies all pages
    work = _serve()
    if work is not None:
        _become(work)
