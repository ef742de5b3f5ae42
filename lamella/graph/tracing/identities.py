"""`id` in a recorded run: allowed for objects that every later call finds again."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...core.classes import is_a
from ...core.state import state
from ...tensors.parameter import Parameter
from ..guards.kinds import is_no_parameter, is_users
from ..guards.reachable import Reachable


def identity(thing: Any) -> int:
    """`id`; it refuses the run that this thread records if the next call may have another object.
    """
    trace = state.trace
    if trace is not None and not _is_fixed(thing, trace.reach):
        trace.refuse("asks for the id of an object that may be another one in the next call")
    return id(thing)


def _is_fixed(thing: Any, reach: Reachable) -> bool:
    """Whether a graph holds only for calls that find the same object.

    Guards compare containers and arrays by content, and Tensors that have a name by their metadata.
    """
    if is_no_parameter(thing):
        return id(thing) in reach.tensors.unnamed
    if is_a(thing, (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)):
        return True
    return thing in reach.visited and (
        is_a(thing, Parameter) or type(thing).__eq__ is object.__eq__)


@contextmanager
def identities_checked(reach: Reachable) -> Iterator[None]:
    """A block in which the program's modules find `identity` as `id`.

    Where two threads record the same module, one of them may find `id` itself, which is refused.
    """
    spaces = [space for _, space, names in reach.names.spaces.values()
              if "id" in names and is_a(space, dict) and "id" not in space
              and is_users(space.get("__name__"))]
    for space in spaces:
        space["id"] = identity
    try:
        yield
    finally:
        for space in spaces:
            space.pop("id", None)
