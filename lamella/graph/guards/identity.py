"""Guards by identity: whether dicts, lists and names still hold the same objects.

In C++ (`identity.cpp`) where that has been built, which takes a tenth of the time.
"""

from __future__ import annotations

import pathlib
import types
from collections import OrderedDict
from collections.abc import Mapping
from operator import is_
from typing import Any

from ...core.classes import is_a, slot_of
from ...machine.extension import Extension
from .kinds import BUILT_IN, LEVELS, is_large
from .sources import ABSENT, content_of
from .values import Opened, is_fixed

extension = Extension("lamella_identity", pathlib.Path(__file__).with_name("identity.cpp"))


class Identities:
    """The objects that containers and names hold at one time.

    Attributes:
        dicts, lists: containers, with what they hold.
        names: dicts, or views of some, with a name in them and its value.
        variables: the variables of closures, with their values.
        attributes: objects, with the name of an attribute and its value; slots, and others that
            run no code of Python's.
        classes: objects, with their classes.
    """

    def __init__(self) -> None:
        self.dicts: list[tuple[dict, list, list]] = []
        self.lists: list[tuple[list, list]] = []
        self.names: list[tuple[Mapping[str, Any], str, Any]] = []
        self.variables: list[tuple[types.CellType, Any]] = []
        self.attributes: list[tuple[Any, str, Any]] = []
        self.classes: list[tuple[Any, type]] = []
        self._met: set[int] = set()  # containers that were noted with those in them
        extension.load()

    def add(self, held: dict) -> bool:
        """Note the keys and values of a dict; returns False for a kind that isn't supported."""
        if type(held) is not dict and type(held) is not OrderedDict:
            return False
        self.dicts.append((held, list(held), list(held.values())))
        return True

    def add_all(self, container: Any, opened: Opened, depth: int = LEVELS) -> bool:
        """Note a container and those in it; returns whether their identities are a full guard.

        As for `values.comparable`, a large container that isn't `opened` doesn't matter.
        """
        if not depth:
            return False
        if id(container) in self._met or container is BUILT_IN:  # looked at already, or around it
            return True
        if opened is not None and is_large(container) and id(container) not in opened:
            return True
        if is_a(container, dict):
            if not self.add(container):
                return False
            parts = self.dicts[-1][2]
        elif type(container) is list:
            parts = list(container)
            self.lists.append((container, parts))
        else:
            return False
        self._met.add(id(container))
        return all([is_fixed(part) or self.add_all(part, opened, depth - 1) for part in parts])

    def hold(self) -> bool:
        """Whether all hold the same objects, under the same keys and in the same order."""
        if extension.module is not None:
            return extension.module.hold(self.dicts, self.lists, self.names, self.variables,
                                         self.attributes, self.classes, ABSENT)
        for held, names, values in self.dicts:
            if len(held) != len(names) or not (
                    all(map(_is_same_name, held, names)) and all(map(is_, held.values(), values))):
                return False
        for held, values in self.lists:
            if len(held) != len(values) or not all(map(is_, held, values)):
                return False
        return all([
            *(space.get(name, ABSENT) is value for space, name, value in self.names),
            *(content_of(variable) is value for variable, value in self.variables),
            *(slot_of(thing, name, ABSENT) is value for thing, name, value in self.attributes),
            *(type(thing) is cls for thing, cls in self.classes)])


def _is_same_name(now: Any, before: Any) -> bool:
    return now is before or type(now) is type(before) is str and now == before
