"""Chooses how a call is recorded: as it is, or with its numbers or sizes as inputs.

A call for which no graph holds runs the function. A way to record it returns the call's result
(`Ran`), or that it is to run eagerly (`EAGERLY`), or None: then the next way is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ...core.threads import compiled_calls
from ...machine.collector import not_collecting
from ..guards.guard import Guard
from ..guards.kinds import tensor_meta
from ..guards.sources import Unguarded
from ..tracing.changes import Snapshot
from ..tracing.loop_reasons import reason_at
from ..tracing.refusals import CannotTrace, Cause
from ..tracing.run import run_traced
from ..tracing.run_kind import Real
from ..tracing.symbolic import Symbolic, preparation
from ..tracing.threads import Beside, alone, other_thread
from ..tracing.trace import Trace
from .cache_entry import CacheEntry
from .dry_run import dry_run
from .keys import CallKey, key_of, key_without_numbers, tensor_meta_of_any_size
from .recompilations import failure
from .scalar_profile import ScalarProfile
from .size_profile import MOST_RECORDED, ResultProfile, SizeProfile, kind_of, symbolic_replay

if TYPE_CHECKING:
    from .cache import Found
    from .compiled import Compiled

MOST_GRAPHS = 8  # the recompilation limit: graphs for one kind of arguments
_NEW = "arguments that differ each time"  # in the cache, for the reason why they run eagerly


class Call(NamedTuple):
    """A call.

    Attributes:
        key: the kinds of all its arguments.
        inputs: the data of the Tensors among them.
        args, kwargs: the arguments.
    """

    key: CallKey
    inputs: list[torch.Tensor]
    args: tuple
    kwargs: dict


class Ran(NamedTuple):
    """What a call gave."""

    value: Any


class Eagerly:
    """Says that a call is to run eagerly, once nothing is being recorded."""


EAGERLY = Eagerly()


class Recording:
    """The recording of one call. While one thread records a function, others run it eagerly.

    Args:
        of: the compiled function.
        call: the call.
        known: the graphs of the call's own key, none of which holds.
        found: those that were tried.
    """

    def __init__(self, of: Compiled, call: Call, known: Sequence[CacheEntry], found: Found):
        self.of, self.call, self.known, self.tried = of, call, known, found.entries
        self.place = key_of(call.args, call.kwargs, tensor_meta_of_any_size)  # before the run

    def value(self) -> Any:
        """What the function gives; it is recorded if it can be, else it runs eagerly."""
        of, args, kwargs = self.of, self.call.args, self.call.kwargs
        if not of.limits.may_record(args, kwargs):
            value = of.eagerly(args, kwargs)
            of.limits.succeeded(args, kwargs)
            return value
        if not of.recording.acquire(blocking=False):
            return of.eagerly(args, kwargs)
        try:
            now = of.cache.entries(self.call.key)
            is_there = bool(now) and now is not self.known  # another thread has recorded it
            found = EAGERLY if is_there else self._found()
        finally:
            of.recording.release()
        if is_there:
            return of.called(args, kwargs)
        return found.value if isinstance(found, Ran) else of.eagerly(args, kwargs)

    def _found(self) -> Ran | Eagerly:
        """What the first way to record the call gives that applies."""
        of, args, kwargs = self.of, self.call.args, self.call.kwargs
        if not of.limits.admits(args, kwargs):
            return self._give_up(of.limits.refusal(args, kwargs), _NEW)
        of.recompilations.diagnose(self.tried or of.cache.latest(), bool(self.tried),
                                   self.call.inputs, args, kwargs)
        of.scope.by_name |= not all(entry.holds() for entry in self.tried)
        if (ran := self._with_numbers()) is not None:
            return ran
        if self._is_over_the_limit():
            return EAGERLY
        is_new = self.place not in of.cache.lines
        if (found := self._with_sizes()) is not None:
            return found
        return EAGERLY if self._has_no_common_sizes() else self._as_it_is(is_new)

    def _is_over_the_limit(self) -> bool:
        """Whether there are too many graphs, or too many kinds without any."""
        of, known = self.of, self.known
        if len(known) >= MOST_GRAPHS:
            if not any(entry.replay.inputs.for_many_sizes for entry in known):
                failed = failure(known, self.call.inputs)
                self._give_up(
                    f"its recompilation limit is reached: {len(known)} graphs were recorded for "
                    f"such arguments, and none holds for this call, since {failed.guard} changes "
                    f"again and again{_of_a_loop(known)}")
            return True  # else most calls use the graph for several sizes
        # or it ran eagerly for all arguments so far
        return of.cache.refuses_all(MOST_GRAPHS) and not of.fullgraph

    def _has_no_common_sizes(self) -> bool:
        """Whether it has been recorded for too many sizes."""
        sizes = self.of.cache.sizes(self.place)
        if not sizes.refused or sizes.recorded < MOST_RECORDED or self.known:
            return False
        self._give_up(f"its arguments have other sizes again and again, and no graph can hold for "
                      f"several ({sizes.refused})")
        return True

    def _as_it_is(self, is_new: bool) -> Ran | Eagerly:
        """Record the call as it is; if that raises an error, note it."""
        of, args, kwargs = self.of, self.call.args, self.call.kwargs
        entered = compiled_calls.enter()
        try:
            return self._run_and_keep()
        except BaseException:
            of.limits.raised(args, kwargs)
            if is_new:
                of.cache.forget_sizes(self.place)
            raise
        finally:
            if entered:
                compiled_calls.leave()

    def _run_and_keep(self) -> Ran | Eagerly:
        """Run the function and keep the graph of the run, or the reason why there is none."""
        of, (key, inputs, args, kwargs) = self.of, self.call
        beside = Beside()
        with not_collecting():
            reach = of.scope.reach(of.fn, args, kwargs)
        if reach.limits.refused is not None:
            return self._give_up(f"it {reach.limits.refused}")
        for tensor in reach.tensors.all():
            tensor.init_data()  # their first values are no part of a graph
        with not_collecting():
            same = [entry.guard for entry in self.known if entry.guard.reach.same(reach)]
            guard = same[0] if same else Guard(reach)
            values, before = guard.fingerprint(), Snapshot(guard.reach)
        if not self._still_holds(guard, values, beside):
            of.doubts.note()
            return self._doubted(beside)
        kind, given = key_without_numbers(args, kwargs)
        varying = of.cache.scalars(kind) or ScalarProfile()
        varying.note(key, given, guard.reach)
        if varying.was_recorded_too_often:
            return self._give_up(varying.why_recorded)
        if varying.draws and varying.refused:
            return self._give_up(varying.refused_draws)
        trace = run_traced(of.recorded_as(inputs), args, kwargs, guard.reach,
                           Real(of.fullgraph, of.recompilations.lines), before)
        covered = of.scope.covers(trace, lambda: of.scope.reach(of.fn, args, kwargs))
        varying.note_reads(trace.reads, trace.counted)
        of.limits.succeeded(args, kwargs)
        of.cache.line(kind).scalars = varying
        reason = (self._keep(trace, guard, values, varying, covered)
                  if of.doubts.keeps(key, trace, guard, values, beside)
                  else None if of.fullgraph else of.doubts.reason(beside))
        if reason is not None:
            if of.fullgraph:
                trace.undo()
            of.refuse(key, f"it {reason}")
        return Ran(trace.value)

    def _still_holds(self, guard: Guard, values: Any, beside: Beside) -> bool:
        """Whether other threads have left what the call is about to be recorded for."""
        of, (key, inputs, args, kwargs) = self.of, self.call
        return beside.ran() is None or (
            of.scope.reach(of.fn, args, kwargs).same(guard.reach)
            and guard.fingerprint() == values
            and key_of(args, kwargs, tensor_meta, inputs) == key)

    def _doubted(self, beside: Beside) -> Eagerly:
        """Note that another thread changes what the function uses."""
        reason = self.of.doubts.reason(beside)
        if reason is not None and not self.of.fullgraph:
            self._give_up(f"it {reason}")
        return EAGERLY

    def _keep(self, trace: Trace, guard: Guard, values: Any, varying: ScalarProfile, covered: bool
              ) -> str | None:
        """Keep the graph of a run for further calls.

        Returns:
            Why such calls run eagerly from now on; None if they don't.
        """
        of, (key, inputs, args, kwargs) = self.of, self.call
        of.limits.note(args, kwargs)
        if trace.refused is not None:
            return None if self._is_rare(trace.refused.cause, varying) else trace.refused.what
        if trace.outside.warned:  # most warnings are issued only once
            return None if of.limits.may_be_last_warning() else "issues warnings"
        if not of.fullgraph and self._has_steady_loops(trace, varying):
            return None
        # kernels chosen by timing may round differently in the next process
        clock = not torch.are_deterministic_algorithms_enabled()
        try:
            replay = of.kind_of_replay(trace, inputs, of.level if clock else "O0")
        except CannotTrace as refusal:
            if (refusal.cause is Cause.LATE_GUARD and not of.fullgraph
                    and varying.may_hold_reads(trace.reads)):
                return None  # the next call is recorded with stand-ins for them
            return str(refusal)
        of.note_recorded(trace)
        replay.kind = kind_of(trace.observed)
        sizes = of.cache.sizes(self.place)
        sizes.recorded += 1
        sizes.results.note(trace.observed)
        if covered and replay.inputs.applies_again:
            of.cache.put_first(key, CacheEntry(guard, values, replay))
        elif covered and of.limits.left(args, kwargs):
            return "changes an argument that shares memory with what it uses"
        return None

    def _has_steady_loops(self, trace: Trace, varying: ScalarProfile) -> bool:
        """Whether the next call is recorded with loops as operations, since the values that this
        run's loops asked for, or computed, became guards.
        """
        lines, new = self.of.recompilations.lines, trace.loops.steady
        if lines.issuperset(new):
            return bool(trace.counted) and not self.known and varying.may_count()
        lines.update(new)
        return True

    def _is_rare(self, cause: Cause, varying: ScalarProfile) -> bool:
        """Whether the next call is recorded all the same, since it may do something else."""
        if cause is Cause.RARE or self.of.fullgraph:
            return cause is Cause.RARE
        if cause is Cause.ERROR:
            return self.of.limits.may_be_last_error()
        if cause is Cause.DRAW:
            return varying.may_hold_draws()
        return cause is Cause.NEW_OBJECT and self.of.limits.may_be_first_object()

    def _with_numbers(self) -> Ran | None:
        """Record a graph with the numbers that vary as inputs."""
        of, (key, inputs, args, kwargs) = self.of, self.call
        kind, given = key_without_numbers(args, kwargs)
        varying, beside = of.cache.scalars(kind), Beside()
        if varying is None or varying.refused:
            return None
        reach = of.scope.reach(of.fn, args, kwargs)
        if reach.limits.refused is not None or not varying.note(key, given, reach):
            return None
        if varying.lists:
            reach = of.scope.reach(of.fn, args, kwargs, varying.grown())
        place = varying.place(kind, given) or key
        if len(of.cache.entries(place)) >= MOST_GRAPHS:
            return None
        guard = Guard(reach, Unguarded([*varying.sources.values(), *varying.lists.values()]))
        values = guard.fingerprint()
        with alone() as is_alone:
            if not is_alone:
                varying.waits_for = other_thread()
                return None
            if beside.ran() is not None:
                return None  # a thread that has ended since then
            tried = None
            try:
                tried = dry_run(of.recorded_as(inputs, apart=True), args, kwargs, reach, varying,
                                given)
                level = "O0" if tried.numbers.tensors else of.level
                replay = of.kind_of_replay(tried.trace, inputs, level)
            except (CannotTrace, Exception) as reason:  # noqa: BLE001  (recorded with the numbers)
                varying.refuse_for(reason, tried.trace.reads if tried else [])
                return None
            except BaseException:
                of.eagerly(args, kwargs)  # with its side effects; an interrupt comes after it
                raise
            trace = run_traced(of.recorded_as(inputs), args, kwargs, reach,
                               Real(of.fullgraph, of.recompilations.lines),
                               Snapshot(reach, may_draw=True))
        varying.note_reads(trace.reads, trace.counted)
        if trace.refused is not None:
            if of.fullgraph:
                trace.undo()
            of.refuse(key, f"it {trace.refused}")
        elif not tried.agrees(trace):
            varying.refuse("a run with these numbers as inputs computes something else")
        else:
            of.note_recorded(tried.trace)
            if replay.inputs.applies_again:
                for fixed in varying.keys:  # graphs that hold for fixed numbers only
                    of.cache.keep(fixed, lambda entry, stays=fixed == place: (
                        stays and entry.replay.scalars is not None))
                varying.keys.clear()
                of.cache.put_first(place, CacheEntry(guard, values, replay))
        return Ran(trace.value)

    def _with_sizes(self) -> Ran | Eagerly | None:
        """Record one graph for several sizes, if sizes vary, and if such a graph holds.

        It runs eagerly until symbols can be used.
        """
        of, (key, inputs, args, kwargs), place = self.of, self.call, self.place
        sizes = of.cache.sizes(place)
        varying = sizes.note([raw.shape for raw in inputs]) or []
        if sizes.are_varying or sizes.results.are_varying:
            preparation.begin()
        due = sizes.results.due()
        if any(varying) and not self.known and not sizes.is_frequent(key):
            about, answers = sizes, sizes.results.last()
        elif due is not None:
            place, varying, about, answers = key, [set() for _ in inputs], sizes.results, due
            if preparation.is_running:
                of.cache.line(key).waits = True
                return EAGERLY
        else:
            return None
        if (not preparation.finished.is_set() or len(of.cache.entries(place)) >= MOST_GRAPHS
                or not all(raw.is_contiguous() for raw in inputs)):
            return None
        beside = Beside()
        guard = Guard(of.scope.reach(of.fn, args, kwargs))
        with alone() as is_alone:
            if not is_alone or beside.ran() is not None:
                return None  # other threads may run, and would see fake tensors
            if due is not None:
                sizes.results.tried(due)
            return self._symbolic(place, guard, Symbolic(varying, answers), about)

    def _symbolic(self, place: Any, guard: Guard, symbolic: Symbolic,
                  about: SizeProfile | ResultProfile) -> Ran | None:
        """Record a graph for several sizes, and run it."""
        of, (_, inputs, args, kwargs) = self.of, self.call
        values = guard.fingerprint()
        try:
            replay = symbolic_replay(of.recorded_as(inputs, apart=True), args, kwargs,
                                     guard.reach, inputs, symbolic, of.kind_of_replay)
            results = replay.run(inputs)
        except (CannotTrace, Exception) as reason:  # noqa: BLE001  (then run with real data)
            if getattr(reason, "cause", None) is not Cause.NOT_INSPECTED:
                about.refused = f"{type(reason).__name__}: {reason}"
            return None
        except BaseException:
            of.eagerly(args, kwargs)  # as in `_with_numbers`
            raise
        if results is None and not symbolic.observed.values:
            about.refused = "holds for one size only"
            return None
        of.statistics.traces += 1
        of.recompilations.recorded()
        of.cache.keep(place, lambda entry: (
            entry.replay.inputs.for_many_sizes or entry.replay.kind != replay.kind))
        of.cache.put_first(place, CacheEntry(guard, values, replay))
        if results is None:
            return None
        replay.outputs.assign(results)
        return Ran(replay.outputs.result(results, args, kwargs))

    def _give_up(self, reason: str, key: Any = None) -> Eagerly:
        """Have such calls run eagerly from now on, as this one."""
        self.of.refuse(self.call.key if key is None else key, reason)
        return EAGERLY


def _of_a_loop(known: Sequence[CacheEntry]) -> str:
    """Why the loop whose guards failed isn't one operation."""
    lines = [line for entry in known for line in entry.replay.failed_lines()]
    return next(filter(None, [reason_at(line.file, line.number) for line in lines]), "")
