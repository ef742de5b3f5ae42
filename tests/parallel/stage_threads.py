"""Stages of a pipeline as threads of this process: meetings and letters in place of exchanges."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from lamella.communication import exchange, groups, messages
from lamella.parallel.stages import Pipeline

PATIENCE = 30  # seconds until a thread that waits for another raises


class Threads:
    """Runs functions in threads, each as a stage; what they exchange is handed over here."""

    def __init__(self, count: int, monkeypatch: Any):
        self.count, self.mine = count, threading.local()
        self.rounds: defaultdict[int, dict[int, Any]] = defaultdict(dict)  # of `all`
        self.ended: set[int] = set()
        self.sent: dict[Any, torch.Tensor] = {}  # by both ends and number
        self.numbers: Counter[Any] = Counter()
        self.changed = threading.Condition()
        for name in ("broadcast", "raise_in_all", "wait_for"):
            monkeypatch.setattr(exchange, name, getattr(self, name))
        monkeypatch.setattr(messages, "begin", self.begin)

    def run(self, work: Callable[[int], Any]) -> list[Any]:
        """What a function gives for each stage; the errors that it raises are results."""
        found: list[Any] = [None] * self.count

        def staged(stage: int) -> None:
            self.mine.stage, self.mine.round = stage, 0
            try:
                found[stage] = work(stage)
            except Exception as error:  # noqa: BLE001 - the test judges it
                found[stage] = error
            finally:
                with self.changed:
                    self.ended.add(stage)
                    self.changed.notify_all()

        threads = [threading.Thread(target=staged, args=(stage,)) for stage in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * PATIENCE)
        assert not any(thread.is_alive() for thread in threads)
        return found

    def pipeline(self) -> Pipeline:
        """The pipeline, as the stage of this thread sees it."""
        return Pipeline(self.count, self.mine.stage,
                        SimpleNamespace(ranks=list(range(self.count)), name="chain"),  # type: ignore
                        SimpleNamespace(size=1, name="alike", ranks=[self.mine.stage]),  # type: ignore
                        groups.ended())

    # -- exchanges -------------------------------------------------------------------------------

    def all(self, value: Any) -> list[Any]:
        """The values of all stages."""
        self.mine.round += 1
        with self.changed:
            slots = self.rounds[self.mine.round]
            slots[self.mine.stage] = value
            self.changed.notify_all()
            self.changed.wait_for(lambda: len(slots) == self.count or self.ended - slots.keys(),
                                  PATIENCE)
            return [slots[stage] for stage in range(self.count)]

    def broadcast(self, name: str, raw: torch.Tensor, root: int, group: Any) -> torch.Tensor:
        return self.all(raw)[root].clone()

    def raise_in_all(self, name: str, error: Exception | None, group: Any) -> None:
        first = next((each for each in self.all(error) if each is not None), None)
        if first is not None:
            raise error or RuntimeError(f"another stage raised {first!r}")

    def next(self, *key: Any) -> Any:
        """The key of the next message with these ends: both count them in one order."""
        self.numbers[key] += 1
        return *key[1:], self.numbers[key]

    def begin(self, name: str, given: Any, wanted: Any, group: Any) -> Any:
        stage = self.mine.stage
        with self.changed:
            for raw, other in given:
                assert other != stage
                self.sent[self.next("sent", stage, other)] = raw.detach().clone()
            self.changed.notify_all()
            outs = [torch.zeros(like.shape, dtype=like.dtype) for like, _ in wanted]
            works = [(self.next("received", other, stage), out)
                     for out, (_, other) in zip(outs, wanted, strict=True)]
        return outs, [None] * len(given), works

    def wait_for(self, name: str, works: Any, group: Any) -> None:
        for key, out in filter(None, works):
            with self.changed:
                self.changed.wait_for(lambda key=key: key in self.sent or key[0] in self.ended,
                                      PATIENCE)
                sent = self.sent.pop(key)
            assert (sent.shape, sent.dtype) == (out.shape, out.dtype)
            out.data.copy_(sent)  # no change of a tensor that the program has

    def is_empty(self) -> bool:
        """Whether all that was sent has been received."""
        return not self.sent
