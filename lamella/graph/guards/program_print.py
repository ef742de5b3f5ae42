"""`print` while a thread records a run: another function takes its place."""

from __future__ import annotations

import builtins
import types
from typing import Any

from ...core.classes import is_a
from .replacement import Replacement

replaced = Replacement(builtins, "print")


def printer() -> Any:
    """What the program's `print` is now, whether or not a thread is recording."""
    return replaced.own


def is_pythons() -> bool:
    """Whether the program has left `print` as it is."""
    return is_a(printer(), types.BuiltinFunctionType)
