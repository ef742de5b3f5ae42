"""Checks of plain arguments: what a value must be, and the error that says so.

Each function returns the value that it lets through. `name` is the argument, `owner` the function
or class that the program called; errors say both, what was expected and what was given. Checks of
Tensors are in `nn.checks` and `ops.arguments`; `core.checks` are those that MindSpore offers to
programs, with its own texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number
from typing import Any

import numpy as np

from .errors import describe

__all__ = ["boolean", "float_within", "int_at_least_0", "non_negative_float", "of_type", "one_of",
           "positive_float", "positive_int", "within"]


def of_type(value: Any, types: type | tuple[type, ...], name: str, owner: str) -> Any:
    """`value`, which must be of one of `types`; a bool counts only where bool is named.

    >>> of_type("3", (int, float), "size", "Dense")
    Traceback (most recent call last):
    TypeError: For 'Dense', 'size' must be an int or float, but got '3' of type str.
    """
    types = types if isinstance(types, tuple) else (types,)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        wanted = " or ".join(t.__name__ for t in types)
        article = "an" if wanted[0] in "aeioAEIO" else "a"
        raise TypeError(f"For '{owner}', '{name}' must be {article} {wanted}, "
                        f"but got {_with_type(value)}.")
    return value


def _with_type(value: Any) -> str:
    """A value and its type; the type alone of objects whose text says no more."""
    kind = type(value).__name__
    plain = isinstance(value, (str, Number, tuple, list, type(None))) or hasattr(value, "_raw")
    return f"{describe(value)} of type {kind}" if plain else kind


def one_of(value: Any, allowed: Iterable[Any], name: str, owner: str) -> Any:
    """`value`, which must be one of `allowed`.

    >>> one_of("median", ("mean", "sum"), "reduction", "MSELoss")
    Traceback (most recent call last):
    ValueError: For 'MSELoss', 'reduction' must be one of 'mean', 'sum', but got 'median'.
    """
    allowed = tuple(allowed)
    # a tensor or an array isn't compared: the answer would be one for each element
    if not isinstance(value, (str, Number, tuple, list, type(None))) or value not in allowed:
        raise ValueError(f"For '{owner}', '{name}' must be one of "
                         f"{', '.join(map(repr, allowed))}, but got {describe(value)}.")
    return value


def boolean(value: Any, name: str, owner: str) -> bool:
    """`value`, which must be a bool."""
    return of_type(value, bool, name, owner)


def positive_int(value: Any, name: str, owner: str) -> int:
    """`value`, which must be an int above 0."""
    if of_type(value, int, name, owner) <= 0:
        raise ValueError(f"For '{owner}', '{name}' must be an int above 0, but got {value}.")
    return value


def int_at_least_0(value: Any, name: str, owner: str) -> int:
    """`value`, which must be an int of 0 or more."""
    if of_type(value, int, name, owner) < 0:
        raise ValueError(f"For '{owner}', '{name}' must be 0 or more, but got {value}.")
    return value


def positive_float(value: Any, name: str, owner: str) -> float:
    """`value`, which must be a float above 0."""
    if not of_type(value, float, name, owner) > 0:
        raise ValueError(f"For '{owner}', '{name}' must be a float above 0, but got {value}.")
    return value


def non_negative_float(value: Any, name: str, owner: str) -> float:
    """`value`, which must be a float of 0 or more."""
    if not of_type(value, float, name, owner) >= 0:
        raise ValueError(f"For '{owner}', '{name}' must be a float of 0 or more, but got {value}.")
    return value


def within(value: Any, low: float, high: float, ends: str, name: str, owner: str) -> Any:
    """`value`, which must lie between `low` and `high`; `ends` is such as ``"[)"``."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise TypeError(f"For '{owner}', '{name}' must be a number, but got {value!r} of type "
                        f"{type(value).__name__}.")
    above = value >= low if ends[0] == "[" else value > low
    below = value <= high if ends[1] == "]" else value < high
    if not (above and below):
        raise ValueError(f"For '{owner}', '{name}' must be in {ends[0]}{low}, {high}{ends[1]}, "
                         f"but got {value}.")
    return value


def float_within(value: Any, low: float, high: float, ends: str, name: str, owner: str) -> float:
    """As `within`, of a float."""
    return within(of_type(value, float, name, owner), low, high, ends, name, owner)
