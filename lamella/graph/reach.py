"""What a function can reach: the Cells and Parameters it may read or change when it runs."""

from __future__ import annotations

import functools
import types
from typing import Any

import torch

from ..nn.cell_compile import OF_ONE_OBJECT
from ..nn.cell_tree import CellTree
from ..parameter import Parameter
from ..tensor import Tensor

_KNOWN = ("lamella", "torch", "numpy", "builtins")  # where classes' attributes don't change
_LEAVES = (bool, int, float, complex, str, bytes, type(None), type, types.ModuleType)


class StandsFor:
    """An object that is, for what it can reach, the function it holds."""

    fn: Any


class Reach:
    """The Cells, Parameters and plain values found from a function and its arguments.

    Followed are closures, the globals a function names, defaults, bound objects, partials,
    containers, and the attributes of Cells and of objects that hold functions.

    Attributes:
        tensors: Tensors that are no Parameters, each with the dict and the name it was found
            under, or None where it was found elsewhere.
        classes: those of the user's Cells and objects, with the names of their plain attributes.
    """

    def __init__(self, *roots: Any):
        self.cells: list[CellTree] = []
        self.parameters: list[Parameter] = []
        self.tensors: list[tuple[Tensor, tuple[dict, str] | None]] = []
        self.functions: list[types.FunctionType] = []
        self.objects: list[Any] = []
        self.classes: dict[type, list[str]] = {}
        self._seen: set[int] = set()
        for root in roots:
            self._visit(root)

    def same(self, other: Reach) -> bool:
        """Whether the other has found the very same things."""
        return all(
            len(mine) == len(its) and all(a is b for a, b in zip(mine, its, strict=True))
            for mine, its in ((self.cells, other.cells), (self.parameters, other.parameters),
                              (self.functions, other.functions), (self.objects, other.objects),
                              ([t for t, _ in self.tensors], [t for t, _ in other.tensors])))

    def _visit(self, thing: Any) -> None:
        if isinstance(thing, _LEAVES) or id(thing) in self._seen:
            return
        self._seen.add(id(thing))
        if isinstance(thing, Parameter):
            self.parameters.append(thing)
        elif isinstance(thing, Tensor):
            self.tensors.append((thing, None))
        elif isinstance(thing, CellTree):
            self._visit_cell(thing)
        elif isinstance(thing, types.FunctionType):
            self._visit_function(thing)
        elif isinstance(thing, types.MethodType):
            self._visit(thing.__self__)
            self._visit(thing.__func__)
        elif isinstance(thing, StandsFor):
            self._visit(thing.fn)
        elif isinstance(thing, functools.partial):
            self._all((thing.func, *thing.args, *thing.keywords.values()))
        elif isinstance(thing, (tuple, list, set, frozenset)):
            self._all(thing)
        elif isinstance(thing, dict):
            self._all(thing.values())
        elif type(thing).__module__.split(".")[0] not in ("torch", "numpy", "builtins"):
            own = getattr(thing, "__dict__", None)
            if own:
                if not _is_ours(thing):
                    self.objects.append(thing)
                    self._visit_class(type(thing))
                self._slots(own)

    def _all(self, things: Any) -> None:
        for thing in things:
            self._visit(thing)

    def _visit_class(self, kind: type) -> None:
        for cls in kind.__mro__:
            if cls not in self.classes and cls.__module__.split(".")[0] not in _KNOWN:
                names = [name for name, value in vars(cls).items()
                         if isinstance(value, (*_PLAIN, tuple, list, dict, set))
                         and not (name[:2] == "__" == name[-2:])]
                if names:
                    self.classes[cls] = names

    def _visit_cell(self, cell: CellTree) -> None:
        self.cells.append(cell)
        self._visit_class(type(cell))
        own = cell.__dict__
        for registry in ("_params", "_cells", "_buffers"):
            self._slots(own.get(registry, {}))
        self._slots({k: v for k, v in own.items()
                     if k not in ("_params", "_cells", "_buffers", *OF_ONE_OBJECT)}, own)

    def _slots(self, things: dict, place: dict | None = None) -> None:
        """Visit the values of a dict; Tensors there are known by their names, not as objects."""
        for name, thing in list(things.items()):
            if (isinstance(thing, Tensor) and not isinstance(thing, Parameter)
                    and id(thing) not in self._seen):
                self._seen.add(id(thing))
                self.tensors.append((thing, (things if place is None else place, name)))
            else:
                self._visit(thing)

    def _visit_function(self, function: types.FunctionType) -> None:
        if _is_ours(function) and not function.__closure__:
            return
        self.functions.append(function)
        self._all(closure(function).values())
        self._all(function.__defaults__ or ())
        self._all((function.__kwdefaults__ or {}).values())
        self._all(named_globals(function).values())


