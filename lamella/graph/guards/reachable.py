"""The objects that a function may read or change when it runs, as `search` finds them."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...nn.cell_tree import CellTree
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .absent import Spaces
from .arithmetic import Arithmetic
from .kinds import is_users
from .sources import Container, Source


class Reachable:
    """The Cells, Parameters and other objects found from a function and its arguments.

    Attributes:
        tensors: Tensors other than Parameters, each with its source, or None if a later call has to
            find the same object.
        known_tensors: by identity, those found otherwise than under a name.
        objects: those of the user's classes, and Lamella's other than Cells.
        slotted: objects with the names of their slots.
        functions: the user's functions.
        variables: the variables of closures.
        spaces: globals, modules and classes, each with its dict and the names that code uses.
        containers: the mutable containers, and where they were found.
        arrays: NumPy arrays.
        buffers: `bytearray`, `array.array` and `memoryview` objects.
        locals: thread-local objects; `thread` is the thread that read them, 0 if there are none.
        streams: generators of random numbers that are not Lamella's.
        has_caches: whether there are functions that cache their results.
        arithmetic: the settings of the arithmetic of the numbers found.
        owners: the objects and Cells with attributes, each with the dict that holds them.
        refused: why no graph can hold the objects found; None if one can.
        closed: the objects not inspected, each with the names that lead to it, or None if there
            are none. These are large containers and arrays, those with Tensors as keys, and objects
            of Python's library, such as files and iterators. Most programs never read them while
            they run: see `ran.was_read`.
        hidden: whether a list that was left out has several sources, and not all are names.
        seen: all objects found, by identity.
        opened, by_name: as `search.reachable_from` got them.
    """

    def __init__(self, opened: Mapping[int, Any], by_name: bool):
        self.opened, self.by_name = opened, by_name
        self.cells: list[CellTree] = []
        self.parameters: list[Parameter] = []
        self.tensors: list[tuple[Tensor, Source | None]] = []
        self.known_tensors: dict[int, Tensor] = {}
        self.objects: list[Any] = []
        self.slotted: list[tuple[Any, tuple[str, ...]]] = []
        self.functions: list[types.FunctionType] = []
        self.variables: list[Source] = []
        self.spaces: Spaces = {}
        self.containers: list[Container] = []
        self.arrays: list[np.ndarray] = []
        self.buffers: list[Any] = []
        self.locals: list[Any] = []
        self.thread = 0
        self.streams: list[Any] = []
        self.has_caches = False
        self.arithmetic: dict[Arithmetic, None] = {}
        self.owners: list[tuple[Any, dict]] = []
        self.refused: str | None = None
        self.seen: dict[int, Any] = {}
        self.hidden = False
        self.closed: list[tuple[Any, frozenset[str] | None]] = []

    def same(self, other: Reachable) -> bool:
        """Whether the other has found the same objects."""
        return all(
            len(mine) == len(its) and all(a is b for a, b in zip(mine, its, strict=True))
            for mine, its in (
                (self.cells, other.cells), (self.parameters, other.parameters),
                (self.functions, other.functions), (self.objects, other.objects),
                (self.arrays, other.arrays),
                (self.buffers, other.buffers), (self.locals, other.locals),
                ([v.root for v in self.variables], [v.root for v in other.variables]),
                ([c.thing for c in self.containers], [c.thing for c in other.containers]),
                ([t for t, _ in self.tensors], [t for t, _ in other.tensors]),
                ([t for t, _ in self.slotted], [t for t, _ in other.slotted]),
            )) and (self.by_name, self.thread, self._names_used()) == (
                other.by_name, other.thread, other._names_used())

    def _names_used(self) -> list[tuple]:
        return [(owner, *names) for owner, (*_, names) in self.spaces.items()]

    def knows(self, thing: Any) -> bool:
        """Whether an object was found."""
        return self.seen.get(id(thing), self) is thing

    @property
    def sized(self) -> list[Mapping[str, Any]]:
        """The contents of classes and modules whose sizes are guarded: a name may be added."""
        return [space for owner, space, _ in self.spaces.values() if (
            is_users(owner.__module__) if issubclass(type(owner), type) else
            (name := owner.get("__name__")) != "__main__" and is_users(name))]
