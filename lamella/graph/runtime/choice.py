"""Choosing the fastest of several ways to run the same thing, by timing them in turn.

Times of one round are compared with each other only: what else the machine does changes between
rounds by more than the ways differ.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

Values = list[torch.Tensor]
Run = Callable[[Values], Values]
ROUNDS = 11
GAIN = 0.95  # of the time of the first way, in the same round: what another must take to be chosen


class Choice:
    """Called like one of its candidates; each call runs the next of them, and is timed.

    After some rounds, `decided` is called with a name: that of the first candidate, unless others
    take clearly less time in the median of the rounds.
    """

    def __init__(self, candidates: Mapping[str, Run], decided: Callable[[str], Any]):
        self.candidates = candidates
        self.times: dict[str, list[float]] = {name: [] for name in candidates}
        self.decided = decided

    def __call__(self, values: Values) -> Values:
        name = min(self.times, key=lambda n: len(self.times[n]))
        device = values[0].device if values else torch.device("cpu")
        _wait_for(device)
        start = time.perf_counter()
        found = self.candidates[name](values)
        _wait_for(device)
        self.times[name].append(time.perf_counter() - start)
        if all(len(times) >= ROUNDS for times in self.times.values()):
            self.decided(self._fastest())
        return found

    def _fastest(self) -> str:
        first, *others = self.times
        shares = {name: statistics.median(
            its / base for its, base in zip(self.times[name][1:], self.times[first][1:],
                                            strict=True)) for name in others}
        best = min(shares, key=lambda name: shares[name])
        return best if shares[best] < GAIN else first


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
