"""Compares the times of alternatives, which run in turns.

Other programs only ever make a run longer, and often by more than the alternatives differ. So the
alternatives take turns, and what is compared is the shortest time of each, or of many times one
that few are shorter than. Two halves of the rounds have to name the same alternative, or the answer
isn't sure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import torch

from ..device import kinds

SHORT = 16  # one of so many times may be shorter than the one that is compared
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
        """The time of an alternative, undisturbed, relative to that of the first one."""
        return self._share(name, slice(self.warm, self.count))

    def fastest(self) -> str:
        """The first alternative, unless another is clearly faster."""
        return self._fastest(slice(self.warm, self.count))

    @property
    def is_sure(self) -> bool:
        """Whether two halves of the rounds, each second one, name the same alternative."""
        if self.count < self.warm + 2:
            return False
        return (self._fastest(slice(self.warm, self.count, 2))
                == self._fastest(slice(self.warm + 1, self.count, 2)))

    def _share(self, name: str, rounds: slice) -> float:
        first = next(iter(self.times.values()))
        return _short(self.times[name][rounds]) / _short(first[rounds])

    def _fastest(self, rounds: slice) -> str:
        shares = {name: self._share(name, rounds) for name in self.times}
        best = min(shares, key=shares.__getitem__)
        return best if shares[best] < GAIN else next(iter(shares))


def _short(times: list[float]) -> float:
    """A short one of some times; the shortest of a few."""
    return sorted(times)[len(times) // SHORT]


def fastest_of(ways: dict[str, Callable[[], object]], rounds: int, patience: float) -> str:
    """The name of the first of some ways, unless another is clearly faster; they take turns.

    Args:
        ways: functions by name, each of which has run before.
        rounds: how often each runs at the most, and at least twice.
        patience: seconds after which no further round begins.
    """
    best, start = dict.fromkeys(ways, float("inf")), time.perf_counter()
    for number in range(rounds):
        for name, run in ways.items():
            begin = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - begin)
        if number and time.perf_counter() - start > patience:
            break
    first, winner = next(iter(best)), min(best, key=best.__getitem__)
    return winner if best[winner] < GAIN * best[first] else first
