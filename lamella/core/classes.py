"""What an object is and holds, found without running code of its own.

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


@functools.lru_cache(1024)
def reader_of(cls: type) -> Callable[[Any, str], Any]:
    """How Python itself reads attributes of a class's objects: not by a method of Python code.

    A class written in C, as `threading.local`, may have a way of its own.
    """
    return next(found for base in cls.__mro__
                if (found := vars(base).get("__getattribute__")) is not None
                and not is_a(found, types.FunctionType))


def slot_of(thing: object, name: str, absent: Any) -> Any:
    """An attribute that has a place in the object's slots; `absent` if it isn't set.

    Examples:
        >>> slot_of(slice(1, 2), "stop", None), slot_of(slice(1, 2), "size", None)
        (2, None)
    """
    try:
        return reader_of(type(thing))(thing, name)
    except AttributeError:
        return absent


def attributes_of(thing: object) -> Any:
    """The object's `__dict__`, or None if it has none.

    Examples:
        >>> attributes_of(ValueError()), attributes_of(3)
        ({}, None)
    """
    try:
        return reader_of(type(thing))(thing, "__dict__")
    except AttributeError:
        return None
