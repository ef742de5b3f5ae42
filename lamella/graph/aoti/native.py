"""Graphs as machine code: asked for, compiled in another process, kept on disk, loaded."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import pathlib
import queue
import shutil
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

Run = Callable[[list[torch.Tensor]], list[torch.Tensor]]
FORMAT = 1  # of what is kept; a change makes everything kept before unknown
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
        """A function that runs it; None if it isn't there, or is damaged."""
        folder = cache.entry(self.key) if self.key else None
        if folder is None:
            return None
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            library = folder / "model.so"
            if (folder / "digest").read_text() == _digest(library):
                runner = _runner(str(library), self.device)
                return runner.run
        return None

    def remembered(self) -> str | None:
        """What was found fastest before: ``"replay"``, ``"inductor"``, or None if nobody knows."""
        folder = cache.entry(self.key) if self.key else None
        with contextlib.suppress(OSError):
            if folder is not None:
                return (folder / "fastest").read_text()
        return None

    def remember(self, fastest: str) -> None:
        """Keep what was found fastest."""
        folder = cache.entry(self.key) if self.key else None
        with contextlib.suppress(OSError):
            if folder is not None:
                (folder / "fastest").write_text(fastest)

    def _compile(self) -> None:
        folder = cache.draft()
        if folder is None or self.key is None:
            return
        (folder / "graph.json").write_text(self.text, encoding="utf-8")
        (folder / "threads").write_text(str(torch.get_num_threads()))
        with open(folder / "log", "wb") as log:
            environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1",
                           "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
            _running.append(subprocess.Popen(
                [sys.executable, "-m", "lamella.graph.aoti.worker", str(folder)], env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        try:
            _running[0].wait(PATIENCE)
        except subprocess.TimeoutExpired:
            _running[0].kill()
        finally:
            _running.clear()
        library = folder / "model.so"
        if library.exists():
            (folder / "digest").write_text(_digest(library))
        elif not (folder / "failed").exists():  # killed: another time, perhaps
            shutil.rmtree(folder, ignore_errors=True)
            return
        cache.publish(folder, self.key)


def _digest(file: pathlib.Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _runner(library: str, device: torch.device) -> Any:
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
        process.kill()


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
