"""Finds the program's own callbacks, and checks how they are written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core import log

__all__ = ["as_list", "check_methods", "is_own"]

_OLD_METHODS = {"begin", "end", "epoch_begin", "epoch_end", "step_begin", "step_end"}


def as_list(callbacks: Any) -> list[Any]:
    """`callbacks`, which may be one, several or None, as a new list."""
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]


def is_own(callback: Any) -> bool:
    """Whether a callback is of none of Lamella's classes."""
    from . import __all__ as names  # whose files need this one

    return type(callback).__name__ not in names


def check_methods(callbacks: Any, where: str) -> None:
    """Own callbacks should have the methods that say whether training or evaluation is meant.

    Raises:
        ValueError: if one has others and `where` is ``"fit"``, which calls both.
    """
    for callback in as_list(callbacks):
        kind = type(callback)
        old = sorted(_OLD_METHODS & set(kind.__dict__))
        if not old or not is_own(callback):
            continue
        message = (f"For {kind.__name__} callback, {set(old)} methods may not be supported in "
                   f"later version, Use methods prefixed with 'on_train' or 'on_eval' instead "
                   f"when using customized callbacks.")
        if where == "fit":
            raise ValueError(message)
        log.warning(message)
