"""The guards of a plan on values: those of inputs, and those that its stages compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from ..ir.agreement import is_same_number
from ..ir.shapes import ShapeGuard
from ..ir.stages import Cut


class PlacedGuard(NamedTuple):
    """A guard on the value at a place.

    Attributes:
        number: its number among the guards of the graph.
        place: the place of the guarded value among the values of a run.
        expected: the expected value, or a `ShapeGuard`.
    """

    number: int
    place: int
    expected: Any


class PlanGuards:
    """The guards of a graph, by the time at which each is checked.

    Args:
        cut: the stages of the graph.
        expected: the expected values of the guards.
        arguments: how many inputs of the graph are arguments.

    Attributes:
        of_inputs: those that are checked before the first stage.
        after: those that are checked after so many stages.
        operands: for each guard on a shape, by its place: the places of the values whose sizes it
            compares.
        failed: the number of the guard that failed last, and its value; None if none has.
    """

    def __init__(self, cut: Cut, expected: Sequence[Any], arguments: int):
        inputs = dict(cut.input_guards)
        self.of_inputs = [PlacedGuard(number, place, expected[number])
                          for number, place in inputs.items()]
        self.after: dict[int, list[PlacedGuard]] = {}
        self.operands: dict[int, list[int]] = {}
        self.failed: tuple[int, Any] | None = None
        others = [number for number in range(len(expected)) if number not in inputs]
        shaped: list[int] = []
        for (stages, place), number in zip(cut.guards, others, strict=True):
            guard = PlacedGuard(number, place, expected[number])
            self.after.setdefault(stages, []).append(guard)
            if isinstance(guard.expected, ShapeGuard):
                shaped.append(place)
                self.operands.setdefault(place, [*range(arguments), *shaped])

    def hold(self, guards: list[PlacedGuard], values: list[torch.Tensor]) -> bool:
        """Whether these guards hold; the first that doesn't is noted.

        Args:
            guards: guards whose values are known.
            values: the values of the run so far.
        """
        for number, place, expected in guards:
            if isinstance(expected, ShapeGuard):
                found = values[place].shape
                holds = expected.holds([values[i] for i in self.operands[place]])
            else:
                found = values[place].item()
                holds = is_same_number(found, expected)
            if not holds:
                self.failed = number, found
                return False
        return True
