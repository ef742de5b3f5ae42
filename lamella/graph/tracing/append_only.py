"""Stand-ins for lists and deques that a run appends to."""

from __future__ import annotations

from collections import deque
from typing import Any

from .stand_ins import StandIn, refuse_uses


class AppendOnly(StandIn):
    """A stand-in for a list or deque that a run appends to; any other use of it ends the dry run.

    Attributes:
        items: what has been appended.
    """

    __slots__ = ("items", "value")

    def __init__(self, value: list[Any] | deque[Any]) -> None:
        self.items: list[Any] = []
        self.value = value

    def described(self) -> str:
        """What it stands for, in messages."""
        return f"a {type(self.value).__name__} that it appends to"

    def append(self, item: Any) -> None:
        self.items.append(item)

    def extend(self, items: Any) -> None:
        self.items.extend(items)

    def __iadd__(self, items: Any) -> AppendOnly:
        self.extend(items)
        return self

    def __getattr__(self, name: str) -> Any:
        return self.plain(name)


refuse_uses(AppendOnly, [f"__{name}__" for name in """
    len iter getitem setitem delitem contains bool eq ne lt le gt ge hash repr add radd mul rmul
    imul reversed format reduce_ex copy deepcopy""".split()])
