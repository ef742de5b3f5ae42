"""Paired timing of alternatives, in turns.

The load of a machine varies by more than the alternatives differ. So only times of the same round
are compared with each other.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import torch

from ..device import kinds

GAIN = 0.95  # the most time, relative to the first alternative, for another to be chosen
BRIEF = 0.01  # seconds of a run that takes longer if another alternative had the caches before it

T = TypeVar("T")


class Rounds:
    """The times of several alternatives, of which the first is kept unless another is faster.

    Args:
        names: of the alternatives.
        warm: the number of rounds at the start that don't count.

    Attributes:
        times: seconds by names, one for each round.
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
        """The alternative that has been timed least often."""
        return min(self.times, key=lambda name: len(self.times[name]))

    @property
    def are_brief(self) -> bool:
        """Whether a run has to follow one of the same alternative, as it will once it is chosen."""
        return all(times and times[-1] < BRIEF for times in self.times.values())

    def timed(self, name: str, run: Callable[[], T], device: torch.device) -> T:
        """Run an alternative and note its time, until the device is done; returns its result."""
        kinds.synchronize(device)
        start = time.perf_counter()
        found = run()
        kinds.synchronize(device)
        self.times[name].append(time.perf_counter() - start)
        return found

    def share(self, name: str) -> float:
        """The median ratio of an alternative's time to that of the first in the same round."""
        first = next(iter(self.times.values()))
        rounds = slice(self.warm, self.count)
        return statistics.median(
            its / base for its, base in zip(self.times[name][rounds], first[rounds], strict=True))

    def fastest(self) -> str:
        """The first alternative, unless another is clearly faster."""
        best = min(self.times, key=self.share)
        return best if self.share(best) < GAIN else next(iter(self.times))
