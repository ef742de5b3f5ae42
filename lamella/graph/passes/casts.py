"""Recognizes casts between float32 and bfloat16, which many kernels don't need."""

from __future__ import annotations

from typing import Any, TypeGuard

import torch
from torch.fx import Node

from ..ir.metadata import meta_of
from .memory import Memory

aten = torch.ops.aten
WIDE, NARROW = torch.float32, torch.bfloat16


def is_like(node: Any, other: Node, *types: torch.dtype) -> TypeGuard[Node]:
    """Whether a value has the form of another one, and its type or one of those given."""
    a, b = meta_of(node), meta_of(other)
    return a is not None and b is not None and (a.shape, a.stride, a.device) == (
        b.shape, b.stride, b.device) and a.dtype in (types or (b.dtype,))


def is_cast(node: Any, to: torch.dtype) -> TypeGuard[Node]:
    """Whether an operation only casts from one of the two types to the other one."""
    return (isinstance(node, Node) and node.target is aten._to_copy.default
            and (meta := meta_of(node)) is not None and meta.dtype is to
            and is_like(node.args[0], node, WIDE if to is NARROW else NARROW))


def source_of(node: Any, memory: Memory) -> Any:
    """What a value in float32 is cast from, if it is from bfloat16; else itself.

    A cast that is written is more than a cast.
    """
    return node.args[0] if is_cast(node, WIDE) and not memory.writes(node) else node


def casts_of(node: Node, memory: Memory) -> list[Node]:
    """The casts of a value to bfloat16 that may become one: at most one of them is a result."""
    casts: list[Node] = [user for user in node.users if is_cast(user, NARROW)]
    given = [cast for cast in casts if memory.escapes(cast)]
    return [cast for cast in casts if cast not in given[1:]]
