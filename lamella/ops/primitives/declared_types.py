"""The types that MindSpore 2.10 declares for the inputs of its Primitives, on every device.

MindSpore refuses other types before it looks for a kernel, by a TypeError that programs match. The
functions of `ops` compute with more types where they can.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch

from ...core.dtype import from_raw, promote_types, to_raw
from ..primitive import Primitive

_FILE = Path(__file__).parents[2] / "data" / "primitive_types.txt"
T = TypeVar("T")
_GROUPS = {
    "int": "int32 int64",
    "signed": "int8 int16 int32 int64",
    "integer": "int8 int16 int32 int64 uint8 uint16 uint32 uint64",
    "float": "float16 float32 float64",
    "complex": "complex64 complex128",
    "real": "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64",
}


class Declared(NamedTuple):
    """What one Primitive takes.

    Attributes:
        kinds: for the places of some inputs the types that they may have.
        alike: the places of the inputs that must have one type.
        promoted: the types that all inputs together may have, once they are promoted; None: any.
    """

    kinds: dict[int, frozenset[torch.dtype]]
    alike: tuple[int, ...]
    promoted: frozenset[torch.dtype] | None


def read(line: str) -> tuple[str, Declared]:
    """The name of a Primitive and what it takes, from a line of the table.

    >>> name, declared = read("Zeta: 0 float32 float64, 1 float32 float64, same 0 1")
    >>> name, len(declared.kinds[1]), declared.alike
    ('Zeta', 2, (0, 1))
    """
    name, _, rest = line.partition(": ")
    kinds, alike, promoted = {}, (), None
    for part in rest.split(", "):
        place, *words = part.split()
        if place == "same":
            alike = tuple(map(int, words))
            continue
        names = " ".join(_GROUPS.get(word, word) for word in words).split()
        allowed = frozenset([to_raw(n) for n in names])
        if place == "promoted":
            promoted = allowed
        else:
            kinds[int(place)] = allowed
    return name, Declared(kinds, alike, promoted)


def declare(found: Mapping[str, Any]) -> None:
    """Have the Primitive classes of a table refuse inputs of undeclared types.

    Args:
        found: name -> class; other things, and classes of other tables, are left alone.
    """
    for name, declared, kind in classes_of(_FILE, read, found):
        kind.__call__ = _checked(name, kind.__call__, declared)


def classes_of(file: Path, read: Callable[[str], tuple[str, T]], found: Mapping[str, Any]
               ) -> Iterator[tuple[str, T, Any]]:
    """Each name of a file, what `read` makes of its line, and the Primitive class of that name."""
    for line in file.read_text(encoding="utf-8").splitlines():
        name, declared = read(line)
        kind = found.get(name)
        if isinstance(kind, type) and issubclass(kind, Primitive):
            yield name, declared, kind


def _checked(name: str, call: Callable[..., Any], declared: Declared) -> Callable[..., Any]:
    kinds, alike, promoted = tuple(declared.kinds.items()), declared.alike, declared.promoted

    @functools.wraps(call)
    def checked(self: Primitive, *args: Any, **kwargs: Any) -> Any:
        given = [getattr(getattr(value, "_raw", None), "dtype", None) for value in args]
        for place, allowed in kinds:
            if place < len(given) and given[place] not in allowed and given[place] is not None:
                raise TypeError(_refused(name, place, args[place], allowed))
        if promoted is not None:
            known = [raw for raw in given if raw is not None]
            if known and len(known) == len(given) and (  # a number takes any type
                    functools.reduce(promote_types, known) not in promoted):
                raise TypeError(_refused(name, 0, args[0], promoted))
        if alike and len({given[place] for place in alike if place < len(given)} - {None}) > 1:
            shown = ", ".join(f"{place}: Tensor[{args[place].dtype}]" for place in alike
                              if place < len(given) and given[place] is not None)
            raise TypeError(f"For primitive[{name}], the input type must be same, but got {shown}.")
        return call(self, *args, **kwargs)

    return checked


def _refused(name: str, place: int, value: Any, allowed: frozenset[torch.dtype]) -> str:
    shown = sorted([f"Tensor[{from_raw[raw]}]" for raw in allowed])
    return (f"For primitive[{name}], the input argument[{place}] must be a type of "
            f"{{{', '.join(shown)}}}, but got Tensor[{value.dtype}].")
