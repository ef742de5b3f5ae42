"""The class and the attributes of an object, found without running code of the object's.

`isinstance` asks for `__class__`, and `thing.__dict__` for an attribute. Proxies and modules that
are imported when they are first used answer both by code of their own, which may do anything.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import TypeIs

_T = TypeVar("_T")


def is_a(thing: object, kinds: type[_T] | tuple[type[_T], ...]) -> TypeIs[_T]:
    """As `isinstance`, by the class that the object really has.

    Examples:
        >>> from unittest.mock import Mock
        >>> isinstance(Mock(spec=int), int), is_a(Mock(spec=int), int), is_a(True, (str, int))
        (True, False, True)
    """
    return issubclass(type(thing), kinds)


@functools.lru_cache(4096)
def built_in(cls: type, name: str) -> Callable[..., Any]:
    """A method of a class as Python's own classes have it, below those that are Python code.

    A program's `dict` may override `items`, and show something else than it holds.

    Examples:
        >>> class Shown(dict):
        ...     def items(self):
        ...         return []
        >>> list(built_in(Shown, "items")(Shown(a=1)))
        [('a', 1)]
    """
    return next(found for base in cls.__mro__ if (found := vars(base).get(name)) is not None
                and not is_a(found, types.FunctionType))


def slot_of(thing: object, name: str, absent: Any) -> Any:
    """An attribute that has a place in the object's slots; `absent` if it isn't set.

    Examples:
        >>> slot_of(slice(1, 2), "stop", None), slot_of(slice(1, 2), "size", None)
        (2, None)
    """
    try:
        return built_in(type(thing), "__getattribute__")(thing, name)
    except AttributeError:
        return absent


def attributes_of(thing: object) -> Any:
    """The object's `__dict__`, or None if it has none.

    Examples:
        >>> attributes_of(ValueError()), attributes_of(3)
        ({}, None)
    """
    try:
        return built_in(type(thing), "__getattribute__")(thing, "__dict__")
    except AttributeError:
        return None
