"""Changes of arguments in a run: lists and dicts, fields of dataclass objects."""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from typing import Any

import numpy as np

from ...core.classes import is_a
from ..guards.arguments import BARE, apart, is_record, leaves_of, pattern_of, things_of
from ..guards.fingerprint import kind_of_rule
from ..guards.kinds import ByIdentity, attributes_in
from ..guards.reachable import Reachable
from ..guards.sources import ABSENT
from ..guards.values import WHOLE, has_changed, kind_of
from .changes import Change, GivenThing, assign, compared, holder_of
from .refusals import CannotTrace


class Given:
    """What a run was given, as it was before the run.

    Args:
        arguments: those of the call.

    Attributes:
        things: the objects in the arguments that may be other ones in the next call, in order.
        pattern: which of them are the same.
    """

    def __init__(self, arguments: Any):
        self.things = list(things_of(arguments))
        self.pattern = pattern_of(self.things)
        self._known = {id(thing) for thing in self.things}
        self._before = [_content(thing) for thing in self.things]
        self._rules = [(leaf, kind) for leaf in leaves_of(arguments)
                       if (kind := kind_of_rule(leaf)) is not None]
        self._arrays = [(leaf, leaf.copy()) for leaf in leaves_of(arguments)
                        if type(leaf) is np.ndarray]
        self._beside = [(thing, dict(attributes_in(thing))) for thing in self.things
                        if is_a(thing, (list, dict)) and type(thing) not in BARE]

    def knows(self, thing: Any) -> bool:
        """Whether an object is one of the things."""
        return id(thing) in self._known

    def changes(self, reach: Reachable) -> Iterator[tuple[Change, Any]]:
        """The assignments since then, each with its value.

        Raises:
            CannotTrace: if something has been changed in a way that a replay can't repeat.
        """
        if any(kind_of_rule(rule) != kind for rule, kind in self._rules):
            raise CannotTrace("changes an object that it was given")
        if any(not np.array_equal(array, before, equal_nan=array.dtype.kind in "fc")
               for array, before in self._arrays):
            raise CannotTrace("changes a NumPy array that it was given")
        if any(has_changed(attributes_in(thing), before) for thing, before in self._beside
               if thing not in reach.visited):
            raise CannotTrace("changes an attribute of a list or dict that it was given")
        for number, (thing, before) in enumerate(zip(self.things, self._before, strict=True)):
            if type(before) is tuple:
                now = _content(thing)
                if len(now) != len(before) or not all(map(is_, now, before)):
                    raise CannotTrace("changes a function that it was given")
            elif self.pattern[number] == number and thing not in reach.visited:
                for key, value in kind_of(now := compared(thing)).changes(now, before):
                    yield Change(GivenThing(number), key), value

    def found_elsewhere(self, reach: Reachable) -> list[tuple[int, Any]]:
        """The things that the run also reaches without the arguments, with their numbers.

        Raises:
            CannotTrace: if they aren't inspected there.
        """
        found = [(number, thing) for number, thing in enumerate(self.things)
                 if thing in reach.visited]
        inspected = {id(thing) for thing, _ in reach.contents.containers}
        if any(type(before := self._before[number]) is not tuple and before is not None
               and id(compared(thing)) not in inspected for number, thing in found):
            raise CannotTrace("has an argument that it may also reach by an attribute or variable")
        return found

    def restore(self) -> None:
        """Restore what has been changed."""
        for thing, before in self._beside:
            now = dict(attributes_in(thing))
            for name in now.keys() - before.keys():
                object.__delattr__(thing, name)
            for name, value in before.items():
                if now.get(name, ABSENT) is not value:
                    object.__setattr__(thing, name, value)
        for thing, before in zip(self.things, self._before, strict=True):
            if type(before) is tuple or not has_changed(compared(thing), before):
                continue
            holder = holder_of(thing)
            if is_a(holder, (list, dict)):
                assign(holder, WHOLE, before)
            else:
                for key, _ in list(kind_of(now := compared(thing)).changes(now, before)):
                    assign(holder, key, before[key])


def _content(thing: Any) -> Any:
    """A copy of what a thing holds; the parts of a function or a method, as a tuple."""
    if is_a(thing, (list, dict)) or is_record(thing):
        return kind_of(now := compared(thing)).copy(now)
    found = apart(thing)
    return tuple([part.thing if type(part) is ByIdentity else part
                  for part in found.parts]) if found is not None else ()
