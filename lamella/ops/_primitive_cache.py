"""Primitives that are built once for each choice of arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .primitive import Primitive

_built: dict[tuple[Any, ...], Primitive] = {}


def _get_cache_prim(cls: type[Primitive]) -> Callable[..., Primitive]:
    """A function that makes a Primitive of class `cls`, or gives the one that it made before from
    the same arguments.

    Args:
        cls: the class.

    Returns:
        A function with the arguments of `cls`.

    Examples:
        >>> from lamella.ops import Primitive
        >>> make = _get_cache_prim(Primitive)
        >>> make("Add") is make("Add"), make("Add") is make("Sub")
        (True, False)
    """
    def cached(*args: Any, **kwargs: Any) -> Primitive:
        # a type and its text, as 1, 1.0 and True are equal; lists are allowed
        key = (cls, *(_key(value) for value in args),
               *((name, _key(value)) for name, value in sorted(kwargs.items())))
        if key not in _built:
            _built[key] = cls(*args, **kwargs)
        return _built[key]

    return cached


def _key(value: Any) -> tuple[type, str]:
    return type(value), repr(value)
