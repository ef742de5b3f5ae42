"""What the arguments of loaders and samplers must be."""

from __future__ import annotations

from typing import Any

from ...core.errors import describe


def check_type(name: str, value: Any, kind: Any, optional: bool = False) -> None:
    """A value must be of a type; True and False aren't numbers.

    Raises:
        TypeError: if it isn't.
    """
    if optional and value is None:
        return
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        wanted = " or ".join(k.__name__ for k in kinds)
        raise TypeError(f"{name} must be {wanted}, but got: {type(value).__name__}.")


def length_of(name: str, value: Any, owner: str) -> int:
    """The length of what is sampled.

    Raises:
        TypeError: if it has none.
    """
    if not hasattr(value, "__len__"):
        raise TypeError(f"For '{owner}', '{name}' must have a length, but got {describe(value)}.")
    return len(value)


def check_positive(name: str, value: Any, optional: bool = False) -> None:
    """A value must be an int above 0.

    Raises:
        TypeError, ValueError: if it isn't.
    """
    check_type(name, value, int, optional)
    if value is not None and value <= 0:
        raise ValueError(f"{name} must be positive, but got: {value}.")


def check_not_negative(name: str, value: Any, kind: Any) -> None:
    """A value must be a number, 0 or above.

    Raises:
        TypeError, ValueError: if it isn't.
    """
    check_type(name, value, kind)
    if not value >= 0:
        raise ValueError(f"{name} must be non-negative, but got: {value}.")
