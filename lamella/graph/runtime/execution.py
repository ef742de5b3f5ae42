"""How a recorded graph is run: replayed first, and improved in steps while it is hot."""

from __future__ import annotations

import enum
import os
import time
from typing import Any

import torch
from torch.fx import GraphModule

from ...core.forking import Lock
from ...machine import (
    activation,
    attention,
    background,
    batch_norm,
    cross_entropy,
    few_queries,
    few_rows,
    layer_norm,
    winograd,
)
from ...machine.collector import not_collecting
from ...machine.memory import allocator, release
from ...machine.quiet import share_of
from ..guards import identity
from ..ir.loop import loops_of, operations_in
from ..ir.operations import is_exchange
from ..ir.shapes import ShapeGuard
from ..ir.streams import generators_restored, streams_of
from ..passes import improve, was_measured_before
from ..passes.pools import pool_channels_last
from ..tracing import outside
from ..tracing.lines import Line
from ..xla import client
from .plan import Plan
from .program import extension
from .stage import Heat, is_forced

HOT = 0.5  # seconds that a graph must have run before it is worth compiling
WARM = 0.05  # the same for a compiler that takes seconds, where kernels are small
LEAST = 5e-5  # seconds of the shortest run that such a compiler may make faster
LEAST_OF_LOOPS = 1e-5  # the same for a graph with a loop, which becomes one kernel
SMALL = 3e-5  # the most seconds of a small kernel, whose fixed cost counts
FEWEST, MOST = 9, 104  # runs of a trial
PATIENCE = 1.0  # seconds of a trial, unless the fewest runs take longer
SOON = 64  # after so many runs, a graph whose runs are shorter than `LEAST` is left as it is
PAUSE = 1e-3  # seconds of runs between two looks at what there is to do
MOST_AT_ONCE = 4000  # operations of a graph that is looked up on disk before it is hot


class Phase(enum.IntEnum):
    """What is left to do on the way to the fastest execution of a graph."""

    REWRITING = 0  # to try rewritings of it
    COMPILING = 1  # to choose the backends of its stages
    SETTLED = 2  # to choose between Python's and C++'s executors
    FINAL = 3  # nothing


