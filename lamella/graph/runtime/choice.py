"""Choosing the fastest of several ways to run the same thing, by timing them in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

Values = list[torch.Tensor]
Run = Callable[[Values], Values]
ROUNDS = 7


class Choice:
    """Called like one of its candidates; each call runs the next of them, and is timed.

    After some rounds, `decided` is called with the name of the fastest: the one whose median time
    is the least.
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
            self.decided(min(self.times, key=lambda n: statistics.median(self.times[n])))
        return found


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def agree(wanted: Values, got: Values) -> bool:
    """Whether two runs gave the same, up to rounding."""
    return len(wanted) == len(got) and all(map(_alike, wanted, got))


def _alike(wanted: torch.Tensor, got: torch.Tensor) -> bool:
    if wanted.shape != got.shape or wanted.dtype is not got.dtype:
        return False
    if not wanted.is_floating_point() and not wanted.is_complex():
        return torch.equal(wanted, got)
    coarse = wanted.dtype in (torch.float16, torch.bfloat16)
    limit = 3e-2 if coarse else 1e-5 if wanted.dtype is torch.float32 else 1e-9
    wide = torch.complex128 if wanted.is_complex() else torch.float64
    a, b = wanted.detach().to(wide), got.detach().to(wide)
    if not torch.equal(torch.isfinite(a), torch.isfinite(b)):
        return False
    a, b = torch.nan_to_num(a, 0, 0, 0), torch.nan_to_num(b, 0, 0, 0)
    return bool((a - b).norm() <= limit * a.norm() + 1e-12)
