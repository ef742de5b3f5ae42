"""Sources: where values live, as paths from a root.

Guards, symbolic scalars and side effects use them. A root is an attribute, a slot, a global, an
attribute of a class, or a variable of a closure; from there the path leads by keys and indices into
containers.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...autodiff.tree import dict_like
from ...core.classes import attributes_of, is_a, slot_of
from ...core.declared import caches_of
from ...nn.cell_tree import REGISTRIES, CellTree
from .arguments import branches_of, container_of, own_attributes
from .kinds import DICTS, has_value, parts_of

if TYPE_CHECKING:
    from .reachable import Reachable

DEEPEST = 4  # the most levels of containers in which values that vary are looked for
LONGEST = 64  # the most parts of such a container
_KEYED = frozenset((tuple, list, *DICTS))
ABSENT = object()  # the value of a source where nothing is


class Source:
    """Where a value lives.

    Attributes:
        root: what holds the outermost value.
        key: the name of that value there.
        path: keys and indices in dicts, lists and tuples there, from the outermost inwards.
    """

    __slots__ = ("root", "key", "path")

    def __init__(self, root: Any, key: Any = None, path: tuple[Any, ...] = ()):
        self.root, self.key, self.path = root, key, path

    @property
    def holder(self) -> Any:
        """The object in which the name is looked up; with `key` it tells names apart."""
        return self.root

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for two sources of the same value."""
        return id(self.holder), self.key, self.path

    def at(self, key: Any) -> Source:
        """The source of a part of the value."""
        return type(self)(self.root, self.key, (*self.path, key))

    def names(self) -> frozenset[str]:
        """The names one of which code must mention to reach the value; empty if it may need none.
        """
        return frozenset([key for key in (self.key, *self.path) if is_a(key, str)])

    def get(self) -> Any:
        """The value; `ABSENT` if there is none."""
        value = self._get()
        for step in self.path:
            value = _part(value, step)
        return value

    def is_keyed(self) -> bool:
        """Whether it is a container in which values are found by keys, as are those around it."""
        value = self._get()
        for step in self.path:
            if type(value) not in _KEYED:
                return False
            value = _part(value, step)
        return type(value) in _KEYED

    def set(self, value: Any) -> None:
        """Put another value there."""
        if not self.path:
            self._set(value)
            return
        around = type(self)(self.root, self.key, self.path[:-1])
        container = around.get()
        if is_a(container, tuple):
            around.set(_with(container, {self.path[-1]: value}))
        else:
            container[self.path[-1]] = value

    def describe(self) -> str:
        """In words, for messages."""
        return self._describe() + "".join([f"[{step!r}]" for step in self.path])

    def whole(self) -> Source:
        """The source of the outermost tuple around it, or itself: restoring it undoes a `set`."""
        for length in range(len(self.path)):
            around = type(self)(self.root, self.key, self.path[:length])
            if is_a(around.get(), tuple):
                return around
        return self

    def inside(self, value: Any, around: tuple[int, ...] = ()) -> Iterator[tuple[Source, Any]]:
        """Itself with its value, and the sources and values inside containers there.

        Args:
            around: the containers around it, by identity; it may be one of them again.
        """
        yield self, value
        if _is_container(value) and len(value) <= LONGEST and len(around) < DEEPEST and (
                id(value) not in around):
            around = (*around, id(value))
            for step, part in parts_of(value) if type(value) in DICTS else enumerate(value):
                if is_a(step, (str, int)):
                    yield from self.at(step).inside(part, around)

    def _get(self) -> Any:
        return getattr(self.root, self.key, ABSENT)

    def _set(self, value: Any) -> None:
        object.__setattr__(self.root, self.key, value)

    def _describe(self) -> str:
        return f"the attribute '{self.key}' of {type(self.root).__name__}"


class Attribute(Source):
    """An attribute in the ``__dict__`` of an object."""

    __slots__ = ()

    @property
    def holder(self) -> Any:
        return attributes_of(self.root)

    def _get(self) -> Any:
        return attributes_of(self.root).get(self.key, ABSENT)

    def _set(self, value: Any) -> None:
        attributes_of(self.root)[self.key] = value


class Slot(Source):
    """An attribute of an object that has no place in a ``__dict__``."""

    __slots__ = ()

    def _get(self) -> Any:
        return slot_of(self.root, self.key, ABSENT)


class Global(Source):
    """A name in the dict of a module."""

    __slots__ = ()

    def _get(self) -> Any:
        return self.root.get(self.key, ABSENT)

    def _set(self, value: Any) -> None:
        if value is ABSENT:
            self.root.pop(self.key, None)
        else:
            self.root[self.key] = value

    def _describe(self) -> str:
        return f"the global '{self.key}'"


