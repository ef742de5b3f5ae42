"""Choosing the fastest of several ways to run the same stage, in the runs of the program itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ...machine.timing import Rounds

Values = list[torch.Tensor]
Run = Callable[[Values], Values]
ROUNDS = 11  # the first of which doesn't count


class Choice:
    """Called like one of its candidates; each call runs the next of them, and is timed.

    After some rounds, `decided` is called with a name: that of the first candidate, unless others
    take clearly less time.
    """

    def __init__(self, candidates: Mapping[str, Run], decided: Callable[[str], Any]):
        self.candidates = candidates
        self.rounds = Rounds(candidates, warm=1)
        self.decided = decided

    def __call__(self, values: Values) -> Values:
        name = self.rounds.turn
        device = values[0].device if values else torch.device("cpu")
        found = self.rounds.timed(name, lambda: self.candidates[name](values), device)
        if self.rounds.count >= ROUNDS:
            self.decided(self.rounds.fastest())
        return found
