"""Whether any object that a function can reach has changed, checked at every call."""

from __future__ import annotations

import threading
import types
from collections import deque
from collections.abc import Iterable
from typing import Any

from ...core.classes import attributes_of, built_in, is_a, slot_of
from ...nn.cell_tree import REGISTRIES, CellTree
from ...tensors.tensor import Tensor
from .aliases import Aliases
from .fingerprint import Fingerprint, content_of_tensor, kinds_of, slot
from .identity import Identities
from .kinds import ATOMS, ByIdentity, is_ours, parts_of
from .reachable import Reachable
from .sources import ABSENT, Attribute, Slot, Source, Unguarded, named, state_of
from .values import Opened, comparable, is_fixed

_ANY = object()  # as a value: its identity is not guarded, since a number in it may change
_OF_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__")


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
    """The values of all names in a reach at one time, and their fingerprint.

    One walk over the names notes identities, which are compared in later calls, and makes the
    fingerprint. For each name the identity is noted first: so what another thread changes meanwhile
    counts as a change.
    """

    def __init__(self, reach: Reachable, free: Unguarded):
        self._reach = reach
        self._free = _PartlyGuarded(free, reach.opened)
        self._contents = _Contents(reach.opened)
        self._identities = Identities()
        self._kinds = _Kinds(reach, self._identities)
        self._empty: list[dict] = []
        self._absent: list[tuple[Any, frozenset[str]]] = []  # missing names, as most sought ones
        self.fingerprint = self._walked(reach)

    def holds(self) -> bool:
        """Whether nothing has changed."""
        if not self._identities.hold() or any(self._empty):
            return False
        if self._free and not self._free.holds():
            return False
        for space, absent in self._absent:  # other threads may add names meanwhile
            if not absent.isdisjoint(list(space) if len(space) < len(absent) else
                                     filter(space.__contains__, absent)):
                return False
        return self._kinds.holds() and self._contents.holds()

    def _walked(self, reach: Reachable) -> Fingerprint:
        """The fingerprint, while the identities are noted."""
        objects, names, tensors = reach.objects, reach.names, reach.tensors
        self._numbers: dict[int, Any] = {id(t): ByIdentity(t) for t in tensors.unnamed.values()}
        self._shared = Aliases(reach.opened)  # of the program's names
        found = Fingerprint(
            cells=[self._cell(cell) for cell in objects.cells],
            objects=[self._state_of(thing) for thing in objects.others],
            variables=[self._variable(variable) for variable in names.variables],
            names=[self._space(*one) for one in names.spaces.values()],
            slots=[[self._slot(thing, name) for name in used] for thing, used in objects.slotted],
            functions=[self._function(function) for function in objects.functions],
            parameters=[self._state_of(parameter) for parameter in tensors.parameters],
            tensors=[self._tensor(t) for t, source in tensors.others if source is None],
            behind=[self._behind(thing) for thing in reach.contents.behind],
            aliases=self._shared.found, **self._kinds.found())
        del self._numbers, self._shared
        return found

    def _cell(self, cell: CellTree) -> tuple:
        own = cell.__dict__
        found = self._state_of(cell)
        for registry in REGISTRIES:
            self._note_dict(own[registry])
        return (found, [(name, id(inner)) for name, inner in parts_of(own["_cells"])],
                [(name, self._compared(buffer)) for name, buffer in parts_of(own["_buffers"])],
                [(name, id(weight)) for name, weight in parts_of(own["_params"])])

    def _state_of(self, thing: Any) -> list[tuple[str, Any]]:
        """What is compared of an object's attributes."""
        own = attributes_of(thing)
        self._note_dict(own)
        counted = state_of(thing)
        if not is_ours(thing):
            for name, value in counted:
                self._note_shared(value, own, name)
        return [(name, self._at(Attribute(thing, name), value)
                 if self._free.has(own, name) else self._compared(value))
                for name, value in counted]

    def _note_dict(self, own: dict) -> None:
        if not own:
            self._empty.append(own)
        elif self._free.any_in(own) or not self._identities.add(own):
            self._free.note_partly(own)

    def _variable(self, variable: Source) -> Any:
        value = variable.get()
        self._note_shared(value, variable.root, variable.key)
        if self._free.has(variable.root, variable.key):
            return self._at(variable, value, self._reach.by_name)
        self._identities.variables.append((variable.root, value))
        return self._named(value)

    def _space(self, owner: Any, space: Any, used: Iterable[str]) -> list[Any]:
        """What is compared of the names of a module or a class."""
        absent: list[str] = []
        found = []
        for name in used:
            value = space.get(name, ABSENT)
            if value is ABSENT and not self._free.has(owner, name):
                absent.append(name)
                found.append(ABSENT)
            else:
                found.append(self._name(owner, space, name, value))
        if absent:
            self._absent.append((space, frozenset(absent)))
        return found

    def _name(self, owner: Any, space: Any, name: str, value: Any) -> Any:
        self._note_shared(value, owner, name)
        if self._free.has(owner, name):
            return self._at(named(owner, name), value, self._reach.by_name)
        self._identities.names.append((space, name, value))
        return self._named(value)

    def _slot(self, thing: Any, name: str) -> Any:
        value = slot_of(thing, name, ABSENT)
        self._note_shared(value, thing, name)
        if self._free.has(thing, name):
            return self._at(Slot(thing, name), value)
        self._identities.attributes.append((thing, name, value))
        return self._compared(value)

    def _function(self, function: types.FunctionType) -> tuple:
        values = [getattr(function, name) for name in _OF_FUNCTIONS]
        for name, value in zip(_OF_FUNCTIONS, values, strict=True):
            self._identities.attributes.append((function, name, value))
            self._contents.note(value)
            self._shared.add(value)
        code, defaults, named = values
        return code, comparable(defaults), comparable(named), [
            ByIdentity(value) for value in (*(defaults or ()), *(named or {}).values())
            if is_a(value, (list, dict, set, deque))]  # which a run may change

    def _tensor(self, tensor: Tensor) -> Any:
        self._contents.note(tensor)
        return comparable(tensor.__dict__)

    def _behind(self, thing: Any) -> Any:
        self._shared.add(thing)
        return self._contents.note(thing)

    def _at(self, source: Source, value: Any, by_name: bool = True) -> Any:
        """What is compared of a value that may change in other calls."""
        value, content = self._free.note(source, value)
        return slot(value, self._numbers, self._reach.opened) if by_name else content

    def _named(self, value: Any) -> Any:
        """What is compared of a variable's or a global's value."""
        if self._reach.by_name:
            return self._compared(value)
        content = self._contents.note(value)
        is_content = content is not None and type(value) is not Tensor
        return content if is_content else comparable(value, 0, self._reach.opened)

    def _compared(self, value: Any) -> Any:
        """What is compared of a value, whose content is noted."""
        if type(value) in ATOMS:
            return comparable(value)
        return slot(value, self._numbers, self._reach.opened, self._contents.note(value))

    def _note_shared(self, value: Any, holder: Any, key: Any) -> None:
        if type(value) not in ATOMS:
            self._shared.add(value, self._free.guarded(holder, key, value))


