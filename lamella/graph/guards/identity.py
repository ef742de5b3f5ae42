"""Whether dicts and lists still hold the same objects, checked at every call.

In C++ (`identity.cpp`) where that has been built, which takes a tenth of the time.
"""

from __future__ import annotations

import pathlib
from collections import OrderedDict
from operator import is_
from typing import Any

from ...machine.extension import Extension
from .kinds import LEVELS, is_large
from .values import Opened, is_fixed

extension = Extension("lamella_identity", pathlib.Path(__file__).with_name("identity.cpp"))


class Identities:
    """The objects that dicts and lists hold at one time."""

    def __init__(self) -> None:
        self.dicts: list[tuple[dict, list, list]] = []
        self.lists: list[tuple[list, list]] = []
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
        if opened is not None and is_large(container) and id(container) not in opened:
            return True
        if isinstance(container, dict):
            if not self.add(container):
                return False
            parts = self.dicts[-1][2]
        elif type(container) is list:
            parts = list(container)
            self.lists.append((container, parts))
        else:
            return False
        return all([is_fixed(part) or self.add_all(part, opened, depth - 1) for part in parts])

    def hold(self) -> bool:
        """Whether all hold the same objects, under the same keys and in the same order."""
        if extension.module is not None:
            return extension.module.hold(self.dicts, self.lists)
        for held, names, values in self.dicts:
            if (list(held) != names or not all(map(is_, map(type, held), map(type, names)))
                    or not all(map(is_, held.values(), values))):
                return False
        for held, values in self.lists:
            if len(held) != len(values) or not all(map(is_, held, values)):
                return False
        return True
