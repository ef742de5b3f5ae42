"""Operations on rows of any kind: types, masks, padding, random choices among operations."""

from __future__ import annotations

from typing import Any

from .transforms import (
    Compose,
    Concatenate,
    Duplicate,
    Fill,
    Mask,
    OneHot,
    PadEnd,
    Plugin,
    RandomApply,
    RandomChoice,
    RandomOrder,
    Relational,
    Slice,
    TypeCast,
    Unique,
    not_random,
)


def __getattr__(name: str) -> Any:
    if name == "vision":  # programs reach it here too
        from .. import vision  # which needs this room
        return vision
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "vision"})
