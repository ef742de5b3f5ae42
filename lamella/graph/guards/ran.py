"""What a recorded run has read, beyond what was searched before it."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from .bytecode import facts_of, with_inner
from .kinds import ANY_NAME, is_opaque
from .reachable import Reachable


def not_found(reach: Reachable, codes: Iterable[types.CodeType]) -> list[types.CodeType]:
    """The code of functions that ran although they were not followed.

    Their names are computed, or they belong to a large library, of which few are followed.
    """
    found = _followed(reach)
    return [code for code in codes if code not in found]


def uninspected(reach: Reachable) -> Callable[[types.CodeType], bool]:
    """A function that says of code, before it runs, whether it may change what no snapshot has.

    It may if it wasn't followed, or mentions an object that wasn't inspected.
    """
    followed = _followed(reach)
    return lambda code: code not in followed or bool(was_read(reach, (code,)))


def _followed(reach: Reachable) -> set[types.CodeType]:
    return {code for function in reach.objects.functions for code in with_inner(function.__code__)}


def was_read(reach: Reachable, codes: Iterable[types.CodeType]) -> dict[int, Any]:
    """By identity, the objects not inspected that the code which ran may have read."""
    if not reach.limits.closed:
        return {}
    mentioned = {name for code in codes for name in (*facts_of(code).names, *code.co_freevars)}
    every = not ANY_NAME.isdisjoint(mentioned)
    return {id(thing): thing for thing, names in reach.limits.closed
            if names is None or not names.isdisjoint(mentioned)
            or every and not is_opaque(thing)}
