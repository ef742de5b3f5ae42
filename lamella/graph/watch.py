"""Whether anything has changed of what a function can reach, asked at every call."""

from __future__ import annotations

from operator import is_
from typing import Any

from ..parameter import Parameter
from ..tensor import Tensor
from .reach import (
    CONTAINERS,
    Reach,
    closure,
    fingerprint,
    form_of,
    named_globals,
    plain,
    values_that_count,
)


class Watch:
    """A reach and its fingerprint, which is taken again only if something has been replaced.

    That is asked by comparing identities: a fraction of the time a fingerprint takes. What can
    change and stay the same object (a list, a dict, the data of a Tensor) is compared as such.
    """

    def __init__(self, reach: Reach):
        self.reach = reach
        self._snapshot = _Snapshot(reach)

    def values(self) -> tuple:
        """The fingerprint as of now."""
        snapshot = self._snapshot
        if not snapshot.holds():
            self._snapshot = snapshot = _Snapshot(self.reach)
        return snapshot.values


class _Snapshot:
    """What the names within a reach stand for at a moment, and the fingerprint of that."""

    def __init__(self, reach: Reach):
        self.dicts: list[tuple[dict, list, list]] = []
        self.empty: list[dict] = []
        self.containers: list[tuple[Any, Any]] = []
        self.tensors: list[tuple[Tensor, tuple]] = []
        self.variables: list[tuple[Any, str, Any]] = []
        self.closures: list[tuple[Any, list]] = []
        self.globals: list[tuple[dict, str, Any]] = []
        for cell in reach.cells:
            own = cell.__dict__
            self._dict(own, values_that_count(own))
            for registry in ("_params", "_cells", "_buffers"):
                self._dict(own[registry], own[registry].values())
        for thing in reach.objects:
            self._dict(thing.__dict__, values_that_count(thing.__dict__))
        for function in reach.functions:
            self._function(function)
        for cls, names in reach.classes.items():
            for name in names:
                self.variables.append((cls, name, getattr(cls, name, None)))
                self._contents(self.variables[-1][2])
        self.parameters = [(p, p.requires_grad) for p in reach.parameters]
        self.values = fingerprint(reach)

    def holds(self) -> bool:
        """Whether everything is as it was."""
        for own, names, values in self.dicts:
            if list(own) != names or not all(map(is_, own.values(), values)):
                return False
        if any(self.empty):
            return False
        for thing, name, value in self.variables:
            if getattr(thing, name, None) is not value:
                return False
        for function, values in self.closures:
            now = list(closure(function).values())
            if len(now) != len(values) or not all(map(is_, now, values)):
                return False
        for around, name, value in self.globals:
            if around.get(name) is not value:
                return False
        for parameter, learns in self.parameters:
            if parameter.requires_grad is not learns:
                return False
        for tensor, form in self.tensors:
            if form_of(tensor._raw) != form:
                return False
        return all(plain(held) == parts for held, parts in self.containers)

    def _dict(self, own: dict, counting: Any) -> None:
        if not own:
            self.empty.append(own)
            return
        self.dicts.append((own, list(own), list(own.values())))
        for value in counting:
            self._contents(value)

    def _contents(self, value: Any) -> None:
        """Note what may change in a value that stays the same object."""
        if type(value) is Tensor:
            self.tensors.append((value, form_of(value._raw)))
        elif isinstance(value, CONTAINERS) and not _is_fixed(value):
            self.containers.append((value, plain(value)))

    def _function(self, function: Any) -> None:
        for name in ("__defaults__", "__kwdefaults__"):
            self.variables.append((function, name, getattr(function, name)))
            self._contents(self.variables[-1][2])
        self.closures.append((function, list(closure(function).values())))
        for value in self.closures[-1][1]:
            self._counted(value)
        around = function.__globals__
        for name, value in named_globals(function).items():
            self.globals.append((around, name, value))
            self._counted(value)

    def _counted(self, value: Any) -> None:
        if not isinstance(value, (Parameter, Tensor)):
            self._contents(value)


def _is_fixed(value: Any) -> bool:
    """Whether a container and all containers in it can't change."""
    return isinstance(value, (tuple, frozenset)) and all(
        _is_fixed(v) for v in value if isinstance(v, CONTAINERS))
