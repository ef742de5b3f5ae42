"""The transformations being run on this thread: how deeply nested, of which kinds, their aliases.

Each call of `grad`, `vjp`, `jvp` or `vmap` is a level while its function runs. Outside of `vmap`
derivatives are PyTorch's own: reverse mode is its tape, forward mode its dual numbers. Inside a
`vmap`, where one tensor stands for many, they are levels of `torch.func`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..state import functorch, state


class Level:
    """One transformation while its function runs.

    Attributes:
        outer: the level around it, None at the outermost.
        kind: what it does itself: "reverse", "forward", "transposing", or "other".
        overlay: the alias of each Parameter the gradient is taken for, over the outer ones.
        assigned: by id of such a Parameter, what the function assigned to it: its further aliases.
        changed: Tensors that the function changed in place; they are cut from the record when the
            outermost call is over.
        constants: by id of an alias, the plain number that a rule gave as its whole gradient.
        reverse: whether a reverse-mode derivative is being recorded, here or further out.
        forward: whether a forward-mode derivative is being computed, here or further out.
        transposing: whether a forward-mode derivative is made out of reverse mode, here or further
            out; rules of the user's must then be linear.
        journal: Parameters that were given other data and what they held before, in order; None
            until a block is run that the backward pass will compute again.
        marks: for each `vmap`, here and further out, a False that stands for all its examples.
    """

    __slots__ = ("outer", "overlay", "assigned", "changed", "constants", "reverse", "forward",
                 "transposing", "marks", "kind", "journal")

    def __init__(self, outer: Level | None, reverse: bool = True, forward: bool = False,
                 transposing: bool = False):
        self.outer = outer
        self.kind = ("transposing" if transposing else "forward" if forward
                     else "reverse" if reverse else "other")
        around = state.overlay
        self.overlay: dict[Any, torch.Tensor] = {} if around is None else around.copy()
        self.assigned: dict[int, list[torch.Tensor]] = {}
        self.constants: dict[int, tuple[torch.Tensor, Any]] = {}
        if outer is None:
            self.changed: list[Any] = []
            self.journal: list[tuple[Any, torch.Tensor]] | None = None
            self.marks: list[torch.Tensor] = []
            self.reverse, self.forward, self.transposing = reverse, forward, transposing
        else:
            self.changed = outer.changed
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
    """Whether what is recorded now is the function whose forward derivative is to be made of it."""
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
    try:
        yield
    finally:
        state.level, state.overlay = before


def batching() -> bool:
    """Whether this runs inside a `vmap`: a raw tensor may stand for many."""
    return torch._C._are_functorch_transforms_active()


def lifted() -> bool:
    """Whether a rule of the user's must be one that more than the plain tape understands."""
    level = state.level
    return (level is not None and (level.forward or level.transposing)) or batching()


def recording(outer: Level | None) -> bool:
    """Whether derivatives computed inside `outer` will be differentiated again in reverse mode."""
    return outer is not None and outer.reverse


def watched(raws: Any) -> bool:
    """Whether a derivative may be asked for through any of these raw tensors."""
    if lifted():
        return torch.is_grad_enabled() or torch._C._is_fwd_grad_enabled()
    return torch.is_grad_enabled() and any(raw.requires_grad for raw in raws)


def settled(raw: torch.Tensor, where: str) -> torch.Tensor:
    """A copy of a value that outlives the running transformations and their derivatives.

    Raises:
        RuntimeError: if it differs between the examples of a `vmap`.
    """
    if differs(raw):
        raise RuntimeError(f"For '{where}', a value that differs between the examples of 'vmap' "
                           f"can't be kept outside of it; return it instead.")
    raw = physical(raw)
    with torch._C._DisableFuncTorch():
        return raw.detach().clone()


def differs(raw: torch.Tensor) -> bool:
    """Whether a tensor differs between the examples of any `vmap`."""
    while functorch.is_functorch_wrapped_tensor(raw):
        if functorch.is_batchedtensor(raw):
            return True
        raw = functorch.get_unwrapped(raw)
    return False


def plain(raw: torch.Tensor) -> torch.Tensor:
    """The data of a tensor that is about to leave the running transformations.

    Raises:
        RuntimeError: if it differs between the examples of a `vmap`.
    """
    if differs(raw):
        raise RuntimeError("Inside 'vmap' a Tensor stands for many examples, so it can't become "
                           "an array of NumPy's or Python numbers; return it instead.")
    with torch._C._DisableFuncTorch():
        return physical(raw).detach()


def of_all_examples(raw: torch.Tensor) -> torch.Tensor:
    """The data of a tensor, those of all examples: a dimension in front for each `vmap`."""
    def unwrapped(raw: torch.Tensor) -> torch.Tensor:
        if not functorch.is_functorch_wrapped_tensor(raw):
            return raw
        inner = functorch.get_unwrapped(raw)
        if not functorch.is_batchedtensor(raw):
            return unwrapped(inner)
        whole = unwrapped(inner)
        more = whole.dim() - inner.dim()
        return whole.movedim(functorch.maybe_get_bdim(raw) + more, more)

    with torch._C._DisableFuncTorch():
        return unwrapped(raw).detach()


def physical(raw: torch.Tensor) -> torch.Tensor:
    """The memory behind a tensor, with every dimension that `vmap` hides."""
    while functorch.is_functorch_wrapped_tensor(raw):
        raw = functorch.get_unwrapped(raw)
    return raw
