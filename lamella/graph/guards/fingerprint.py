"""Fingerprints: what a guard compares of the values that a run may depend on.

`guard` reads them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.classes import is_a
from ...core.declared import caches_of
from ...core.primitive import Primitive
from ...nn.cell_tree import CellTree
from ...tensors.tensor import Tensor
from .kinds import (
    ATOMS,
    DICTS,
    LEVELS,
    default_of,
    is_ours,
    parts_of,
    tensor_meta,
)
from .reachable import Reachable
from .sources import ABSENT, Attribute, Source, named
from .values import LONGEST, Opened, comparable

_PLACES = (tuple, list, *DICTS)  # containers in which Tensors are found by their keys
_ALIKE = (Primitive, CellTree)


class Fingerprint(NamedTuple):
    """The values that a run may depend on, in the order in which they were found.

    Attributes:
        cells, objects: the attributes of each.
        variables, names: the values of variables of closures, of globals and of names of classes.
        functions: code and defaults of each.
        slots, parameters, tensors: the attributes of each; of Tensors those without a source.
        kinds: the classes of objects, and the bases of classes.
        owners: whether each object still has the same dict of attributes.
        sizes: how many names the program's modules and classes have.
        aliases: which names hold the same list, dict, set or deque.
        behind: what bound methods belong to.
        thread: the thread, if the run reads what only one thread sees.
        arithmetic: the settings of the arithmetic of numbers.
    """

    cells: list
    objects: list
    variables: list
    names: list
    functions: list
    slots: list
    parameters: list
    tensors: list
    kinds: list
    owners: list[bool]
    sizes: list[int]
    aliases: list[int]
    behind: list
    thread: int
    arithmetic: list


def kinds_of(reach: Reachable) -> list:
    """The classes of objects and Cells, and the bases of classes."""
    return [*map(type, reach.objects.all()),
            *[owner.__mro__ for owner, *_ in reach.names.spaces.values()
              if issubclass(type(owner), type)]]


class Difference(NamedTuple):
    """What differs between two fingerprints.

    Attributes:
        what: its description in messages.
        name: the name under which code reads it; empty if it has none.
        before, now: the two values; empty if they can't be shown.
    """

    what: str
    name: str = ""
    before: str = ""
    now: str = ""

    @classmethod
    def of(cls, source: Source, before: Any, now: Any) -> Difference:
        """The difference of a named value, from what `comparable` made of it."""
        return cls(source.describe(), source.key, _shown(before), _shown(now))


def difference(reach: Reachable, before: Fingerprint, now: Fingerprint) -> Difference:
    """The first difference between two fingerprints of the same objects."""
    owners = [(cell, a[0], b[0])
              for cell, a, b in zip(reach.objects.cells, before.cells, now.cells, strict=True)]
    owners += list(zip(reach.objects.others, before.objects, now.objects, strict=True))
    for thing, old, new in owners:
        for name in dict(new).keys() | dict(old).keys():
            a, b = (dict(values).get(name, ABSENT) for values in (old, new))
            if a != b:
                return Difference.of(Attribute(thing, name), a, b)
    for variable, old, new in zip(reach.names.variables, before.variables, now.variables,
                                  strict=True):
        if old != new:
            return Difference.of(variable, old, new)
    for (owner, _, used), old, new in zip(reach.names.spaces.values(), before.names, now.names,
                                          strict=True):
        for name, a, b in zip(used, old, new, strict=True):
            if a != b:
                return Difference.of(named(owner, name), a, b)
    return Difference("something that it reads")


def _shown(found: Any) -> str:
    """A plain value, from what `comparable` made of it, as text; empty for other values."""
    if found is ABSENT:
        return "nothing"
    if is_a(found, str):
        return found
    if is_a(found, tuple) and len(found) == 2 and found[0] in ATOMS:
        return repr(found[1])[:60]
    return ""


def slot(value: Any, seen: dict[int, Any], opened: Opened, content: Any = None) -> Any:
    """What is compared of a name's value; of a Tensor its metadata and its aliases.

    Args:
        seen: numbers the Tensors and the containers that hold some by identity, so that two names
            of the same one are recognized.
        content: the value's `content_of_tensor` or `comparable`, if that is known.
    """
    if type(value) is Tensor:
        return (content_of_tensor(value) if content is None else content,
                seen.setdefault(id(value), len(seen)))
    if type(value) in _PLACES and holds_tensors(value):
        if type(value) is not tuple:
            count = len(seen)
            number = seen.setdefault(id(value), count)
            if number != count:
                return type(value), number  # a container that was met before, or contains itself
        parts = parts_of(value) if type(value) in DICTS else enumerate(value)
        return type(value), comparable(default_of(value)), tuple([
            (comparable(key), slot(part, seen, opened)) for key, part in parts])
    return comparable(value, 0, opened) if content is None else content


def content_of_tensor(tensor: Tensor) -> Any:
    """What is compared of a Tensor's content."""
    own = tensor.__dict__
    return (tensor_meta(tensor._raw), comparable(own)) if own else tensor_meta(tensor._raw)


def holds_tensors(value: Any, depth: int = 0, met: set[int] | None = None) -> bool:
    """Whether there are Tensors in a tuple, list or dict, or in containers inside of it.

    Those that were `met` before have been looked at.
    """
    met = set() if met is None else met
    if len(value) > LONGEST or id(value) in met:
        return False
    met.add(id(value))
    parts = [part for _, part in parts_of(value)] if type(value) in DICTS else value
    return any(
        type(part) is Tensor or type(part) in _PLACES and depth < LEVELS
        and holds_tensors(part, depth + 1, met) for part in parts)


def kind_of_rule(value: Any) -> Any:
    """What equal Primitives, or Cells without Parameters, have in common; None for others.

    Only for objects of Lamella's own classes: those of the program's may keep any state.
    """
    if not is_a(value, _ALIKE) or not is_ours(value):
        return None
    found = []
    caches = caches_of(type(value))
    for name, part in value.__dict__.items():
        if name != "_create_time" and name not in caches:
            kind = _part_of_rule(part)
            if kind is None:
                return None
            found.append((name, kind))
    return type(value), tuple(found)


def _part_of_rule(part: Any) -> Any:
    if is_a(part, Tensor):
        return None
    if is_a(part, _ALIKE):
        return kind_of_rule(part)
    if is_a(part, (dict, tuple, list)):
        pairs = part.items() if is_a(part, dict) else enumerate(part)
        kinds = tuple([(comparable(key), _part_of_rule(inner)) for key, inner in pairs])
        return None if any(kind[-1] is None for kind in kinds) else (type(part), kinds)
    return comparable(part)
