"""Graphs as machine code: compiled by another process on request, kept on disk, loaded."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule

from ...machine import background, cache, extension, library
from ..ir.operations import effects_of
from ..ir.text import NoText, to_text
from ..passes import plain
from . import worker

Run = Callable[[list[torch.Tensor]], list[torch.Tensor]]
FORMAT = 2  # of the files on disk; after a change the older ones are not used
BACKENDS = ("replay", "inductor", "replay, captured", "inductor, captured")
PATIENCE = 1800.0  # seconds for one compilation
# operations that machine code calls with arguments which the kernel refuses (PyTorch 2.13)
REFUSED = ("aten.mkldnn_rnn_layer.default", "aten.mkldnn_rnn_layer_backward.default")


class Native:
    """The machine code of a graph: available, being compiled, or impossible.

    Attributes:
        key: its name on disk; None if the graph can't be serialized, or there is no cache folder.
        requested, finished: whether its compilation has been requested, and has ended.
    """

    def __init__(self, graph: GraphModule, inputs: list[torch.Tensor]):
        self.device = inputs[0].device if inputs else torch.device("cpu")
        self.requested = self.finished = False
        try:
            if any(str(node.target) in REFUSED or effects_of(node.target).is_check
                   for node in graph.graph.nodes):  # machine code would leave out checks
                raise NoText
            self.text = to_text(plain(graph), inputs)
            self.key = cache.key_of(FORMAT, self.text) if cache.cache_folder() else None
        except NoText:
            self.key = None

    def request(self) -> None:
        """Have it compiled unless it is on disk; `finished` tells when that has ended."""
        self.requested = True
        if self.key is None or cache.entry(self.key) is not None or not _has_compiler():
            self.finished = True
            return
        background.submit(self._compile)

    def load(self) -> Run | None:
        """A function that runs it; None if it isn't on disk, or is damaged (and then removed)."""
        folder = cache.entry(self.key) if self.key else None
        if folder is None or (folder / "failed").exists():
            return None
        try:
            return runner_of(str(library.checked(folder)), self.device).run
        except (OSError, RuntimeError, ValueError) as damage:
            cache.discard(folder, str(damage).split("\n")[0])
            return None

    def remembered(self) -> str | None:
        """The backend that was fastest before, one of `BACKENDS`; None if none is recorded."""
        folder = cache.entry(self.key) if self.key else None
        with contextlib.suppress(OSError, ValueError):
            if folder is not None:
                found = (folder / "fastest").read_text(encoding="ascii")
                return found if found in BACKENDS else None
        return None

    def remember(self, fastest: str) -> None:
        """Record the fastest backend on disk."""
        folder = cache.entry(self.key) if self.key else None
        with contextlib.suppress(OSError):
            if folder is not None:
                (folder / "fastest").write_text(fastest, encoding="ascii")

    def _compile(self) -> None:
        """In the background: compile it, and keep the library, or the error, on disk."""
        try:
            folder = cache.draft()
            if folder is None or self.key is None:
                return
            (folder / "graph.json").write_text(self.text, encoding="utf-8")
            (folder / "threads").write_text(str(torch.get_num_threads()))
            (folder / "path").write_text("\n".join(_places()), encoding="utf-8")
            # isolated: nothing of the current folder, or of PYTHON's variables, is imported
            background.run([sys.executable, "-I", worker.__file__, str(folder)], folder, PATIENCE,
                           {"TORCHINDUCTOR_COMPILE_THREADS": "1"})
            if (folder / "digest").exists() or (folder / "failed").exists():
                cache.publish(folder, self.key)
            else:  # stopped, or the disk is full: a later process may try again
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            self.finished = True


def _places() -> list[str]:
    """The folders where the worker finds PyTorch, Lamella and installed packages."""
    roots = [str(pathlib.Path(module.__file__).parents[1]) for module in
             (torch, sys.modules[__name__.partition(".")[0]]) if module.__file__]
    return [*roots, *(p for p in sys.path if p.endswith(("site-packages", "dist-packages")))]


def runner_of(library: str, device: torch.device) -> Any:
    """PyTorch's runner of a compiled library."""
    runners: Any = getattr(torch._C, "_aoti")  # noqa: B009  (not in the type stubs)
    if device.type == "cpu":
        return runners.AOTIModelContainerRunnerCpu(library, 1)
    runner = getattr(runners, f"AOTIModelContainerRunner{device.type.capitalize()}", None)
    if runner is None:
        raise ValueError(f"PyTorch runs no compiled code on {device.type}")
    try:  # otherwise it asks for events, which a capture of its kernels refuses
        return runner(library, 1, str(device), "", True)
    except TypeError:  # this PyTorch has no such argument
        return runner(library, 1, str(device))


_warned: list[bool] = []


def _has_compiler() -> bool:
    """Whether there is a C++ compiler; if not, a warning says so once."""
    if extension.compiler() is not None:
        return True
    if not _warned:
        _warned.append(True)
        warnings.warn("For 'jit', no C++ compiler was found (g++, clang++ or $CXX), so compiled "
                      "functions replay PyTorch's kernels (level O0).", stacklevel=2)
    return False
