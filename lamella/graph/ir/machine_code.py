"""Machine code of a graph: compiled by another process on request, kept on disk, loaded."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import sys
from collections.abc import Callable
from typing import Any

import torch

from ...machine import background, cache

Run = Callable[[list[torch.Tensor]], list[torch.Tensor]]
PATIENCE = 1800.0  # seconds for one compilation


class MachineCode:
    """The machine code of a graph by one compiler: available, being compiled, or impossible.

    Attributes:
        key: its name on disk; None if it can't be compiled, or there is no cache folder.
        requested, finished: whether its compilation has been requested, and has ended.
    """

    worker: str  # the file of the process that compiles
    settings: dict[str, str] = {}  # environment variables of that process
    backends: tuple[str, ...] = ()  # names that `remember` may get

    def __init__(self, key: str | None):
        self.key = key
        self.requested = self.finished = False

    def load(self) -> Run | None:
        """A function that runs it; None if it isn't on disk, or is damaged (and then removed)."""
        raise NotImplementedError

    def entry(self) -> pathlib.Path | None:
        """Its folder on disk; None if there is none."""
        return cache.entry(self.key) if self.key else None

    def remembered(self) -> str | None:
        """The backend that was fastest before, one of `backends`; None if none is recorded."""
        folder = self.entry()
        with contextlib.suppress(OSError, ValueError):
            if folder is not None:
                found = (folder / "fastest").read_text(encoding="ascii")
                return found if found in self.backends else None
        return None

    def remember(self, fastest: str) -> None:
        """Record the fastest backend on disk."""
        folder = self.entry()
        with contextlib.suppress(OSError):
            if folder is not None:
                (folder / "fastest").write_text(fastest, encoding="ascii")

    def forget(self) -> None:
        """Record on disk that it isn't known which backend is fastest."""
        folder = self.entry()
        with contextlib.suppress(OSError):
            if folder is not None:
                (folder / "fastest").unlink()

    def compile(self, texts: list[str], prompt: float = 0.0) -> None:
        """In the background: compile a text, and keep the code, or the error, on disk.

        Args:
            texts: what the worker reads, alone in a list, which is emptied: that of a long graph
                takes megabytes.
            prompt: seconds of processor time for which the worker runs like any other process.
        """
        # isolated: nothing of the current folder, or of PYTHON's variables, is imported
        self.compile_by(texts, lambda folder: background.run(
            [sys.executable, "-I", self.worker, str(folder)], folder, PATIENCE, self.settings,
            prompt))

    def compile_by(self, texts: list[str], work: Callable[[pathlib.Path], object]) -> None:
        """As `compile`, by a function of the folder in which the text is."""
        folder = cache.draft()
        if folder is None or self.key is None:
            return
        (folder / "graph.json").write_text(texts.pop(), encoding="utf-8")
        (folder / "threads").write_text(str(torch.get_num_threads()))
        (folder / "path").write_text("\n".join(_places()), encoding="utf-8")
        work(folder)
        if (folder / "digest").exists() or (folder / "failed").exists():
            cache.publish(folder, self.key)
        else:  # stopped, or the disk is full: a later process may try again
            shutil.rmtree(folder, ignore_errors=True)


def _places() -> list[str]:
    """The folders where the worker finds PyTorch, Lamella and installed packages."""
    roots: list[Any] = [torch, sys.modules[__name__.partition(".")[0]]]
    found = [str(pathlib.Path(module.__file__).parents[1]) for module in roots if module.__file__]
    return [*found, *(p for p in sys.path if p.endswith(("site-packages", "dist-packages")))]
