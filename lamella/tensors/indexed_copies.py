"""Writes into the results of advanced indexing (by tensors or lists) reach the source tensor.

In PyTorch ``y[b]`` is a copy, not a view. So that ``y[b][:, 0] = 1.0`` changes `y`, the copy
remembers its source and index, and after a write into the copy the whole of it is assigned to
``y[b]``. MindSpore 2.10 does the same in eager mode. In a compiled function of MindSpore's only a
temporary writes through (``y[b][:, 0] = 1.0``), not a variable (``z = y[b]; z[:, 0] = 1.0``).
"""

from __future__ import annotations

import functools
import sys
import weakref
from sys import getrefcount
from typing import Any

from ..core.state import in_graph
from .indexing import set_item

_MAX_DEPTH = 3  # of copies of copies that are kept alive: h = h[order] in a loop makes a long chain


class _Source:
    """The source tensor and the index that a copy was taken with."""

    __slots__ = ("own", "weak", "held", "index", "depth")

    def __init__(self, copy: Any, tensor: Any, index: Any):
        number = id(copy)
        self.own = weakref.ref(copy, lambda _: copies.pop(number, None))
        before = copies.get(id(tensor))
        depth = 0 if before is None else before.depth + 1
        self.depth = depth if depth <= _MAX_DEPTH else 0
        self.weak = weakref.ref(tensor)
        # a temporary copy, as in y[a][b][0] = 1, is only held here
        self.held = tensor if self.depth else None
        self.index = index


copies: dict[int, _Source] = {}  # by the id of the copy; removed when the copy is freed


def note_copy(copy: Any, tensor: Any, index: Any) -> None:
    """Remember that `copy` is ``tensor[index]``."""
    copies[id(copy)] = _Source(copy, tensor, index)


def write_back(references: int, copy: Any, index: Any, value: Any) -> None:
    """``copy[index] = value``, also in the source of the copy, which has `references`."""
    set_item(copy, index, value)
    source = copies.get(id(copy))
    tensor = None if source is None else source.weak()
    if source is None or tensor is None or in_graph() and references > _temporary_references():
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


_TEMPORARY_REFERENCES = _counted()


def _temporary_references() -> int:
    """How many references a temporary object has; Python 3.10 adds one for a profiler."""
    return _TEMPORARY_REFERENCES if sys.getprofile() is None else _counted_while_profiled()
