"""Views inside of a gradient call: they see what is written to the Tensor that they are parts of.

Outside of gradient calls a view shares memory with its whole. Inside of one a Parameter is written
to by giving it new memory, since the record may need the old values. So each view that is made
meanwhile is noted, and moves to the new memory. The gradient then counts the new values in it.
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
        level.views.append(weakref.ref(view))


def follow(old: torch.Tensor, new: torch.Tensor) -> None:
    """Move the noted views of a raw tensor to another one of the same shape.

    Args:
        old: what was written to: a whole, or an alias of one in a nested gradient call.
        new: what holds the values from now on.
    """
    level = state.level
    if level is None or not level.views:
        return
    level.views[:] = [reference for reference in level.views if reference() is not None]
    whole = old if old._base is None else old._base
    if whole.shape != new.shape or whole.dtype is not new.dtype:
        return
    for reference in level.views:
        view = reference()
        if view is not None and view._raw._base is whole:
            with torch.enable_grad():
                view._raw = view._raw._view_func_unsafe(new)  # type: ignore[attr-defined]
            level.changed.append(view)
