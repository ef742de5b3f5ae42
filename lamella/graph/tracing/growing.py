"""Stand-ins for lists and deques that a run appends to."""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from .recorder import CannotTrace


class Growing:
    """A stand-in for a list or deque that a run appends to; any other use of it ends the rehearsal.

    Other threads that meet it meanwhile use the list itself.

    Attributes:
        items: what has been appended.
    """

    __slots__ = ("items", "_own", "_thread")

    def __init__(self, own: list[Any] | deque[Any]) -> None:
        self.items: list[Any] = []
        self._own, self._thread = own, threading.get_ident()

    def elsewhere(self) -> bool:
        """Whether another thread uses it."""
        return threading.get_ident() != self._thread

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return type(self._own)

    def append(self, item: Any) -> None:
        (self._own if self.elsewhere() else self.items).append(item)

    def extend(self, items: Any) -> None:
        (self._own if self.elsewhere() else self.items).extend(items)

    def __iadd__(self, items: Any) -> Growing:
        self.extend(items)
        return self

    def __getattr__(self, name: str) -> Any:
        if self.elsewhere():
            return getattr(self._own, name)
        raise CannotTrace(f"uses {name} of a {type(self._own).__name__} that it appends to")


_OF_LISTS: dict[str, Callable[..., Any]] = {  # what a list has under other names
    "__bool__": bool, "__hash__": hash, "__copy__": copy.copy, "__deepcopy__": copy.deepcopy,
    "__radd__": lambda own, other: other + own}


def _reading(name: str) -> None:
    function = _OF_LISTS.get(name)

    def read(self: Growing, *args: Any) -> Any:
        if self.elsewhere():
            own: Any = self._own
            return function(own, *args) if function else getattr(own, name)(*args)
        raise CannotTrace(f"uses {name} of a {type(self._own).__name__} that it appends to")

    setattr(Growing, name, read)


for _name in ("__len__", "__iter__", "__getitem__", "__setitem__", "__delitem__", "__contains__",
              "__bool__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__",
              "__repr__", "__add__", "__radd__", "__mul__", "__rmul__", "__imul__", "__reversed__",
              "__format__", "__reduce_ex__", "__copy__", "__deepcopy__"):
    _reading(_name)
