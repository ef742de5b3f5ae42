"""The order in which a stage of a pipeline runs the parts of a batch, and its messages.

GPipe (Huang et al. 2019) runs all forward passes, then all backward passes. 1F1B (PipeDream-Flush,
Narayanan et al. 2021, "Memory-Efficient Pipeline-Parallel DNN Training") begins each backward pass
as soon as it can, so that a stage keeps the values of no more parts than there are stages after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from ..communication import exchange, messages
from ..communication.groups import Group

__all__ = ["Action", "order", "run"]

Parcel = tuple[torch.Tensor, int]  # a tensor, and the stage that it goes to or comes from


class Action(NamedTuple):
    """The forward or backward pass of a part of the batch."""

    forward: bool
    part: int


def order(kind: str, stage: int, stages: int, parts: int, backward: bool = True) -> list[Action]:
    """The actions of a stage, in order.

    Args:
        kind: ``"1f1b"`` or ``"gpipe"``.
        stage, stages: which stage of how many.
        parts: in how many parts the batch is cut.
        backward: whether there are backward passes.

    Examples:
        >>> from lamella.parallel.schedule import order
        >>> ["FB"[not each.forward] + str(each.part) for each in order("1f1b", 1, 3, 4)]
        ['F0', 'F1', 'B0', 'F2', 'B1', 'F3', 'B2', 'B3']
    """
    forwards = [Action(True, part) for part in range(parts)]
    if not backward:
        return forwards
    backwards = [Action(False, part) for part in range(parts)]
    ahead = parts if kind == "gpipe" else min(parts, stages - stage)
    found = forwards[:ahead]
    for forward, back in zip(forwards[ahead:], backwards, strict=False):
        found += [back, forward]
    return found + backwards[parts - ahead:]


def run(name: str, actions: Sequence[Action], wanted: Callable[[Action], Sequence[Parcel]],
        act: Callable[[Action, list[torch.Tensor]], Sequence[Parcel]], group: Group) -> None:
    """Run the actions of a stage: each gets the tensors received for it, and sends its results.

    Messages between two stages are received in the order in which they are sent, as all parts pass
    each stage in their order, both forward and backward.

    Args:
        name: the function that the program called, for errors.
        wanted: the forms of what an action needs of other stages.
        act: does it with that; gives what goes to other stages.
        group: one process of each stage.
    """
    gives: Sequence[Parcel] = []
    works: list[Any] = []
    for action in actions:
        # what is sent and what comes begin together: libraries such as NCCL may wait for both
        came, sending = messages.swap(name, gives, wanted(action), group)
        works += sending
        gives = act(action, came)
    works += messages.swap(name, gives, [], group)[1]
    exchange.wait_for(name, works, group)
