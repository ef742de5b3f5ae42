"""Checks of plain arguments: numbers in a range, truth values, types."""

from __future__ import annotations

from typing import Any


def of_type(where: str, name: str, value: Any, *types: type) -> None:
    """Refuse a value that has none of `types`; a bool counts only as bool."""
    if isinstance(value, bool) and bool not in types or not isinstance(value, types):
        wanted = " or ".join(t.__name__ for t in types)
        raise TypeError(f"For '{where}', '{name}' must be a {wanted}, "
                        f"but got {value!r} of type {type(value).__name__}.")


def positive_int(where: str, name: str, value: Any) -> None:
    """Refuse what is not an int above 0."""
    of_type(where, name, value, int)
    if value <= 0:
        raise ValueError(f"For '{where}', '{name}' must be an int above 0, but got {value}.")


def positive_float(where: str, name: str, value: Any) -> None:
    """Refuse what is not a float above 0."""
    of_type(where, name, value, float)
    if not value > 0:
        raise ValueError(f"For '{where}', '{name}' must be a float above 0, but got {value}.")


def non_negative_float(where: str, name: str, value: Any) -> None:
    """Refuse what is not a float of 0 or more."""
    of_type(where, name, value, float)
    if not value >= 0:
        raise ValueError(f"For '{where}', '{name}' must be a float of 0 or more, but got {value}.")


def between(where: str, name: str, value: Any, low: float, high: float,
            inclusive: bool = False) -> None:
    """Refuse what is not a float from `low` to `high`, ends left out unless `inclusive`."""
    of_type(where, name, value, float)
    if not (low <= value <= high if inclusive else low < value < high):
        ends = "[]" if inclusive else "()"
        raise ValueError(f"For '{where}', '{name}' must be in {ends[0]}{low}, {high}{ends[1]}, "
                         f"but got {value}.")
