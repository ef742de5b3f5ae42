"""`Compiled`: a function with its recorded graphs, and which of them a call uses."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch

from ...communication.repeated import started_over
from ...core.forking import Lock
from ...core.state import state
from ...core.threads import compiled_calls
from ...core.tracebacks import user_stacklevel
from ..guards.bytecode import facts_of
from ..guards.guard import Guard
from ..guards.kinds import tensor_meta
from ..tracing.symbolic import preparation
from ..tracing.taping import may_be_taped
from ..tracing.trace import Trace
from . import audit as audit_module
from .audit import audited
from .binding import Bindable
from .cache import Cache, Found
from .cache_entry import CacheEntry
from .declared import check_call
from .direct import REST, Direct
from .doubts import Doubts
from .keys import key_of, raws_of, settings
from .limits import Limits
from .plan import KernelFailed
from .recompilations import Recompilations, name_of
from .recording import Call, Recording
from .replay import Replay
from .reporting import Reporting, Statistics
from .scope import Scope

MOST_REASONS = 256  # warnings that a function runs eagerly
_NO_KEY = "arguments that can't be compared"  # in the cache, for the reason why they run eagerly
_making = Lock()
taped: Any = None  # the class of the graphs for calls inside of gradient calls, `taped.Taped`


class Compiled(Bindable, Reporting):
    """A function with its recorded graphs.

    Operations mean what they mean eagerly; in a `CompiledAsAsked` what they mean in graphs.
    Each kind of arguments (structure, shapes, types, plain values) has its own graphs, one for
    each way that Python's control flow on tensors has taken.

    Attributes:
        name: its name in messages.
        level: the optimization level, ``"O0"`` (replay only) or ``"O1"``.
        dynamic: the arguments' declared signature, with None for dimensions that vary; or None.
        cache: the graphs.
        scope: how far the objects that it can reach are looked for.
        statistics: how its calls have been run.
        limits: how often it may be recorded.
        doubts: what is known of other threads that ran during recordings.
        recompilations: why it was recorded again.
        recording: held by the thread that records.
    """

    meaning = staticmethod(contextlib.nullcontext)  # around each run of the function
    kind_of_replay: type[Replay] = Replay

    def __init__(self, fn: Callable[..., Any], fullgraph: bool = False, level: str = "O0",
                 dynamic: list[Any] | None = None):
        super().__init__(fn, fullgraph, level, dynamic)
        self.name = name_of(fn)
        self.cache = Cache(dynamic)
        self.scope = Scope()
        self.statistics = Statistics()
        self.limits, self.doubts = Limits(fn), Doubts()
        self.recompilations = Recompilations(fn, self.name)
        self.recording = Lock()
        self.taped: Any = None  # the graphs for calls inside of gradient calls
        self._direct: Direct | None = None  # the short path, for a call like the last one
        self._returns_at = 0  # the number of replays at which the long path is taken again
        self._said: set[str] = set()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if state.trace is not None or state.level is not None or state.overlay is not None:
            return self._inside(args, kwargs)
        direct = self._direct
        if direct is not None and not kwargs and direct.settings == settings() and (
                self.statistics.replays < self._returns_at):
            out = direct.call(*args)
            if out is not None:
                self.statistics.replays += 1
                return out
        return self.called(args, kwargs)

    def _inside(self, args: tuple, kwargs: dict) -> Any:
        """A call that is part of a larger run."""
        if may_be_taped():
            if self.taped is None:
                with _making:  # one for all threads
                    self.taped = self.taped or taped(self)
            return self.taped.called(args, kwargs)
        return self.eagerly(args, kwargs)

    def called(self, args: tuple, kwargs: dict) -> Any:
        """A call on its own: a replay, or a recorded run."""
        try:
            inputs = raws_of(args, kwargs)
            key = key_of(args, kwargs, tensor_meta, inputs)
            line = self.cache.lines.get(key)
        except Exception as error:  # noqa: BLE001  (of classes of the program, too)
            self.refuse(_NO_KEY, self.limits.without_key(args, kwargs, error))
            return self.eagerly(args, kwargs)
        if line is not None and (line.eager is not None or line.waits and preparation.is_running):
            return self.eagerly(args, kwargs)
        known = () if line is None else line.entries
        found = Found(key, known) if known else self.cache.find(key, args, kwargs)
        audit = None
        if audit_module.EVERY and (self.statistics.replays + 1) % audit_module.EVERY == 0 and (
                found.entries) and not any(
                    entry.replay.execution.communicates for entry in found.entries):
            audit = audited(self.eagerly, self.fn, args, kwargs)
        entered = compiled_calls.enter()
        try:
            ran = self._replayed(found, inputs, args, kwargs)
        except KernelFailed:
            self.statistics.failures += 1
            with started_over():
                return self.eagerly(args, kwargs)  # raises the error that the user should see
        finally:
            if entered:
                compiled_calls.leave()
        if ran is None:
            check_call(self.fn, self.dynamic, args, kwargs)
            with started_over(), self.meaning():
                return Recording(self, Call(key, inputs, args, kwargs), known, found).value()
        replay, results = ran
        given = replay.outputs.result(results, args, kwargs)
        if audit is not None:
            audit.check(given, replay, self.name)
        return given

    def _replayed(self, found: Found, inputs: list[torch.Tensor], args: tuple, kwargs: dict
                  ) -> tuple[Replay, list[torch.Tensor]] | None:
        """Replay the first graph that applies; None if none does."""
        checked, values = None, None
        for entry in found.entries:
            guard, seen, replay = entry
            if guard is not checked:
                checked, values = guard, guard.fingerprint()
            if seen is not values and seen != values:
                continue
            outputs = replay.outputs
            holds = outputs.pattern is None or outputs.hold_for(args, kwargs, guard.reach)
            results = replay.run(inputs, found.numbers) if holds else None
            if results is None:
                self.statistics.misses += 1
                continue
            self.statistics.replays += 1
            if entry is not found.entries[0] or seen is not values:  # the same compares faster
                self.cache.put_first(found.key, CacheEntry(
                    guard, values, replay))  # type: ignore[arg-type]
            if replay.execution.expected and entry is not found.entries[0]:
                self._direct = None  # calls alternate: the short path would often compute in vain
            elif replay.execution.rests and not kwargs and not audit_module.EVERY:
                self._go_directly(replay, guard, values, args)
            outputs.assign(results)
            return replay, results
        return None

    def _go_directly(self, replay: Replay, guard: Guard, seen: Any, args: tuple) -> None:
        """Let the next call use the short path in C++, if this graph still applies."""
        known, execution = replay.direct, replay.execution
        if known.expected is not seen or known.run is not execution.only_run:
            known = replay.direct = Direct.of(replay, guard.fingerprint, seen, args)
        elif known.call is None and self._direct is None:
            return
        self._direct = None if known.call is None else known
        if self._direct is not None:
            replay.inputs.forget_data()
            done = self.statistics.replays
            if not execution.is_final:
                self._returns_at = done + REST
                execution.note_others(REST)
            else:
                self._returns_at = sys.maxsize

    def eagerly(self, args: tuple, kwargs: dict) -> Any:
        """Run the function itself."""
        entered = compiled_calls.enter()
        try:
            with self.meaning():
                return self.fn(*args, **kwargs)
        finally:
            if entered:
                compiled_calls.leave()

    def recorded_as(self, inputs: list[torch.Tensor], apart: bool = False) -> Callable[..., Any]:
        """What a recorded run calls; `apart` if the run will be discarded."""
        return self.fn

    def note_recorded(self, trace: Trace) -> None:
        """Note that a graph has been recorded."""
        self.statistics.traces += 1
        self.recompilations.recorded()
        self.cache.compares_identities |= any(
            facts_of(code).identities for code in trace.outside.codes)

    def refuse(self, key: Any, reason: str) -> None:
        """Run such calls eagerly from now on; say why, once; an error for `fullgraph`."""
        if self.fullgraph:
            raise RuntimeError(f"For 'jit', '{self.name}' can't be one graph: {reason}.")
        self._direct = None
        self.cache.refuse(key, reason)
        if reason not in self._said and len(self._said) < MOST_REASONS:
            self._said.add(reason)
            warnings.warn(f"For 'jit', '{self.name}' runs eagerly: {reason}.",
                          stacklevel=user_stacklevel())
