"""The order in which a stage of a pipeline runs the parts of a batch, and its messages.

The parts are what papers call micro-batches.

GPipe (Huang et al. 2019) runs all forward passes, then all backward passes. 1F1B (PipeDream-Flush,
Narayanan et al. 2021, "Memory-Efficient Pipeline-Parallel DNN Training") begins each backward pass
as soon as it can, so that a stage keeps the activations of no more parts than there are stages
after it. Where stages have several chunks of the network, the orders are PyTorch's.
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
        kind: ``"F"``: forward; ``"B"``: backward; or the backward pass in two: ``"I"``: the
            gradients by the inputs from other chunks, ``"W"``: those by Parameters.
    """

    kind: str
    chunk: int
    part: int

    @property
    def forward(self) -> bool:
        """Whether it is a forward pass."""
        return self.kind == "F"


class Message(NamedTuple):
    """The values, or gradients, that one chunk sends to another for a part of the batch."""

    forward: bool
    source: int
    target: int
    part: int


class Step(NamedTuple):
    """An action, with the messages that it needs and those that it produces."""

    action: Action
    takes: list[Message]
    gives: list[Message]


class Move(NamedTuple):
    """The start of sending a message to a stage, or of receiving it from one."""

    message: Message
    other: int
    sends: bool


def orders(scheduler: str, chunks: Chunks, count: int, parts: int, backward: bool = True
           ) -> list[list[Action]]:
    """The actions of each stage, in order.

    Args:
        scheduler: ``"1f1b"``, ``"gpipe"`` or ``"zero_bubble_v"``.
        chunks: which stage runs which chunk.
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
    """The orders that PyTorch's schedules give for several chunks in each stage."""
    from torch.distributed.pipelining import schedules

    kind = (schedules.ScheduleZBVZeroBubble if scheduler == "zero_bubble_v"
            else schedules.ScheduleInterleaved1F1B)
    # the attributes of a stage that a schedule reads to find its order
    described: list[Any] = [
        SimpleNamespace(num_stages=count, group_size=stages, group_rank=0, stage_index=chunk,
                        is_first=not chunk, submod=None) for chunk in range(0, count, stages)]
    found: Any = kind(described, parts).pipeline_order
    return [[Action(each.computation_type.value, each.stage_index, each.microbatch_index)
             for each in found[stage] if each is not None] for stage in range(stages)]


def timetable(actions: Sequence[Sequence[Action]], chunks: Chunks,
              values: dict[int, list[int]], gradients: dict[int, list[int]]
              ) -> list[list[Step | Move]]:
    """The actions of each stage, and when it begins to send and receive messages.

    Any two stages begin the messages between them in the same order, that of the simulated run of
    stages that are equally fast. So there is no deadlock, even where sending blocks until the
    message is received, and no message is mistaken for another.

    Args:
        actions: those of each stage, in order.
        chunks: which stage runs which chunk.
        values: for each chunk, the chunks that its forward pass sends values to.
        gradients: for each chunk, the chunks that its backward pass sends gradients to.

    Raises:
        RuntimeError: if the stages would wait for each other forever (a deadlock).
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
    targets = values if forward else gradients
    return Step(action, [Message(forward, source, chunk, part) for source in sorted(targets)
                         if chunk in targets[source]],
                [Message(forward, chunk, target, part) for target in targets[chunk]])


def run(name: str, row: Sequence[Step | Move],
        forms: Callable[[Message], Sequence[torch.Tensor]],
        act: Callable[[Step, list[Sequence[torch.Tensor]]], list[Sequence[torch.Tensor]]],
        group: Group) -> None:
    """Run the actions of a stage, by its row of the timetable.

    Args:
        name: the function that the program called, for errors.
        row: the stage's actions and messages.
        forms: returns tensors of the shapes and types of a message.
        act: does an action with the tensors of each message that it needs; returns the tensors of
            each message that it produces.
        group: one process of each stage.
    """
    tensors: dict[Message, Sequence[torch.Tensor]] = {}
    pending: dict[Message, list[Any]] = {}
    sending: list[Any] = []
    moves: list[Move] = []

    def begin() -> None:
        """Begin messages together: libraries such as NCCL may wait for all of them."""
        given = [(raw, each.other) for each in moves if each.sends
                 for raw in tensors.pop(each.message)]
        wanted = [(each.message, [(like, each.other) for like in forms(each.message)])
                  for each in moves if not each.sends]
        outs, sends, receives = messages.begin(
            name, given, [like for _, likes in wanted for like in likes], group)
        sending.extend(sends)
        for message, likes in wanted:
            count = len(likes)
            tensors[message], outs = outs[:count], outs[count:]
            pending[message], receives = receives[:count], receives[count:]
        moves.clear()

    for each in row:
        if isinstance(each, Move):
            moves.append(each)
            continue
        begin()
        works = [work for message in each.takes for work in pending.pop(message, ())]
        exchange.wait_for(name, works, group)
        found = act(each, [tensors.pop(message) for message in each.takes])
        tensors.update(zip(each.gives, found, strict=True))
    begin()
    exchange.wait_for(name, sending, group)
