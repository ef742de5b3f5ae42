"""Whether any object that a function can reach has changed, checked at every call."""

from __future__ import annotations

import threading
from operator import attrgetter, is_
from typing import Any

from ...nn.cell_tree import REGISTRIES
from ...tensors.tensor import Tensor
from .fingerprint import Fingerprint, contents, fingerprint, kinds_of
from .identity import Identities
from .kinds import ATOMS, parts_of
from .reachable import Reachable
from .sources import ABSENT, Attribute, Slot, Source, Unguarded, content_of, named, state_of
from .values import Opened, comparable

_ANY = object()  # as a value: its identity is not guarded, since a number in it may change

_order = attrgetter("__mro__")


class Guard:
    """A reach and its fingerprint, which is computed again only if an object has been replaced.

    That is checked by comparing identities, in a fraction of the time that a fingerprint takes.
    Mutable values (a list, a dict, the data of a Tensor) are compared by content.

    Args:
        reach: the objects that are watched.
        free: the sources in it whose values may change; only their types are compared.
    """

    def __init__(self, reach: Reachable, free: Unguarded | None = None):
        self.reach = reach
        self.free = free or Unguarded()
        self._state = _State(reach, self.free)

    def fingerprint(self) -> Fingerprint:
        """The current fingerprint."""
        state = self._state
        if not state.holds():
            self._state = state = _State(self.reach, self.free)
        return state.fingerprint


class _State:
    """The values of all names in a reach at one time, and their fingerprint."""

    def __init__(self, reach: Reachable, free: Unguarded):
        self._free = _Unguarded(free, reach.opened)
        self._contents = _Contents(reach.opened)
        self._kinds = _Kinds(reach)
        self._dicts = Identities()  # of objects, Cells and Parameters
        self._empty: list[dict] = []
        self._attributes: list[tuple[Any, str, Any]] = []
        self._variables: list[tuple[Any, Any]] = []
        self._names: list[tuple[Any, str, Any]] = []
        self._note_attributes(reach)
        self._note_variables(reach)
        for tensor, source in reach.tensors.others:
            if source is None:
                self._contents.note(tensor)
        self.fingerprint = fingerprint(reach, free)

    def holds(self) -> bool:
        """Whether nothing has changed."""
        if not self._dicts.hold() or any(self._empty):
            return False
        if self._free and not self._free.holds():
            return False
        for space, name, value in self._names:
            if space.get(name, ABSENT) is not value:
                return False
        for variable, value in self._variables:
            if content_of(variable) is not value:
                return False
        for thing, name, value in self._attributes:
            if getattr(thing, name, ABSENT) is not value:
                return False
        return self._kinds.holds() and self._contents.holds()

    def _note_attributes(self, reach: Reachable) -> None:
        """Note the attributes of Cells, objects, functions and Parameters."""
        for cell in reach.objects.cells:
            own = cell.__dict__
            self._note_dict(own, state_of(cell), cell)
            for registry in REGISTRIES:
                self._note_dict(own[registry], list(own[registry].items()))
        for thing in (*reach.objects.others, *reach.tensors.parameters):
            self._note_dict(thing.__dict__, state_of(thing), thing)
        for function in reach.objects.functions:
            for name in ("__code__", "__defaults__", "__kwdefaults__"):
                self._note_attribute(function, name)
        for thing, names in reach.objects.slotted:
            for name in names:
                if self._free.has(thing, name):
                    self._free.note(Slot(thing, name))
                else:
                    self._note_attribute(thing, name)

    def _note_variables(self, reach: Reachable) -> None:
        """Note the variables of closures, globals, and the names of modules and classes."""
        for variable in reach.names.variables:
            if self._free.has(variable.root, variable.key):
                self._free.note(variable)
            else:
                self._variables.append((variable.root, value := variable.get()))
                self._contents.note(value)
        for owner, space, names in reach.names.spaces.values():
            for name in names:
                if self._free.has(owner, name):
                    self._free.note(named(owner, name))
                else:
                    self._names.append((space, name, value := space.get(name, ABSENT)))
                    self._contents.note(value)

    def _note_dict(self, own: dict, counted: list[tuple[Any, Any]], owner: Any = None) -> None:
        if not own:
            self._empty.append(own)
            return
        for name, value in counted:
            if self._free.has(own, name):
                self._free.note(Attribute(owner, name))
            elif type(value) not in ATOMS:
                self._contents.note(value)
        if self._free.any_in(own) or not self._dicts.add(own):
            self._free.note_partly(own)

    def _note_attribute(self, thing: Any, name: str) -> None:
        self._attributes.append((thing, name, value := getattr(thing, name, ABSENT)))
        self._contents.note(value)


