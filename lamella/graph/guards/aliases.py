"""Which containers are the same, wherever names lead to them.

A function that changes a list sees the change wherever the same list is. So a graph holds only
where the same places hold the same containers, however equal their contents are.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ...core.classes import built_in, is_a
from .kinds import ATOMS, LEVELS, is_large, parts_of
from .sources import AnyOf
from .values import Opened

_CHANGED = (list, dict, set, deque)  # kinds of containers that a run may change
_CONTAINERS = (*_CHANGED, tuple)


class Aliases:
    """The containers of some values, in the order in which they are found.

    Attributes:
        found: a number for each, the same one where it is the same container.
    """

    def __init__(self, opened: Opened = None):
        self._opened, self._numbers = opened, {}
        self.found: list[int] = []
        self._places: list[tuple[Any, Any, Any]] = []  # containers in containers, and their keys

    def add(self, value: Any, guarded: Any = None, depth: int = LEVELS) -> None:
        """Add the containers of a value.

        Args:
            guarded: the value as `Unguarded.guarded` gives it; what may change isn't looked into.
            depth: how many containers inside of each other are looked into.
        """
        if type(value) in ATOMS or not is_a(value, _CONTAINERS):
            return
        if is_a(value, _CHANGED):
            count = len(self._numbers)
            number = self._numbers.setdefault(id(value), count)
            self.found.append(number)
            if number != count:
                return
        opened = self._opened
        if not depth or type(guarded) is AnyOf or opened is not None and is_large(value) and (
                id(value) not in opened):
            return
        parts = parts_of(value) if is_a(value, dict) else enumerate(parts_of(value))
        look_up = is_a(guarded, (dict, list, tuple)) and guarded is not value
        for key, part in parts:
            if type(part) not in ATOMS and is_a(part, _CONTAINERS):
                self._places.append((value, key, part))
                self.add(part, guarded[key] if look_up else None, depth - 1)

    def hold(self) -> bool:
        """Whether all are where they were, which is checked in a fraction of the time."""
        try:
            return all([_part(container, key) is part for container, key, part in self._places])
        except (LookupError, StopIteration):  # it is gone, or in a set
            return False


def _part(container: Any, key: Any) -> Any:
    """A part; by no code of a program's class, and a defaultdict gets no new one."""
    if is_a(container, dict):
        return dict.get(container, key)
    return built_in(type(container), "__getitem__")(container, key)
