"""Kinds of recorded runs: the program's own, and those that are undone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from contextlib import nullcontext
from typing import Any

import torch

from ..guards.reachable import Reachable
from .given import Given
from .lines import Line
from .recorder import Recorder
from .trace import HeldTensor, Trace


class RunKind(ABC):
    """A kind of run.

    Attributes:
        is_apart: whether it is undone, so that all that it may change has to be inspected before.
        is_fake: whether all Tensors have other data during the run.
        mode: a block in which the function runs.
    """

    is_apart = True
    is_fake = False
    mode: Any = nullcontext()

    def data(self, raw: torch.Tensor, is_argument: bool) -> torch.Tensor:
        """The data that a Tensor has during the run."""
        return raw

    @abstractmethod
    def trace(self, reach: Reachable, held: list[HeldTensor], inputs: list[torch.Tensor],
              given: Given) -> Trace:
        """The run, with a recorder of its kernels."""


class Real(RunKind):
    """A run as the program's: its side effects stay, also if it raises an error.

    Args:
        undoable: whether it can be undone after it has ended, as a dry run always can; that takes
            copies of what it changes.
        lines: where loops may be operations of the graph; see `ProgramLoops`.
    """

    is_apart = False

    def __init__(self, undoable: bool = False, lines: Collection[Line] = ()):
        self._undoable, self._lines = undoable, lines

    def trace(self, reach: Reachable, held: list[HeldTensor], inputs: list[torch.Tensor],
              given: Given) -> Trace:
        recorder = Recorder(inputs)
        recorder.is_undoable = self._undoable
        trace = Trace(reach, held, recorder, given)
        trace.loops.lines = self._lines
        return trace
