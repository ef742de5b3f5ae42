"""Stand-ins for lists and deques that a run appends to."""

from __future__ import annotations

from collections import deque
from typing import Any

from .refusals import CannotTrace


class AppendOnly:
    """A stand-in for a list or deque that a run appends to; any other use of it ends the dry run.

    Attributes:
        items: what has been appended.
    """

    __slots__ = ("items", "_own")

    def __init__(self, own: list[Any] | deque[Any]) -> None:
        self.items: list[Any] = []
        self._own = own

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return type(self._own)

    def append(self, item: Any) -> None:
        self.items.append(item)

    def extend(self, items: Any) -> None:
        self.items.extend(items)

    def __iadd__(self, items: Any) -> AppendOnly:
        self.extend(items)
        return self

    def __getattr__(self, name: str) -> Any:
        raise CannotTrace(f"uses {name} of a {type(self._own).__name__} that it appends to")


def _reading(name: str) -> None:
    def read(self: AppendOnly, *args: Any) -> Any:
        raise CannotTrace(f"uses {name} of a {type(self._own).__name__} that it appends to")

    setattr(AppendOnly, name, read)


for _name in ("__len__", "__iter__", "__getitem__", "__setitem__", "__delitem__", "__contains__",
              "__bool__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__",
              "__repr__", "__add__", "__radd__", "__mul__", "__rmul__", "__imul__", "__reversed__",
              "__format__", "__reduce_ex__", "__copy__", "__deepcopy__"):
    _reading(_name)
