"""Timing several ways to do the same thing, in turns.

What else the machine does changes from one moment to the next by more than the ways differ. So only
times of the same round are compared with each other.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import torch

GAIN = 0.95  # of the first way's time: what another must take to be chosen

T = TypeVar("T")


class Rounds:
    """Times of several ways, of which the first is the one to keep unless another is faster.

    Args:
        names: of the ways.
        warm: so many rounds at the start don't count.

    Attributes:
        times: seconds by names, one a round.
    """

    def __init__(self, names: Iterable[str], warm: int = 0):
        self.times: dict[str, list[float]] = {name: [] for name in names}
        self.warm = warm

    @property
    def count(self) -> int:
        """How many rounds are complete."""
        return min(map(len, self.times.values()))

    @property
    def turn(self) -> str:
        """The way that has been timed least often."""
        return min(self.times, key=lambda name: len(self.times[name]))

    def timed(self, name: str, run: Callable[[], T], device: torch.device) -> T:
        """What a run of a way gives; its time, until the device is done, is noted."""
        _wait_for(device)
        start = time.perf_counter()
        found = run()
        _wait_for(device)
        self.times[name].append(time.perf_counter() - start)
        return found

    def share(self, name: str) -> float:
        """The time of a way, of that of the first in the same round: the median."""
        first = next(iter(self.times.values()))
        rounds = slice(self.warm, self.count)
        return statistics.median(
            its / base for its, base in zip(self.times[name][rounds], first[rounds], strict=True))

    def fastest(self) -> str:
        """The first way, unless another takes clearly less time."""
        best = min(self.times, key=self.share)
        return best if self.share(best) < GAIN else next(iter(self.times))


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
