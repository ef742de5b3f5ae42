"""Descriptions of a run's results, from which each replay rebuilds them.

New Tensors hold the graph's results. Objects that existed before (an argument, a Tensor, a list or
a dict of the program) are returned as the same objects, as the function itself would do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from ...autodiff.tree import dict_like
from ...core.classes import is_a
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap_view
from ..guards.arguments import (
    branches_of,
    container_of,
    holds_values,
    made_of,
    own_attributes,
    with_attributes,
)
from ..guards.kinds import ATOMS, PLAIN, attributes_in, parts_of
from ..guards.reachable import Reachable
from ..guards.sources import Source
from .changes import SIZES, GivenThing
from .refusals import CannotTrace
from .texts import joined, parts_of_text


class New(NamedTuple):
    """A Tensor that holds a result of the graph.

    Attributes:
        number: which result.
        own: the Tensor's attributes, each with the description of its value.
    """

    number: int
    own: tuple[tuple[str, Any], ...] = ()


class Given(NamedTuple):
    """A Tensor among the arguments, by its number."""

    number: int


class Held(NamedTuple):
    """A Tensor that the run found elsewhere, by its number."""

    number: int


class Known(NamedTuple):
    """A list or dict of the program that existed before the run.

    Attributes:
        source: where a replay finds it; None if it is always the same object.
    """

    thing: Any
    source: Source | None


class Made(NamedTuple):
    """An object that each replay makes anew.

    Attributes:
        kind: its class.
        held: the descriptions of its attributes, by name.
    """

    kind: type
    held: dict[str, Any]


class Computed(NamedTuple):
    """A number that a replay computes, by its index among these."""

    number: int


class Read(NamedTuple):
    """A number that is read off a result of the graph.

    Attributes:
        number: which one.
    """

    number: int


class Text(NamedTuple):
    """A text that each replay makes.

    Attributes:
        pieces: text, the description of a value, its format, text, ...
    """

    pieces: list[Any]


class Results:
    """The results of a run, described.

    Args:
        given: the arguments' Tensors.
        held: the Tensors and Parameters found elsewhere.
        reach: the objects that the run could reach.
        things: the arguments' lists, dicts and other objects, which may be among the results.
        numbers: the numbers that a replay computes; None if there are none.

    Attributes:
        new: the data of the new Tensors, in order.
        uses_things: whether any of the things was found among the results.
    """

    def __init__(self, given: Sequence[Tensor], held: Sequence[Tensor], reach: Reachable,
                 things: Sequence[Any] = (), numbers: Any = None):
        self._numbers = numbers
        self._things: dict[int, GivenThing] = {}
        for number, thing in enumerate(things):
            self._things.setdefault(id(thing), GivenThing(number))
        self.uses_things = False
        self.new: list[torch.Tensor] = []
        self._reach = reach
        self._alive: list[Any] = []  # so that no identity is used again
        self._met: dict[int, Any] = {}
        self._held = {id(t): i for i, t in enumerate(held)}
        for number, tensor in enumerate(given):
            if id(tensor) not in self._held:
                self._met.setdefault(id(tensor), Given(number))

    def described(self, value: Any) -> Any:
        """The description of a value; the same description each time the value occurs."""
        if id(value) in self._things:
            self.uses_things = True
            if value not in self._reach.visited:
                return self._things[id(value)]
        if id(value) in self._met:
            return self._met[id(value)]
        number = self._held.get(id(value))
        found = self._tree(value) if number is None else Held(number)
        if found is not value:
            self._alive.append(value)
            self._met[id(value)] = found
        return found

    def _tree(self, value: Any) -> Any:
        place = None if self._numbers is None else self._numbers.place(value)
        if is_a(place, torch.Tensor):
            self.new.append(place)
            return Read(len(self.new) - 1)
        if place is not None:
            return Computed(place)
        pieces = None if self._numbers is None else parts_of_text(value, keep=True)
        if pieces is not None:
            pieces[1::3] = map(self.described, pieces[1::3])
            return Text(pieces)
        if is_a(value, SIZES):
            kind = torch.int64 if is_a(value, torch.SymInt) else torch.float64
            self.new.append(torch.ops.aten.scalar_tensor(value, dtype=kind))
            return Read(len(self.new) - 1)
        if is_a(value, Parameter):
            return value
        if is_a(value, Tensor):
            own = tuple([(name, self.described(v)) for name, v in value.__dict__.items()])
            if not all(is_a(v, PLAIN) for v in value.__dict__.values()):
                raise CannotTrace("gives attributes to a new Tensor")
            self.new.append(value._raw)
            return New(len(self.new) - 1, own)
        if is_a(value, (list, dict)) and value in self._reach.visited:
            return Known(value, next((source for thing, source in self._reach.contents.containers
                                      if thing is value), None))
        if is_a(value, (tuple, list, dict)):
            return self._container(value)
        if value not in self._reach.visited and holds_values(value):
            return Made(type(value), {name: self.described(part)
                                      for name, part in attributes_in(value).items()})
        return self._plain(value)

    def _container(self, value: Any) -> Any:
        own = {name: self.described(part) for name, part in parts_of(own_attributes(value))}
        if not is_a(value, dict):
            return container_of(type(value), [self.described(part) for part in branches_of(value)],
                                own)
        return _dict_of(value, {self._plain(key): self.described(part)
                                for key, part in parts_of(value)}, own)

    def _plain(self, value: Any) -> Any:
        """A value that is the same in every replay: numbers in it are guarded."""
        return value if self._numbers is None else self._numbers.guarded(value)


def builder_of(tree: Any) -> Callable[[Sequence[torch.Tensor]], Any] | None:
    """A function that makes what a description stands for from the graph's results alone.

    None if it needs more than these, or if anything is there twice.
    """
    seen: set[int] = set()
    return _built(tree, seen)


def _built(tree: Any, seen: set[int]) -> Callable[[Sequence[torch.Tensor]], Any] | None:
    kind = type(tree)
    if kind in ATOMS:
        return lambda new: tree
    if id(tree) in seen or kind not in (New, Read, tuple, list, dict):
        return None
    seen.add(id(tree))
    if kind is Read:
        return lambda new: new[tree.number].item()
    if kind is New:
        number = tree.number
        return None if tree.own else lambda new: wrap_view(new[number])
    made = [_built(part, seen) for part in (tree.values() if kind is dict else tree)]
    if None in made:
        return None
    if kind is dict:
        named = list(zip(tree, made, strict=True))
        return lambda new: {key: part(new) for key, part in named}  # type: ignore[misc]
    if kind is list:
        return lambda new: [part(new) for part in made]  # type: ignore[misc]
    return lambda new: tuple([part(new) for part in made])  # type: ignore[misc]


class Rebuilding:
    """Makes the values that descriptions stand for.

    Its methods and not closures call each other: a cycle would keep the results of a call until
    the garbage collector runs.

    Args:
        new: the graph's results.
        given: the arguments' Tensors.
        held: returns a Tensor found elsewhere, by its number.
        things: the arguments' lists, dicts and other objects.
        numbers: those that a replay has computed.
    """

    def __init__(self, new: Sequence[torch.Tensor], given: Sequence[Tensor],
                 held: Callable[[int], Tensor], things: Sequence[Any] = (),
                 numbers: Sequence[Any] = ()):
        self._new, self._given, self._held, self._numbers = new, given, held, numbers
        self._things = things
        self._made: dict[int, Any] = {}

    def value_of(self, tree: Any) -> Any:
        """The value of a description; the very same description gives the very same value."""
        if not is_a(tree, (tuple, list, dict)):
            return tree
        if id(tree) not in self._made:
            self._made[id(tree)] = self._make(tree)
        return self._made[id(tree)]

    def _make(self, tree: Any) -> Any:
        if type(tree) is New:
            tensor = wrap_view(self._new[tree.number])
            if tree.own:
                tensor.__dict__.update([(name, self.value_of(v)) for name, v in tree.own])
            return tensor
        if type(tree) is Given:
            return self._given[tree.number]
        if type(tree) is Held:
            return self._held(tree.number)
        if type(tree) is GivenThing:
            return self._things[tree.number]
        if type(tree) is Made:
            return made_of(tree.kind, {n: self.value_of(v) for n, v in tree.held.items()})
        if type(tree) is Computed:
            return self._numbers[tree.number]
        if type(tree) is Known:
            return tree.thing if tree.source is None else tree.source.get()
        if type(tree) is Text:
            return joined([self.value_of(piece) for piece in tree.pieces])
        if type(tree) is Read:
            return self._new[tree.number].item()
        own = {name: self.value_of(part) for name, part in parts_of(own_attributes(tree))}
        if not is_a(tree, dict):
            parts = [self.value_of(part) for part in branches_of(tree)]
            return container_of(type(tree), parts, own)
        return _dict_of(tree, {key: self.value_of(part) for key, part in parts_of(tree)}, own)


def _dict_of(like: dict, parts: dict, own: dict[str, Any]) -> dict:
    """A dict of the same class, with other values and attributes."""
    return parts if type(like) is dict else with_attributes(dict_like(like, parts), own)


def numbers_in(tree: Any) -> Iterator[int]:
    """The numbers of the new Tensors in a description of results."""
    if type(tree) is New:
        yield tree.number
        tree = tree.own
    if is_a(tree, (tuple, list, dict)):
        for part in (*branches_of(tree), *(part for _, part in parts_of(own_attributes(tree)))):
            yield from numbers_in(part)
