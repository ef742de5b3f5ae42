"""Replaying a recorded run: its inputs are found, the graph runs, and its results are returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch

from ...core.forking import ReentrantLock
from ...machine.collector import not_collecting
from ...tensors.random import restart
from ..ir import logs
from ..ir.stages import CannotCut, check_guards
from ..tracing.lines import NOWHERE, Line
from ..tracing.refusals import CannotTrace, Cause
from ..tracing.trace import Trace
from .direct import Direct
from .execution import Execution
from .inputs import Inputs
from .outputs import Outputs
from .scalar_inputs import ScalarInputs
from .stage import is_forced

_AS_IT_IS = nullcontext()


class Replay:
    """A recorded run prepared to be replayed.

    Args:
        trace: the run.
        given: the data of the arguments' Tensors.
        level: the optimization level.
        sizes: as for `Inputs`.

    Attributes:
        inputs: where the graph's inputs are found.
        scalars: the Python numbers that it computes; None if there are none.
        execution: how the graph is run.
        outputs: its results and side effects.
        fresh: the generators of random numbers that it makes, with their seeds.
        lines: where the program read the values that the graph guards.
        codes: the code objects of the program that ran.
        direct: the short path to it.
        kind: the values that its recording observed, without sizes (see `size_profile.kind_of`).

    Raises:
        CannotTrace: if there can't be a replay.
    """

    @not_collecting()
    def __init__(self, trace: Trace, given: list[torch.Tensor], level: str,
                 sizes: Callable[[list[torch.Tensor]], bool] | None = None):
        outcome, expected = trace.outcome, [guard.expected for guard in trace.guards]
        assert outcome is not None
        graph = outcome.graph
        self.inputs = Inputs(trace, outcome, given, sizes)
        self.scalars = None if trace.scalars is None else ScalarInputs(
            trace.scalars, outcome.constants)
        # machine code is for one size
        compile = sizes is None and (level != "O0" or is_forced())
        self.execution = Execution(graph, expected, len(given), compile)
        self.outputs = Outputs(outcome, trace.deferred, self.inputs, self.scalars is not None)
        self.fresh = trace.fresh
        self._drawing = ReentrantLock()
        self.lines = [guard.line for guard in trace.guards]
        self.codes = list(trace.outside.codes)
        self.kind: Any = None
        self.direct = Direct()
        try:
            check_guards(graph, len(expected))
        except CannotCut as found:
            line: Line = found.guard.meta.get("line", NOWHERE)
            raise CannotTrace(f"turns a tensor into a Python value after a tensor that it depends "
                              f"on has been changed{line}", Cause.LATE_GUARD) from None
        logs.show("trace", f"{self.execution.nodes} operations", logs.kernels(graph.graph))
        logs.show("guards", f"{len(expected)} numbers were read off tensors", (
            f"{value!r}{line}" for value, line in zip(expected, self.lines, strict=True)))

    def run(self, given: list[torch.Tensor], numbers: Sequence[Any] = ()) -> list[Any] | None:
        """The graph's results from the arguments' data and the numbers that vary.

        None if a guard fails; then there were no side effects. If the run computes Python numbers,
        the last result is a list of these.
        """
        if self.scalars is None:
            return self._run(given, None)
        begun, found = self.scalars.begun(), None
        try:
            computed = self.scalars.computed(numbers)
            if computed is not None:
                constants = self.scalars.put_into(self.inputs.constants, computed)
                found = None if constants is None else self._run(given, constants)
            if found is not None:
                found.append(computed)
        finally:
            if found is None and begun is not None:
                begun.put_back()
        return found

    def _run(self, given: list[torch.Tensor], constants: list[torch.Tensor] | None
             ) -> list[Any] | None:
        values = self.inputs.values(given, constants)
        if values is None:
            return None
        # nothing requires a gradient; but some kernels keep less for the backward pass without this
        with _AS_IT_IS if torch.is_grad_enabled() else torch.enable_grad():
            if not self.fresh:
                return self.execution.run(values)
            with self._drawing:  # they draw for one thread's run at a time
                for made, *seeds in self.fresh:
                    restart(made, *seeds)
                return self.execution.run(values)

    def failed_guard(self, given: list[torch.Tensor]) -> tuple[str, str, str]:
        """The guard that failed in a run, its expected and its actual value, as text."""
        found = self.inputs.failed_guard(given) or self.execution.failed_guard(self.lines)
        if found is not None:
            return found
        if self.scalars is not None and self.scalars.generators:
            return "a random number that decides what it computes", "", ""
        return "a number that it computes with, or memory that Tensors share", "", ""

    def failed_lines(self) -> list[Line]:
        """The line that reads the value whose guard has failed last, if one has."""
        plan = self.execution.plan
        failed = None if plan is None else plan.guards.failed
        return [] if failed is None else [self.lines[failed[0]]]

    @property
    def only_computes(self) -> bool:
        """Whether it returns new Tensors, or their numbers, computed from arguments and from fixed
        objects."""
        return self.outputs.only_gives and self.inputs.are_fixed and not (
            self.fresh or self.execution.streams or self.outputs.assigns
            or self.scalars is not None and not self.scalars.are_fixed)
