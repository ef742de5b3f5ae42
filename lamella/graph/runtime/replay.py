"""Replaying a recorded graph: first its guards, last the stage that changes memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from operator import is_
from typing import Any

import torch
from torch.fx import GraphModule

from ...core.forking import Lock
from ...machine import background
from ...machine.collector import not_collecting
from ...machine.memory import allocator, release
from ...machine.quiet import share_of
from ...tensors.parameter import Parameter
from ...tensors.random import restart
from ...tensors.tensor import Tensor, wrap
from ..guards import identity
from ..guards.arguments import given_tensors, pattern_of, things_of
from ..guards.bytecode import facts_of
from ..guards.kinds import form_of
from ..guards.reachable import Reachable
from ..ir import logs
from ..ir.operations import is_exchange
from ..ir.shapes import ShapeGuard
from ..ir.sharing import Sharing
from ..ir.stages import CannotCut, check_guards
from ..ir.streams import generators_restored, streams_of
from ..passes import improve, was_measured_before
from ..passes.pools import pool_channels_last
from ..tracing import outside
from ..tracing.arrays import as_input
from ..tracing.changes import assign
from ..tracing.draws import Positions
from ..tracing.lines import NOWHERE, Line
from ..tracing.results import New, Rebuilding, builder_of
from ..tracing.trace import CannotTrace, Trace, data_of
from .plan import Heat, Plan, is_forced
from .program import extension

HOT = 0.5  # seconds that a path must have run before it is worth compiling
WARM = 0.05  # the same for a compiler that takes seconds, where kernels are small
LEAST = 2e-4  # seconds of a run that such a compiler may shorten
SMALL = 3e-5  # the most seconds of a small kernel, whose fixed cost counts
FEWEST, MOST, PATIENCE = 9, 104, 1.0  # runs of a trial; seconds, unless the fewest take longer
SOON, TINY = 64, 5e-5  # after so many runs, one shorter than so many seconds isn't compiled
MOST_AT_ONCE = 4000  # operations of a graph that is looked up on disk before it is hot
_AS_IT_IS = nullcontext()


class GuardTooLate(CannotTrace):
    """A guard is known only after what it depends on has been changed.

    Args:
        what: the reason in words.
        reads: the numbers that the run has read off tensors.
    """

    def __init__(self, what: str, reads: list[Any]):
        super().__init__(what)
        self.reads = reads


class Path:
    """A recorded run prepared for replay, in stages (see `ir.stages`).

    Attributes:
        held: the Tensors it reads or mutates other than as arguments, of those that have to be the
            same objects; `sources` are those of the others.
        changes: its assignments to Python's objects.
        fresh: the generators of random numbers that it makes, with their seeds.
        deferred: the calls that it makes at its end, such as `print`.
        gives_one: whether it returns one Tensor, and has no other effect in Python.
        build: makes what it returns from the graph's results, if nothing else is needed for that.
        compute: computes the Python numbers of a replay from those that vary; None if none do.
        scalars: the sources of such numbers in the program's objects.
        generators: those of Python and NumPy that it draws from.
        expected: the expected values of the guards, with their `lines`.
        codes: the code objects of the program that ran.
        nodes: how many operations were recorded.
        changes_arguments: whether it mutates its arguments.
        pattern: which of the objects it was given are the same, if it changes or returns any.
        applies_again: whether it holds for arguments like those that it was recorded with; not if
            it mutates one of them that shares memory with another.
        communicates: whether other processes take part.
        spent: seconds of all runs so far, of which there were `runs`; `least` of the shortest.
        settled: whether the choice how it is run is final.
        plan: how it is run now; None before the first run.
        sizes: whether it holds for the sizes of given arguments; None if it is for one size.
        direct: the short path to it (`direct`), and the fingerprint that this expects.
        kind: the values that its recording observed, without sizes (see `sizes.kind_of`).
    """

    @not_collecting()
    def __init__(self, trace: Trace, inputs: list[torch.Tensor], level: str,
                 sizes: Callable[[list[torch.Tensor]], bool] | None = None):
        assert trace.graph is not None
        graph = trace.graph
        self.sizes = sizes
        self.kind: Any = None
        self.arguments = len(inputs)
        self.held = [t for t, source in zip(trace.held, trace.sources, strict=True)
                     if source is None]
        self.parameters = [t for t in self.held if isinstance(t, Parameter)]
        self.others = self.held[len(self.parameters):]
        self.sources = [source for source in trace.sources if source is not None]
        self.forms = [form_of(raw) for raw, source in zip(trace.data, trace.sources, strict=True)
                      if source is None]
        self.constants = trace.constants
        self._assigned = trace.assigned
        self.queries = trace.outside.queries
        numbers = trace.numbers
        self.compute = None if numbers is None else numbers.function()
        self.scalars = [] if numbers is None else numbers.sources
        self.generators = [] if numbers is None or numbers.draws is None else (
            numbers.draws.generators)
        self._number_inputs = [] if numbers is None else [
            (place, which, kind) for place, raw in enumerate(self.constants)
            for own, which, kind in numbers.tensors if own is raw]
        self.forget_data()
        self.out_tree = trace.out_tree
        self.changes = trace.changes
        self.fresh = trace.fresh
        self.deferred = trace.deferred
        given = self.out_tree[0]  # whose type counts, since a program's tuple may equal New(0)
        self.gives_one = (type(given) is New and given == New(0)
                          and not self.changes and not self.deferred)
        self.build = None if self.changes or self.deferred else builder_of(given)
        self.expected = [value for _, value in trace.guards]
        self.lines = trace.lines
        self.codes = list(trace.outside.codes)
        self._by_identity = any(facts_of(code).identities for code in self.codes)
        self.nodes = len(graph.graph.nodes)
        self._sharing = Sharing(graph, self.arguments, len(self.parameters))
        self.changes_arguments = any(i < self.arguments for i in self._sharing.written)
        values = [*inputs, *trace.data, *self.constants]
        shares = self._sharing.found(values)
        if shares and self._sharing.is_beside_arguments(values):
            raise CannotTrace("changes memory that is shared by what it uses")
        self.applies_again = not shares
        self._same = trace.same
        self._found_elsewhere = trace.found_elsewhere
        self.pattern = trace.given.pattern if trace.uses_things and trace.given else None
        self.streams = streams_of(graph)
        self.communicates = any(map(is_exchange, graph.graph.nodes))
        self.spent = 0.0
        self.least = float("inf")
        self.runs = 0
        self._settling = Lock()
        self._measured = self.communicates  # trials would repeat the collectives of one process
        self.settled = level == "O0" and (sizes is not None or not is_forced())
        self._tried = 0.0  # seconds
        self._lowered = False  # whether the choice of its executor is final
        self.graph = graph
        self.plan: Plan | None = None
        self.direct: tuple[Any, Any] = (None, None)
        try:
            check_guards(graph, len(self.expected))
        except CannotCut as found:
            line: Line = found.guard.meta.get("line", NOWHERE)
            raise GuardTooLate(f"turns a tensor into a Python value after what it depends on "
                               f"has been changed{line}", trace.reads) from None
        logs.show("trace", f"{self.nodes} operations", logs.kernels(graph.graph))
        logs.show("guards", f"{len(self.expected)} numbers were read off tensors", (
            f"{value!r}{line}" for value, line in zip(self.expected, self.lines, strict=True)))

    def planned(self, values: list[torch.Tensor]) -> Plan:
        """How it is run now; made by the first replay, since some graphs never run again.

        Args:
            values: all inputs of the graph.
        """
        with self._settling, generators_restored(self.streams):
            if self.plan is None:
                if not self.settled:
                    with not_collecting():
                        self.graph = improve(self.graph, values, in_place=True)
                    if (self.nodes <= MOST_AT_ONCE and not self._measured
                            and was_measured_before(self.graph, values)):
                        self.graph, self._measured = improve(self.graph, values, measure=True), True
                with not_collecting():
                    self.plan = self._plan_of(self.graph)
                release()  # the memory that the recording took
            return self.plan

    def _plan_of(self, graph: GraphModule) -> Plan:
        """A plan of a graph; the layouts of pools are guessed until all are measured."""
        if not self.settled and not self._measured:
            graph = pool_channels_last(graph) or graph
        return Plan(graph, self.expected, self.arguments, not self.settled)

    def forget_data(self) -> None:
        """Release the Parameters' data of the last run, since they may get other data."""
        self._seen: Sequence[torch.Tensor | None] = [None] * len(self.parameters)

    def _computed(self, numbers: Sequence[Any]) -> Sequence[Any] | None:
        """The numbers of a replay, computed from those that vary; None if a condition fails."""
        assert self.compute is not None
        try:
            return self.compute(*numbers, *[source.get() for source in self.scalars])
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return None  # the function itself then raises it at its line

    def _inputs(self, given: list[torch.Tensor], computed: Sequence[Any] | None = None
                ) -> list[torch.Tensor] | None:
        """All inputs of the graph, from the arguments' data; None if a guard on them fails."""
        if self.sizes is not None and not self.sizes(given):
            return None
        for question, answer in self.queries:
            if question() != answer:
                return None
        data = [p._data for p in self.parameters]
        others = [t._raw for t in self.others]
        moved = not all(map(is_, data, self._seen))
        if moved or others:
            for form, raw in zip(self.forms, (*data, *others), strict=True):
                if form_of(raw) != form:
                    return None
            self._seen = data
        others.extend([source.get()._raw for source in self.sources])
        if self._same and not all([given[i] is (data[j] if j < len(data) else others[j - len(data)])
                                   for i, j in self._same]):
            return None  # an argument is no longer the Tensor that it was found as elsewhere
        if self._by_identity and not {*map(id, given)}.isdisjoint(map(id, others)):
            return None  # an argument is one of the Tensors that it may be compared with
        values = [*[x.detach() if x.requires_grad else x for x in given], *data,
                  *[x.detach() if x.requires_grad else x for x in others], *self.constants]
        if computed is not None:
            start = len(values) - len(self.constants)
            for place, which, kind in self._number_inputs:
                try:
                    values[start + place] = as_input(computed[which]) if kind is None else (
                        torch.scalar_tensor(computed[which], dtype=kind))
                except (OverflowError, RuntimeError):  # an int that is too large for any type
                    return None
        return None if self._sharing.found(values, moved) else values

    def holds_for(self, args: tuple, kwargs: dict, reach: Reachable) -> bool:
        """Whether its changes and results are those for the objects among these arguments."""
        if self.pattern is None:
            return True
        things = list(things_of((args, kwargs)))
        return pattern_of(things) == self.pattern and (
            [number for number, thing in enumerate(things) if reach.knows(thing)]
            == [number for number, _ in self._found_elsewhere]) and all(
                things[number] is thing for number, thing in self._found_elsewhere)

    def assigned(self) -> list[Tensor]:
        """The Tensors whose data the run replaces, in the order of its last results."""
        return [self.found(number) for number in self._assigned]

    def assign(self, found: list[torch.Tensor]) -> None:
        """Assign the last results of a run to the Parameters and Tensors that they belong to."""
        assigned = self.assigned()
        end = len(found) - (self.compute is not None)
        for tensor, raw in zip(assigned, found[end - len(assigned):end], strict=True):
            if isinstance(tensor, Parameter):
                tensor.assign_raw(raw)
            else:
                tensor._raw = raw

    def found(self, number: int) -> Tensor:
        """A Tensor that the run reads or changes other than as an argument, by its number."""
        known = len(self.held)
        return self.held[number] if number < known else self.sources[number - known].get()

    def run(self, given: list[torch.Tensor], numbers: Sequence[Any] = ()) -> list[Any] | None:
        """The graph's results from the arguments' data and the numbers that vary.

        None if a guard fails; then there were no side effects. If the run computes Python numbers,
        the last result is a list of these.
        """
        if not self.generators:
            return self._run(given, numbers)
        begun, found = Positions(self.generators), None
        try:
            found = self._run(given, numbers)
        finally:
            if found is None:
                begun.put_back()
        return found

    def _run(self, given: list[torch.Tensor], numbers: Sequence[Any]) -> list[Any] | None:
        computed = None
        if self.compute is not None:
            computed = self._computed(numbers)
            if computed is None:
                return None
        values = self._inputs(given, computed)
        if values is None:
            return None
        count, plan = len(values), self.plan or self.planned(values)
        start = time.perf_counter()
        # nothing requires a gradient; but some kernels keep less for the backward pass without this
        with _AS_IT_IS if torch.is_grad_enabled() else torch.enable_grad():
            for made, *seeds in self.fresh:
                restart(made, *seeds)
            if not plan.run(values, self.streams):
                return None
            found: list[Any] = [values[i] for i in plan.results]
            self.runs += 1
            took = time.perf_counter() - start
            self.spent += took
            self.least = took if took < self.least else self.least
            if not self.is_final and (
                    self.runs in (1, SOON) or self.spent > min(WARM, HOT) and not (
                        plan.waits and self._measured and self._lowered)):
                self._settle(plan, values, count)
        if computed is not None:
            found.append(computed)
        return found

    def _settle(self, plan: Plan, values: list[torch.Tensor], count: int) -> None:
        """Take the next step towards the fastest way to run, if the path is hot.

        First the graph is improved by measuring, then its stages are compiled. What an earlier
        process found is used from the first replay on.
        """
        if not self._settling.acquire(blocking=False):
            return  # another thread does this
        try:
            heat = self._heat()
            hot = heat is Heat.HOT
            if not self._lowered:
                self._lower(plan, hot)
            self.settled |= self.runs == SOON and self.spent < SOON * TINY
            if self.settled:
                return
            with generators_restored(self.streams):
                if hot and not self._measured and self._can_afford_a_trial():
                    del values[count:]  # the results of the stages
                    self._try(values)
                elif plan is self.plan and (heat > Heat.COLD or self.nodes <= MOST_AT_ONCE):
                    plan.settle(values, heat if self._measured else min(heat, Heat.WARM),
                                self._is_small)
                    self.settled = plan.settled and (self._measured or not hot)
                    if self.settled and hot:
                        release()  # the memory that the comparisons took
        except Exception:  # noqa: BLE001  (the call itself has succeeded)
            if is_forced():
                raise
            self.settled = True
        finally:
            self._settling.release()

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
        return LEAST < self.least < SMALL * self.nodes

    def _lower(self, plan: Plan, hot: bool) -> None:
        """Replay by the C++ executor once it is built, which a hot path requests."""
        if hot:
            for wanted in (allocator, identity.extension, outside.extension, extension):
                wanted.request()
        allocator.load()
        identity.extension.load()
        known = extension.module  # used by the plan already, unless it is None
        if extension.load() is not known:
            plan.lower()
        self._lowered = (allocator.is_finished and identity.extension.is_finished
                         and extension.is_finished)

    def _can_afford_a_trial(self) -> bool:
        """Whether a trial would stay within the share of time that trials may take."""
        run = self.spent / self.runs
        cost = max(FEWEST * run, min(MOST * run, PATIENCE))
        share = share_of(os.environ.get("LAMELLA_COMPILE_SHARE"))
        if not allocator.is_finished:  # without it a trial takes far more memory
            return False
        if share >= 1.0:  # jobs of the background take whole cores, and a trial is timed
            return not background.is_busy()
        return self._tried + cost <= share * self.spent

    def _try(self, values: list[torch.Tensor]) -> None:
        """Try the next rewriting of the graph."""
        start = time.perf_counter()
        release()  # the memory that the run took
        better = improve(self.graph, values, measure=True)
        self._measured = not better.meta.get("open")
        self.plan = self._plan_of(better)
        release()
        self._tried += time.perf_counter() - start

    @property
    def is_final(self) -> bool:
        """Whether the choices of how it is run, and by which executor, are final."""
        return self.settled and self._lowered

    def failed_guard(self, given: list[torch.Tensor]) -> tuple[str, str, str]:
        """The guard that failed in a run, its expected and its actual value, as text."""
        if self.sizes is not None and not self.sizes(given):
            return "the sizes of its arguments", "", ""
        for question, answer in self.queries:
            if question() != answer:
                return "what the program asks Python, a log or the settings", "", ""
        for form, tensor in zip(self.forms, self.held, strict=False):
            now = form_of(data_of(tensor))
            if now != form:
                return (f"the shape or type of {getattr(tensor, 'name', 'a Tensor')}",
                        f"{tuple(form[0])} {form[2]}", f"{tuple(now[0])} {now[2]}")
        if self.generators and (self.plan is None or self.plan.failed is None):
            return "a random number that decides what it computes", "", ""
        if self.plan is None or self.plan.failed is None:
            return "a number that it computes with, or memory that Tensors share", "", ""
        number, found = self.plan.failed
        expected = self.expected[number]
        if isinstance(expected, ShapeGuard):
            return (f"a data-dependent shape{self.lines[number]}",
                    f"{tuple(expected.shape)}", f"{tuple(found)}")
        return f"the value of a Tensor{self.lines[number]}", repr(expected), repr(found)

    @property
    def only_computes(self) -> bool:
        """Whether it returns one Tensor, computed from arguments and from fixed objects."""
        return self.gives_one and not (
            self._by_identity and self.others or self.expected or self.queries or self.fresh
            or self.streams or self.sources or self._assigned or self.sizes or self.compute
            or self.scalars or self._same)

    def graphs(self) -> list[GraphModule]:
        """The graphs of its stages, in order."""
        return [self.graph] if self.plan is None else [s.module for s in self.plan.stages]

    @property
    def backend(self) -> str:
        """The compiler whose machine code runs any part of it, else ``"replay"``."""
        stages = () if self.plan is None else self.plan.stages
        return next((s.backend for s in stages if s.backend != "replay"), "replay")


def result_of(path: Path, found: list[torch.Tensor], args: tuple, kwargs: dict) -> Any:
    """The result for the caller; first the replay's changes and deferred calls are made."""
    if path.gives_one:
        return wrap(found[0])
    if path.build is not None:
        return path.build(found)
    given = given_tensors((args, kwargs))
    things = list(things_of((args, kwargs))) if path.pattern is not None else []
    numbers: Any = found[-1] if path.compute is not None else ()
    rebuilding = Rebuilding(found, given, path.found, things, numbers)
    out, noted, printed = rebuilding.value_of(path.out_tree)
    holders = [change.holder_now(things) for change in path.changes]
    for change, holder, value in zip(path.changes, holders, noted, strict=True):
        assign(holder, change.key, value)
    for call, values in zip(path.deferred, printed, strict=True):
        call(values)
    return out
