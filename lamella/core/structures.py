"""Structures: taken apart into their parts, and built again from other parts.

Tuples, lists, dicts, named tuples, dataclasses and classes that a program registers are structures,
as are their subclasses (an OrderedDict, a defaultdict); anything else is a leaf. A `Kind` says what
the parts of such a structure are, how messages call them, and how it is rebuilt. Rebuilding runs no
code of a dataclass's own, such as its `__post_init__`; what isn't a field, such as an attribute
that was set later, is kept.
"""

from __future__ import annotations

import copy
import dataclasses
import reprlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .classes import is_a


class Kind(NamedTuple):
    """A kind of structure.

    Attributes:
        parts: its parts, in order.
        rebuild: makes a structure like the first argument, of other parts.
        keys: how its parts are called after its own name, as ``[0]`` or ``.weight``.
        agrees: whether two structures have parts under the same keys, and are equal otherwise.
        keeps: whether a structure is returned itself if none of its parts changes.
    """

    parts: Callable[[Any], Sequence[Any]]
    rebuild: Callable[[Any, Sequence[Any]], Any]
    keys: Callable[[Any], Sequence[str]]
    agrees: Callable[[Any, Any], bool]
    keeps: bool = False


def _itself(value: Any) -> Any:
    return value


def _places(value: Any) -> list[str]:
    return [f"[{i}]" for i in range(len(value))]


def _same_length(a: Any, b: Any) -> bool:
    return len(a) == len(b)


def _values(value: dict) -> list[Any]:
    return list(value.values())


def _with_values(like: dict, parts: Sequence[Any]) -> dict:
    made = dict(zip(like, parts, strict=True))
    return made if type(like) is dict else dict_like(like, made)


def dict_like(tree: dict, mapped: dict) -> dict:
    """A dict of the class of `tree`, such as ``OrderedDict``, with other values."""
    twin = copy.copy(tree)
    dict.update(twin, mapped)  # a Counter's own would add them
    return twin


def field_names(value: Any) -> list[str]:
    """The fields of a dataclass's object that have a value."""
    return [name for field in dataclasses.fields(value) if hasattr(value, name := field.name)]


def _fields(value: Any) -> list[Any]:
    return [getattr(value, name) for name in field_names(value)]


def _with_fields(like: Any, parts: Sequence[Any]) -> Any:
    twin = object.__new__(type(like))
    if hasattr(like, "__dict__"):
        twin.__dict__.update(like.__dict__)
    for name, part in zip(field_names(like), parts, strict=True):
        object.__setattr__(twin, name, part)  # also of a frozen one
    return twin


TUPLE = Kind(_itself, lambda like, parts: tuple(parts), _places, _same_length)
LIST = Kind(_itself, lambda like, parts: list(parts), _places, _same_length)
NAMED = Kind(_itself, lambda like, parts: type(like)._make(parts),
             lambda value: [f".{name}" for name in value._fields], _same_length)
DICT = Kind(_values, _with_values, lambda value: [f"[{key!r}]" for key in value],
            lambda a, b: a.keys() == b.keys())
DATACLASS = Kind(_fields, _with_fields, lambda value: [f".{n}" for n in field_names(value)],
                 lambda a, b: type(a) is type(b) and field_names(a) == field_names(b), keeps=True)

_LEAVES = frozenset({int, float, str, bool, complex, bytes, type(None)})
_registered: dict[type, Kind] = {}


def kind_of(value: Any) -> Kind | None:
    """The kind of structure that a value is; None for a leaf."""
    cls = type(value)
    if cls is tuple:
        return TUPLE
    if cls is dict:
        return DICT
    if cls is list:
        return LIST
    if cls in _LEAVES:
        return None
    if cls in _registered:
        return _registered[cls]
    if issubclass(cls, tuple):
        return NAMED if hasattr(cls, "_fields") else TUPLE
    if issubclass(cls, dict):
        return DICT
    if issubclass(cls, list):
        return LIST
    # what calls itself whole, as Cells and Tensors do, is a leaf also if it is a dataclass
    if hasattr(cls, "__dataclass_fields__") and not getattr(cls, "_is_whole", False):
        return DATACLASS
    return None


