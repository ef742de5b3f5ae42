"""The order in which a stage of a pipeline runs the parts of a batch, and its messages.

GPipe (Huang et al. 2019) runs all forward passes, then all backward passes. 1F1B (PipeDream-Flush,
Narayanan et al. 2021, "Memory-Efficient Pipeline-Parallel DNN Training") begins each backward pass
as soon as it can, so that a stage keeps the values of no more parts than there are stages after it.
Where stages have several chunks of the network, the orders are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch

from ..communication import exchange, messages
from ..communication.groups import Group
from .chunks import Chunks

__all__ = ["Action", "Message", "Move", "Step", "orders", "run", "timetable"]


class Action(NamedTuple):
    """The forward or backward pass of a chunk of the network, for a part of the batch.

    Attributes:
        kind: ``"F"``: forward; ``"B"``: backward; or, in two passes, ``"I"``: the gradients by what
            came from other chunks, ``"W"``: those by Parameters.
    """

    kind: str
    chunk: int
    part: int

    @property
    def forward(self) -> bool:
        """Whether it is a forward pass."""
        return self.kind == "F"


class Message(NamedTuple):
    """What one chunk gives to another for a part of the batch: values, or gradients."""

    forward: bool
    source: int
    target: int
    part: int


class Step(NamedTuple):
    """An action, with the messages that it takes and gives."""

    action: Action
    takes: list[Message]
    gives: list[Message]


class Move(NamedTuple):
    """A message that begins to be sent to a stage, or received from it."""

    message: Message
    other: int
    sends: bool


def orders(scheduler: str, chunks: Chunks, count: int, parts: int, backward: bool = True
           ) -> list[list[Action]]:
    """The actions of each stage, in order.

    Args:
        scheduler: ``"1f1b"``, ``"gpipe"`` or ``"zero_bubble_v"``.
        chunks: which stage runs which.
        count: how many chunks there are.
        parts: in how many parts the batch is cut.
        backward: whether there are backward passes.

    Raises:
        ValueError: if PyTorch's schedule is not for so many parts.

    Examples:
        >>> from lamella.parallel.chunks import Chunks
        >>> from lamella.parallel.schedule import orders
        >>> [each.kind + str(each.part) for each in orders("1f1b", Chunks(3), 3, 4)[1]]
        ['F0', 'F1', 'B0', 'F2', 'B1', 'F3', 'B2', 'B3']
    """
    if backward and scheduler != "gpipe" and count > chunks.stages:
        return _of_torch(scheduler, chunks.stages, count, parts)
    found = []
    for stage in range(chunks.stages):
        mine = [chunk for chunk in range(count) if chunks.stage(chunk) == stage]
        forwards = [Action("F", chunk, part) for chunk in mine for part in range(parts)]
        backwards = [Action("B", chunk, part) for chunk in reversed(mine) for part in range(parts)]
        if not backward:
            found.append(forwards)
        elif scheduler == "gpipe":
            found.append(forwards + backwards)
        else:
            found.append(_alternating(forwards, backwards, min(parts, chunks.stages - stage)))
    return found


def _alternating(forwards: list[Action], backwards: list[Action], ahead: int) -> list[Action]:
    """Forward passes, of which `ahead` come before the first backward pass."""
    found = forwards[:ahead]
    for forward, back in zip(forwards[ahead:], backwards, strict=False):
        found += [back, forward]
    return found + backwards[len(backwards) - ahead:]


def _of_torch(scheduler: str, stages: int, count: int, parts: int) -> list[list[Action]]:
    """The orders of a schedule of PyTorch's for several chunks a stage."""
    from torch.distributed.pipelining import schedules

    kind = (schedules.ScheduleZBVZeroBubble if scheduler == "zero_bubble_v"
            else schedules.ScheduleInterleaved1F1B)
    # of a stage, a schedule reads no more to find its order
    described: list[Any] = [
        SimpleNamespace(num_stages=count, group_size=stages, group_rank=0, stage_index=chunk,
                        is_first=not chunk, submod=None) for chunk in range(0, count, stages)]
    found: Any = kind(described, parts).pipeline_order
    return [[Action(each.computation_type.value, each.stage_index, each.microbatch_index)
             for each in found[stage] if each is not None] for stage in range(stages)]


