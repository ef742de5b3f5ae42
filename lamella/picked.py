"""A write into a part that was picked by tensors or lists reaches the tensor it was picked from.

``y[b]`` is a copy, PyTorch has no such views. So that ``y[b][:, 0] = 1.0`` changes `y`, the copy
remembers where it comes from, and after a write into it the whole copy is assigned to ``y[b]``.
MindSpore 2.10 does the same while it runs eagerly. A compiled function of its reaches the source
of a copy without a name (``y[b][:, 0] = 1.0``) and no other (``z = y[b]; z[:, 0] = 1.0``).
"""

from __future__ import annotations

import functools
import sys
import weakref
from sys import getrefcount
from typing import Any

from .indexing import set_item
from .state import in_graph

_MOST_HELD = 3  # copies of copies that one keeps alive: h = h[order] in a loop is a long chain


class _Source:
    """Where a copy was picked from."""

    __slots__ = ("own", "weak", "held", "index", "depth")

    def __init__(self, copy: Any, tensor: Any, index: Any):
        place = id(copy)
        self.own = weakref.ref(copy, lambda _: picked.pop(place, None))
        before = picked.get(id(tensor))
        depth = 0 if before is None else before.depth + 1
        self.depth = depth if depth <= _MOST_HELD else 0
        self.weak = weakref.ref(tensor)
        # a copy without a name, as in y[a][b][0] = 1, is only held here
        self.held = tensor if self.depth else None
        self.index = index


picked: dict[int, _Source] = {}  # by the id of the copy; its entry goes when it goes


def note_pick(copy: Any, tensor: Any, index: Any) -> None:
    """Remember that `copy` is ``tensor[index]``."""
    picked[id(copy)] = _Source(copy, tensor, index)


def write_back(references: int, copy: Any, index: Any, value: Any) -> None:
    """``copy[index] = value``, also where the copy (it has `references`) was picked from."""
    set_item(copy, index, value)
    source = picked.get(id(copy))
    tensor = None if source is None else source.weak()
    if source is None or tensor is None or in_graph() and references > _without_name():
        return
    tensor[source.index] = copy


class _Probe:
    """Counts the references to an object in its ``__setitem__``, as `Tensor` does."""

    def __setitem__(self, index: Any, value: Any) -> None:
        self.__class__.count = getrefcount(self)

    count = 0


def _counted() -> int:
    _Probe()[0] = None
    return _Probe.count


@functools.cache
def _counted_while_profiled() -> int:
    return _counted()


_WITHOUT_NAME = _counted()


def _without_name() -> int:
    """How many references an object without a name has; Python 3.10 adds one for a profiler."""
    return _WITHOUT_NAME if sys.getprofile() is None else _counted_while_profiled()
