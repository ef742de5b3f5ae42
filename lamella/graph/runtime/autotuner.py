"""The autotuner of a stage: chooses the fastest way to run it, timed in the program's own calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ...machine.timing import Rounds

Values = list[torch.Tensor]
Run = Callable[[Values], Values]
ROUNDS = 11  # the first is a warm-up


class Autotuner:
    """Called like one of its candidates; each call runs the next of them, and is timed.

    Of brief candidates each runs twice, and the second call is timed. After some rounds, `decided`
    is called with the name of the fastest candidate: the first one, unless another is clearly
    faster.
    """

    def __init__(self, candidates: Mapping[str, Run], decided: Callable[[str], Any]):
        self.candidates = candidates
        self.rounds = Rounds(candidates, warm=1)
        self.decided = decided
        self.last = ""  # the candidate of the call before

    @property
    def shares(self) -> dict[str, float]:
        """The median times of the candidates, relative to the first one's."""
        return {name: self.rounds.share(name) for name in self.candidates}

    def __call__(self, values: Values) -> Values:
        name = self.rounds.turn
        if self.rounds.are_brief and name != self.last:
            self.last = name
            return self.candidates[name](values)
        self.last = name
        device = values[0].device if values else torch.device("cpu")
        found = self.rounds.timed(name, lambda: self.candidates[name](values), device)
        if self.rounds.count >= ROUNDS:
            self.decided(self.rounds.fastest())
        return found