class Execution:
    """A graph, how it is run now, and the steps towards the fastest way.

    Args:
        graph: the graph.
        expected: the expected values of its guards.
        arguments: how many of its inputs are arguments.
        compile: whether more is done than replaying it as it was recorded.

    Attributes:
        nodes: how many operations were recorded.
        streams: the generators that it draws from besides the default one.
        communicates: whether other processes take part.
        spent, runs, least: the seconds of all runs so far, their number, the shortest one's.
        phase: how far it is.
        plan: how it is run now; None before the first run.
    """

    def __init__(self, graph: GraphModule, expected: list, arguments: int, compile: bool):
        self.graph = graph
        self.expected = expected
        self.nodes = len(graph.graph.nodes)
        self._size = operations_in(graph.graph.nodes)  # those of loops as often as they run
        self._least_of_all = LEAST_OF_LOOPS if loops_of(graph.graph.nodes) else LEAST
        self.streams = streams_of(graph)
        self.communicates = any(map(is_exchange, graph.graph.nodes))
        self.plan: Plan | None = None
        self.spent = 0.0
        self.least = float("inf")
        self.runs = 0
        self.phase = (Phase.SETTLED if not compile
                      else Phase.COMPILING if self.communicates  # trials would repeat collectives
                      else Phase.REWRITING)
        self._arguments = arguments
        self._settling = Lock()
        self._tried = 0.0  # seconds
        self._looks_at = 0.0  # seconds of runs after which there may be something to do
        self._lowered = False  # whether all executors in C++ are built, or can't be

    def run(self, values: list[torch.Tensor]) -> list[torch.Tensor] | None:
        """The graph's results from all its inputs; None if a guard fails."""
        count, plan = len(values), self.plan or self.planned(values)
        start = time.perf_counter()
        if not plan.run(values, self.streams):
            return None
        found = [values[i] for i in plan.results]
        self.runs += 1
        took = time.perf_counter() - start
        self.spent += took
        self.least = took if took < self.least else self.least
        if (self.spent > self._looks_at or self.runs in (1, SOON)) and self._may_go_on(plan):
            self._looks_at = self.spent + min(PAUSE, HOT)
            self._settle(plan, values, count)
        return found

    def _may_go_on(self, plan: Plan) -> bool:
        """Whether there may be something to do now."""
        if self.phase is Phase.FINAL or self.runs in (1, SOON):
            return self.phase is not Phase.FINAL
        return self.spent > min(WARM, HOT) and not (
            plan.waits and self.phase is Phase.COMPILING and self._lowered)

    def planned(self, values: list[torch.Tensor]) -> Plan:
        """How it is run now; made by the first replay, since some graphs never run again.

        Args:
            values: all inputs of the graph.
        """
        with self._settling, generators_restored(self.streams):
            if self.plan is None:
                recorded = self.graph
                if self.phase < Phase.SETTLED:
                    with not_collecting():
                        self.graph = recorded = improve(self.graph, values, in_place=True)
                    if (self.nodes <= MOST_AT_ONCE and self.phase is Phase.REWRITING
                            and was_measured_before(self.graph, values)):
                        self.graph = improve(self.graph, values, measure=True)
                        self.phase = Phase.COMPILING
                with not_collecting():
                    self.plan = self._plan_of(self.graph, recorded)
                release()  # the memory that the recording took
            return self.plan

    def _plan_of(self, graph: GraphModule, recorded: GraphModule) -> Plan:
        """A plan of a graph; pools get large planes in the layout for which they are faster."""
        if compile := self.phase < Phase.SETTLED:
            graph = pool_channels_last(graph, recorded) or graph
        return Plan(graph, self.expected, self._arguments, compile, self.plan)

    def _settle(self, plan: Plan, values: list[torch.Tensor], count: int) -> None:
        """Take the next step towards the fastest way to run; `count` of the values are inputs."""
        if not self._settling.acquire(blocking=False):
            return  # another thread does this
        try:
            heat = self._heat()
            self._lower(plan, heat is Heat.HOT)
            if self.runs == SOON and self.spent < SOON * self._least_of_all:
                self.phase = Phase.SETTLED
            if self.phase < Phase.SETTLED:
                self._improve(plan, values, count, heat)
        except Exception:  # noqa: BLE001  (the call itself has succeeded)
            if is_forced():
                raise
            self.phase = Phase.SETTLED
        finally:
            if self.settled and self._lowered and (client.extension.is_finished or not any(
                    stage.backend == "xla" for stage in plan.stages)):
                self.phase = Phase.FINAL
            self._settling.release()

    def _improve(self, plan: Plan, values: list[torch.Tensor], count: int, heat: Heat) -> None:
        """Improve the graph by measuring, then compile its stages.

        What an earlier process found is used from the first replay on.
        """
        if plan.is_far_ahead:
            self.phase = Phase.COMPILING
        is_rewritten = self.phase >= Phase.COMPILING
        with generators_restored(self.streams):
            if heat is Heat.HOT and not is_rewritten and self._can_afford_a_trial():
                del values[count:]  # the results of the stages
                self._try(values)
            elif plan is self.plan and (heat > Heat.COLD or self.nodes <= MOST_AT_ONCE):
                plan.settle(values, heat if is_rewritten else min(heat, Heat.WARM), self._is_small)
                if plan.settled and is_rewritten:
                    self.phase = Phase.SETTLED
                    if heat is Heat.HOT:
                        release()  # the memory that the comparisons took

    def _heat(self) -> Heat:
        """Which compilers are worth their time."""
        if self.runs == 1:  # includes making the plan
            return Heat.COLD
        if self.spent > HOT:
            return Heat.HOT
        return Heat.WARM if self.spent > WARM and self._is_small else Heat.COLD

    @property
    def _is_small(self) -> bool:
        """Whether its kernels take so little that what each costs at least counts."""
        return self._least_of_all < self.least < SMALL * self._size

    def _lower(self, plan: Plan, hot: bool) -> None:
        """Change to the executors in C++, once they are built; a hot graph requests them."""
        calls = client.extension
        if hot:
            for wanted in (extension, identity.extension, allocator, outside.extension,
                           *([calls] if client.available() else [])):
                wanted.request()
        allocator.load()
        identity.extension.load()
        known = extension.module, calls.module  # used by the plan already, unless they are None
        if (extension.load(), calls.load()) != known:
            plan.lower()
        self._lowered = all(one.is_finished for one in (allocator, identity.extension, extension))

    def _can_afford_a_trial(self) -> bool:
        """Whether a trial would stay within the share of time that trials may take."""
        run = self.spent / self.runs
        cost = max(FEWEST * run, min(MOST * run, PATIENCE))
        share = share_of(os.environ.get("LAMELLA_COMPILE_SHARE"))
        if not allocator.is_finished:  # without it a trial takes far more memory
            return False
        if any(kernel.extension.is_awaited
               for kernel in (few_rows, few_queries, attention, batch_norm, cross_entropy,
                              layer_norm, activation, winograd)):
            return False  # kernels that belong into the trial
        if share >= 1.0:  # jobs of the background take whole cores, and a trial is timed
            return not background.is_busy()
        return self._tried + cost <= share * self.spent

    def _try(self, values: list[torch.Tensor]) -> None:
        """Try the next rewriting of the graph."""
        start = time.perf_counter()
        release()  # the memory that the run took
        better = improve(self.graph, values, measure=True)
        if not better.meta.get("open"):
            self.phase = Phase.COMPILING
        self.plan = self._plan_of(better, self.graph)
        release()
        self._tried += time.perf_counter() - start

    @property
    def settled(self) -> bool:
        """Whether the rewritings of the graph and the backends of its stages are final."""
        return self.phase >= Phase.SETTLED

    @property
    def is_final(self) -> bool:
        """Whether the choice between Python's and C++'s executors is final, too."""
        return self.phase is Phase.FINAL

    @property
    def only_run(self) -> Any:
        """What runs the only stage, if there is one that changes nothing, and nothing is timed."""
        return None if self.plan is None else self.plan.only_run

    @property
    def rests(self) -> bool:
        """Whether it runs as it will for a while: until it is hot, or Inductor has an answer."""
        plan = self.plan
        if plan is None or self.phase is Phase.FINAL:
            return plan is not None
        if plan.settled and self._lowered and self.spent <= HOT:
            return True
        return (self.runs > SOON and len(plan.stages) == 1 and plan.stages[0].backend == "xla"
                and not plan.stages[0].is_timed)

    def note_others(self, runs: int) -> None:
        """Count runs that have taken the short path."""
        self.runs += runs
        self.spent += runs * self.least

    def failed_guard(self, lines: list[Line]) -> tuple[str, str, str] | None:
        """The guard that failed in the last run, its expected and its actual value, as text."""
        failed = None if self.plan is None else self.plan.guards.failed
        if failed is None:
            return None
        number, found = failed
        expected = self.expected[number]
        if isinstance(expected, ShapeGuard):
            return (f"a data-dependent shape{lines[number]}",
                    f"{tuple(expected.shape)}", f"{tuple(found)}")
        return f"the value of a Tensor{lines[number]}", repr(expected), repr(found)

    def graphs(self) -> list[GraphModule]:
        """The graphs of its stages, in order."""
        return [self.graph] if self.plan is None else [s.part.copied() for s in self.plan.stages]

    @property
    def backend(self) -> str:
        """The compiler whose machine code runs any part of it, else ``"replay"``."""
        stages = () if self.plan is None else self.plan.stages
        return next((s.backend for s in stages if s.backend != "replay"), "replay")
