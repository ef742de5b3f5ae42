"""Operations on rows of any kind: types, masks, padding, random choices among operations."""

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