def _is_ours(thing: Any) -> bool:
    """Whether it is part of this package, where plain values don't change what a run does."""
    module = thing.__module__ if isinstance(thing, types.FunctionType) else type(thing).__module__
    return module.split(".")[0] == "lamella"


def closure(function: types.FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def named_globals(function: types.FunctionType) -> dict[str, Any]:
    around = function.__globals__
    if _is_ours(function):
        return {}
    return {name: around[name] for name in function.__code__.co_names if name in around}


_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype)
CONTAINERS = (tuple, list, dict, set, frozenset)
DEEPEST = 16  # of containers within each other
LONGEST = 1024  # of a container whose parts count; a longer one counts as the object it is


def fingerprint(reach: Reach) -> tuple:
    """The plain values that a run may depend on: attributes of objects, variables of functions."""
    seen: dict[int, int] = {}
    return (tuple([_cell_values(cell, seen) for cell in reach.cells]),
            tuple([_function_values(function) for function in reach.functions]),
            tuple([_values(thing.__dict__, seen) for thing in reach.objects]),
            tuple([plain(getattr(cls, name, None))
                   for cls, names in reach.classes.items() for name in names]))


def plain(value: Any, depth: int = 0) -> Any:
    """What tells a value from another: itself if it is plain, its parts, or its identity."""
    if isinstance(value, _PLAIN):
        return type(value), value
    if not isinstance(value, CONTAINERS) or len(value) > LONGEST or depth > DEEPEST:
        return id(value)
    if isinstance(value, dict):
        return tuple([(name, plain(v, depth + 1)) for name, v in value.items()])
    parts = [plain(v, depth + 1) for v in value]
    return tuple(parts) if isinstance(value, (tuple, list)) else frozenset(parts)


def form_of(raw: torch.Tensor) -> tuple:
    """What the kernels of a run depend on, of a tensor."""
    return raw.shape, raw.stride(), raw.dtype, raw.device


def _slot(value: Any, seen: dict[int, int]) -> Any:
    """The same of what a name holds: a Tensor there is known by its form, and who shares it."""
    if type(value) is Tensor:
        return form_of(value._raw), seen.setdefault(id(value), len(seen))
    return plain(value)


def _cell_values(cell: CellTree, seen: dict[int, int]) -> tuple:
    own = cell.__dict__
    return (_values(own, seen), [id(c) for c in own["_cells"].values()],
            [_slot(b, seen) for b in own["_buffers"].values()],
            [(id(p), p is not None and p.requires_grad) for p in own["_params"].values()])


def _values(own: dict, seen: dict[int, int]) -> list:
    return [(name, _slot(value, seen)) for name, value in own.items() if _counts(name, value)]


def values_that_count(own: dict) -> list:
    """The values of an object's attributes that a run may depend on."""
    return [value for name, value in own.items() if _counts(name, value)]


def _counts(name: str, value: Any) -> bool:
    # objects under private names are what it keeps for itself, such as work done once
    return (name[0] != "_" or isinstance(value, _PLAIN) or name == "_call_hooks"
            or type(value) is Tensor)


def _function_values(function: types.FunctionType) -> tuple:
    values = {**closure(function), **named_globals(function)}
    found = [(name, plain(value)) for name, value in values.items()]
    if function.__defaults__:
        found.append(("", plain(function.__defaults__)))
    if function.__kwdefaults__:
        found.append(("", plain(function.__kwdefaults__)))
    return tuple(found)
