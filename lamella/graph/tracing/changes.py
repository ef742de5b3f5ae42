"""The side effects of a recorded run on Python's objects, which every replay repeats."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import is_
from random import getstate, setstate  # a dry run has others in their place
from typing import Any, NamedTuple

import numpy as np
import torch

from ...core.classes import attributes_of, is_a, slot_of
from ...core.declared import caches_of
from ...nn.cell_tree import CellTree
from ...tensors.parameter import Parameter
from ...tensors.random import is_as_before, kept, place_of_numpy
from ...tensors.tensor import Tensor
from ..guards.arguments import branches_of, holds_values, is_record, own_attributes
from ..guards.arithmetic import DECIMALS, signals_of_decimals
from ..guards.fingerprint import kinds_of
from ..guards.kinds import (
    PLAIN,
    attributes_in,
    has_tensors_as_keys,
    in_another_order,
    is_no_parameter,
    is_ours,
    is_users,
    parts_of,
)
from ..guards.reachable import Reachable
from ..guards.sources import ABSENT, Source
from ..guards.values import GROWN, WHOLE, has_changed, kind_of
from .refusals import CannotTrace, Cause

SIZES = (torch.SymInt, torch.SymFloat)  # numbers computed of symbolic shapes
_DEEPEST = 64  # containers and objects inside of each other
APPENDED = object()  # as a key: values are appended to a list


class GivenThing(NamedTuple):
    """A list, a dict or another object among the arguments, by its number."""

    number: int


class Change(NamedTuple):
    """An assignment that a run made.

    Attributes:
        holder: a dict, class, list or other container, a variable of a closure, or an object with
            slots; or the source of one.
        key: the key or name assigned; `WHOLE` if the holder's whole content was, `GROWN` if a list
            only has more at its end.
    """

    holder: Any
    key: Any

    def holder_now(self, things: list[Any]) -> Any:
        """The holder in a replay, as long as it has repeated no assignment.

        Args:
            things: what the replay was given (see `given`).
        """
        if is_a(self.holder, GivenThing):
            return holder_of(things[self.holder.number])
        return self.holder.get() if is_a(self.holder, Source) else self.holder


def holder_of(thing: Any) -> Any:
    """What an assignment to one of a call's things changes."""
    own = compared(thing)
    return own if is_a(thing, (list, dict)) or own is attributes_of(thing) else thing


def compared(thing: Any) -> Any:
    """The list or dict of what one of a call's things holds."""
    return attributes_in(thing) if is_record(thing) else thing


def assign(holder: Any, key: Any, value: Any) -> None:
    """Make the assignment of a `Change` to this holder."""
    if key is APPENDED or key is GROWN:
        holder.extend(value)
    elif is_a(holder, types.CellType):
        if value is ABSENT:
            del holder.cell_contents
        else:
            holder.cell_contents = value
    elif is_a(holder, type):
        delattr(holder, key) if value is ABSENT else setattr(holder, key, value)
    elif is_a(holder, dict) and key is not WHOLE:
        if value is ABSENT:
            holder.pop(key, None)
        else:
            holder[key] = value
    elif key is WHOLE:
        kind_of(holder).put_back(holder, value)
    elif value is ABSENT:
        object.__delattr__(holder, key)
    else:
        object.__setattr__(holder, key, value)


