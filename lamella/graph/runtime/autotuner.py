"""The autotuner of a stage: chooses the fastest way to run it, timed in the program's own calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ...core.forking import Lock
from ...machine.timing import Rounds

Values = list[torch.Tensor]
Run = Callable[[Values], Values]
ROUNDS = 11  # the first is a warm-up
MOST = 44  # rounds, where the answer isn't sure before


class Autotuner:
    """Called like one of its candidates; each call runs the next of them, and is timed.

    A brief candidate runs twice in a row, and the second call is timed. After some rounds,
    `decided` is called with the name of the fastest candidate: the first one, unless another is
    clearly faster. While other programs disturb the times too much to tell, there are more rounds;
    in the end `is_sure` says whether the answer may be kept for later processes.
    """

    def __init__(self, candidates: Mapping[str, Run], decided: Callable[[str], Any]):
        self.candidates = candidates
        self.rounds = Rounds(candidates, warm=1)
        self.decided = decided
        self._until = ROUNDS  # the round after which it decides
        self._deciding = Lock()
        self._is_decided = False
        self.last = ""  # the candidate of the call before

    @property
    def shares(self) -> dict[str, float]:
        """The times of the candidates, relative to the first one's."""
        return {name: self.rounds.share(name) for name in self.candidates}

    def __call__(self, values: Values) -> Values:
        name = self.rounds.turn
        if self.rounds.are_brief and name != self.last:
            self.last = name
            return self.candidates[name](values)
        self.last = name
        device = values[0].device if values else torch.device("cpu")
        found = self.rounds.timed(name, lambda: self.candidates[name](values), device)
        if self.rounds.count >= self._until:
            with self._deciding:  # several threads may be in it
                if self.rounds.count >= self._until and not self._is_decided:
                    self._decide()
        return found

    @property
    def is_sure(self) -> bool:
        """Whether the times were clear."""
        return self.rounds.is_sure

    def _decide(self) -> None:
        """Name the fastest candidate, or go on for as many rounds again."""
        if self.is_sure or self._until >= MOST:
            self._is_decided = True
            self.decided(self.rounds.fastest())
        else:
            self._until *= 2