def register(cls: type, flatten: Callable[[Any], tuple[Sequence[Any], Any]],
             unflatten: Callable[[Any, Sequence[Any]], Any],
             keys: Callable[[Any], Sequence[str]] | None = None) -> None:
    """Make a class a kind of structure; see `lamella.tree.register`."""
    def parts(value: Any) -> Sequence[Any]:
        return tuple(flatten(value)[0])

    def agrees(a: Any, b: Any) -> bool:
        (of_a, rest_a), (of_b, rest_b) = flatten(a), flatten(b)
        return type(a) is type(b) and len(tuple(of_a)) == len(tuple(of_b)) and rest_a == rest_b

    def names(value: Any) -> Sequence[str]:
        if keys is not None:
            return [f".{key}" for key in keys(value)]
        return [f".parts[{i}]" for i in range(len(parts(value)))]

    _registered[cls] = Kind(
        parts, lambda like, new: unflatten(flatten(like)[1], tuple(new)), names, agrees, keeps=True)


def is_registered(cls: type) -> bool:
    """Whether a program has made a class a kind of structure."""
    return cls in _registered


def endless(tree: Any) -> ValueError:
    """The error for a structure that contains itself, by which a search of it ends."""
    return ValueError(f"Arguments and results are taken apart into the Tensors in them. So a list, "
                      f"a dict or an object in them can't contain itself, or be nested hundreds of "
                      f"times, but got {reprlib.repr(tree)}.")


def leaves(tree: Any) -> Iterator[Any]:
    """The leaves of a structure, in order; None is one."""
    kind = kind_of(tree)
    if kind is None:
        yield tree
        return
    for part in kind.parts(tree):
        try:
            yield from leaves(part)
        except RecursionError:
            raise endless(tree) from None


def paths(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a structure, each with its path, as in ``x['a'][0].weight``."""
    kind = kind_of(tree)
    if kind is None:
        yield name, tree
    else:
        for key, part in zip(kind.keys(tree), kind.parts(tree), strict=True):
            try:
                yield from paths(part, name + key)
            except RecursionError:
                raise endless(tree) from None


def container_leaves(tree: Any) -> Iterator[Any]:
    """The leaves of nested tuples, lists and dicts; objects of any class are leaves."""
    if is_a(tree, (tuple, list)):
        for part in tree:
            yield from container_leaves(part)
    elif is_a(tree, dict):
        for part in tree.values():
            yield from container_leaves(part)
    else:
        yield tree


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same structure with each leaf replaced by the result of `function` for it."""
    kind = kind_of(tree)
    if kind is None:
        return function(tree)
    try:
        parts = [mapped(function, part) for part in kind.parts(tree)]
    except RecursionError:
        raise endless(tree) from None
    return kind.rebuild(tree, parts)


def agree(a: Any, b: Any) -> bool:
    """Whether two values are structures with the same keys, or both leaves; parts aside.

    A list agrees with a tuple.
    """
    kind, other = kind_of(a), kind_of(b)
    if kind is None or other is None:
        return kind is other
    if kind is not other and not {id(kind), id(other)} <= _SEQUENCES:
        return False
    return kind.agrees(a, b)


def same_structure(a: Any, b: Any) -> bool:
    """Whether two structures nest alike, with a leaf wherever the other has one."""
    if not agree(a, b):
        return False
    kind = kind_of(a)
    return kind is None or all(map(same_structure, kind.parts(a), aligned(a, b)))


def aligned(tree: Any, other: Any) -> Sequence[Any]:
    """The parts of a structure that agrees with `tree`, in the order of those of `tree`."""
    kind = kind_of(other)
    if kind is DICT:
        return [other[key] for key in tree]
    assert kind is not None
    return kind.parts(other)


_SEQUENCES = {id(TUPLE), id(LIST), id(NAMED)}
