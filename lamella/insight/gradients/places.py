"""The origin of an operation: the user's line, the operator, the Cell."""

from __future__ import annotations

import os
import pathlib
import sys
from types import CodeType
from typing import Any, NamedTuple

import torch

from ...nn.cell import Cell

_OURS = str(pathlib.Path(__file__).resolve().parents[2]) + os.sep
_OPERATORS = tuple(_OURS + name for name in (
    "ops" + os.sep, "mint" + os.sep, "numpy" + os.sep, "scipy" + os.sep,
    *(os.path.join("tensors", name) for name in (
        "tensor.py", "operators.py", "indexing.py", "conversion.py", "inplace_methods.py")),
    os.path.join("machine", "products.py"),
    os.path.join("autodiff", "stop.py"), os.path.join("autodiff", "hooks.py")))
_ENGINE = _OURS + "autodiff" + os.sep
_STOP = _ENGINE + "stop.py"
_TORCH, _STANDARD = (os.path.dirname(os.path.abspath(str(m.__file__))) + os.sep
                     for m in (torch, os))
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Place(NamedTuple):
    """What was running when an operation was called.

    Attributes:
        cell: the innermost Cell, or None.
        file, line: of the user's program, the innermost.
        operator: the operator of ours it belongs to, or "".
        inner: whether it belongs to the engine, which cuts and joins tensors for its own ends.
        opaque: whether it is inside a node that the tape has as a whole.
    """

    cell: Cell | None
    file: str
    line: int
    operator: str
    inner: bool
    opaque: bool

    @property
    def text(self) -> str:
        """The line as it is written in messages: ``file:line``."""
        return f"{self.file}:{self.line}" if self.file else ""


def _is_users(file: str) -> bool:
    if file.startswith(("<frozen", "<string>", "<eval_with_key", _TORCH)):
        return False
    return not file.startswith(_STANDARD) or any(part in file for part in _INSTALLED)


def here(end: CodeType | None = None) -> Place:
    """Where the operation that called this comes from; the stack is searched up to `end`."""
    frame: Any = sys._getframe(2)
    cell: Cell | None = None
    file, line, operator = "", 0, ""
    opaque = False
    immediate = ""
    while frame is not None and frame.f_code is not end:
        code = frame.f_code
        name, path = code.co_name, code.co_filename
        if path.startswith(_OURS):
            immediate = immediate or path
            if name == "forward":  # of a `torch.autograd.Function`
                opaque = True
            if cell is None and not file:
                if path.startswith(_OPERATORS) and name[0] not in "_<" and name != "construct":
                    operator = name if name != "method" else operator
                elif path.startswith(_OPERATORS) and name == "__call__":
                    owner = frame.f_locals.get("self")
                    operator = getattr(owner, "name", None) or type(owner).__name__
        elif _is_users(path):
            immediate = immediate or "user"
            if not file:
                file, line = path, frame.f_lineno
        if cell is None and name == "construct" and code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            if isinstance(owner, Cell):
                cell = owner
        frame = frame.f_back
    inner = immediate.startswith(_ENGINE) and immediate != _STOP
    return Place(cell, file, line, operator, inner, opaque)
