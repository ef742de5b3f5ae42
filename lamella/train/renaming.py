"""New names for the values of a file, none of which may replace another."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["one_for_each"]


def one_for_each(function: str, rename: Callable[[str], str | None]) -> Callable[[str], str | None]:
    """`rename`, which raises where it gives a name that another value has been given.

    Args:
        function: whose error it is.
        rename: gives for a value's name another name, or None to leave the value out.

    Raises:
        ValueError: which names both values.

    Examples:
        >>> from lamella.train.renaming import one_for_each
        >>> named = one_for_each("load", {"a": "c", "b": None}.get)
        >>> named("a"), named("b")
        ('c', None)
    """
    owners: dict[str, str] = {}

    def renamed(name: str) -> str | None:
        new = rename(name)
        if new is not None and owners.setdefault(new, name) != name:
            raise ValueError(f"For '{function}', {owners[new]!r} and {name!r} would both have the "
                             f"name {new!r}, so one of them would be lost.")
        return new

    return renamed
