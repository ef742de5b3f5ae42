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
from .values import comparable

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
        self._free = free
        self._freely: list[tuple[Source, Any]] = []  # with the guarded parts of their values
        self._partly: list[tuple[dict, list, list]] = []
        self._opened = reach.opened
        self._dicts = Identities()  # of objects, Cells and Parameters
        self._parts = Identities()  # of containers
        self._parts_say_all = True  # whether identities are a full guard on the containers
        self.empty: list[dict] = []
        self.containers: list[tuple[Any, Any]] = []
        self.tensors: list[tuple[Tensor, tuple]] = []
        self.attributes: list[tuple[Any, str, Any]] = []
        self.variables: list[tuple[Any, Any]] = []
        self.names: list[tuple[Any, str, Any]] = []
        for cell in reach.cells:
            own = cell.__dict__
            self._dict(own, state_of(cell), cell)
            for registry in REGISTRIES:
                self._dict(own[registry], list(own[registry].items()))
        for thing in reach.objects:
            self._dict(thing.__dict__, state_of(thing), thing)
        for function in reach.functions:
            for name in ("__code__", "__defaults__", "__kwdefaults__"):
                self._attribute(function, name)
        for thing, names in reach.slotted:
            for name in names:
                if free.has(thing, name):
                    self._note(Slot(thing, name))
                else:
                    self._attribute(thing, name)
        for variable in reach.variables:
            if free.has(variable.root, variable.key):
                self._note(variable)
                continue
            self.variables.append((variable.root, variable.get()))
            self._contents(self.variables[-1][1])
        for owner, space, names in reach.spaces.values():
            for name in names:
                if free.has(owner, name):
                    self._note(named(owner, name))
                    continue
                self.names.append((space, name, space.get(name, ABSENT)))
                self._contents(self.names[-1][2])
        for parameter in reach.parameters:
            self._dict(parameter.__dict__, state_of(parameter), parameter)
        for tensor, source in reach.tensors:
            if source is None:
                self._contents(tensor)
        self.typed = [*reach.cells, *reach.objects]
        self.classes = [owner for owner, *_ in reach.spaces.values()
                        if issubclass(type(owner), type)]
        self.kinds = kinds_of(reach)
        self.owners = reach.owners
        self.sized = reach.sized
        self.sizes = list(map(len, self.sized))
        self.thread = reach.thread and threading.get_ident()
        self.arithmetic = [(kind.held, kind.held()) for kind in reach.arithmetic]
        self.fingerprint = fingerprint(reach, free)

    def holds(self) -> bool:
        """Whether nothing has changed."""
        if not self._dicts.hold() or any(self.empty):
            return False
        if (self._freely or self._partly) and not self._rest_holds():
            return False
        for space, name, value in self.names:
            if space.get(name, ABSENT) is not value:
                return False
        for variable, value in self.variables:
            if content_of(variable) is not value:
                return False
        for thing, name, value in self.attributes:
            if getattr(thing, name, ABSENT) is not value:
                return False
        for tensor, form in self.tensors:
            if contents(tensor) != form:
                return False
        if self.kinds and not all(map(
                is_, (*map(type, self.typed), *map(_order, self.classes)), self.kinds)):
            return False
        if not all([thing.__dict__ is own for thing, own in self.owners]) or (
                list(map(len, self.sized)) != self.sizes):
            return False
        if self.thread and self.thread != threading.get_ident():
            return False
        if any(held() != before for held, before in self.arithmetic):
            return False
        if self._parts_say_all and self._parts.hold():
            return True
        return all(contents(held, self._opened) == parts for held, parts in self.containers)

    def _rest_holds(self) -> bool:
        """Whether values that may change have kept their types, and others are unchanged."""
        for own, names, values in self._partly:
            now = list(own.values())  # one step: other threads may change the dict
            if list(own) != names or len(now) != len(values) or not all(
                    a is b or b is _ANY for a, b in zip(now, values, strict=True)):
                return False
        return all(self._guarded(source) == form for source, form in self._freely)

    def _note(self, source: Source) -> None:
        """Note the guarded part of a name whose value may change in other parts."""
        self._freely.append((source, self._guarded(source)))

    def _guarded(self, source: Source) -> Any:
        value = self._free.guarded(source.holder, source.key, source.get())
        return comparable(value, 0, self._opened)

    def _dict(self, own: dict, counted: list[tuple[Any, Any]], owner: Any = None) -> None:
        if not own:
            self.empty.append(own)
            return
        free = self._free if self._free else None
        for name, value in counted:
            if free is not None and free.has(own, name):
                self._note(Attribute(owner, name))
            elif type(value) not in ATOMS:
                self._contents(value)
        varies = free is not None and any(free.has(own, name) for name in list(own))
        if varies or not self._dicts.add(own):
            items = parts_of(own)
            self._partly.append((own, [name for name, _ in items], [
                _ANY if self._free.has(own, name) else value for name, value in items]))

    def _attribute(self, thing: Any, name: str) -> None:
        self.attributes.append((thing, name, getattr(thing, name, ABSENT)))
        self._contents(self.attributes[-1][2])

    def _contents(self, value: Any) -> None:
        """Note the content of a mutable value."""
        form = contents(value, self._opened)
        if form is not None and type(value) is Tensor:
            self.tensors.append((value, form))
        elif form is not None:
            self.containers.append((value, form))
            self._parts_say_all &= self._parts.add_all(value, self._opened)
