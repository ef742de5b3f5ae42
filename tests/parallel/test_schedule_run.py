"""Stages that run their rows of a timetable, each in a thread: what arrives is what was sent."""

from __future__ import annotations

import queue
import threading
from typing import Any

import pytest
import torch

from lamella.communication import exchange, messages
from lamella.parallel.chunks import Chunks
from lamella.parallel.schedule import Message, Move, Step, orders, run, timetable


class Wires:
    """Queues between threads in place of messages between processes."""

    def __init__(self, monkeypatch: Any):
        self.queues: dict[Any, queue.Queue] = {}
        self.lock = threading.Lock()
        self.waited: list[int] = []
        monkeypatch.setattr(messages, "begin", self.begin)
        monkeypatch.setattr(exchange, "wait_for", self.wait_for)

    def between(self, source: int, target: int) -> queue.Queue:
        with self.lock:
            return self.queues.setdefault((source, target), queue.Queue())

    def begin(self, name: str, given: Any, wanted: Any, stage: Any) -> Any:
        assert name == "f"
        for raw, other in given:
            self.between(stage, other).put(raw.clone())
        outs = [torch.zeros(like.shape) for like, _ in wanted]
        return outs, [None] * len(given), [
            (self.between(other, stage), out) for out, (_, other) in zip(outs, wanted, strict=True)]

    def wait_for(self, name: str, works: Any, stage: Any) -> None:
        assert name == "f"
        self.waited.append(len(works))
        for work in works:
            if work is not None:
                source, out = work
                out.copy_(source.get(timeout=20))


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
    stages, parts, wires = 3, 6, Wires(monkeypatch)
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

    errors: list[BaseException] = []

    def work(stage: int) -> None:
        try:
            run("f", rows[stage], lambda message: [torch.empty(5)] * sizes(message),
                lambda step, received: act(stage, step, received), stage)  # type: ignore[arg-type]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(stage,)) for stage in range(stages)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not errors, errors
    for stage, row in enumerate(rows):
        assert ran[stage] == [each.action for each in row if isinstance(each, Step)]
        others = [each for each in row if isinstance(each, Move)]
        assert all(chunks.stage(each.message.source if each.sends else each.message.target) == stage
                   and chunks.stage(each.message.target if each.sends else each.message.source)
                   == each.other != stage for each in others)
    assert all(each.empty() for each in wires.queues.values())
