"""One run of a function, recorded as a graph of kernels.

The function runs as it would eagerly, on its own data and with all its side effects, while every
kernel it calls is recorded: forward, backward, clipping and the optimizer's update become one
graph.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ...core.state import state
from ...machine.collector import not_collecting
from ...machine.memory import allocator, returning_freed_memory
from ..guards.bytecode import facts_of
from ..guards.reachable import Reachable
from .changes import Snapshot
from .effects import prints_recorded
from .given import Given
from .identities import identities_checked
from .inspected import Inspection
from .logged import logs_recorded
from .outcome import outcome_of
from .refusals import CannotTrace, Cause
from .run_inputs import RunInputs, reached_twice
from .run_kind import Real, RunKind
from .trace import HeldTensor, Trace

# what gives a Tensor other data than those that its stand-in shares with it
_ASSIGNING = frozenset("assign_value data delete_ init_data set_ set_dtype to_".split())


def run_traced(fn: Callable[..., Any], args: tuple, kwargs: dict, reach: Reachable,
               kind: RunKind | None = None, before: Snapshot | None = None) -> Trace:
    """Run `fn` and record the run.

    Args:
        fn: called with `args` and `kwargs`.
        reach: the objects that it can reach.
        kind: the kind of run: real if None.
        before: a snapshot of the objects in `reach`.

    Returns:
        The run; without an outcome if `Trace.refused` gives a reason.

    Raises:
        CannotTrace: if a run that is to be undone can't be recorded, or may change what wasn't
            inspected.
        Exception: what the function raises.
    """
    allocator.load()
    kind = kind or Real()
    if before is None:
        before = Snapshot(reach)
    held = _held(reach)
    tensors = [one.tensor for one in held]
    twice = reached_twice((*args, *kwargs.values()), tensors)
    mixes = bool(twice) and any(map(_mixes, reach.objects.functions))
    inputs = RunInputs(args, kwargs, tensors, kind, set() if mixes else twice)
    trace = kind.trace(reach, held, inputs.data, Given((inputs.args, inputs.kwargs)))
    inspection = Inspection(reach) if kind.is_apart else None
    if inspection is not None:
        trace.outside.meets, trace.outside.is_apart = inspection, True
    with inputs.lent():
        try:
            for one in held:
                one.begin()
            with (returning_freed_memory(), kind.mode, prints_recorded(), logs_recorded(),
                  trace.recorder):
                trace.value = _called(trace, fn, inputs, mixes, inspection)
                _conclude(trace, before, inputs)
        except BaseException:
            if kind.is_apart:  # another leaves what has been done, as eagerly
                trace.undo()
            raise
    trace.value = inputs.with_originals(trace.value)
    return trace


def _held(reach: Reachable) -> list[HeldTensor]:
    """The Tensors that the function can reach: first those that no source names."""
    others = [HeldTensor(t, None if id(t) in reach.tensors.unnamed else source)
              for t, source in reach.tensors.others]
    return [*(HeldTensor(p, None) for p in reach.tensors.parameters),
            *sorted(others, key=lambda found: found.source is not None)]


def _mixes(function: FunctionType) -> bool:
    """Whether a function may tell an argument from a Tensor that is it: by comparing the two, or by
    giving it other data."""
    facts = facts_of(function.__code__)
    return facts.identities or not _ASSIGNING.isdisjoint(facts.names)


def _called(trace: Trace, fn: Callable[..., Any], inputs: RunInputs, mixes: bool,
            inspection: Inspection | None) -> Any:
    """What the function returns, while the run is this thread's.

    Args:
        mixes: whether an argument is also found elsewhere, and `_mixes` holds.
        inspection: checks after the call that all that it met was inspected.
    """
    state.trace = trace
    try:
        with identities_checked(trace.reach), trace.outside:
            if mixes:
                trace.refuse_once("may compare an argument with a Tensor that is it, or give it "
                                  "other data")
            value = fn(*inputs.args, **inputs.kwargs)
        if inspection is not None:
            inspection.check()
        return value
    finally:
        state.trace = None


def _conclude(trace: Trace, before: Snapshot, inputs: RunInputs) -> None:
    """Give the run its outcome, or the reason why it has none."""
    if trace.refused is None and trace.recorder.failures:
        trace.refuse("catches the error of a kernel, which depends on values", Cause.ERROR)
    if trace.refused is not None:
        return
    try:
        inputs.check()
        with not_collecting():
            trace.outcome = outcome_of(trace, before, inputs.tensors)
    except CannotTrace as reason:
        trace.refuse(*reason.refusal)
