"""Groups of parameters that an optimizer updates together, kept from step to step."""

from __future__ import annotations

from typing import Any, NamedTuple


class Group(NamedTuple):
    """Parameters that one call of a rule updates.

    Attributes:
        indices: which parameters; None for all.
        rate: which learning rate, where each parameter has one.
        decay: their weight decay.
    """

    indices: tuple[int, ...] | None
    rate: int
    decay: float


class Grouping:
    """The latest groups of an optimizer, and the settings that they were made from.

    It is the same object in all steps and has slots, so making groups changes no attribute that a
    compiled step guards.
    """

    __slots__ = ("cause", "groups")

    def __init__(self) -> None:
        self.cause: tuple[Any, ...] | None = None
        self.groups: list[Group] = []
