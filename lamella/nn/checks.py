"""Checks of plain arguments, such as those that layers and optimizers are built with.

Each returns the value that it let through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.windows import LARGEST
from ..tensors.tensor import Tensor

LARGEST_COUNT = 2**14  # of layers or parts that are made or run one by one

__all__ = [
    "boolean", "count", "float_within", "init_shape", "int_at_least_0", "non_negative_float",
    "of_type", "positive_float", "positive_int", "rank", "sizes", "tensor", "within",
]


def of_type(value: Any, types: type | tuple[type, ...], name: str, owner: str) -> Any:
    """`value`, which must be of one of `types`; a bool counts only where bool is named."""
    types = types if isinstance(types, tuple) else (types,)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        wanted = " or ".join(t.__name__ for t in types)
        raise TypeError(f"For '{owner}', '{name}' must be a {wanted}, "
                        f"but got {value!r} of type {type(value).__name__}.")
    return value


def boolean(value: Any, name: str, owner: str) -> bool:
    """`value`, which must be a bool."""
    return of_type(value, bool, name, owner)


def positive_int(value: Any, name: str, owner: str) -> int:
    """`value`, which must be an int above 0."""
    if of_type(value, int, name, owner) <= 0:
        raise ValueError(f"For '{owner}', '{name}' must be an int above 0, but got {value}.")
    return value


def count(value: Any, name: str, owner: str) -> int:
    """`value`, which must be an int above 0, and small enough to make so many layers or parts."""
    if positive_int(value, name, owner) > LARGEST_COUNT:
        raise ValueError(f"For '{owner}', '{name}' must be at most {LARGEST_COUNT}, "
                         f"but got {value}.")
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


def sizes(value: Any, count: int, name: str, owner: str, low: int = 1) -> tuple[int, ...]:
    """`count` ints of `low` or more, from an int or a tuple of them."""
    if isinstance(value, (tuple, list)) and not isinstance(value, bool):
        if len(value) != count:
            raise ValueError(f"For '{owner}', '{name}' must be an int or a tuple of {count} ints, "
                             f"but got {value}.")
    else:
        value = (of_type(value, (int, tuple), name, owner),) * count
    for item in value:
        if not low <= of_type(item, int, name, owner) <= LARGEST:
            raise ValueError(f"For '{owner}', '{name}' must be made of ints of {low} or more, and "
                             f"less than 2 to the 31st, but got {tuple(value)}.")
    return tuple(value)


def tensor(value: Any, name: str, owner: str) -> Tensor:
    """`value`, which must be a Tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"For '{owner}', '{name}' must be a Tensor, but got {value!r} "
                        f"of type {type(value).__name__}.")
    return value


def init_shape(value: Any, shape: tuple[int, ...], name: str, owner: str) -> Any:
    """`value`, an initializer, which must have `shape` if it is a Tensor."""
    if isinstance(value, Tensor) and value.shape != shape:
        raise ValueError(f"For '{owner}', the Tensor '{name}' must have shape {shape}, "
                         f"but got {value.shape}.")
    return value


def rank(shape: tuple[int, ...], allowed: tuple[int, ...], owner: str) -> None:
    """Raise unless an input of `shape` has one of the `allowed` numbers of dimensions."""
    if len(shape) not in allowed:
        wanted = " or ".join(str(n) for n in allowed)
        raise ValueError(f"For '{owner}', the input must have {wanted} dimensions, "
                         f"but got shape {shape}.")