class _Contents:
    """The content of Tensors and of mutable containers at one time."""

    def __init__(self, opened: Opened):
        self._opened = opened
        self._tensors: list[tuple[Tensor, Any]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._aliases = Aliases(opened)
        self._parts = Identities()
        self._parts_say_all = True  # whether identities are a full guard on the containers

    def note(self, value: Any) -> Any:
        """Note the content of a value, and return it; None if it is immutable.

        A Parameter's data don't belong to it.
        """
        if type(value) is Tensor:
            self._tensors.append((value, content := content_of_tensor(value)))
            return content
        if is_fixed(value):
            return None
        self._parts_say_all = self._parts_say_all and self._parts.add_all(value, self._opened)
        self._aliases.add(value)
        self._containers.append((value, content := comparable(value, 0, self._opened)))
        return content

    def holds(self) -> bool:
        """Whether it is unchanged."""
        for tensor, content in self._tensors:
            if content_of_tensor(tensor) != content:
                return False
        if self._parts_say_all and self._parts.hold():
            return True
        if not all(comparable(held, 0, self._opened) == parts for held, parts in self._containers):
            return False
        found = Aliases(self._opened)
        for held, _ in self._containers:
            found.add(held)
        return found.found == self._aliases.found


class _PartlyGuarded:
    """Names whose values may change in other calls, and the parts of these that are guarded."""

    def __init__(self, free: Unguarded, opened: Opened):
        self._free, self._opened = free, opened
        self._any = bool(free)
        # with what is compared of the guarded parts of their values, and the values
        self._values: list[tuple[Source, Any, Any]] = []
        self._aliases = Aliases(opened)
        self._partly: list[tuple[dict, list, list]] = []

    def __bool__(self) -> bool:
        return bool(self._values or self._partly)

    def has(self, holder: Any, key: Any) -> bool:
        """Whether the value of a name may change."""
        return self._any and self._free.has(holder, key)

    def note(self, source: Source, value: Any) -> tuple[Any, Any]:
        """Note the guarded part of such a value; returns it, and what is compared of it."""
        guarded = self.guarded(source.holder, source.key, value)
        content = comparable(guarded, 0, self._opened)
        self._values.append((source, content, value))
        self._aliases.add(value, guarded)
        return guarded, content

    def guarded(self, holder: Any, key: Any, value: Any) -> Any:
        """The guarded part of the value of a name."""
        return self._free.guarded(holder, key, value) if self._any else value

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
        now = [source.get() for source, *_ in self._values]
        kept = [self.guarded(source.holder, source.key, value)
                for value, (source, *_) in zip(now, self._values, strict=True)]
        if not all([comparable(value, 0, self._opened) == content
                    for value, (_, content, _) in zip(kept, self._values, strict=True)]):
            return False
        if self._aliases.hold() and all([
                value is before or type(value) in ATOMS
                for value, (*_, before) in zip(now, self._values, strict=True)]):
            return True
        found = Aliases(self._opened)
        for value, guarded in zip(now, kept, strict=True):
            found.add(value, guarded)
        return found.found == self._aliases.found


class _Kinds:
    """What isn't the value of a name: classes, sizes of modules, the thread, arithmetic."""

    def __init__(self, reach: Reachable, identities: Identities):
        self._reach = reach
        identities.classes += [(thing, type(thing)) for thing in reach.objects.all()]
        identities.attributes += [
            (owner, "__mro__", owner.__mro__) for owner, *_ in reach.names.spaces.values()
            if issubclass(type(owner), type)]
        self._kinds = kinds_of(reach)
        self._owners = [(built_in(type(thing), "__getattribute__"), thing, own)
                        for thing, own in reach.objects.dicts]
        self._sized = reach.names.sized
        self._sizes = list(map(len, self._sized))
        self._thread = reach.thread.ident and threading.get_ident()
        self._arithmetic = [(kind.held, kind.held()) for kind in reach.thread.arithmetic]

    def found(self) -> dict[str, Any]:
        """The parts of a fingerprint."""
        return {"kinds": self._kinds, "sizes": self._sizes, "thread": self._thread,
                "owners": [read(thing, "__dict__") is own for read, thing, own in self._owners],
                "arithmetic": [kind.settings() for kind in self._reach.thread.arithmetic]}

    def holds(self) -> bool:
        """Whether all is as it was."""
        if self._owners and not all([
                read(thing, "__dict__") is own for read, thing, own in self._owners]):
            return False
        if self._sized and list(map(len, self._sized)) != self._sizes:
            return False
        if self._thread and self._thread != threading.get_ident():
            return False
        return not any(held() != before for held, before in self._arithmetic)
