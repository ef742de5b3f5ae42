"""The places of numbers and lists that change from call to call."""

from __future__ import annotations

import functools
import types
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from ...autodiff.tree import dict_like
from ...core.declared import caches_of
from ...nn.cell_tree import REGISTRIES, CellTree
from .kinds import DICTS, has_value, parts_of
from .places import value_under
from .reach import Reach

DEEPEST = 4  # the most levels of containers
LONGEST = 64  # the most parts of such a container
ABSENT = object()  # the value of a place where nothing is


class Spot(NamedTuple):
    """An attribute, a global, a variable of a closure, or a place in a container there.

    Attributes:
        holder: a dict of attributes or names, a class, a variable of a closure, or an object with
            slots.
        key: the name; None for a variable.
        path: keys and indices in dicts, lists and tuples there, from the outermost inwards.
    """

    holder: Any
    key: Any
    path: tuple[Any, ...] = ()

    @property
    def place(self) -> tuple[Any, ...]:
        """Its identity: equal for two spots at the same place."""
        return id(self.holder), self.key, self.path

    def get(self) -> Any:
        """The value there; `ABSENT` if there is none."""
        value: Any
        if isinstance(self.holder, types.CellType):
            value = content_of(self.holder)
        elif isinstance(self.holder, (dict, type)):
            names = vars(self.holder) if isinstance(self.holder, type) else self.holder
            value = names.get(self.key, ABSENT)
        else:
            value = getattr(self.holder, self.key, ABSENT)
        for step in self.path:
            try:
                value = value.get(step, ABSENT) if isinstance(value, dict) else value[step]
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return value

    def put(self, value: Any) -> None:
        """Assign another value there."""
        if self.path:
            around = self._replace(path=self.path[:-1])
            container = around.get()
            if isinstance(container, tuple):
                around.put(_with(container, {self.path[-1]: value}))
            else:
                container[self.path[-1]] = value
        elif isinstance(self.holder, types.CellType):
            self.holder.cell_contents = value
        elif isinstance(self.holder, type):
            setattr(self.holder, self.key, value)
        elif isinstance(self.holder, dict):
            self.holder[self.key] = value
        else:
            object.__setattr__(self.holder, self.key, value)

    def whole(self) -> Spot:
        """The spot of the outermost tuple around it, or itself: restoring it undoes a `put`."""
        for length in range(len(self.path)):
            around = self._replace(path=self.path[:length])
            if isinstance(around.get(), tuple):
                return around
        return self

    def inside(self, value: Any, depth: int = 0) -> Iterator[tuple[Spot, Any]]:
        """Itself with its value, and the spots and values inside containers there."""
        yield self, value
        if depth < DEEPEST and _is_container(value) and len(value) <= LONGEST:
            for step, part in parts_of(value) if type(value) in DICTS else enumerate(value):
                if isinstance(step, (str, int)):
                    yield from self._replace(path=(*self.path, step)).inside(part, depth + 1)


def content_of(variable: types.CellType) -> Any:
    """The value of a variable of a closure; `ABSENT` if it has not been assigned."""
    return variable.cell_contents if has_value(variable) else ABSENT


def state_of(thing: Any) -> list[tuple[str, Any]]:
    """The attributes of an object that are its state; of a Cell without what it owns."""
    without = caches_of(type(thing))
    if isinstance(thing, CellTree):
        without = without.union(REGISTRIES)
    return [(name, value) for name, value in parts_of(thing.__dict__) if name not in without]


def kept_in(reach: Reach, kinds: Collection[type]) -> dict[Any, tuple[Spot, Any]]:
    """The values of some types that a run may read, by their places."""
    spots = [Spot(thing.__dict__, name) for thing in (*reach.cells, *reach.objects)
             for name, value in state_of(thing)
             if type(value) in kinds or _is_container(value)]
    spots += [Spot(variable, None) for variable in reach.variables]
    spots += [Spot(thing, name) for thing, names in reach.slotted for name in names
              if not isinstance(thing, (dict, functools.partial))]
    spots += [Spot(owner, name) for owner, _, names in reach.spaces.values() for name in names]
    return {spot.place: (spot, value) for named in spots
            for spot, value in named.inside(named.get()) if type(value) in kinds}


def found_at(slot: tuple[Any, Any]) -> Any:
    """The value of a slot: under a name in a dict, variable or object, or inside it by keys."""
    holder, name = slot
    if isinstance(holder, types.CellType):
        holder = holder.cell_contents
    if type(name) is not tuple:
        return value_under(holder, name)
    thing: Any = holder
    for key in name:
        thing = thing[key]
    return thing


class AnyOf(NamedTuple):
    """In a fingerprint: any value of a type."""

    kind: type


class Free:
    """Spots whose values are inputs of a graph: only their types are guarded."""

    def __init__(self, spots: Iterable[Spot] = ()):
        self._paths: dict[tuple[int, Any], list[tuple]] = {}
        for spot in spots:
            self._paths.setdefault((id(spot.holder), spot.key), []).append(spot.path)
        self._alive = list(spots)  # so that no identity is used again

    def __bool__(self) -> bool:
        return bool(self._paths)

    def has(self, holder: Any, key: Any) -> bool:
        """Whether a name has any of these spots."""
        return (id(holder), key) in self._paths

    def guarded(self, holder: Any, key: Any, value: Any) -> Any:
        """The guarded part of the value of a name."""
        paths = self._paths.get((id(holder), key))
        return value if paths is None else _guarded(value, paths)


def _guarded(value: Any, paths: list[tuple]) -> Any:
    if () in paths:
        return AnyOf(type(value))
    if not _is_container(value):
        return value
    if type(value) in (dict, list):  # other threads may change it meanwhile
        value = dict(parts_of(value)) if type(value) is dict else value[:]
    parts = {}
    for step in dict.fromkeys(path[0] for path in paths):
        if step in value if type(value) in DICTS else step < len(value):
            inner = [path[1:] for path in paths if path[0] == step]
            parts[step] = _guarded(value[step], inner)
    return _with(value, parts)


def _is_container(value: Any) -> bool:
    return type(value) in (*DICTS, list, tuple) or isinstance(value, tuple) and hasattr(
        value, "_fields")


def _with(container: Any, parts: dict[Any, Any]) -> Any:
    """A copy of a container with some parts replaced."""
    if type(container) is dict:
        return {**container, **parts}
    if type(container) in DICTS:
        return dict_like(container, parts)
    values = [parts.get(i, value) for i, value in enumerate(container)]
    return type(container)(*values) if hasattr(container, "_fields") else type(container)(values)
