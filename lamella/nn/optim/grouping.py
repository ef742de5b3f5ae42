"""Groups of parameters that an optimizer updates together, kept from step to step."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...tensors.tensor import Tensor, wrap


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


def written(parameters: Any, values: Any, where: Any) -> None:
    """Give Parameters the values that a rule has put into its lists."""
    for owners, raws in zip(parameters, values, strict=True):
        for i, raw in zip(range(len(raws)) if where is None else where, raws, strict=True):
            owners[i]._data = raw


def centralized(gradient: Tensor) -> Tensor:
    """A gradient less its mean over all but the first dimension."""
    raw = gradient._raw
    if raw.dim() < 2 or raw.shape[1] % 16:
        return gradient
    return wrap(raw - raw.mean(tuple(range(1, raw.dim())), keepdim=True))
