"""The gradient being computed on this thread: how deeply nested, and its aliases of Parameters."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import torch

from ..state import state


class Level:
    """One gradient call while its function runs.

    Attributes:
        outer: the level around it, None at the outermost.
        overlay: the alias of each Parameter the gradient is taken for, over the outer ones.
        assigned: by id of such a Parameter, what the function assigned to it: its further aliases.
        changed: Tensors that the function changed in place; they are cut from the record when the
            outermost call is over.
        constants: by id of an alias, the plain number that a rule gave as its whole gradient.
    """

    __slots__ = ("outer", "overlay", "assigned", "changed", "constants")

    def __init__(self, outer: Level | None):
        self.outer = outer
        around = state.overlay
        self.overlay: dict[Any, torch.Tensor] = {} if around is None else around.copy()
        self.changed: list[Any] = [] if outer is None else outer.changed
        self.assigned: dict[int, list[torch.Tensor]] = {}
        self.constants: dict[int, tuple[torch.Tensor, Any]] = {}


def current() -> Level | None:
    """The innermost gradient call whose function this thread is running."""
    return state.level


@contextmanager
def entered(level: Level | None):
    """Run a block inside `level`: lookups of Parameters then give its aliases.

    A rule's backward code runs in the level *around* its gradient call, whatever thread the
    autograd engine uses.
    """
    before = state.level, state.overlay
    state.level, state.overlay = level, None if level is None else level.overlay
    try:
        yield
    finally:
        state.level, state.overlay = before
