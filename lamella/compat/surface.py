"""The coverage of MindSpore 2.10's public names: ``python -m lamella names``."""

from __future__ import annotations

import importlib
from collections import defaultdict
from typing import Any, NamedTuple

from . import absent, alias

__all__ = ["Count", "counts"]


_CLASSES = ("Cell", "Dataset", "Parameter", "Tensor")  # whose attributes are counted, too


class Count(NamedTuple):
    """How many names of a room of MindSpore's there are.

    Attributes:
        there: the number of names that Lamella has.
        missing: the paths of those it has not.
    """

    there: int
    missing: list[str]


def counts() -> dict[str, Count]:
    """For each of MindSpore's packages, such as ``mindspore.nn``, its names that exist here.

    The alias is installed for it, and uninstalled afterwards unless it was there before.

    Examples:
        >>> found = counts()
        >>> found["mindspore.amp"].missing
        []
    """
    before = alias.installed()
    alias.install()
    try:
        there: dict[str, int] = defaultdict(int)
        missing: dict[str, list[str]] = defaultdict(list)
        for owner, names in sorted(absent.names().items()):
            last = owner.rpartition(".")[2]
            if last[0].isupper() and last not in _CLASSES or ".ops." in owner:
                continue  # attributes of a class, most of which it inherits; internal modules
            room = ".".join(owner.split(".")[:2])
            holder = _found(owner)
            for name in sorted(n for n in names if not n.startswith("_")):
                if hasattr(holder, name):
                    there[room] += 1
                else:
                    missing[room].append(f"{owner}.{name}")
        return {room: Count(there[room], missing[room]) for room in sorted({*there, *missing})}
    finally:
        if not before:
            alias.uninstall()


def _found(path: str) -> Any:
    """A module, or a class in one; None if there is neither."""
    try:
        return importlib.import_module(path)
    except ImportError:
        around, _, name = path.rpartition(".")
        return getattr(_found(around), name, None) if around else None
