"""The objects that a function may read or change when it runs, as `search` finds them."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...nn.cell_tree import CellTree
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .arithmetic import Arithmetic
from .kinds import is_users
from .sources import Container, Source


class VisitedSet:
    """The objects that a search has met, by identity."""

    def __init__(self) -> None:
        self._things: dict[int, Any] = {}

    def add(self, thing: Any) -> None:
        """Note an object, which stays alive as long as the set."""
        self._things[id(thing)] = thing

    def __contains__(self, thing: Any) -> bool:
        return id(thing) in self._things


@dataclass(eq=False)
class Tensors:
    """Tensors found otherwise than as arguments.

    Attributes:
        parameters: the Parameters.
        others: each other Tensor with its source, or None if a later call has to find the same
            object.
        unnamed: by identity, those of them that were found otherwise than under a name.
    """

    parameters: list[Parameter] = field(default_factory=list)
    others: list[tuple[Tensor, Source | None]] = field(default_factory=list)
    unnamed: dict[int, Tensor] = field(default_factory=dict)

    def all(self) -> list[Tensor]:
        """All of them: first the Parameters."""
        return [*self.parameters, *(tensor for tensor, _ in self.others)]


@dataclass(eq=False)
class Objects:
    """Objects with attributes.

    Attributes:
        cells: the Cells.
        others: objects of the user's classes, and Lamella's other than Cells.
        slotted: objects with the names of their slots.
        functions: the user's functions.
        dicts: the objects and Cells, each with the dict that holds its attributes.
    """

    cells: list[CellTree] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)
    slotted: list[tuple[Any, tuple[str, ...]]] = field(default_factory=list)
    functions: list[types.FunctionType] = field(default_factory=list)
    dicts: list[tuple[Any, dict]] = field(default_factory=list)

    def all(self) -> list[Any]:
        """All of them but the functions."""
        return [*self.cells, *self.others, *(thing for thing, _ in self.slotted)]


@dataclass(eq=False)
class Names:
    """What code finds by a name.

    Attributes:
        variables: the variables of closures.
        spaces: by identity, globals, modules and classes, each with its dict and the names that
            code uses.
    """

    variables: list[Source] = field(default_factory=list)
    spaces: dict[int, tuple[Any, Mapping[str, Any], dict[str, None]]] = field(default_factory=dict)

    def use(self, owner: Any, space: Mapping[str, Any], *names: str) -> None:
        """Note that code uses names of a module or a class."""
        self.spaces.setdefault(id(owner), (owner, space, {}))[2].update(dict.fromkeys(names))

    def used(self) -> list[tuple]:
        """Each module and class, with the names."""
        return [(owner, *names) for owner, (*_, names) in self.spaces.items()]

    @property
    def sized(self) -> list[Mapping[str, Any]]:
        """The contents of classes and modules whose sizes are guarded: a name may be added.

        Not the table of modules, which grows whenever any code imports one.
        """
        return [space for owner, space, _ in self.spaces.values() if owner is not sys.modules and (
            is_users(owner.__module__) if issubclass(type(owner), type) else
            (name := owner.get("__name__")) != "__main__" and is_users(name))]


@dataclass(eq=False)
class Contents:
    """Objects whose content may change.

    Attributes:
        containers: the mutable containers, and where they were found.
        arrays: NumPy arrays.
        buffers: `bytearray`, `array.array` and `memoryview` objects.
        streams: generators of random numbers that are not Lamella's.
        behind: what bound methods belong to.
    """

    containers: list[Container] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)
    buffers: list[Any] = field(default_factory=list)
    streams: list[Any] = field(default_factory=list)
    behind: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class ThreadState:
    """What differs between threads.

    Attributes:
        locals: the dicts of thread-local objects.
        ident: the thread that read them, 0 if there are none.
        arithmetic: the settings of the arithmetic of the numbers found.
    """

    locals: list[Any] = field(default_factory=list)
    ident: int = 0
    arithmetic: dict[Arithmetic, None] = field(default_factory=dict)


@dataclass(eq=False)
class SearchLimits:
    """What was not looked into, and what no graph can hold.

    Attributes:
        refused: why no graph can hold the objects found; None if one can.
        closed: the objects not inspected, each with the names that lead to it, or None if there
            are none. These are large containers and arrays, those with Tensors as keys, and objects
            of Python's library, such as files and iterators. Most programs never read them while
            they run: see `ran.was_read`.
        hidden: whether a list that was left out has several sources, and not all are names.
        has_caches: whether there are functions that cache their results.
    """

    refused: str | None = None
    closed: list[tuple[Any, frozenset[str] | None]] = field(default_factory=list)
    hidden: bool = False
    has_caches: bool = False


class Reachable:
    """The Cells, Parameters and other objects found from a function and its arguments.

    Attributes:
        opened: by identity, the large containers to inspect, and all that were inspected.
        by_name: as `search.reachable_from` got it.
        visited: all objects found.
        tensors, objects, names, contents, thread, limits: these objects, by what they are.
    """

    def __init__(self, opened: dict[int, Any], by_name: bool):
        self.opened, self.by_name = opened, by_name
        self.visited = VisitedSet()
        self.tensors, self.objects, self.names = Tensors(), Objects(), Names()
        self.contents, self.thread, self.limits = Contents(), ThreadState(), SearchLimits()

    def same(self, other: Reachable) -> bool:
        """Whether the other has found the same objects."""
        return (self.by_name, self.thread.ident, self.names.used()) == (
            other.by_name, other.thread.ident, other.names.used()) and all(
                len(mine) == len(its) and all(a is b for a, b in zip(mine, its, strict=True))
                for mine, its in zip(self._compared(), other._compared(), strict=True))

    def _compared(self) -> Iterable[Sequence[Any]]:
        """The objects that make two searches alike."""
        tensors, objects, contents = self.tensors, self.objects, self.contents
        yield from (objects.cells, tensors.parameters, objects.functions, objects.others,
                    contents.arrays, contents.buffers, contents.behind,
                    self.thread.locals)
        yield [variable.root for variable in self.names.variables]
        yield [container.thing for container in contents.containers]
        yield [tensor for tensor, _ in tensors.others]
        yield [thing for thing, _ in objects.slotted]
