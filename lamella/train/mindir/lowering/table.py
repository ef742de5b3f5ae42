"""The table from PyTorch's operations to MindIR nodes, which the files beside this one fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..builder import Builder, Unwritable, Value

__all__ = ["TABLE", "as_type", "constant", "is_float", "lowers", "same_sizes"]

Lowering = Callable[..., Any]

# by an operation's name, the function that adds its nodes: of the Builder, what PyTorch recorded as
# the result, and the operation's arguments, with Values for what is computed
TABLE: dict[str, Lowering] = {}


def lowers(*operations: str) -> Callable[[Lowering], Lowering]:
    """Enter a function into the table, as the lowering of some operations of ``aten``."""
    def enter(lowering: Lowering) -> Lowering:
        for name in operations:
            TABLE[name if "." in name else f"{name}.default"] = lowering
        return lowering
    return enter


def is_float(kind: torch.dtype) -> bool:
    """Whether a type is one of floating point numbers."""
    return kind.is_floating_point


def constant(number: Any, kind: torch.dtype) -> torch.Tensor:
    """A number as a Tensor of rank 0."""
    return torch.tensor(number).to(kind)


def as_type(graph: Builder, value: Any, kind: torch.dtype) -> Any:
    """A Value or number with elements of a type.

    Raises:
        Unwritable: for a size that may vary.
    """
    if not isinstance(value, Value):
        return constant(value, kind)
    if not isinstance(value.raw, torch.Tensor):
        raise Unwritable("a size that varies as an element")
    if value.dtype is kind:
        return value
    raw = torch.empty_like(value.raw, dtype=kind)
    return graph.node("Cast", value, kind, raw=raw)


def same_sizes(one: list[Any], other: list[Any]) -> bool:
    """Whether sizes are the same, also those that may vary."""
    return [str(n) for n in one] == [str(n) for n in other]