class OfClass(Source):
    """An attribute of a class."""

    __slots__ = ()

    def _get(self) -> Any:
        return vars(self.root).get(self.key, ABSENT)

    def _set(self, value: Any) -> None:
        setattr(self.root, self.key, value)

    def _describe(self) -> str:
        return f"the attribute '{self.key}' of {self.root.__name__}"


class Variable(Source):
    """A variable of a closure, with its name."""

    __slots__ = ()

    def _get(self) -> Any:
        return content_of(self.root)

    def _set(self, value: Any) -> None:
        self.root.cell_contents = value

    def _describe(self) -> str:
        return f"the variable '{self.key}'"


class Fixed(Source):
    """An object that is always the same one, such as a default of a function.

    Its `key` is the name of what leads to it, if there is any.
    """

    __slots__ = ()

    def _get(self) -> Any:
        return self.root

    def _describe(self) -> str:
        return "an object that it reads"


def _part(container: Any, step: Any) -> Any:
    try:
        if is_a(container, dict):
            return dict.get(container, step, ABSENT)
        return container[step]
    except (KeyError, IndexError, TypeError):
        return ABSENT


def named(owner: Any, name: str) -> Source:
    """The source of a name of a class, or of a module given by its dict."""
    return (OfClass if issubclass(type(owner), type) else Global)(owner, name)


class Container(NamedTuple):
    """A dict (also one of attributes), list, tuple, deque, set or variable, and where it is."""

    thing: Any
    source: Source


def names_to(source: Source | None) -> frozenset[str] | None:
    """The names one of which code must mention to reach an object; None if it may need none."""
    return None if source is None else source.names() or None


def content_of(variable: types.CellType) -> Any:
    """The value of a variable of a closure; `ABSENT` if it has not been assigned."""
    return variable.cell_contents if has_value(variable) else ABSENT


def state_of(thing: Any) -> list[tuple[str, Any]]:
    """The attributes of an object that are its state; of a Cell without what it owns."""
    without = caches_of(type(thing))
    if is_a(thing, CellTree):
        without = without.union(REGISTRIES)
    return [(name, value) for name, value in parts_of(attributes_of(thing)) if name not in without]


def kept_in(reach: Reachable, kinds: Collection[type]) -> dict[Any, tuple[Source, Any]]:
    """The values of some types that a run may read and their sources, by the sources' identities.
    """
    found: list[Source] = [
        Attribute(thing, name) for thing in (*reach.objects.cells, *reach.objects.others)
        for name, value in state_of(thing) if type(value) in kinds or _is_container(value)]
    found += reach.names.variables
    found += [Slot(thing, name) for thing, names in reach.objects.slotted for name in names
              if not is_a(thing, (dict, functools.partial))]
    found += [named(owner, name) for owner, space, names in reach.names.spaces.values()
              for name in names if name in space]
    return {source.identity: (source, value) for outer in found
            for source, value in outer.inside(outer.get()) if type(value) in kinds}


class AnyOf(NamedTuple):
    """In a fingerprint: any value of a type."""

    kind: type


class Unguarded:
    """Sources of values that are inputs of a graph: only their types are guarded."""

    def __init__(self, sources: Iterable[Source] = ()):
        self._paths: dict[tuple[int, Any], list[tuple]] = {}
        for source in sources:
            self._paths.setdefault((id(source.holder), source.key), []).append(source.path)
        self._alive = list(sources)  # so that no identity is used again

    def __bool__(self) -> bool:
        return bool(self._paths)

    def has(self, holder: Any, key: Any) -> bool:
        """Whether a name has any of these sources."""
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
        if step in value if type(value) in DICTS else is_a(step, int) and step < len(value):
            inner = [path[1:] for path in paths if path[0] == step]
            parts[step] = _guarded(value[step], inner)
    return _with(value, parts)


def _is_container(value: Any) -> bool:
    return type(value) in (*DICTS, list, tuple) or is_a(value, tuple) and hasattr(
        value, "_fields")


def _with(container: Any, parts: Mapping[Any, Any]) -> Any:
    """A copy of a container with some parts replaced."""
    if type(container) is dict:
        return {**container, **parts}
    if type(container) in DICTS:
        return dict_like(container, dict(parts))
    values = [parts.get(i, value) for i, value in enumerate(branches_of(container))]
    return container_of(type(container), values, own_attributes(container))
