"""Arguments taken apart into the objects that the program makes again for each call.

A graph holds for another function with the same code, for another bound method of the same object,
for another dataclass object of the same class: what they hold (values of closures, fields) counts
like further arguments.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...autodiff.reverse import GradOperation, Request
from ...autodiff.tree import dict_like
from ...core.classes import is_a
from ...core.structures import is_registered
from ...nn.cell_tree import CellTree
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .bytecode import facts_of
from .kinds import (
    ATOMS,
    PLAIN,
    ByIdentity,
    attributes_in,
    default_of,
    has_hidden_state,
    has_value,
    is_large,
    is_users,
    parts_of,
)

DEEPEST = 8  # functions in closures of functions
MOST_LEAVES = 4096  # of arguments, before it is checked that each is there about once
BARE = frozenset((tuple, list, dict))  # classes whose objects hold nothing but parts
_MADE_BY_PYTHON = ("__new__", "__getattribute__", "__setattr__")
# what counts like an argument where a closure holds it; anything else there is the same object
_IN_CLOSURES = (*PLAIN, np.generic, tuple, Tensor, types.FunctionType, types.MethodType,
                functools.partial, Request, GradOperation)


class Apart(NamedTuple):
    """An object taken apart.

    Attributes:
        key: what a graph holds for, besides the parts.
        parts: what counts like further arguments; `ByIdentity` around what does not.
    """

    key: Any
    parts: list[Any]


def apart(value: Any, depth: int = 0) -> Apart | None:
    """An argument taken apart; None if it counts as a whole, or is a Tensor or a container."""
    kind = type(value)
    if kind in ATOMS or is_a(value, (Tensor, CellTree)):
        return None
    if kind is types.FunctionType:
        return _of_function(value, depth)
    if kind is types.MethodType:
        return Apart(kind, [value.__func__, value.__self__])
    if kind is functools.partial and not vars(value):
        return Apart((kind, len(value.args), *value.keywords),
                     [value.func, *value.args, *value.keywords.values()])
    if kind is Request:
        return Apart((kind, value.name, value.key()), [value.fn, value.weights])
    if kind is GradOperation:
        return Apart((kind, *vars(value).items()), [])
    if _is_record(kind):
        held = attributes_in(value)
        return Apart((kind, *held), [ByIdentity(part) if is_large(part) else part
                                     for part in held.values()])
    return None


def _of_function(value: types.FunctionType, depth: int) -> Apart | None:
    """A function that was defined while another ran, or a lambda: a call may make a new one."""
    is_made = "<locals>" in value.__qualname__ or value.__name__ == "<lambda>"
    if not is_made or depth > DEEPEST or value.__dict__ or not may_be_passed_on(value):
        return None
    closed = [cell.cell_contents for cell in value.__closure__ or ()]
    named = value.__kwdefaults__ or {}
    given = value.__defaults__ or ()
    if any(part is value for part in closed):
        return None
    return Apart((value.__code__, ByIdentity(value.__globals__), len(given), *named), [
        part if is_a(part, _IN_CLOSURES) or _is_record(type(part)) else ByIdentity(part)
        for part in (*closed, *given, *named.values())])


def put_together(value: Any, parts: list[Any]) -> Any:
    """An object like one that has been taken apart, with other parts."""
    kind = type(value)
    if kind is types.FunctionType:
        count, given = len(value.__closure__ or ()), len(value.__defaults__ or ())
        made = with_closure(value, [types.CellType(part) for part in parts[:count]])
        made.__defaults__ = tuple(parts[count:count + given]) or None
        made.__kwdefaults__ = dict(zip(value.__kwdefaults__ or (), parts[count + given:],
                                       strict=True)) or None
        return made
    if kind is types.MethodType:
        return types.MethodType(*parts)
    if kind is functools.partial:
        count = 1 + len(value.args)
        return functools.partial(*parts[:count], **dict(zip(value.keywords, parts[count:],
                                                            strict=True)))
    if kind is Request:
        return value.of(parts[0])
    if kind is GradOperation:
        return value
    return made_of(kind, dict(zip(attributes_in(value), parts, strict=True)))


def made_of(kind: type, held: dict[str, Any]) -> Any:
    """An object of a dataclass with these attributes."""
    return with_attributes(object.__new__(kind), held)


def with_attributes(made: Any, held: Mapping[str, Any]) -> Any:
    """A new object, once it has attributes; no code of its class runs."""
    for name, part in held.items():
        object.__setattr__(made, name, part)
    return made


def is_record(value: Any) -> bool:
    """Whether nothing but the attributes matters of an object: of a dataclass, or of a class that
    is registered as a structure and only adds methods."""
    return _is_record(type(value))


def holds_values(value: Any) -> bool:
    """Whether an object is one of a dataclass, or of a program's class that only adds methods."""
    return _is_record(type(value)) or _is_plain(type(value))


