"""The containers that a run can reach, and the names and keys that lead to them."""

from __future__ import annotations

import types
from typing import Any, NamedTuple

from .kinds import DICTS


class Place(NamedTuple):
    """A container, and where it was found.

    Attributes:
        thing: a dict (also one of attributes), a list, tuple, deque or set, or a variable of a
            closure.
        around: the number of the place that contains it; None if it is fixed.
        key: its key there.
    """

    thing: Any
    around: int | None
    key: Any


class Places(list[Place]):
    """The containers found, each with the number of the one around it.

    Attributes:
        own: by identity, the attributes of objects and Cells.
        named: by identity, containers that globals hold, each with the globals and its name.
        roots: by identity, what globals, classes and slots hold, each with the holder and its name.
        by_name: whether containers in variables of closures are found by names.
    """

    def __init__(self, by_name: bool):
        super().__init__()
        self.by_name = by_name
        self.own: dict[int, dict] = {}
        self.named: dict[int, tuple[Any, str]] = {}
        self.roots: dict[int, tuple[Any, str]] = {}

    def add(self, thing: Any, around: int | None = None, key: Any = None) -> int:
        """Note a container, and where it was found; returns its number."""
        self.append(Place(thing, around, key))
        return len(self) - 1

    def current(self, number: int) -> Any:
        """The object that is at a place now."""
        thing, around, key = self[number]
        if around is None:
            root = self.roots.get(id(thing))
            return thing if root is None else value_under(*root)
        holder = self.current(around)
        return holder.cell_contents if isinstance(holder, types.CellType) else holder[key]

    def is_named(self, around: int | None, key: Any) -> bool:
        """Whether a place is an attribute, a global, or a variable of a closure."""
        if around is None:
            return isinstance(key, str)
        holder = self[around].thing
        return isinstance(holder, types.CellType) or id(holder) in self.own

    def names_to(self, around: int | None, key: Any) -> frozenset[str] | None:
        """The names that code must mention to reach an object; None if it may need none."""
        names = set()
        while True:
            if isinstance(key, str):
                names.add(key)
            if around is None:
                return frozenset(names) or None
            _, around, key = self[around]

    def path(self, place: int) -> tuple[Any, tuple] | None:
        """The name and keys that lead to a container; None if there are none."""
        keys = []
        while True:
            thing, around, key = self[place]
            if around is None:
                if id(thing) in self.named:
                    names, name = self.named[id(thing)]
                    return names, (name, *keys)
                if isinstance(thing, types.CellType):
                    return (thing, tuple(keys[1:])) if self.by_name and keys else None
                return (thing, tuple(keys)) if id(thing) in self.own and keys else None
            if type(thing) not in (tuple, list, *DICTS):
                return None
            keys.insert(0, key)
            place = around


def value_under(holder: Any, name: Any) -> Any:
    """The value under a name in a dict, or in the slots of an object."""
    is_mapping = isinstance(holder, (dict, types.MappingProxyType))
    return holder[name] if is_mapping else getattr(holder, name)
