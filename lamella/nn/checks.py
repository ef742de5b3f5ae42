"""Checks of the arguments of layers and optimizers: those of `core.require`, and of shapes."""

from __future__ import annotations

from typing import Any

from ..core.require import (
    boolean,
    float_within,
    int_at_least_0,
    non_negative_float,
    of_type,
    one_of,
    positive_float,
    positive_int,
    within,
)
from ..ops.windows import LARGEST
from ..tensors.tensor import Tensor

LARGEST_COUNT = 2**14  # of layers or parts that are made or run one by one

__all__ = [
    "boolean", "count", "float_within", "init_shape", "int_at_least_0", "non_negative_float",
    "of_type", "one_of", "positive_float", "positive_int", "rank", "sizes", "tensor", "within",
]


def count(value: Any, name: str, owner: str) -> int:
    """`value`, which must be an int above 0, and small enough to make so many layers or parts."""
    if positive_int(value, name, owner) > LARGEST_COUNT:
        raise ValueError(f"For '{owner}', '{name}' must be at most {LARGEST_COUNT}, "
                         f"but got {value}.")
    return value


def sizes(value: Any, count: int, name: str, owner: str, low: int = 1) -> tuple[int, ...]:
    """`count` ints of `low` or more, from an int or a tuple of them."""
    if isinstance(value, (tuple, list)):
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