class _Contents:
    """The content of Tensors and of mutable containers at one time."""

    def __init__(self, opened: Opened):
        self._opened = opened
        self._tensors: list[tuple[Tensor, tuple]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._parts = Identities()
        self._parts_say_all = True  # whether identities are a full guard on the containers

    def note(self, value: Any) -> None:
        """Note the content of a value if it is mutable."""
        content = contents(value, self._opened)
        if content is not None and type(value) is Tensor:
            self._tensors.append((value, content))
        elif content is not None:
            self._containers.append((value, content))
            self._parts_say_all &= self._parts.add_all(value, self._opened)

    def holds(self) -> bool:
        """Whether it is unchanged."""
        for tensor, content in self._tensors:
            if contents(tensor) != content:
                return False
        if self._parts_say_all and self._parts.hold():
            return True
        return all(contents(held, self._opened) == parts for held, parts in self._containers)


class _Unguarded:
    """Names whose values may change in other calls: what of them is guarded all the same."""

    def __init__(self, free: Unguarded, opened: Opened):
        self._free, self._opened = free, opened
        self._any = bool(free)
        self._values: list[tuple[Source, Any]] = []  # with the guarded parts of their values
        self._partly: list[tuple[dict, list, list]] = []

    def __bool__(self) -> bool:
        return bool(self._values or self._partly)

    def has(self, holder: Any, key: Any) -> bool:
        """Whether the value of a name may change."""
        return self._any and self._free.has(holder, key)

    def note(self, source: Source) -> None:
        """Note the guarded part of such a value."""
        self._values.append((source, self._guarded(source)))

    def any_in(self, own: dict) -> bool:
        """Whether a dict of attributes has names whose values may change."""
        return self._any and any(self._free.has(own, name) for name in list(own))

    def note_partly(self, own: dict) -> None:
        """Note the other names of a dict, or all those of one that `Identities` doesn't take."""
        items = parts_of(own)
        self._partly.append((own, [name for name, _ in items], [
            _ANY if self._free.has(own, name) else value for name, value in items]))

    def holds(self) -> bool:
        """Whether these values have kept their types, and other names are unchanged."""
        for own, names, values in self._partly:
            now = list(own.values())  # one step: other threads may change the dict
            if list(own) != names or len(now) != len(values) or not all(
                    a is b or b is _ANY for a, b in zip(now, values, strict=True)):
                return False
        return all(self._guarded(source) == content for source, content in self._values)

    def _guarded(self, source: Source) -> Any:
        value = self._free.guarded(source.holder, source.key, source.get())
        return comparable(value, 0, self._opened)


class _Kinds:
    """What isn't the value of a name: classes, sizes of modules, the thread, arithmetic."""

    def __init__(self, reach: Reachable):
        self._typed = [*reach.objects.cells, *reach.objects.others]
        self._classes = [owner for owner, *_ in reach.names.spaces.values()
                         if issubclass(type(owner), type)]
        self._kinds = kinds_of(reach)
        self._owners = reach.objects.dicts
        self._sized = reach.names.sized
        self._sizes = list(map(len, self._sized))
        self._thread = reach.thread.ident and threading.get_ident()
        self._arithmetic = [(kind.held, kind.held()) for kind in reach.thread.arithmetic]

    def holds(self) -> bool:
        """Whether all is as it was."""
        if self._kinds and not all(map(
                is_, (*map(type, self._typed), *map(_order, self._classes)), self._kinds)):
            return False
        if not all([thing.__dict__ is own for thing, own in self._owners]) or (
                list(map(len, self._sized)) != self._sizes):
            return False
        if self._thread and self._thread != threading.get_ident():
            return False
        return not any(held() != before for held, before in self._arithmetic)
