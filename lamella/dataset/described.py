"""Objects that remember what they were made with, so that they can be written down."""

from __future__ import annotations

import copyreg
import functools
import inspect
from typing import Any

from .arguments import bound


class Described:
    """The base of what `serialize` writes: datasets and operations."""

    _made_with: tuple[tuple[Any, ...], dict[str, Any]] | None = None  # None: not remembered
    in_memory = False  # whether it is made of data in memory, which isn't kept twice

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """The object, with the arguments that ``__init__`` is going to get."""
        cls._check_arguments(bound(cls.__name__, _signature(cls), (None, *args), kwargs))
        made = super().__new__(cls)
        if not cls.in_memory:
            made._made_with = args, kwargs
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        """As `object`'s; what is copied isn't made anew, so there are no arguments to check."""
        made = super().__reduce_ex__(protocol)
        plain = made[0] is copyreg.__newobj__  # type: ignore[attr-defined]
        return (_empty, made[1][:1], *made[2:]) if plain else made

    @classmethod
    def _check_arguments(cls, arguments: dict[str, Any]) -> None:
        """Check what many classes have in common; arguments that aren't given are left out."""


def _empty(cls: type) -> Any:
    return object.__new__(cls)


@functools.cache
def _signature(cls: type) -> inspect.Signature:
    return inspect.signature(cls.__init__)


def arguments_of(thing: Described) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that an object was made with: those without a name, and those by name."""
    if thing._made_with is None:
        return [], {}
    args, kwargs = thing._made_with
    signature = inspect.signature(type(thing))
    bound = signature.bind(*args, **kwargs)
    kinds = {name: signature.parameters[name].kind for name in bound.arguments}
    if inspect.Parameter.VAR_POSITIONAL in kinds.values():
        return list(bound.args), bound.kwargs
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        if kinds[name] is inspect.Parameter.VAR_KEYWORD:
            found.update(value)
        else:
            found[name] = value
    return [], found
