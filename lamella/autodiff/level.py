"""The nested transformations that this thread is running, with their aliases of Parameters.

Each call of `grad`, `vjp`, `jvp` or `vmap` is a level while its function runs. Outside of `vmap`
derivatives are PyTorch's own: reverse mode is its tape, forward mode its dual numbers. Inside a
`vmap`, where tensors are batched, they are levels of `torch.func`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..core.state import state
from ..core.wrappers import differs, of_all_examples
from ..tensors.views import running
from .integers import Integers


class Level:
    """One transformation while its function runs.

    Attributes:
        outer: the level around it, None at the outermost.
        kind: what it does itself: "reverse", "forward", "transposing", or "other".
        overlay: the alias of each Parameter the gradient is taken for, over the outer ones.
        assigned: by id of such a Parameter, what the function assigned to it: its further aliases.
        changed: Tensors that the function changed in place; they are cut from the record when the
            outermost call ends.
        constants: by id of an alias, the plain number that a rule gave as its whole gradient.
        reverse: whether a reverse-mode derivative is being recorded, here or further out.
        forward: whether a forward-mode derivative is being computed, here or further out.
        transposing: whether a forward-mode derivative is made out of reverse mode, here or further
            out; rules of the user's must then be linear.
        probes: what the program assigned to Parameters here although it is differentiated: an
            alias of it, the line, and the Parameter's name.
        journal: the assignments to Parameters, with the data before, in order; None until a block
            is run that the backward pass will compute again.
        marks: for each `vmap`, here and further out, a batched False.
        hooks: how many hooks were registered, here and further in.
        depth: how many levels are around it.
        given: Tensors that the function was given, each with what it held then, an alias.
        views: weak references to the views that were made, each with its level's depth, see
            `tensors.views`.
    """

    __slots__ = ("outer", "overlay", "assigned", "changed", "constants", "reverse", "forward",
                 "transposing", "marks", "kind", "journal", "probes", "hooks", "views",
                 "depth", "given")

    def __init__(self, outer: Level | None, reverse: bool = True, forward: bool = False,
                 transposing: bool = False):
        self.outer = outer
        self.kind = ("transposing" if transposing else "forward" if forward
                     else "reverse" if reverse else "other")
        around = state.overlay
        self.overlay: dict[Any, torch.Tensor] = {} if around is None else around.copy()
        self.assigned: dict[int, list[torch.Tensor]] = {}
        self.probes: list[tuple[torch.Tensor, tuple[str, int], str]] = []
        self.constants: dict[int, tuple[torch.Tensor, Any]] = {}
        self.given: list[tuple[Any, torch.Tensor]] = []
        self.hooks = 0
        if outer is None:
            self.changed: list[Any] = []
            self.views: list[Any] = []
            self.depth = 0
            self.journal: list[tuple[Any, torch.Tensor]] | None = None
            self.marks: list[torch.Tensor] = []
            self.reverse, self.forward, self.transposing = reverse, forward, transposing
        else:
            self.changed = outer.changed
            self.views = outer.views
            self.depth = outer.depth + 1
            self.journal = outer.journal
            self.marks = outer.marks
            self.reverse = reverse or outer.reverse
            self.forward = forward or outer.forward
            self.transposing = transposing or outer.transposing

    def order(self) -> int:
        """How many derivatives this is part of; one that is made out of others counts twice."""
        count, level = 0, self
        while level is not None:
            count += level.kind != "other"
            level = level.outer
        return count


def pushes(level: Level | None) -> bool:
    """Whether the current recording is transposed into a forward derivative."""
    while level is not None and level.kind == "other":
        level = level.outer
    return (level is not None and level.kind == "reverse" and level.outer is not None
            and level.outer.kind == "transposing")


def current() -> Level | None:
    """The innermost transformation whose function this thread is running."""
    return state.level


@contextmanager
def entered(level: Level | None) -> Iterator[None]:
    """Run a block inside `level`: lookups of Parameters then give its aliases.

    A rule's backward code runs in the level *around* its gradient call, whatever thread the
    autograd engine uses.
    """
    before = state.level, state.overlay
    state.level, state.overlay = level, None if level is None else level.overlay
    running.append(None)
    try:
        yield
    finally:
        running.pop()
        state.level, state.overlay = before


def derivatives_nest() -> bool:
    """Whether more is computed than one gradient of one function by backpropagation."""
    level = current()
    return level is not None and (level.forward or level.outer is not None and level.outer.reverse)


def in_forward_mode() -> bool:
    """Whether a forward-mode derivative is being computed, around others or in them."""
    level = current()
    return level is not None and (level.forward or level.transposing)


def batching() -> bool:
    """Whether this runs inside a `vmap`, where raw tensors may be batched."""
    return torch._C._are_functorch_transforms_active()


def by_example(raw: torch.Tensor) -> bool:
    """Whether a value differs between the examples of a `vmap`."""
    return batching() and differs(raw)


def for_any_example(test: torch.Tensor) -> torch.Tensor:
    """Whether a condition holds, for any of the examples of a `vmap` if it differs between them."""
    return of_all_examples(test).any() if by_example(test) else test


def lifted() -> bool:
    """Whether a user's rule must support more than the plain tape."""
    return in_forward_mode() or batching()


def recording(outer: Level | None) -> bool:
    """Whether derivatives computed inside `outer` will be differentiated again in reverse mode."""
    return outer is not None and outer.reverse


def watched(raws: Any) -> bool:
    """Whether any of these raw tensors may be differentiated through."""
    if lifted():
        return torch.is_grad_enabled() or torch._C._is_fwd_grad_enabled()
    return torch.is_grad_enabled() and any(
        raw.requires_grad or type(raw) is Integers for raw in raws)
