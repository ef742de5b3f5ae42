"""The symbolic scalars of a run: inputs, expressions of them, and guards on these."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch

from ..guards.sources import Source
from . import scalar_kernels  # noqa: F401  (defines what kernels do with symbolic scalars)
from .append_only import AppendOnly
from .arrays import GivenArray, may_be_input
from .refusals import CannotTrace
from .scalars import NUMBERS, SymbolicScalar, without


class ScalarEnvironment:
    """The numbers of a run: its inputs, the expressions of them, and the guards on these.

    Args:
        given: the arguments' numbers that vary.
        sources: those of numbers that vary in the program's objects.
        lists: the sources of lists that the program only appends to.
        reads: which of the numbers that the run reads off tensors get stand-ins, by their order.
    """

    def __init__(self, given: Sequence[Any], sources: Sequence[Source],
                 lists: Sequence[Source] = (), reads: Collection[int] = ()):
        self.reads = reads
        self.lists = [(source, AppendOnly(source.get())) for source in lists]
        self.given = [self.standing(value, f"n{i}") for i, value in enumerate(given)]
        self.sources = list(sources)
        self.held = [SymbolicScalar(self, source.get(), f"n{i}")
                     for i, source in enumerate(sources, len(given))]
        self.recorder: Any = None  # of the dry run
        self.draws: Any = None  # random numbers that the run draws: see `draws`
        self.conditions: dict[str, None] = {}
        self.computed: list[str] = []
        # the type is None for an array
        self.tensors: list[tuple[torch.Tensor, int, torch.dtype | None]] = []
        self._known: dict[tuple[str, torch.dtype], torch.Tensor] = {}

    def condition(self, text: str) -> None:
        """Add a guard: an expression that has to be true."""
        self.conditions[text] = None

    def place(self, number: Any) -> int | torch.Tensor | None:
        """The index of a number among those that a replay computes, or the tensor that holds it.

        None for anything else.
        """
        if type(number) is AppendOnly:
            raise CannotTrace("returns a list that it appends to")
        if not isinstance(number, SymbolicScalar):
            return None
        return number.held if number.held is not None else self.index_of(number.text)

    def index_of(self, text: str) -> int:
        """The index of an expression among those that a replay computes."""
        if text not in self.computed:
            self.computed.append(text)
        return self.computed.index(text)

    @staticmethod
    def holds(value: Any) -> bool:
        """Whether a value is a number that there are stand-ins for."""
        return type(value) in NUMBERS

    def standing(self, value: Any, text: str) -> Any:
        """The stand-in for a number or an array; for nested lists, lists of stand-ins."""
        if type(value) is list:
            return [self.standing(part, f"{text}[{i}]") for i, part in enumerate(value)]
        if may_be_input(value):
            return GivenArray(self, value, text)
        return SymbolicScalar(self, value, text)

    def guarded(self, value: Any) -> Any:
        """A value that no replay computes: numbers in it are guarded."""
        return without(value)

    def scalar(self, number: SymbolicScalar, kind: torch.dtype) -> torch.Tensor:
        """The input of the graph for a number."""
        found = self._known.get((number.text, kind))
        if found is None:
            with self.recorder.pause():
                found = torch.scalar_tensor(number.value, dtype=kind)
            self._known[number.text, kind] = found
            self.tensors.append((found, self.index_of(number.text), kind))
        return found

    def function(self) -> Callable[..., Sequence[Any] | None]:
        """A function from a replay's inputs to its numbers, or to None if a guard fails."""
        names = ", ".join(n.text for n in (*self.given, *self.held))
        met = " and ".join(f"({c})" for c in self.conditions) or "True"
        values = "".join(f"{text}, " for text in self.computed)
        known = {"inf": math.inf, "nan": math.nan, "math": math, "np": np,
                 **{kind.__name__: kind for kind in NUMBERS}}
        if self.draws is None or not self.draws.lines:
            return eval(f"lambda {names}: ({values}) if {met} else None", known)
        self.draws.check()
        known.update(self.draws.given)
        exec("\n    ".join([f"def computed({names}):", *self.draws.lines, f"return ({values})"]),
             known)
        return known["computed"]
