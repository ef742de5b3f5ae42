"""Machine code by AOTInductor: the library of a graph, and PyTorch's runner of it."""

from __future__ import annotations

import os
import warnings
from typing import Any

import torch
from torch.fx import GraphModule

from ...machine import background, cache, extension, library
from ..ir.failures import Unknown
from ..ir.lazy_module import dismantle
from ..ir.loop import loop_of
from ..ir.machine_code import MachineCode, Run
from ..ir.operations import effects_of
from ..ir.stages import Part
from ..ir.text import NoText, metas_of, name_of, to_text
from ..passes import plain_part
from ..passes.flags import add_flag, may_flag
from . import worker

FORMAT = 4  # of the files on disk; after a change the older ones are not used
# operations that machine code calls with arguments which the kernel refuses (PyTorch 2.13)
REFUSED = ("aten.mkldnn_rnn_layer.default", "aten.mkldnn_rnn_layer_backward.default")


class Native(MachineCode):
    """The machine code of a part of a graph by AOTInductor.

    Attributes:
        name: names the part, with the metadata of its inputs.
        part: the part, or another one of the same operations.
    """

    worker = worker.__file__
    backends = ("replay", "inductor", "replay, captured", "inductor, captured")

    def __init__(self, part: Part, inputs: list[torch.Tensor]):
        self.device = inputs[0].device if inputs else torch.device("cpu")
        # an accelerator's kernels are compiled one by one; the program leaves cores for that
        threads = 1 if self.device.type == "cpu" else max(1, (os.cpu_count() or 2) // 2)
        self.settings = {"TORCHINDUCTOR_COMPILE_THREADS": str(threads)}
        self.part, self._metas = part, metas_of(inputs)
        self._has_flag = False  # whether the last result of the code is whether kernels fail
        key, self.name = None, ""
        try:
            self.name = name_of(plain_part(part), self._metas)
            if cache.cache_folder() and not any(  # machine code would leave out checks
                    str(node.target) in REFUSED or effects_of(node.target).is_check
                    or loop_of(node) is not None
                    for node in part.nodes):
                flagged = self._flagged()
                if flagged is not None:
                    self._has_flag = True
                    dismantle(flagged)
                key = cache.key_of(FORMAT, self.name)
        except (NoText, Unknown):
            pass
        super().__init__(key)

    def _flagged(self) -> GraphModule | None:
        """A copy of the part whose last result says whether kernels fail; None if none can.

        A device reports failures itself, after the call.
        """
        part = plain_part(self.part)
        if self.device.type != "cpu" or not may_flag(part.nodes):
            return None
        found = part.copied()
        if add_flag(found, safe=True):
            return found
        dismantle(found)
        return None

    def _text(self) -> str:
        """What the compiler reads, which isn't kept: that of a long graph takes megabytes."""
        flagged = self._flagged() if self._has_flag else None
        if flagged is None:
            return to_text(plain_part(self.part), self._metas)
        try:
            return to_text(flagged, self._metas)
        finally:
            dismantle(flagged)

    def request(self) -> None:
        """Have it compiled unless it is on disk; `finished` tells when that has ended."""
        self.requested = True
        if self.key is None or self.entry() is not None or not _has_compiler():
            self.finished = True
            return
        texts = [self._text()]  # by this thread, whose graph it is
        background.submit(lambda: self._make(texts))

    def make_now(self) -> None:
        """Compile it in this process: for tests."""
        if self.key is not None and self.entry() is None and _has_compiler():
            self.compile_by([self._text()], worker.compile_in)
        self.requested = self.finished = True

    def _make(self, texts: list[str]) -> None:
        try:
            self.compile(texts)
        finally:
            self.finished = True

    def load(self) -> Run | None:
        """A function that runs it; None if it isn't on disk, or is damaged (and then removed)."""
        folder = self.entry()
        if folder is None or (folder / "failed").exists():
            return None
        try:
            run = runner_of(str(library.checked(folder)), self.device).run
        except (OSError, RuntimeError, ValueError) as damage:
            cache.discard(folder, str(damage).split("\n")[0])
            return None
        return _checked(run) if self._has_flag else run


def _checked(run: Run) -> Run:
    """A function that runs machine code, and raises an error if its last result, the flag, is set.
    """

    def call(values: list[torch.Tensor]) -> list[torch.Tensor]:
        *found, flag = run(values)
        if flag:
            raise RuntimeError("a kernel fails for these values; the replay says why")
        return found

    return call


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
