"""`documented_like`: sections of docstrings that a family of functions shares, written once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
ORDER = ("Args", "Returns", "Raises", "Note", "Examples")
SHARED = ("Args", "Returns", "Raises")
_HEAD = re.compile(rf"^    ({'|'.join(ORDER)}):\n", re.MULTILINE)


def documented_like(source: Callable[..., Any]) -> Callable[[Function], Function]:
    """Gives a function the sections of another one's docstring that its own lacks.

    ``Args``, ``Returns`` and ``Raises`` are taken, with the function's own names of the parameters
    in the same places; examples are its own.

    Examples:
        >>> def first(x):
        ...     '''The first.
        ...
        ...     Args:
        ...         x: any shape.
        ...
        ...     Returns:
        ...         Tensor of the shape of `x`.
        ...     '''
        >>> @documented_like(first)
        ... def second(y):
        ...     '''The second.'''
        >>> print(second.__doc__)
        The second.
        <BLANKLINE>
            Args:
                y: any shape.
        <BLANKLINE>
            Returns:
                Tensor of the shape of `y`.
        <BLANKLINE>
    """
    def add(function: Function) -> Function:
        if function.__doc__ and source.__doc__:  # python -OO has none
            head, own = _sections(function.__doc__)
            theirs = _sections(source.__doc__)[1]
            names = {name: other for name, other in zip(
                _parameters(source), _parameters(function), strict=False) if name != other}
            shared = {name: _renamed(theirs[name], names) for name in SHARED if name in theirs}
            found = {**shared, **own}
            function.__doc__ = "\n\n".join([head, *(
                f"    {name}:\n{found[name]}" for name in ORDER if name in found)]) + "\n    "
        return function

    return add


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """What stands before the first section, and the sections by name."""
    head, *rest = _HEAD.split(text)
    return head.rstrip(), {name: section.rstrip()
                           for name, section in zip(rest[::2], rest[1::2], strict=True)}


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters, in order."""
    code = inspect.unwrap(function).__code__
    return code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]


def _renamed(section: str, names: dict[str, str]) -> str:
    """A section with other names of parameters: in backquotes, and where it lists them."""
    if not names:
        return section
    word = rf"\b({'|'.join(map(re.escape, names))})\b"
    return re.sub(r"`[^`]*`|^        \w[\w, ]*:", lambda place: re.sub(
        word, lambda name: names[name[0]], place[0]), section, flags=re.MULTILINE)
