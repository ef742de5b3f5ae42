"""Graphs as machine code: asked for, compiled in another process, kept on disk, loaded."""

from __future__ import annotations

import atexit
import contextlib
import os
import pathlib
import queue
import shutil
import signal
import struct
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule

from ...machine import cache
from ..ir.operations import nature
from ..ir.text import NoText, to_text
from ..passes import plain
from . import worker
from .worker import digest

Run = Callable[[list[torch.Tensor]], list[torch.Tensor]]
FORMAT = 2  # of what is kept; a change makes everything kept before unknown
WAYS = ("replay", "inductor", "replay, captured", "inductor, captured")
PATIENCE = 1800.0  # seconds for one compilation
# what machine code calls with arguments that the kernel refuses (PyTorch 2.13)
REFUSED = ("aten.mkldnn_rnn_layer.default", "aten.mkldnn_rnn_layer_backward.default")


class Native:
    """A graph's machine code: there, being made, or not to be had.

    Attributes:
        key: what it is kept under; None if the graph has no written form, or nothing can be kept.
        asked, made: whether it has been asked for, and whether that is over.
    """

    def __init__(self, graph: GraphModule, inputs: list[torch.Tensor]):
        self.device = inputs[0].device if inputs else torch.device("cpu")
        self.asked = self.made = False
        try:
            if any(str(node.target) in REFUSED or nature(node.target).is_check
                   for node in graph.graph.nodes):  # machine code would check nothing
                raise NoText
            self.text = to_text(plain(graph), inputs)
            self.key = cache.key_of(FORMAT, self.text) if cache.cache_folder() else None
        except NoText:
            self.key = None

    def ask(self) -> None:
        """Have it compiled, unless it is kept already; `made` says when that is over."""
        self.asked = True
        if self.key is None or cache.entry(self.key) is not None or not _compiler():
            self.made = True
            return
        _jobs.put(self)
        _start_serving()

    def load(self) -> Run | None:
        """A function that runs it; None if it isn't there, or is damaged (which removes it)."""
        folder = cache.entry(self.key) if self.key else None
        if folder is None or (folder / "failed").exists():
            return None
        try:
            library = folder / "model.so"
            if (folder / "digest").read_text(encoding="ascii") != digest(library):
                raise ValueError("its digest is another")
            if not is_whole(library):  # loading it would end the process
                raise ValueError("its end is missing")
            runner = runner_of(str(library), self.device)
            return runner.run
        except (OSError, RuntimeError, ValueError) as damage:
            cache.discard(folder, str(damage).split("\n")[0])
            return None

    def remembered(self) -> str | None:
        """What was found fastest before, one of `WAYS`, or None if nobody knows."""
        folder = cache.entry(self.key) if self.key else None
        with contextlib.suppress(OSError, ValueError):
            if folder is not None:
                found = (folder / "fastest").read_text(encoding="ascii")
                return found if found in WAYS else None
        return None

    def remember(self, fastest: str) -> None:
        """Keep what was found fastest."""
        folder = cache.entry(self.key) if self.key else None
        with contextlib.suppress(OSError):
            if folder is not None:
                (folder / "fastest").write_text(fastest, encoding="ascii")

    def _compile(self) -> None:
        folder = cache.draft()
        if folder is None or self.key is None:
            return
        (folder / "graph.json").write_text(self.text, encoding="utf-8")
        (folder / "threads").write_text(str(torch.get_num_threads()))
        (folder / "path").write_text("\n".join(_places()), encoding="utf-8")
        with open(folder / "log", "wb") as log:
            # isolated: nothing of the current folder, or of PYTHON's variables, is imported; and in
            # a session of its own, so that it can end with all that it has started
            _running.append(subprocess.Popen(
                [sys.executable, "-I", worker.__file__, str(folder), str(os.getpid())],
                env={**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}, cwd=folder,
                start_new_session=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        try:
            _running[0].wait(PATIENCE)
        except subprocess.TimeoutExpired:
            _end(_running[0])
        finally:
            _running.clear()
        if (folder / "digest").exists() or (folder / "failed").exists():
            cache.publish(folder, self.key)
        else:  # killed, or the disk is full: another time, perhaps
            shutil.rmtree(folder, ignore_errors=True)


def _places() -> list[str]:
    """Where the worker finds what this process has: PyTorch, Lamella, installed packages."""
    roots = [str(pathlib.Path(module.__file__).parents[1]) for module in
             (torch, sys.modules[__name__.partition(".")[0]]) if module.__file__]
    return [*roots, *(p for p in sys.path if p.endswith(("site-packages", "dist-packages")))]


def _end(process: subprocess.Popen) -> None:
    """End a worker, and the compilers that it has started."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def is_whole(library: pathlib.Path) -> bool:
    """Whether a library is as long as it says (ELF; others aren't looked into)."""
    with open(library, "rb") as file:
        head = file.read(64)
    if len(head) < 64:
        return False
    if not head.startswith(b"\x7fELF\x02\x01"):
        return True
    table, = struct.unpack_from("<Q", head, 40)
    size, count = struct.unpack_from("<HH", head, 58)
    return library.stat().st_size >= table + size * count


def runner_of(library: str, device: torch.device) -> Any:
    """PyTorch's runner of a compiled library."""
    kinds: Any = getattr(torch._C, "_aoti")  # noqa: B009  (not in the type stubs)
    if device.type == "cuda":
        return kinds.AOTIModelContainerRunnerCuda(library, 1, str(device))
    return kinds.AOTIModelContainerRunnerCpu(library, 1)


_jobs: queue.Queue[Native] = queue.Queue()
_running: list[subprocess.Popen] = []
_server: list[threading.Thread] = []
_warned: list[bool] = []


def _start_serving() -> None:
    if not _server or not _server[0].is_alive():
        _server[:] = [threading.Thread(target=_serve, name="lamella-compile", daemon=True)]
        _server[0].start()


def _serve() -> None:
    """Compile what is asked for, one after another, for as long as the process lives."""
    while True:
        job = _jobs.get()
        with contextlib.suppress(OSError):  # a full disk: the graph is replayed
            job._compile()
        job.made = True


@atexit.register
def _stop() -> None:
    for process in _running:
        _end(process)
        shutil.rmtree(process.args[3], ignore_errors=True)  # type: ignore[index]


def _forget() -> None:
    """In a forked process: what is being compiled is the parent's."""
    global _jobs
    _jobs = queue.Queue()
    _running.clear()
    _server.clear()


os.register_at_fork(after_in_child=_forget)


def _compiler() -> bool:
    """Whether there is a C++ compiler; if not, a warning says so once."""
    named = os.environ.get("CXX")
    if any(shutil.which(name) for name in ([named] if named else ["g++", "clang++", "c++"])):
        return True
    if not _warned:
        _warned.append(True)
        warnings.warn("For 'jit', no C++ compiler was found (g++, clang++ or $CXX), so compiled "
                      "functions replay PyTorch's kernels (level O0).", stacklevel=2)
    return False
