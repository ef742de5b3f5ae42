"""Liveness of the values between the stages of a graph: each is freed after its last use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from .plan_guards import PlacedGuard


class Freed(NamedTuple):
    """Which values are freed, by their places.

    Attributes:
        after: for each stage, those that nothing reads after it.
        by_it: those of `after` that the stage takes: it may free them between two of its kernels.
    """

    after: list[list[int]]
    by_it: list[list[int]]


class Liveness:
    """The last uses of the values of a plan: its inputs, then the results of each stage.

    Args:
        stages: the stages.
        inputs: how many inputs there are; they stay.
        checks: the guards that are checked after so many stages.
        stays: the places of other values that stay.

    Attributes:
        uses: for each stage the places of its inputs, then of its results.
    """

    def __init__(self, stages: Sequence[Any], inputs: int,
                 checks: Mapping[int, list[PlacedGuard]], stays: Set[int]):
        self._stages, self.uses = stages, []
        count = inputs
        for stage in stages:
            made = count + len(stage.part.results)
            self.uses.append((*stage.takes, *range(count, made)))
            count = made
        last = {place: number for number, places in enumerate(self.uses) for place in places}
        for known_after, guards in checks.items():
            for _, place, _ in guards:
                last[place] = max(last.get(place, 0), known_after - 1)
        self._last = {place: number for place, number in last.items()
                      if place >= inputs and place not in stays}

    def freed(self) -> Freed:
        """What is freed now. Values stay that a stage may soon need to compare backends."""
        kept = {place for stage, places in zip(self._stages, self.uses, strict=True)
                if not (stage.settled or stage.waits or stage.is_timed) for place in places}
        after: list[list[int]] = [[] for _ in self._stages]
        for place, number in self._last.items():
            if place not in kept:
                after[number].append(place)
        return Freed(after, [[*{*places} & {*stage.takes}]
                             for stage, places in zip(self._stages, after, strict=True)])
