"""Names that a room shows, but a room above it defines.

MindSpore has ``ops.coo_add`` beside ``ops.add``, and ``parallel.unified_safetensors``, which works
on checkpoints. Here rooms import one way, so such a room asks this table for names that it lacks.
The top of the package fills the table (`compat.shown`). What a name stands for is imported when it
is first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

__all__ = ["found_elsewhere", "names_elsewhere", "show_elsewhere"]

_homes: dict[str, dict[str, str]] = {}  # by room and name: the module that has it
_PACKAGE = __name__.partition(".")[0]


def show_elsewhere(room: str, home: str, names: Iterable[str]) -> None:
    """Have a room show names that another module has; both are given without ``lamella.``."""
    _homes.setdefault(room, {}).update(dict.fromkeys(names, home))


def found_elsewhere(room: str, name: str) -> Any:
    """What a room shows under a name that another module has.

    Raises:
        AttributeError: if it shows none of that name.
    """
    home = _homes.get(room, {}).get(name)
    if home is None:
        raise AttributeError(f"module '{_PACKAGE}.{room}' has no attribute {name!r}", name=name)
    return getattr(importlib.import_module(f"{_PACKAGE}.{home}"), name)


def names_elsewhere(room: str) -> set[str]:
    """The names that a room shows of other modules."""
    return set(_homes.get(room, ()))