def timetable(actions: Sequence[Sequence[Action]], chunks: Chunks,
              values: dict[int, list[int]], gradients: dict[int, list[int]]
              ) -> list[list[Step | Move]]:
    """What each stage does, with the messages that it begins to send and receive in between.

    Any two stages begin the messages between them in the same order: each is received as soon as
    it has been sent, if all stages are as fast. So none waits for another for ever, even where a
    message is sent only when it is received, and those between two stages are never mistaken.

    Args:
        actions: those of each stage, in order.
        chunks: which stage runs which.
        values: for each chunk, those to which its forward pass gives something.
        gradients: for each chunk, those to which its backward pass does.

    Raises:
        RuntimeError: if the stages would wait for each other for ever.
    """
    rows: list[list[Step | Move]] = [[] for _ in actions]
    begun, done = [0] * len(actions), set()
    while any(begun[stage] < len(mine) for stage, mine in enumerate(actions)):
        ready = []
        for stage, mine in enumerate(actions):
            if begun[stage] < len(mine):
                step = _step(mine[begun[stage]], values, gradients)
                if done.issuperset(step.takes):
                    ready.append((stage, step))
        if not ready:
            waiting = [mine[i] for mine, i in zip(actions, begun, strict=True) if i < len(mine)]
            raise RuntimeError(f"The stages of a pipeline wait for each other: {waiting}.")
        for stage, step in ready:
            rows[stage].append(step)
            begun[stage] += 1
            done.update(step.gives)
            for message in step.gives:
                to = chunks.stage(message.target)
                if to != stage:
                    rows[stage].append(Move(message, to, True))
                    rows[to].append(Move(message, stage, False))
    return rows


def _step(action: Action, values: dict[int, list[int]], gradients: dict[int, list[int]]) -> Step:
    """An action with its messages."""
    kind, chunk, part = action
    if kind == "W":
        return Step(action, [], [])
    forward = action.forward
    ways = values if forward else gradients
    return Step(action, [Message(forward, source, chunk, part) for source in sorted(ways)
                         if chunk in ways[source]],
                [Message(forward, chunk, target, part) for target in ways[chunk]])


def run(name: str, row: Sequence[Step | Move],
        forms: Callable[[Message], Sequence[torch.Tensor]],
        act: Callable[[Step, list[Sequence[torch.Tensor]]], list[Sequence[torch.Tensor]]],
        group: Group) -> None:
    """Run what a stage has to do, by its row of the timetable.

    Args:
        name: the function that the program called, for errors.
        row: the stage's actions and messages.
        forms: gives tensors of the shapes and types of a message's.
        act: does an action with the tensors of each message that it takes; gives those of each
            message that it gives.
        group: one process of each stage.
    """
    box: dict[Message, Sequence[torch.Tensor]] = {}
    pending: dict[Message, list[Any]] = {}
    sending: list[Any] = []
    moves: list[Move] = []

    def begin() -> None:
        """Begin messages together: libraries such as NCCL may wait for all of them."""
        given = [(raw, each.other) for each in moves if each.sends for raw in box.pop(each.message)]
        wanted = [(each.message, [(like, each.other) for like in forms(each.message)])
                  for each in moves if not each.sends]
        outs, sent, came = messages.begin(
            name, given, [parcel for _, parcels in wanted for parcel in parcels], group)
        sending.extend(sent)
        for message, parcels in wanted:
            count = len(parcels)
            box[message], outs = outs[:count], outs[count:]
            pending[message], came = came[:count], came[count:]
        moves.clear()

    for each in row:
        if isinstance(each, Move):
            moves.append(each)
            continue
        begin()
        works = [work for message in each.takes for work in pending.pop(message, ())]
        exchange.wait_for(name, works, group)
        found = act(each, [box.pop(message) for message in each.takes])
        box.update(zip(each.gives, found, strict=True))
    begin()
    exchange.wait_for(name, sending, group)
