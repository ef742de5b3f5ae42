"""Checks of arguments, shared by all operations of data pipelines. Each returns the checked value.

`owner` is the name that an error begins with, or the operation itself, whose class has that name.
"""

from __future__ import annotations

import os
from typing import Any

LARGEST = 2**31 - 1


def name_of(owner: Any) -> str:
    """The name of an operation, or the name itself."""
    return owner if isinstance(owner, str) else type(owner).__name__


def boolean(owner: Any, argument: str, value: Any) -> bool:
    """True or False.

    Raises:
        TypeError: if it is anything else.
    """
    return _of_type(bool, owner, argument, value)


def string(owner: Any, argument: str, value: Any) -> str:
    """A str.

    Raises:
        TypeError: if it is anything else.
    """
    return _of_type(str, owner, argument, value)


def _of_type(kind: type, owner: Any, argument: str, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"For '{name_of(owner)}', '{argument}' must be a {kind.__name__}, "
                        f"but got {value!r}.")
    return value


def existing_file(path: Any) -> Any:
    """The path of a file that exists.

    Raises:
        TypeError: if it is no path.
        ValueError: if there is no such file.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"The path of a file must be a str, but got {path!r}.")
    if not os.path.isfile(path):
        raise ValueError(f"The file {path} does not exist or permission denied!")
    return path


def integer(owner: Any, argument: str, value: Any, low: int | None = None,
            high: int | None = None) -> int:
    """An int between two bounds, both included.

    Raises:
        TypeError: if it is no int.
        ValueError: if it is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"For '{name_of(owner)}', '{argument}' must be an int, but got {value!r}.")
    if low is not None and value < low or high is not None and value > high:
        wanted = f"an int of {low} or more" if high is None else f"in [{low}, {high}]"
        raise ValueError(f"For '{name_of(owner)}', '{argument}' must be {wanted}, but got {value}.")
    return value


def number(owner: Any, argument: str, value: Any, low: float | None = None,
           high: float | None = None, above: bool = False) -> Any:
    """An int or a float between two bounds; both are included, but with `above` the lower isn't.

    Raises:
        TypeError: if it is no number.
        ValueError: if it is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"For '{name_of(owner)}', '{argument}' must be a number, but got "
                        f"{value!r}.")
    if (low is not None and (value <= low if above else value < low)) or (
            high is not None and value > high):
        wanted = f"in {'(' if above else '['}{low}, {high}]"
        if high is None:
            wanted = f"above {low}" if above else f"{low} or more"
        raise ValueError(f"For '{name_of(owner)}', '{argument}' must be {wanted}, but got {value}.")
    return value


def pair(owner: Any, argument: str, value: Any, low: float | None = None,
         high: float | None = None) -> tuple[Any, Any]:
    """Two numbers, the first not larger.

    Raises:
        TypeError, ValueError: if they aren't.
    """
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise TypeError(f"For '{name_of(owner)}', '{argument}' must be two numbers, but got "
                        f"{value!r}.")
    for one in value:
        number(owner, argument, one, low, high)
    if value[0] > value[1]:
        raise ValueError(f"For '{name_of(owner)}', '{argument}' must be (min, max), but got "
                         f"{value!r}.")
    return value[0], value[1]


def choice(owner: Any, argument: str, value: Any, kind: Any) -> Any:
    """A member of an enumeration.

    Raises:
        TypeError: if it is none.
    """
    if not isinstance(value, kind):
        raise TypeError(f"For '{name_of(owner)}', '{argument}' must be a {kind.__name__}, but got "
                        f"{value!r}.")
    return value
