"""The lines of the user's program that the kernels of a recorded run come from."""

from __future__ import annotations

import dis
import functools
import os
import sys
import traceback
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch

from ...core.tracebacks import PACKAGE, origin

_OPTIMIZERS = os.path.join(PACKAGE, "nn", "optim") + os.sep
# what calls autograd's engine: PyTorch, and Lamella itself
_ENGINES = (os.path.join("torch", "autograd", "graph.py"),
            os.path.join(PACKAGE, "autodiff", "engine.py"))

_running_node: Any = torch._C._current_autograd_node  # type: ignore[attr-defined]
_next_number: Any = torch.autograd._get_sequence_nr  # type: ignore[attr-defined]


class Line(NamedTuple):
    """The line of the user's program that a kernel comes from.

    Attributes:
        file, number: the line; for a kernel in the backward pass, that of the forward operation.
            Empty and 0 if there is none.
        phase: ``"forward"``, ``"backward"`` or ``"update"`` (an optimizer's).
    """

    file: str
    number: int
    phase: str

    def __str__(self) -> str:
        """The line in brackets, as the end of a message; empty if there is none."""
        return f" ({self.file}:{self.number})" if self.file else ""


NOWHERE = Line("", 0, "")
_line = functools.cache(Line)  # equal layers share the lines of their kernels


class Lines:
    """The lines of one recorded run."""

    def __init__(self) -> None:
        self._forward: dict[int, Line] = {}  # by the number of the node on autograd's tape

    def here(self) -> Line:
        """The line that the running kernel comes from."""
        node: Any = _running_node()
        file, number, optimizer = _nearest(sys._getframe(), node is not None)
        if node is None:
            line = _line(file, number, "update" if optimizer else "forward")
            made = _next_number() - 1
            self._forward.setdefault(made, line)
            return line
        if not file:
            known = self._forward.get(node._sequence_nr())
            if known is not None:
                file, number, _ = known
        return _line(file, number, "backward")


def nearest_line() -> Line:
    """The innermost line of the user's program that runs."""
    file, number, _ = _nearest(sys._getframe(), False)
    return Line(file, number, "forward") if file else NOWHERE


def line_reading(codes: Iterable[CodeType], name: str) -> Line:
    """The first line of some code that reads an attribute or a variable of a name."""
    for code in codes:
        number = code.co_firstlineno
        for step in dis.get_instructions(code):
            number = step.starts_line or number
            if step.argval == name and step.opname.startswith("LOAD"):
                return Line(code.co_filename, number, "forward")
    return NOWHERE


def line_of(error: BaseException) -> Line:
    """The innermost line of the user's program in an error's traceback."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _origin(frame.filename) == "user":
            return Line(frame.filename, frame.lineno or 0, "forward")
    return NOWHERE


def _nearest(frame: FrameType | None, backward: bool) -> tuple[str, int, bool]:
    """The innermost line of the user's program, and whether it called an optimizer.

    In the backward pass: a line of the user's rule or hook; none if the engine called the kernel.
    """
    optimizer = False
    while frame is not None:
        file = frame.f_code.co_filename
        whose = _origin(file)
        if whose == "user":
            return file, frame.f_lineno, optimizer
        if whose == "engine" and backward:
            break
        optimizer |= whose == "optimizer"
        frame = frame.f_back
    return "", 0, optimizer


@functools.cache
def _origin(file: str) -> str:
    """Whose code a file holds: "user", "optimizer" (Lamella's), "engine" (of autograd) or another.
    """
    whose = origin(file)
    if whose == "lamella" and os.path.abspath(file).startswith(_OPTIMIZERS):
        return "optimizer"
    return "engine" if whose in ("torch", "lamella") and file.endswith(_ENGINES) else whose
