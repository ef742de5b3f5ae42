"""Settings that are one of a few values, checked and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def choice(name: str, *values: Any) -> Callable[[Any], None]:
    """A function that takes one of some values and keeps it; it has no effect here.

    Without values, it takes anything.

    Examples:
        >>> mode = choice("mode", "fast", "exact")
        >>> mode("fast"), mode.value
        (None, 'fast')
    """
    def keep(value: Any) -> None:
        if values and not any(value is v or (type(value) is type(v) and value == v)
                              for v in values):
            raise ValueError(f"For '{name}', the value must be one of {list(values)}, "
                             f"but got {value!r}.")
        keep.value = value  # type: ignore[attr-defined]

    keep.__name__ = keep.__qualname__ = name
    keep.__doc__ = f"Keep {name!r}" + (f", one of {list(values)}" if values else "") + (
        "; it has no effect here.")
    keep.value = None  # type: ignore[attr-defined]
    return keep
