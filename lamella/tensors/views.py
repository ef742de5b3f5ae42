"""Views inside of a gradient call: they see what is written to the Tensor that they are parts of.

Outside of gradient calls a view shares memory with its whole. Inside of one a Tensor may be written
to by giving it new memory, since the record may need the old values. So each view that is made
meanwhile is noted with its whole, and moves to the new memory. The gradient then counts the new
values in it.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from ..core.state import state

# an element for each transformation that runs, in any thread: while it is empty, nothing is noted
running: list[None] = []


class Noted:
    """A Tensor that is a view, or one that has views, and what it is a part of.

    Attributes:
        tensor: a weak reference to it.
        whole: a weak reference to the Tensor that it was taken of, by way of other views or not;
            to itself if it isn't a view.
        others: how many other tensors shared the whole's memory when its first view was noted.
    """

    __slots__ = ("tensor", "whole", "others")

    def __init__(self, tensor: Any, whole: Any = None, others: int = 0):
        self.tensor = weakref.ref(tensor)
        self.whole, self.others = self.tensor if whole is None else whole, others


def note(view: Any, of: Any, made: int = 1) -> None:
    """Remember a Tensor that is a view of another, if this thread is inside of a gradient.

    Args:
        made: how many views the call has made that made this one.
    """
    level = state.level
    if level is None:
        return
    noted = level.views.get(id(of))
    if noted is None or noted.tensor() is not of:
        raw = of._raw
        may_be_older = not raw.requires_grad and view._raw._base is raw and counts(raw)
        others = _sharing(raw) - 1 - made if may_be_older else 0
        noted = level.views[id(of)] = Noted(of, None, others)
    level.views[id(view)] = Noted(view, noted.whole, noted.others)


def note_all(views: list[Any], of: Any) -> list[Any]:
    """Remember the views of a Tensor that one call has made, as far as they are; returns them."""
    if running:
        for view in views:
            if view._raw._is_view():
                note(view, of, len(views))
    return views


def whole_of(part: Any) -> Any:
    """The Tensor that a noted view is a part of, None if it wasn't noted or is no more."""
    noted = state.level.views.get(id(part))
    return None if noted is None or noted.tensor() is not part else noted.whole()


def counts(raw: torch.Tensor) -> bool:
    """Whether this thread is inside of plain reverse mode, where holders of `raw` are counted."""
    level = state.level
    return (level is not None and level.kind == "reverse" and not level.forward
            and type(raw) is torch.Tensor and not torch._C._are_functorch_transforms_active())


def is_needed(tensor: Any) -> bool:
    """Whether a derivative may need what a Tensor, its whole or another part of that holds now.

    Then PyTorch holds it itself, which its counts of holders tell. It may also be that something
    holds it that has nothing to do with derivatives. Where nothing is counted, none is said to.
    """
    raw = tensor._raw
    if not counts(raw):
        return False
    noted = state.level.views.get(id(tensor))
    if noted is not None and noted.tensor() is tensor:
        others = noted.others
    elif raw._base is None:
        others = _sharing(raw) - 1
    else:
        return False
    base = raw if raw._base is None else raw._base
    if base._use_count() <= (1 if base is raw else 2) and raw._use_count() == 1:
        return False  # the Tensors that were seen here are the only holders
    views = _views_of(base)
    return (base._use_count() > 1 + len(views) + others
            or any(view._raw._use_count() > 1 for view in views))


def _sharing(raw: torch.Tensor) -> int:
    """How many tensors share the memory of a raw one: itself, its views and aliases."""
    return torch._C._storage_Use_Count(raw.untyped_storage()._cdata) - 1


def follow(old: torch.Tensor, new: torch.Tensor) -> None:
    """Move the noted views of a raw tensor to another one of the same shape.

    Args:
        old: what was written to: a whole, or an alias of one in a nested gradient call.
        new: what holds the values from now on.
    """
    level = state.level
    if level is None or not level.views:
        return
    whole = old if old._base is None else old._base
    if whole.shape != new.shape or whole.dtype is not new.dtype:
        return
    for view in _views_of(whole):
        with torch.enable_grad():
            view._raw = view._raw._view_func_unsafe(new)  # type: ignore[attr-defined]
        level.changed.append(weakref.ref(view))


def _views_of(base: torch.Tensor) -> list[Any]:
    """The noted views of a raw tensor that are still there; the others are forgotten."""
    views, found = state.level.views, []
    for key, noted in list(views.items()):
        view = noted.tensor()
        if view is None:
            del views[key]
        elif view._raw._base is base:
            found.append(view)
    return found
