"""A mark for code whose calls of the system count as the program's own side effects.

A module or a room whose functions read or write files, ask the clock or the device, or talk to
other processes has a line ``__outside__ = True``; that of a room counts for all its modules. A run
that is recorded as a graph then judges the calls that such code makes of the system as if the
program made them. A single function that no graph can hold is decorated with `outside`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from .state import state

F = TypeVar("F", bound=Callable[..., Any])


def outside(function: F) -> F:
    """A function that no graph can hold: a compiled function that calls it runs eagerly."""
    name = f"{function.__module__}.{function.__qualname__}"

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.trace is not None:
            state.trace.refuse(f"calls {name}")
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def is_outside(module: str) -> bool:
    """Whether a module, or a room around it, has said ``__outside__ = True``."""
    parts = module.split(".")
    return any(getattr(sys.modules.get(".".join(parts[:count])), "__outside__", False)
               for count in range(len(parts), 0, -1))
