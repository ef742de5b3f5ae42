"""The numbers that MindSpore 2.10 takes when its Primitives are made.

MindSpore refuses others at once, by a TypeError or a ValueError; the functions of `ops` see them
only when they are called. A whole number is taken where a float is wanted.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from ..primitive import Primitive
from .declared_types import classes_of

_FILE = Path(__file__).parents[2] / "data" / "primitive_settings.txt"
_WORDS = {"int": "an int", "ints": "an int, or a tuple or list of ints", "float": "a number"}
_RELATIONS: dict[str, tuple[Callable[[Any, float], bool], str]] = {
    ">=": (operator.ge, "at least"), "<=": (operator.le, "at most"), ">": (operator.gt, "above")}


class Setting(NamedTuple):
    """What one argument of a Primitive's constructor takes.

    Attributes:
        kind: "int", "ints" (one, or a tuple or list) or "float".
        bounds: relations that every number satisfies, such as (">=", 0.0).
        among: the only values, if there are but a few.
        or_none: whether it may be None.
    """

    kind: str
    bounds: tuple[tuple[str, float], ...]
    among: tuple[int, ...]
    or_none: bool

    def check(self, value: Any, name: str, owner: str) -> None:
        """Refuse what it doesn't take.

        Raises:
            TypeError: if it is no such number.
            ValueError: if the number is out of range.
        """
        if value is None and self.or_none:
            return
        values = value if self.kind == "ints" and isinstance(value, (tuple, list)) else (value,)
        for one in values:
            if getattr(one, "_raw", None) is not None:
                continue  # a Tensor's value isn't known while a graph is recorded
            if isinstance(one, bool) or not isinstance(one, _NUMBERS[self.kind]):
                raise TypeError(f"For '{owner}', '{name}' must be {_WORDS[self.kind]}"
                                f"{' or None' if self.or_none else ''}, but got {value!r} of type "
                                f"{type(value).__name__}.")
            if self.among and one not in self.among:
                shown = " or ".join(map(str, self.among))
                raise ValueError(f"For '{owner}', '{name}' must be {shown}, but got {value!r}.")
            for relation, bound in self.bounds:
                holds, words = _RELATIONS[relation]
                if not holds(one, bound):
                    raise ValueError(f"For '{owner}', '{name}' must be {words} {bound:g}, "
                                     f"but got {value!r}.")


_WHOLE = (int, np.integer, torch.SymInt)
_NUMBERS = {"int": _WHOLE, "ints": _WHOLE, "float": (*_WHOLE, float, np.floating, torch.SymFloat)}


def read(line: str) -> tuple[str, dict[str, Setting]]:
    """The name of a Primitive and its settings, from a line of the table.

    >>> name, settings = read("Renorm: p int >0; dim int None")
    >>> name, settings["p"].bounds, settings["dim"].or_none
    ('Renorm', (('>', 0.0),), True)
    """
    name, _, rest = line.partition(": ")
    found = {}
    for part in rest.split("; "):
        argument, kind, *words = part.split()
        bounds = tuple((word.rstrip("0123456789"), float(word.lstrip("<>=")))
                       for word in words if word[0] in "<>")
        among = tuple(int(word[1:]) for word in words if word[0] == "=")
        found[argument] = Setting(kind, bounds, among, "None" in words)
    return name, found


def declare(found: Mapping[str, Any]) -> None:
    """Have the Primitive classes of the table refuse other numbers when they are made.

    Args:
        found: name -> class; other things, and classes of other tables, are left alone.
    """
    for name, settings, kind in classes_of(_FILE, read, found):
        kind.__init__ = _checked(name, kind, kind.__init__, settings)


def _checked(name: str, kind: type, make: Callable[..., Any], settings: dict[str, Setting]
             ) -> Callable[..., Any]:
    @functools.cache
    def names() -> list[str]:
        return list(inspect.signature(kind).parameters)

    @functools.wraps(make)
    def checked(self: Primitive, *args: Any, **kwargs: Any) -> None:
        for argument, value in (*zip(names(), args, strict=False), *kwargs.items()):
            if argument in settings:
                settings[argument].check(value, argument, name)
        make(self, *args, **kwargs)

    return checked