@functools.lru_cache(1024)
def _is_plain(kind: type) -> bool:
    return (kind is not object and type(kind) is type and not hasattr(kind, "__del__")
            and not issubclass(kind, (Tensor, CellTree))
            and all(getattr(kind, name) is getattr(object, name) for name in _MADE_BY_PYTHON)
            and all(base is object or is_users(base.__module__) and not has_hidden_state(base)
                    and "__slots__" not in vars(base) for base in kind.__mro__))


def _is_record(kind: type) -> bool:
    return _is_dataclass(kind) or is_registered(kind) and _is_plain(kind)


@functools.lru_cache(1024)
def _is_dataclass(kind: type) -> bool:
    return (dataclasses.is_dataclass(kind) and kind.__new__ is object.__new__
            and not is_ours_class(kind) and not issubclass(kind, (Tensor, CellTree))
            and not hasattr(kind, "__del__")
            and kind.__getattribute__ is object.__getattribute__
            and all(base is object or "__dict__" in vars(base) or "__slots__" in vars(base)
                    or dataclasses.is_dataclass(base) or base.__module__ in ("typing", "abc")
                    for base in kind.__mro__))


def is_ours_class(kind: type) -> bool:
    """Whether a class is one of Lamella's."""
    return is_a(kind.__module__, str) and kind.__module__.partition(".")[0] == "lamella"


def leaves_of(tree: Any) -> list[Any]:
    """The leaves of arguments, in order, also those inside of objects that are taken apart.

    Raises:
        ValueError: if they are many because containers are inside of each other many times over.
    """
    found: list[Any] = []
    try:
        _add_leaves(tree, found, 0, MOST_LEAVES)
    except _Many:
        if _count(tree, {}) > 4 * len(_once(tree, {})):
            raise ValueError("a list, tuple or dict is inside of others many times over") from None
        _add_leaves(tree, found := [], 0, sys.maxsize)
    return found


class _Many(Exception):
    """There are many leaves."""


def _add_leaves(tree: Any, found: list[Any], depth: int, most: int) -> None:
    kind = type(tree)  # on the path of each call
    if kind in ATOMS or issubclass(kind, Tensor):
        found.append(tree)
    elif issubclass(kind, (tuple, list, dict)):
        if len(found) > most:
            raise _Many
        for branch in branches_of(tree):
            _add_leaves(branch, found, depth, most)
    elif kind is ByIdentity:
        found.append(tree.thing)
    else:
        parts = apart(tree, depth)
        if parts is None:
            found.append(tree)
        else:
            for branch in parts.parts:
                _add_leaves(branch, found, depth + 1, most)


def _once(tree: Any, known: dict[int, Any]) -> dict[int, Any]:
    """What is in a container, each once, by identity."""
    if id(tree) not in known:
        known[id(tree)] = tree
        if is_a(tree, (tuple, list, dict)):
            for branch in branches_of(tree):
                _once(branch, known)
    return known


def _count(tree: Any, known: dict[int, int]) -> int:
    """How often one comes to a leaf of a container; `known` gets that of each container."""
    if not is_a(tree, (tuple, list, dict)):
        return 1
    if id(tree) not in known:
        known[id(tree)] = 0  # around it
        known[id(tree)] = sum([_count(branch, known) for branch in branches_of(tree)])
    return known[id(tree)]


