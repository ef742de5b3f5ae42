"""A graph prepared for execution: its stages, each run by the backend that is fastest for it."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule

from ..ir import logs
from ..ir.shapes import ShapeGuard
from ..ir.stages import Cut
from ..ir.streams import streams_of
from .autotuner import Autotuner, Run
from .joined import joined
from .liveness import Liveness
from .plan_guards import PlanGuards
from .program import Handed
from .stage import Heat, Stage
from .transaction import UNDONE_BY_ITSELF, Transaction
from .worth import is_worth_compiling


class KernelFailed(Exception):
    """A kernel of a replay has failed before any side effect."""


class Plan:
    """How a graph is run: its stages, and the expected values of its guards.

    Args:
        graph: the graph; its results are the guards, then the results proper.
        expected: the expected values of the guards.
        arguments: how many of its inputs are arguments; the others rarely move in memory.
        compile: whether stages may be compiled.
        before: the plan so far, of a graph with the same meaning.

    Attributes:
        guards: its guards on values.
        constants: the tensors that the graph holds, which follow its inputs.
        results: the places of the graph's results.
        changing: the number of the first stage that mutates inputs.
        exchanges: the numbers of the stages that are collectives.
        stages: the stages.
        joined: the last stage that computes and the one that mutates inputs as one, if that pays.
        is_pure: whether a further run would have the same results.
        settled: whether the backends of all stages are final.

    Raises:
        CannotCut: if a guard depends on what the graph changes.
    """

    def __init__(self, graph: GraphModule, expected: list[Any], arguments: int, compile: bool,
                 before: Plan | None = None):
        cut = Cut(graph, len(expected), [
            i for i, value in enumerate(expected) if isinstance(value, ShapeGuard)])
        self.guards = PlanGuards(cut, expected, arguments)
        self.constants, self.results = cut.constants, cut.results
        self.changing, self.exchanges = cut.changing, cut.exchanges
        self.stages = self._stages(cut, arguments, compile, [] if before is None else before.stages)
        self.joined = joined(cut, self.guards.after) if compile and not cut.undone else None
        self._joining = cut.changing - 1 if self.joined is not None else -1
        self.is_pure = cut.changing == len(self.stages) and not streams_of(graph)
        self.settled = all(stage.settled for stage in self.stages)
        self._commits_at = self._commit_point()
        self._undone = [] if cut.exchanges else cut.undone
        self._needs_transaction = bool(cut.exchanges or cut.undone)
        self._liveness = Liveness(self.stages, len(cut.inputs), self.guards.after,
                                  {*self.results}.union(*self.guards.operands.values()))
        self._freed = self._liveness.freed()

    def _stages(self, cut: Cut, arguments: int, compile: bool, before: list[Stage]) -> list[Stage]:
        """The stages; those before the first that mutates inputs may be compiled."""
        found = []
        for number, (part, takes) in enumerate(cut.stages):
            may_compile = compile and number < cut.changing and number not in cut.exchanges and (
                not self._gives_shapes(number))
            stays = [arguments <= place < len(cut.inputs) for place in takes]
            found.append(Stage(part, takes, stays, may_compile, before))
        logs.show("schedule", f"{len(found)} stages", (
            f"{number}: {len(stage.part.nodes)} operations, "
            f"{'changes its inputs, ' if stage.part.changes_inputs else ''}{stage.backend}"
            for number, stage in enumerate(found)))
        return found

    def _commit_point(self) -> int:
        """The number of the stage from which on a run can't be repeated.

        Other processes have seen it then, or it has changed its inputs.
        """
        return max(self.guards.after, default=0) if self.exchanges else self.changing

    def run(self, values: list[Any], streams: list[torch.Generator]) -> bool:
        """Run the stages; their results are appended to `values`, which starts with the inputs.

        Those that nothing reads any more become None.

        Returns:
            Whether the guards hold; if not, there were no side effects, except for exchanges, whose
            results are kept for the run that follows.

        Raises:
            KernelFailed: if a kernel fails, and the function may be run from its start.
            Exception: if one fails afterwards, or an exchange does.
        """
        guards = self.guards
        if guards.of_inputs and not guards.hold(guards.of_inputs, values):
            return False
        values.extend(self.constants)
        transaction = UNDONE_BY_ITSELF
        if streams or self._needs_transaction:
            transaction = Transaction(streams, bool(self.exchanges))
        freed = self._freed  # read once: another thread may replace it
        for number, stage in enumerate(self.stages):
            if number == self._joining and self._joins(stage):
                return self._run_joined(values, transaction)
            if number == self._commits_at and self._needs_transaction:
                transaction.close([values[i] for i in self._undone])
            run, given = stage.run, [values[i] for i in stage.takes]  # read once, as `freed`
            if (last := freed.by_it[number]) and run is stage.replay:
                given = _handed(given, last, values)
            try:
                values.extend(run(given))
                known = guards.after.get(number + 1)
                holds = known is None or guards.hold(known, values)
            except Exception as error:
                if number in self.exchanges or (
                        number >= self._commits_at and not transaction.stays_open):
                    transaction.end()
                    raise
                transaction.roll_back()
                raise KernelFailed from error  # the function, run eagerly, raises the real error
            if not holds:
                transaction.roll_back()
                return False
            for place in freed.after[number]:
                values[place] = None
        if self.exchanges:
            transaction.end()
        return True

    def _joins(self, stage: Stage) -> bool:
        """Whether the last stage that computes runs as one with the stage after it now."""
        return self.joined is not None and self.joined.is_ready and stage.run is stage.replay

    def _run_joined(self, values: list[Any], transaction: Transaction) -> bool:
        """Run these two; as `run`."""
        assert self.joined is not None
        if self.joined.run(values):
            return True
        transaction.roll_back()
        raise KernelFailed

    def _gives_shapes(self, number: int) -> bool:
        """Whether the kernel of a stage has data-dependent shapes."""
        return any(isinstance(guard.expected, ShapeGuard)
                   for guard in self.guards.after.get(number + 1, ()))

    def lower(self) -> None:
        """Change to the executors in C++ that have been built."""
        for stage in self.stages:
            stage.lower()
        if self.joined is not None:
            self.joined.lower()

    @property
    def only_run(self) -> Run | None:
        """What runs the only stage, if there is one that changes nothing, and nothing is timed."""
        if len(self.stages) != 1 or self.changing == 0 or self.exchanges or self.guards.of_inputs:
            return None
        stage = self.stages[0]
        run = stage.run  # read once: another thread may replace it
        return run if stage.backend in ("replay", "xla") and not isinstance(
            run, Autotuner) else None

    @property
    def waits(self) -> bool:
        """Whether there is nothing to do before a compilation has ended."""
        left = [stage for stage in self.stages if not stage.settled]
        return bool(left) and all(stage.waits for stage in left)

    @property
    def is_far_ahead(self) -> bool:
        """Whether machine code is so fast that no rewriting of kernels would matter."""
        return any(stage.is_far_ahead for stage in self.stages) and all(
            stage.is_far_ahead or stage.part.changes_inputs or not is_worth_compiling(stage.part)
            for stage in self.stages)

    def settle(self, values: list[Any], heat: Heat, prompt: bool = False) -> None:
        """Continue the autotuning of each stage; `values` are those of a run, and forgotten.

        Args:
            values: the inputs and the results of all stages, None where they were freed.
            heat: which compilers are worth their time.
            prompt: whether those that take seconds need not yield to the program.
        """
        waiting = []
        for stage, places in zip(self.stages, self._liveness.uses, strict=True):
            its = [values[i] for i in places]
            if not stage.settled and all(value is not None for value in its):
                count = len(stage.takes)
                waiting.append((stage, its[:count], its[count:] if self.is_pure else None))
        values.clear()  # no other result lives on while more are made to be compared
        its = []
        for stage, given, results in waiting:
            stage.settle(given, heat, results, prompt)
        self.settled = all(stage.settled for stage in self.stages)
        self._freed = self._liveness.freed()


def _handed(given: list[Any], last: list[int], values: list[Any]) -> Handed:
    """The inputs of a stage, which frees those at these places as it runs."""
    for place in last:
        values[place] = None
    return Handed(given)
