"""Converts operands to the tensors, types and axes that kernels take."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import torch

from ..core.dtype import is_inexact
from ..core.state import numbers
from ..tensors.kernels import of_rank_0
from ..tensors.promotion import LEAST, MOST, operand, promote, promote_factors
from ..tensors.tensor import as_raw

_NUMBERS = frozenset((bool, int, float))


def operands(input: Any, other: Any) -> tuple[Any, Any]:
    """Both sides of a binary operator: raw tensors of one type, or a tensor and a number.

    Two tensors of different types are promoted; a number has no say in the type's width. It can be
    on either side, for kernels that are those of Python's syntax.
    """
    if type(other) in _NUMBERS and LEAST <= other <= MOST:
        a = getattr(input, "_raw", None)
        if a is not None:
            return a, other
    try:
        a, b = input._raw, other._raw
    except AttributeError:
        a, b = _mixed(input, other)
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            return a, b
    return (a, b) if a.dtype is b.dtype else promote(a, b)


def sides(input: Any, other: Any) -> tuple[torch.Tensor, Any]:
    """As `operands`, for kernels that take a number on the right only."""
    a, b = operands(input, other)
    return (a, b) if isinstance(a, torch.Tensor) else weak(a, b)


def factors(input: Any, other: Any) -> tuple[Any, Any]:
    """As `operands`, for products and quotients, where a tensor of rank 0 has no say either."""
    a, b = getattr(input, "_raw", None), getattr(other, "_raw", None)
    if a is None or b is None:
        return operands(input, other)
    return (a, b) if a.dtype is b.dtype else promote_factors(a, b)


def _mixed(input: Any, other: Any) -> tuple[Any, Any]:
    a = getattr(input, "_raw", None)
    if a is not None:
        b = operand(other, a)
        if b is not NotImplemented:
            return a, b
        raise TypeError(f"'other' must be a Tensor or a number, but got {other!r} "
                        f"of type {type(other).__name__}.")
    b = getattr(other, "_raw", None)
    if b is None:
        return as_raw(input), as_raw(other)
    a = operand(input, b)
    if a is NotImplemented:
        raise TypeError(f"'input' must be a Tensor or a number, but got {input!r} "
                        f"of type {type(input).__name__}.")
    return a, b


def weak(number: Any, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A number as a tensor, and the tensor it meets, in the type that the number leaves it."""
    alone = of_rank_0(number, like)
    return alone, like.to(alone.dtype)


def both(input: Any, other: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """As `sides`, for kernels that take no numbers: both are tensors."""
    a, b = sides(input, other)
    if isinstance(b, torch.Tensor):
        return a, b
    b, a = weak(b, a)
    return a, b


def floats(input: Any, other: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """As `both`, with integers turned to float32."""
    if type(other) is int and other < 0:  # unsigned types don't hold it
        other = float(other)
    a, b = both(input, other)
    return floating(a), floating(b)


def floating(raw: torch.Tensor) -> torch.Tensor:
    """The tensor itself if it is floating or complex, else in float32."""
    return raw if is_inexact(raw.dtype) else raw.float()


def axes(axis: Any, raw: torch.Tensor) -> tuple[int, ...]:
    """The axes to reduce: None and () stand for all of them."""
    if isinstance(axis, int):
        return (axis,)
    values = getattr(axis, "_raw", None)
    if values is not None:
        axis = numbers(values.reshape(-1))
    elif hasattr(axis, "__index__"):
        axis = (operator.index(axis),)
    if axis is not None and not isinstance(axis, (tuple, list)):
        raise TypeError(f"an axis must be an int or a tuple of ints, but got {axis!r}.")
    return tuple(axis) if axis else tuple(range(raw.dim()))


def flag(value: Any, where: str, name: str) -> bool:
    """`value`, if it is a bool.

    Raises:
        TypeError: if it is anything else.
    """
    if value is True or value is False:
        return value
    raise TypeError(f"For '{where}', '{name}' must be a bool, but got {value!r} "
                    f"of type {type(value).__name__}.")


def spelled(function: Callable[..., Any], **names: str) -> Callable[..., Any]:
    """A Tensor method over `function` that also takes other spellings of its arguments.

    MindSpore's methods have overloads that name one argument ``axis`` or ``dim``, ``keepdims``,
    ``keep_dims`` or ``keepdim``.
    """
    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = {names.get(k, k): v for k, v in kwargs.items()}
        return function(*args, **kwargs)

    setattr(method, "spelling", (function, names))  # noqa: B010  (see tensor_methods)
    return method