def branches_of(tree: Any) -> Iterable[Any]:
    """What a tuple, a list or a dict holds, whatever its class shows."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return tree
    if kind is dict:
        return tree.values()
    parts = parts_of(tree)
    return [part for _, part in parts] if issubclass(kind, dict) else parts


def own_attributes(container: Any) -> dict[str, Any]:
    """The attributes that a tuple, list or dict has beside its parts; those of Python's have none.
    """
    return {} if type(container) in BARE else attributes_in(container)


def beside(container: Any) -> list[Any]:
    """What a tuple, list or dict holds beside its parts: attributes, and what makes values that a
    dict lacks."""
    own, default = attributes_in(container), default_of(container)
    return [*([own] if own else ()), *(() if default is None else [default])]


def given_tensors(tree: Any) -> list[Tensor]:
    """The Tensors among arguments other than Parameters, in order."""
    return [leaf for leaf in leaves_of(tree) if type(leaf) is Tensor
            or is_a(leaf, Tensor) and not is_a(leaf, Parameter)]


def roots_of(tree: Any, depth: int = 0) -> Iterator[Any]:
    """The objects through which a call's arguments lead to others."""
    if is_a(tree, Tensor) and not is_a(tree, Parameter):
        if type(tree) is not Tensor:
            yield type(tree)
        yield tree.__dict__
    elif is_a(tree, (tuple, list, dict)):
        if type(tree) not in BARE:
            yield type(tree)
            yield from beside(tree)
        for branch in branches_of(tree):
            yield from roots_of(branch, depth)
    elif type(tree) is ByIdentity:
        yield tree.thing
    else:
        found = apart(tree, depth)
        if found is None:
            yield tree
            return
        if type(tree) is types.FunctionType:
            yield with_closure(tree, [types.CellType() for _ in tree.__closure__ or ()])
        elif is_record(tree):
            yield type(tree)
        for branch in found.parts:
            yield from roots_of(branch, depth + 1)


def container_of(kind: Any, parts: Iterable[Any], own: dict[str, Any]) -> Any:
    """A tuple or list of a class, with its attributes; runs no code of a program's class.

    A plain one for classes written in C, of which not all can be made of any parts.
    """
    base: Any = list if issubclass(kind, list) else tuple
    if kind is base or kind.__new__ is not base.__new__ and not is_a(
            kind.__new__, types.FunctionType):
        return base(parts)
    made = base.__new__(kind, parts)
    if base is list:  # which is filled by `__init__` otherwise
        list.extend(made, parts)
    return with_attributes(made, own)


def with_leaves(tree: Any, replace: Callable[[Any], Any], depth: int = 0) -> Any:
    """Arguments with each leaf replaced by what `replace` returns for it; containers are new."""
    kind = type(tree)
    if kind in ATOMS or is_a(tree, Tensor):
        return replace(tree)
    if is_a(tree, (tuple, list)):
        return container_of(kind, [with_leaves(branch, replace, depth)
                                   for branch in branches_of(tree)], own_attributes(tree))
    if is_a(tree, dict):
        held = {key: with_leaves(branch, replace, depth) for key, branch in parts_of(tree)}
        return held if kind is dict else dict_like(tree, held)
    if kind is ByIdentity:
        return tree.thing
    found = apart(tree, depth)
    if found is None:
        return replace(tree)
    return put_together(tree, [with_leaves(part, replace, depth + 1) for part in found.parts])


def things_of(tree: Any, depth: int = 0) -> Iterator[Any]:
    """The objects among arguments that a graph doesn't hold itself, in order.

    These are lists and dicts, and what is taken apart.
    """
    if type(tree) in ATOMS or is_a(tree, Tensor):
        return
    if is_a(tree, (tuple, list, dict)):
        if not is_a(tree, tuple):
            yield tree
        for branch in branches_of(tree):
            yield from things_of(branch, depth)
        return
    found = apart(tree, depth)
    if found is not None:
        yield tree
        for branch in found.parts:
            yield from things_of(branch, depth + 1)


def pattern_of(things: list[Any]) -> list[int]:
    """Which of some objects are the same, as numbers."""
    first: dict[int, int] = {}
    return [first.setdefault(id(thing), len(first)) for thing in things]


def with_closure(fn: types.FunctionType, cells: list[types.CellType]) -> types.FunctionType:
    """A function with the same code and other variables in its closure."""
    made = types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, None, tuple(cells))
    made.__qualname__, made.__module__ = fn.__qualname__, fn.__module__
    return made


def may_be_passed_on(fn: types.FunctionType) -> bool:
    """Whether a closure only reads its variables, and each has a value."""
    return not facts_of(fn.__code__).assigns and all(map(has_value, fn.__closure__ or ()))
