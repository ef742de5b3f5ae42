"""The Python numbers of a replay: computed from those that vary, and given to the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..tracing.arrays import as_input
from ..tracing.draws import Positions
from ..tracing.scalar_environment import ScalarEnvironment


class ScalarInputs:
    """The numbers of a replay.

    Args:
        environment: the symbolic scalars of the dry run that was recorded.
        constants: the last inputs of the graph.

    Attributes:
        generators: those of Python and NumPy that the run draws from.
    """

    def __init__(self, environment: ScalarEnvironment, constants: list[torch.Tensor]):
        self.generators = [] if environment.draws is None else environment.draws.generators
        self._compute = environment.function()
        self._sources = environment.sources
        # of inputs that hold a number: their places, which number, and its type as a tensor
        self._places = [(place, which, kind) for place, raw in enumerate(constants)
                        for own, which, kind in environment.tensors if own is raw]

    @property
    def are_fixed(self) -> bool:
        """Whether they are the same in every replay with the same numbers as arguments."""
        return not (self.generators or self._sources or self._places)

    def begun(self) -> Positions | None:
        """Where the generators are; None if there are none."""
        return Positions(self.generators) if self.generators else None

    def computed(self, given: Sequence[Any]) -> Sequence[Any] | None:
        """The numbers of a replay, from the arguments that vary; None if a guard fails."""
        try:
            return self._compute(*given, *[source.get() for source in self._sources])
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return None  # the function itself then raises it at its line

    def put_into(self, constants: list[torch.Tensor], computed: Sequence[Any]
                 ) -> list[torch.Tensor] | None:
        """The last inputs of the graph with these numbers; None if one is too large."""
        found = list(constants)
        for place, which, kind in self._places:
            try:
                found[place] = as_input(computed[which]) if kind is None else (
                    torch.scalar_tensor(computed[which], dtype=kind))
            except (OverflowError, RuntimeError):  # an int that is too large for any type
                return None
        return found
