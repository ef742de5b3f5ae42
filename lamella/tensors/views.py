"""Views inside of a gradient call: they see what is written to the Tensor that they are parts of.

Outside of gradient calls a view shares memory with its whole. Inside of one a Parameter, or what
the call is given, is written to by giving it new memory, since the record may need the old values.
So each view that is made meanwhile is noted, and moves to the new memory. The gradient then counts
the new values in it.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from ..core.state import state

# an element for each transformation that runs, in any thread: while it is empty, nothing is noted
running: list[None] = []


def note(view: Any) -> None:
    """Remember a Tensor that is a view, if this thread is inside of a gradient."""
    level = state.level
    if level is not None:
        level.views.append((weakref.ref(view), level.depth))


def alias_of(raw: torch.Tensor) -> torch.Tensor:
    """Another name of a raw tensor for a gradient call, whose graph leads to it."""
    return as_alias(raw.view_as(raw))


def as_alias(raw: torch.Tensor) -> torch.Tensor:
    """The raw tensor, as one that isn't written to: what is written goes to a copy.

    To PyTorch, some that stand for an input are views of what they stand for, as parts are.
    """
    if raw._base is not None:
        raw.is_alias = True  # type: ignore[attr-defined]
    return raw


def is_part(raw: torch.Tensor) -> bool:
    """Whether a raw tensor is a view of another one, but not an alias of it."""
    return base_of(raw) is not None and not hasattr(raw, "is_alias")


def base_of(raw: torch.Tensor) -> torch.Tensor | None:
    """What a raw tensor is a view of."""
    if type(raw) is torch.Tensor:
        return raw._base
    with torch._C.DisableTorchFunctionSubclass():  # integers with a twin would give a new object
        return raw._base


def follow(old: torch.Tensor, new: torch.Tensor, inside: bool = False) -> None:
    """Move the noted views of a raw tensor to another one of the same shape.

    Args:
        old: what was written to: a whole, or an alias of one in a nested gradient call.
        new: what holds the values from now on.
        inside: whether only views move that were made in this gradient call or in those in it.
    """
    level = state.level
    if level is None or not level.views:
        return
    level.views[:] = [pair for pair in level.views if pair[0]() is not None]
    whole = base_of(old)
    whole = old if whole is None else whole
    if whole.shape != new.shape or whole.dtype is not new.dtype:
        return
    for reference, depth in level.views:
        view = reference()
        if view is not None and base_of(view._raw) is whole and not (
                inside and depth < level.depth):
            with torch.enable_grad():
                view._raw = view._raw._view_func_unsafe(new)  # type: ignore[attr-defined]
            level.changed.append(view)


def leave_inputs(view: torch.Tensor) -> None:
    """Let the input of this gradient call that has `view` as a part hold a copy from now on.

    Its views that were made in the call move to the copy. So a write to one of them is seen by the
    input and by the others, but not by the Tensor that the caller has given, nor by the gradient
    of what was computed before.
    """
    level, base = state.level, base_of(view)
    for place, (whole, alias) in reversed(list(enumerate(level.given))):  # a recording's own first
        own = base_of(alias)
        if base is alias or own is not None and base is own and own.shape == alias.shape:
            del level.given[place]
            with torch.enable_grad():
                new = alias.clone()
            if whole._raw is alias:  # else it has another value already
                whole._raw = new
                level.changed.append(whole)
            follow(alias, new, inside=True)
            return
