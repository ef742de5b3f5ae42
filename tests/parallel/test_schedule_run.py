"""Stages that run their rows of a timetable, each in a thread: what arrives is what was sent."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from lamella.parallel.chunks import Chunks
from lamella.parallel.schedule import Message, Move, Step, orders, run, timetable

from .stage_threads import Threads


def content(message: Message, number: int) -> torch.Tensor:
    """Numbers that no other message has."""
    return torch.tensor([*map(float, message), float(number)])


def sizes(message: Message) -> int:
    """Messages of none, one or two tensors."""
    return (message.source + 2 * message.target + message.part) % 3


@pytest.mark.parametrize("scheduler, way, segments, skips", [
    ("1f1b", "once", 1, False), ("gpipe", "once", 1, True), ("1f1b", "loop", 2, True),
    ("zero_bubble_v", "v", 2, True)])
def test_each_action_gets_what_was_sent_to_it(monkeypatch, scheduler, way, segments, skips):
    stages, parts, threads = 3, 6, Threads(3, monkeypatch)
    chunks, count = Chunks(stages, way), stages * segments
    values = {a: [b for b in range(a + 1, count) if b == a + 1 or skips and (b - a) % 2]
              for a in range(count)}
    gradients = {a: [b for b in range(a) if a in values[b]] for a in range(count)}
    rows = timetable(orders(scheduler, chunks, count, parts), chunks, values, gradients)
    ran: list[list[Any]] = [[] for _ in range(stages)]

    def act(stage: int, step: Step, received: Any) -> Any:
        ran[stage].append(step.action)
        assert len(received) == len(step.takes)
        for message, raws in zip(step.takes, received, strict=True):
            want = [content(message, i) for i in range(sizes(message))]
            assert len(raws) == len(want)
            assert all(torch.equal(raw, each) for raw, each in zip(raws, want, strict=True))
        return [[content(message, i) for i in range(sizes(message))] for message in step.gives]

    def work(stage: int) -> None:
        run("f", rows[stage], lambda message: [torch.empty(5)] * sizes(message),
            lambda step, received: act(stage, step, received), stage)  # type: ignore[arg-type]

    assert threads.run(work) == [None] * stages and threads.is_empty()
    for stage, row in enumerate(rows):
        assert ran[stage] == [each.action for each in row if isinstance(each, Step)]
        others = [each for each in row if isinstance(each, Move)]
        assert all(chunks.stage(each.message.source if each.sends else each.message.target) == stage
                   and chunks.stage(each.message.target if each.sends else each.message.source)
                   == each.other != stage for each in others)
