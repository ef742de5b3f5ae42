"""`Compiled`: a function with its recorded graphs, and which of them a call uses."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...communication.repeated import started_over
from ...core.forking import Lock
from ...core.state import state
from ...core.threads import compiled_calls
from ...core.tracebacks import user_stacklevel
from ...machine.collector import not_collecting
from ..guards.bytecode import facts_of
from ..guards.guard import Guard
from ..guards.kinds import form_of
from ..guards.ran import not_found, was_read
from ..guards.reachable import Reachable
from ..guards.search import reachable_from_call
from ..guards.sources import Unguarded
from ..tracing.changes import Snapshot
from ..tracing.inspected import NotInspected
from ..tracing.symbolic import Symbolic, preparation
from ..tracing.taping import may_be_taped
from ..tracing.threads import alone, other_thread
from ..tracing.trace import CannotTrace, Trace, run_traced
from . import audit as audit_module
from .audit import Audit
from .binding import Bindable
from .cache_entry import CacheEntry
from .direct import direct
from .dry_run import dry_run
from .keys import PARTS, form_of_any_size, key_of, key_without_numbers, raws_of, settings
from .limits import MOST_NEW, MOST_WARNINGS, Limits
from .plan import KernelFailed
from .recompilations import Recompilations, failure, name_of
from .replay import GuardTooLate, Replay
from .reporting import Reporting
from .scalar_profile import ScalarProfile
from .size_profile import MOST_RECORDED, ResultProfile, SizeProfile, kind_of, symbolic_replay

MOST_KINDS = 256  # kinds of arguments; beyond that, the graphs of the oldest are dropped
_NEW = "arguments that differ each time"  # the key of the reason why their calls run eagerly
taped: Any = None  # the class of the graphs for calls inside of gradient calls, `taped.Taped`
MOST_GRAPHS = 8  # the recompilation limit: graphs for one kind of arguments


class Compiled(Bindable, Reporting):
    """A function with its recorded graphs.

    It computes what the function computes eagerly: see `CompiledAsAsked` for the program's own.
    Each kind of arguments (structure, shapes, types, plain values) has its own graphs, one for
    each path that Python control flow on tensors has taken.

    Attributes:
        name: its name in messages.
        level: the optimization level, ``"O0"`` (replay only) or ``"O1"``.
        dynamic: the arguments' declared forms, Tensors with None for dimensions that vary; or None.
    """

    meaning = staticmethod(contextlib.nullcontext)  # around each run of the function
    _replay: type[Replay] = Replay

    def __init__(self, fn: Callable[..., Any], fullgraph: bool = False, level: str = "O0",
                 dynamic: list[Any] | None = None):
        super().__init__(fn, fullgraph, level, dynamic)
        self.name = name_of(fn)
        self._entries: dict[Any, list[CacheEntry]] = {}
        self._eager: dict[Any, str] = {}
        self._sizes: dict[Any, SizeProfile] = {}
        self._waiting: set[Any] = set()  # keys of calls that run eagerly until symbols can be used
        self._said: set[str] = set()
        self._warned = self._made = 0
        self._varying: dict[Any, ScalarProfile] = {}
        self._opened: dict[int, Any] = {}
        self._ran: set[str] = set()  # names of functions that ran, and were found by no name
        self._by_identity = False  # whether it may compare arguments by identity
        self._by_name = False  # whether Tensors in variables and globals are found by their names
        self._taped: Any = None  # the graphs for calls inside of gradient calls
        self._direct: Callable[..., Any] | None = None
        self._direct_for: Any = None  # the settings that `_direct` holds for
        self._recompilations = Recompilations(fn, self.name)
        self._limits = Limits(fn)
        self._changing = Lock()
        self._recording = Lock()
        self.traces = self.misses = self.replays = self.failures = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if state.trace is not None or state.level is not None or state.overlay is not None:
            return self._inside(args, kwargs)
        if self._direct is not None and not kwargs and self._direct_for == settings():
            out = self._direct(*args)
            if out is not None:
                self.replays += 1
                return out
        return self._called(args, kwargs)

    def _inside(self, args: tuple, kwargs: dict) -> Any:
        """A call that is part of a larger run."""
        if may_be_taped():
            self._taped = self._taped or taped(self)
            return self._taped._called(args, kwargs)
        return self._eagerly(args, kwargs)

    def _called(self, args: tuple, kwargs: dict) -> Any:
        """A call on its own: a replay, or a recorded run."""
        inputs = raws_of(args, kwargs)
        key = key_of(args, kwargs, form_of, inputs)
        if (self._eager and key in self._eager
                or self._waiting and preparation.is_running and key in self._waiting):
            return self._eagerly(args, kwargs)
        entries = self._entries.get(key)
        applying, place, numbers = entries, key, ()
        if applying is None and len(key) > PARTS and not self._by_identity:
            applying = self._entries.get(key[:PARTS])  # which arguments are the same doesn't matter
        if applying is None and self._varying:
            place, applying, numbers = self._of_any_number(key, args, kwargs)
        if applying is None and self._sizes:
            place, applying = self._of_any_size(key, args, kwargs)
        audit = None
        if audit_module.EVERY and (self.replays + 1) % audit_module.EVERY == 0 and applying \
                and not any(entry.replay.execution.communicates for entry in applying):
            audit = Audit(self._eagerly, self.fn, args, kwargs)
        entered = compiled_calls.enter()
        try:
            found = self._replayed(place, applying or (), inputs, numbers, args, kwargs)
        except KernelFailed:
            self.failures += 1
            with started_over():
                return self._eagerly(args, kwargs)  # raises the error that the user should see
        finally:
            if entered:
                compiled_calls.leave()
        if found is None:
            with started_over(), self.meaning():
                return self._recorded(key, entries, inputs, args, kwargs, applying)
        replay, results = found
        given = replay.outputs.result(results, args, kwargs)
        if audit is not None:
            audit.check(given, replay, self.name)
        return given

    def _go_directly(self, replay: Replay, guard: Guard, seen: Any, args: tuple) -> None:
        """Let the next call use the short path in C++ (`direct`), if this graph still applies."""
        if replay.direct[1] is not seen:
            replay.direct = direct(replay, guard.fingerprint, seen, args), seen
        elif replay.direct[0] is None and self._direct is None:
            return
        self._direct, self._direct_for = replay.direct[0], settings()
        if self._direct is not None:
            replay.inputs.forget_data()

    def _eagerly(self, args: tuple, kwargs: dict) -> Any:
        entered = compiled_calls.enter()
        try:
            with self.meaning():
                return self.fn(*args, **kwargs)
        finally:
            if entered:
                compiled_calls.leave()

    def _of_any_size(self, key: Any, args: tuple, kwargs: dict
                     ) -> tuple[Any, list[CacheEntry] | None]:
        """The key and the graphs that hold for several sizes of these arguments."""
        place = key_of(args, kwargs, form_of_any_size)
        sizes = self._sizes.get(place)
        return place, None if sizes is None or sizes.is_frequent(key) else self._entries.get(place)

    def _of_any_number(self, key: Any, args: tuple, kwargs: dict
                       ) -> tuple[Any, list[CacheEntry] | None, Sequence[Any]]:
        """The key of the graphs with these arguments' numbers as inputs, these, and the numbers."""
        kind, given = key_without_numbers(args, kwargs)
        varying = self._varying.get(kind)
        place = None if varying is None else varying.place(kind, given)
        if varying is None or place is None:
            return key, None, ()
        return place, self._entries.get(place), varying.inputs(given)

    def _replayed(self, key: Any, entries: Sequence[CacheEntry], inputs: list[torch.Tensor],
                  numbers: Sequence[Any], args: tuple, kwargs: dict
                  ) -> tuple[Replay, list[torch.Tensor]] | None:
        """Replay the first graph that applies; None if none does."""
        checked, values = None, None
        for entry in entries:
            guard, seen, replay = entry
            if guard is not checked:
                checked, values = guard, guard.fingerprint()
            if seen is not values and seen != values:
                continue
            outputs = replay.outputs
            holds = outputs.pattern is None or outputs.hold_for(args, kwargs, guard.reach)
            found = replay.run(inputs, numbers) if holds else None
            if found is None:
                self.misses += 1
                continue
            self.replays += 1
            if entry is not entries[0] or seen is not values:  # the same object compares faster
                self._put_first(key, CacheEntry(guard, values, replay))  # type: ignore[arg-type]
            if replay.execution.is_final and not kwargs and not audit_module.EVERY:
                self._go_directly(replay, guard, values, args)
            outputs.assign(found)
            return replay, found
        return None

    def _put_first(self, key: Any, entry: CacheEntry) -> None:
        with self._changing:  # other threads keep using the old list
            others = [e for e in self._entries.get(key, ()) if e.replay is not entry.replay]
            self._entries[key] = [entry, *others]
            while len(self._entries) > MOST_KINDS:
                del self._entries[next(iter(self._entries))]

    def _recorded(self, key: Any, entries: list[CacheEntry] | None,
                  inputs: list[torch.Tensor], args: tuple, kwargs: dict,
                  applying: Sequence[CacheEntry] | None) -> Any:
        """Run the function while recording it; eagerly, if it can't be recorded.

        `entries` are the graphs for this kind of arguments, `applying` those whose guards failed.
        """
        if not self._limits.may_record(args, kwargs):
            value = self._eagerly(args, kwargs)
            self._limits.succeeded(args, kwargs)
            return value
        if not self._limits.admits(args, kwargs):
            return self._give_up(_NEW, self._limits.refusal(args, kwargs), args, kwargs)
        known = entries or []
        last = (list(self._entries.values()) or [()])[-1]
        self._recompilations.diagnose(applying or last, bool(applying), inputs, args, kwargs)
        self._by_name |= not all(entry.holds() for entry in applying or known)
        if self._varying and not self.fullgraph:
            varied = self._record_numbers(key, inputs, args, kwargs)
            if varied is not None:
                return varied[0]
        if len(known) >= MOST_GRAPHS:
            if any(entry.replay.inputs.for_many_sizes for entry in known):
                return self._eagerly(args, kwargs)  # most calls use the graph for several sizes
            failed = failure(known, inputs)
            return self._give_up(
                key, f"its recompilation limit is reached: {len(known)} graphs were recorded for "
                f"such arguments, and none holds for this call, since {failed.guard} changes again "
                f"and again", args, kwargs)
        if len(self._eager) >= MOST_GRAPHS and not self._entries and not self.fullgraph:
            return self._eagerly(args, kwargs)  # it ran eagerly for all arguments so far
        place = key_of(args, kwargs, form_of_any_size)
        is_new = place not in self._sizes
        found = self._record_sizes(key, place, inputs, args, kwargs)
        if found is not None:
            return found[0]
        sizes = self._sizes_of(place)
        if sizes.refused and sizes.recorded >= MOST_RECORDED and not known:
            return self._give_up(key, f"its arguments have other sizes again and again, and no "
                                 f"graph can hold for several ({sizes.refused})", args, kwargs)
        if not self._recording.acquire(blocking=False):
            return self._eagerly(args, kwargs)  # another thread records it
        if self._entries.get(key) is not entries:  # another thread has recorded it meanwhile
            self._recording.release()
            return self._called(args, kwargs)
        entered = compiled_calls.enter()
        try:
            return self._record(key, known, inputs, args, kwargs)
        except BaseException:
            self._limits.raised(args, kwargs)
            if is_new:
                self._sizes.pop(place, None)
            self._recompilations.abandoned()
            raise
        finally:
            self._recording.release()
            if entered:
                compiled_calls.leave()

    def _record(self, key: Any, known: list[CacheEntry], inputs: list[torch.Tensor],
                args: tuple, kwargs: dict) -> Any:
        """Run the function and keep the graph of the run, or the reason why there is none."""
        with not_collecting():
            reach = self._reach(args, kwargs)
        if reach.refused is not None:
            return self._give_up(key, f"it {reach.refused}", args, kwargs)
        for tensor in (*reach.parameters, *(found for found, _ in reach.tensors)):
            tensor.init_data()  # their first values are no part of a graph
        with not_collecting():
            same = [entry.guard for entry in known if entry.guard.reach.same(reach)]
            guard = same[0] if same else Guard(reach)
            values, before = guard.fingerprint(), Snapshot(guard.reach)
        kind, given = key_without_numbers(args, kwargs)
        varying = self._varying.get(kind) or ScalarProfile()
        varying.note(key, given, guard.reach)
        if varying.was_recorded_too_often:
            return self._give_up(key, varying.why_recorded, args, kwargs)
        if varying.draws and varying.refused:
            return self._give_up(key, varying.refused_draws, args, kwargs)
        place = key_of(args, kwargs, form_of_any_size)  # of the arguments before the run
        trace = run_traced(self._recorded_as(inputs), args, kwargs, guard.reach, before=before)
        inspected = self._inspected(trace)
        varying.note_reads(trace.reads)
        self._limits.succeeded(args, kwargs)
        self._keep(self._varying, kind, varying)
        reason = trace.refused
        if trace.refused_once or trace.draws and not self.fullgraph and varying.may_hold_draws():
            return trace.value  # the next call is recorded
        self._made += trace.keeps_new
        if trace.keeps_new and self._made <= MOST_NEW and not self.fullgraph:
            return trace.value  # most objects are created only once
        if trace.outside.warned and reason is None:
            self._warned += 1
            if self._warned <= MOST_WARNINGS:
                return trace.value  # most warnings are issued only once
            reason = "issues warnings"
        if reason is None:
            try:
                # kernels chosen by timing may round differently in the next process
                clock = not torch.are_deterministic_algorithms_enabled()
                replay = self._replay(trace, inputs, self.level if clock else "O0")
            except CannotTrace as refusal:
                if (isinstance(refusal, GuardTooLate) and not self.fullgraph
                        and varying.may_hold_reads(trace.reads)):
                    return trace.value  # the next call is recorded with stand-ins for them
                reason = str(refusal)
            else:
                self._limits.note(args, kwargs)
                self._note_recorded(trace)
                if inspected:
                    if replay.inputs.applies_again:
                        self._put_first(key, CacheEntry(guard, values, replay))
                    elif self._limits.left(args, kwargs):
                        reason = "changes an argument that shares memory with what it uses"
                replay.kind = kind_of(trace.observed)
                sizes = self._sizes_of(place)
                sizes.recorded += 1
                sizes.results.note(trace.observed)
        if reason is not None:
            if self.fullgraph:
                trace.undo()
            self._refuse(key, f"it {reason}")
        return trace.value

    def _keep(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Keep what was learnt of some calls, as long as their graphs may be kept."""
        with self._changing:
            table[key] = value
            while len(table) > MOST_KINDS:
                del table[next(iter(table))]

    def _sizes_of(self, place: Any) -> SizeProfile:
        found = self._sizes.get(place)
        if found is None:
            found = SizeProfile(self.dynamic)
            self._keep(self._sizes, place, found)
        return found

    def _recorded_as(self, inputs: list[torch.Tensor], apart: bool = False) -> Callable[..., Any]:
        """What a recorded run calls; `apart` if the run will be discarded."""
        return self.fn

    def _reach(self, args: tuple, kwargs: dict, without: Any = None) -> Reachable:
        return reachable_from_call(self.fn, args, kwargs, self._ran, opened=self._opened,
                                   without=without, by_name=self._by_name)

    def _note_recorded(self, trace: Trace) -> None:
        self.traces += 1
        self._recompilations.recorded()
        self._by_identity |= any(facts_of(code).identities for code in trace.outside.codes)

    def _inspected(self, trace: Trace) -> bool:
        """Whether all that a run may have read was inspected; if not, it is for the next one."""
        codes = trace.outside.codes
        read = was_read(trace.reach, codes)
        self._opened.update(read)  # the next recording looks into these containers
        ran = not_found(trace.reach, codes) - self._ran
        self._ran |= ran  # and for these functions
        return not (read or ran)

    def _record_numbers(self, key: Any, inputs: list[torch.Tensor], args: tuple, kwargs: dict
                        ) -> tuple[Any] | None:
        """Record a graph with the numbers that vary as inputs; the result in a tuple, or None."""
        kind, given = key_without_numbers(args, kwargs)
        varying = self._varying.get(kind)
        if varying is None or varying.refused:
            return None
        reach = self._reach(args, kwargs)
        if reach.refused is not None or not varying.note(key, given, reach):
            return None
        if varying.lists:
            reach = self._reach(args, kwargs, varying.grown())
        place = varying.place(kind, given) or key
        if len(self._entries.get(place, ())) >= MOST_GRAPHS:
            return None
        guard = Guard(reach, Unguarded([*varying.sources.values(), *varying.lists.values()]))
        values = guard.fingerprint()
        with alone() as is_alone:
            if not is_alone:
                varying.waits_for = other_thread()
                return None
            try:
                tried = dry_run(self._recorded_as(inputs, apart=True), args, kwargs, reach,
                                varying, given)
                level = "O0" if tried.numbers.tensors else self.level
                replay = self._replay(tried.trace, inputs, level)
            except (CannotTrace, Exception) as reason:  # noqa: BLE001  (recorded with the numbers)
                return varying.refuse_for(reason)
            except BaseException:
                self._eagerly(args, kwargs)  # with its side effects; an interrupt comes after it
                raise
            trace = run_traced(self._recorded_as(inputs), args, kwargs, reach,
                               before=Snapshot(reach, may_draw=True))
        varying.note_reads(trace.reads)
        if trace.refused is not None:
            self._refuse(key, f"it {trace.refused}")
        elif not tried.agrees(trace):
            varying.refuse("computes something else with stand-ins")
        else:
            self._note_recorded(tried.trace)
            if replay.inputs.applies_again:
                for known in varying.keys:  # graphs that hold for fixed numbers only
                    old = self._entries.pop(known, ())
                    if known == place:
                        self._entries[place] = [e for e in old if e.replay.scalars is not None]
                varying.keys.clear()
                self._put_first(place, CacheEntry(guard, values, replay))
        return (trace.value,)

    def _record_sizes(self, key: Any, place: Any, inputs: list[torch.Tensor], args: tuple,
                      kwargs: dict) -> tuple[Any] | None:
        """Record one graph for several sizes, if sizes vary; returns the result in a tuple.

        None if no such graph holds for this call.
        """
        sizes = self._sizes_of(place)
        varying = sizes.note([raw.shape for raw in inputs]) or []
        if sizes.are_varying or sizes.results.are_varying:
            preparation.begin()
        due = sizes.results.due()
        if any(varying) and key not in self._entries and not sizes.is_frequent(key):
            about, answers = sizes, sizes.results.last()
        elif due is not None:
            place, varying, about, answers = key, [set() for _ in inputs], sizes.results, due
            if preparation.is_running:
                self._waiting.add(key)
                return (self._eagerly(args, kwargs),)
        else:
            return None
        if (not preparation.finished.is_set() or len(self._entries.get(place, ())) >= MOST_GRAPHS
                or not all(raw.is_contiguous() for raw in inputs)):
            return None
        guard = Guard(self._reach(args, kwargs))
        with alone() as is_alone:
            if not is_alone:
                return None  # other threads may run, and would see fake tensors
            if due is not None:
                sizes.results.tried(due)
            found = self._symbolic(place, guard, Symbolic(varying, answers), about, inputs, args,
                                   kwargs)
        if found is None:
            return None
        replay, results = found
        return (replay.outputs.result(results, args, kwargs),)

    def _symbolic(self, place: Any, guard: Guard, symbolic: Symbolic,
                  about: SizeProfile | ResultProfile, inputs: list[torch.Tensor], args: tuple,
                  kwargs: dict) -> tuple[Replay, list[torch.Tensor]] | None:
        """Record a graph for several sizes, and run it: it and its results, or None."""
        values = guard.fingerprint()
        try:
            replay = symbolic_replay(self._recorded_as(inputs, apart=True), args, kwargs,
                                     guard.reach, inputs, symbolic, self._replay)
            given = replay.run(inputs)
        except (CannotTrace, Exception) as reason:  # noqa: BLE001  (then run with real data)
            if not isinstance(reason, NotInspected):
                about.refused = f"{type(reason).__name__}: {reason}"
            return None
        except BaseException:
            self._eagerly(args, kwargs)  # as in `_record_numbers`
            raise
        if given is None and not symbolic.observed.values:
            about.refused = "holds for one size only"
            return None
        self.traces += 1
        self._recompilations.recorded()
        known = self._entries.get(place, ())
        self._entries[place] = [e for e in known if e.replay.inputs.for_many_sizes
                                or e.replay.kind != replay.kind]
        self._put_first(place, CacheEntry(guard, values, replay))
        if given is None:
            return None
        replay.outputs.assign(given)
        return replay, given

    def _give_up(self, key: Any, reason: str, args: tuple, kwargs: dict) -> Any:
        self._refuse(key, reason)
        return self._eagerly(args, kwargs)

    def _refuse(self, key: Any, reason: str) -> None:
        """Run such calls eagerly from now on; say why, once; an error for `fullgraph`."""
        if self.fullgraph:
            raise RuntimeError(f"For 'jit', '{self.name}' can't be one graph: {reason}.")
        self._direct = None
        self._keep(self._eager, key, reason)
        self._entries.pop(key, None)
        if reason not in self._said and len(self._said) < MOST_KINDS:
            self._said.add(reason)
            warnings.warn(f"For 'jit', '{self.name}' runs eagerly: {reason}.",
                          stacklevel=user_stacklevel())
