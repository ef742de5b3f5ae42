"""Sections of docstrings that a family of functions shares are written once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
ORDER = ("Args", "Returns", "Raises", "Note", "Examples")
_HEAD = re.compile(rf"^    ({'|'.join(ORDER)}):\n", re.MULTILINE)


def documented_like(source: Callable[..., Any]) -> Callable[[Function], Function]:
    """Gives a function the sections of another one's docstring that its own lacks.

    Only ``Args`` and ``Raises`` are taken: what a function returns, and its examples, are its own.

    Examples:
        >>> def first(x):
        ...     '''The first.
        ...
        ...     Args:
        ...         x: any shape.
        ...     '''
        >>> @documented_like(first)
        ... def second(x):
        ...     '''The second.
        ...
        ...     Returns:
        ...         Tensor
        ...     '''
        >>> print(second.__doc__)
        The second.
        <BLANKLINE>
            Args:
                x: any shape.
        <BLANKLINE>
            Returns:
                Tensor
        <BLANKLINE>
    """
    def add(function: Function) -> Function:
        if function.__doc__ and source.__doc__:  # python -OO has none
            head, own = _sections(function.__doc__)
            shared = {name: text for name, text in _sections(source.__doc__)[1].items()
                      if name in ("Args", "Raises")}
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