class Snapshot:
    """The state of all objects that a run can reach, taken before the run.

    Args:
        reach: the objects that the run can reach.
        may_draw: whether the run may draw from Python's and NumPy's generators.
    """

    def __init__(self, reach: Reachable, may_draw: bool = False):
        self.reach, self._may_draw = reach, may_draw
        self.containers = [
            (thing, source, kind_of(thing).copy(thing))
            for thing, source in reach.contents.containers
            if is_a(thing, (dict, list, set, deque, types.CellType))]
        self._caches = {id(attributes_of(thing)): caches_of(type(thing)) for thing in (
            *reach.objects.cells, *reach.objects.others, *reach.tensors.parameters)}
        self.dicts = [(thing, attributes_of(thing)) for thing, _ in reach.objects.dicts]
        self.spaces = [(owner, space, _names_in(owner, space, names))
                       for owner, space, names in reach.names.spaces.values()]
        self.slots = [(thing, name, slot_of(thing, name, ABSENT))
                      for thing, names in reach.objects.slotted for name in names]
        self.kinds = kinds_of(reach)
        self.functions = [_parts_of_function(function) for function in reach.objects.functions]
        self.contents = [(thing, kind_of(thing).copy(thing))
                         for thing in (*reach.contents.arrays, *reach.contents.buffers)]
        self.random, self.of_numpy = getstate(), place_of_numpy()
        self.streams = [(stream, kind_of(stream).copy(stream)) for stream in reach.contents.streams]
        self.put_streams_back = kept()
        self.signals = signals_of_decimals() if DECIMALS in reach.thread.arithmetic else {}
        self.arithmetic = [(kind, kind.settings()) for kind in reach.thread.arithmetic]

    def changes(self) -> Iterator[tuple[Change, Any]]:
        """The assignments since then, each with its value.

        Raises:
            CannotTrace: if something has been changed in a way that a replay can't repeat.
        """
        self._check()
        for thing, source, before in self.containers:
            for key, value in self._differences(thing, before):
                if is_no_parameter(key) or key is WHOLE and has_tensors_as_keys(thing):
                    raise CannotTrace("keeps a Tensor as a key or in a set, by its identity")
                if is_a(value, (Parameter, CellTree)) and value not in self.reach.visited:
                    raise CannotTrace(f"makes a new {type(value).__name__}", Cause.NEW_OBJECT)
                yield Change(source, key), value
        for owner, space, before in self.spaces:
            for key, now in _changed_names(owner, space, before):
                yield Change(owner, key), now
        for thing, name, before in self.slots:
            now = slot_of(thing, name, ABSENT)
            if now is not before:
                yield Change(thing, name), now

    def _differences(self, thing: Any, before: Any) -> Iterator[tuple[Any, Any]]:
        return kind_of(thing).changes(thing, before, self._caches.get(id(thing), ()))

    def _check(self) -> None:
        if not self._may_draw and (
                getstate() != self.random or not is_as_before(self.of_numpy)
                or any(has_changed(*stream) for stream in self.streams)):
            raise CannotTrace("draws random numbers that are not Lamella's", Cause.DRAW)
        if any(kind.settings() != before for kind, before in self.arithmetic):
            raise CannotTrace("changes the settings of decimal numbers or NumPy")
        if self.signals and self.signals != signals_of_decimals():
            raise CannotTrace("sets a flag of decimal numbers, which stays set", Cause.NEW_OBJECT)
        for thing, before in self.contents:
            if has_changed(thing, before):
                raise CannotTrace(kind_of(thing).refused)
        if any(attributes_of(thing) is not own for thing, own in self.reach.objects.dicts):
            raise CannotTrace("assigns __dict__ of an object")
        if not all(map(is_, kinds_of(self.reach), self.kinds)):
            raise CannotTrace("changes the class of an object, or the bases of a class")
        if any(not all(map(is_, _parts_of_function(function), before)) for function, before in zip(
                self.reach.objects.functions, self.functions, strict=True)):
            raise CannotTrace("changes a function's code or defaults")

    def restore(self) -> None:
        """Restore everything, so that the function can be called again.

        Only what differs is touched: other threads may use the rest meanwhile.
        """
        for thing, own in self.dicts:
            if attributes_of(thing) is not own:  # replaced as a whole
                assign(thing, "__dict__", own)
        for thing, _, before in self.containers:
            for key, _ in list(self._differences(thing, before)):
                if key is GROWN:
                    key = WHOLE
                assign(thing, key, before if key is WHOLE else before.get(key, ABSENT))
            if is_a(thing, dict) and in_another_order(dict(parts_of(thing)), before):
                caches = self._caches.get(id(thing), ())
                kind_of(thing).put_back(thing, {**before, **{
                    key: value for key, value in parts_of(thing) if key in caches}})
        for owner, space, before in self.spaces:
            for key, _ in _changed_names(owner, space, before):
                assign(owner, key, before.get(key, ABSENT))
        for thing, name, value in self.slots:
            if slot_of(thing, name, ABSENT) is not value:
                assign(thing, name, value)
        for thing, before in self.contents:
            if has_changed(thing, before):
                kind_of(thing).put_back(thing, before)
        setstate(self.random)
        for stream, before in self.streams:
            kind_of(stream).put_back(stream, before)
        self.put_streams_back()


def check_givable(value: Any, knows: Callable[[Any], bool], what: str,
                  cause: Cause = Cause.ALWAYS, depth: int = 0) -> None:
    """Check that a replay can rebuild a value.

    Its Tensors must be in tuples, lists, dicts, or objects that only hold values.

    Args:
        knows: whether a replay finds an object.
        what: what the run does with it, for messages.
        cause: that of the error. Values that are kept (`Cause.NEW_OBJECT`) have to be found by the
            next call, so they can't be objects that each run makes.

    Raises:
        CannotTrace: if it can't.
    """
    if is_a(value, Parameter) and not knows(value):
        raise CannotTrace(f"{what} a new Parameter", cause)
    if depth > _DEEPEST:
        raise CannotTrace(f"{what} objects that refer to each other", cause)
    if is_a(value, (tuple, list, dict)):
        for inner in (*branches_of(value), *own_attributes(value).values()):
            check_givable(inner, knows, what, cause, depth + 1)
    elif cause is Cause.ALWAYS and not knows(value) and holds_values(value):
        for inner in attributes_in(value).values():
            check_givable(inner, knows, what, cause, depth + 1)
    elif not (is_a(value, (*PLAIN, *SIZES, Tensor, np.generic, type, types.ModuleType, slice,
                                 range, types.BuiltinFunctionType, types.EllipsisType))
              or value is ABSENT or knows(value) or _is_settled(value)):
        raise CannotTrace(f"{what} a new {value.__class__.__name__}", cause)


def _is_settled(value: Any) -> bool:
    """Whether an object is a function of a module, or immutable with plain values only."""
    if is_a(value, types.FunctionType):
        return not value.__closure__
    if is_a(value, frozenset):
        return all(is_a(v, PLAIN) for v in value)
    return is_ours(value) and not getattr(value, "__dict__", None)


def _names_in(owner: Any, space: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The values of names in a class or module: of all names if it is the user's, else of `names`.
    """
    module = owner.__module__ if is_a(owner, type) else owner.get("__name__")
    every = {name: value for name, value in parts_of(space) if name[:2] != "__"} if is_users(
        module) else {}
    return {**every, **{name: space.get(name, ABSENT) for name in names}}


def _changed_names(owner: Any, space: Mapping[str, Any], before: dict[str, Any]
                   ) -> list[tuple[str, Any]]:
    """The names of a class or module whose values differ from `before`, with the values now."""
    now = _names_in(owner, space, before)
    return [(name, now[name]) for name in now if now[name] is not before.get(name, ABSENT)]


def _parts_of_function(function: types.FunctionType) -> tuple[Any, ...]:
    return function.__code__, function.__defaults__, function.__kwdefaults__
