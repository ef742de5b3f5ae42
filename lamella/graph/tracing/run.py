"""One run of a function, recorded as a graph of kernels.

The function runs as it would eagerly, on its own data and with all its side effects, while every
kernel it calls is recorded: forward, backward, clipping and the optimizer's update become one
graph.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from ...autodiff.tree import container_tensors as tensors
from ...autodiff.tree import map_container_tensors as map_tensors
from ...core.classes import is_a
from ...core.state import state
from ...machine.collector import not_collecting
from ...machine.memory import allocator, returning_freed_memory
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..guards.arguments import given_tensors
from ..guards.bytecode import facts_of
from ..guards.reachable import Reachable
from ..guards.values import comparable
from .changes import Snapshot
from .effects import prints_recorded
from .given import Given
from .identities import identities_checked
from .inspected import Inspection
from .lines import Line
from .logged import logs_recorded
from .outcome import outcome_of
from .recorder import Recorder
from .refusals import CannotTrace, Cause
from .trace import HeldTensor, Trace, data_of, set_data


class RunKind(ABC):
    """A kind of run.

    Attributes:
        is_apart: whether it is undone, so that all that it may change has to be inspected before.
        is_fake: whether all Tensors have other data during the run.
        mode: a block in which the function runs.
    """

    is_apart = True
    is_fake = False
    mode: Any = nullcontext()

    def data(self, raw: torch.Tensor, is_argument: bool) -> torch.Tensor:
        """The data that a Tensor has during the run."""
        return raw

    @abstractmethod
    def trace(self, reach: Reachable, held: list[HeldTensor], inputs: list[torch.Tensor],
              given: Given) -> Trace:
        """The run, with a recorder of its kernels."""


class Real(RunKind):
    """A run as the program's: its side effects stay, also if it raises an error.

    Args:
        undoable: whether it can be undone after it has ended, as a dry run always can; that takes
            copies of what it changes.
        lines: where loops may be operations of the graph; see `ProgramLoops`.
    """

    is_apart = False

    def __init__(self, undoable: bool = False, lines: Collection[Line] = ()):
        self._undoable, self._lines = undoable, lines

    def trace(self, reach: Reachable, held: list[HeldTensor], inputs: list[torch.Tensor],
              given: Given) -> Trace:
        recorder = Recorder(inputs)
        recorder.is_undoable = self._undoable
        trace = Trace(reach, held, recorder, given)
        trace.loops.lines = self._lines
        return trace


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
    plain = args, kwargs
    args, kwargs, stand_ins = _with_stand_ins(args, kwargs, {id(one.tensor) for one in held})
    compares = bool(stand_ins) and any(
        facts_of(function.__code__).identities for function in reach.objects.functions)
    if compares:
        (args, kwargs), stand_ins = plain, []
    given = given_tensors((args, kwargs))
    lent, swapped = _inputs(given, [one.tensor for one in held], kind)
    trace = kind.trace(reach, held, lent, Given((args, kwargs)))
    recorder, inspection = trace.recorder, Inspection(reach) if kind.is_apart else None
    if inspection is not None:
        trace.outside.meets = inspection
    attributes = _attributes(given)
    with _lent(swapped, stand_ins, kind.is_fake):
        try:
            own = [t._raw for t in given]
            for one in held:
                one.begin()
            with returning_freed_memory(), kind.mode, prints_recorded(), logs_recorded(), recorder:
                trace.value = _called(trace, fn, args, kwargs, compares, inspection)
                if trace.refused is None and recorder.failures:
                    trace.refuse(_CAUGHT, Cause.ERROR)
                if trace.refused is None:
                    try:
                        _check_given(attributes, given, own)
                        with not_collecting():
                            trace.outcome = outcome_of(trace, before, given)
                    except CannotTrace as reason:
                        trace.refuse(*reason.refusal)
        except BaseException:
            if kind.is_apart:  # another leaves what has been done, as eagerly
                trace.undo()
            raise
    originals = {id(stand_in): tensor for tensor, stand_in, _ in stand_ins}
    if originals and any(id(t) in originals for t in tensors(trace.value)):
        trace.value = map_tensors(lambda t: originals.get(id(t), t), trace.value)
    return trace


_CAUGHT = "catches the error of a kernel, which depends on values"


def _held(reach: Reachable) -> list[HeldTensor]:
    """The Tensors that the function can reach: first those that no source names."""
    others = [HeldTensor(t, None if id(t) in reach.tensors.unnamed else source)
              for t, source in reach.tensors.others]
    return [*(HeldTensor(p, None) for p in reach.tensors.parameters),
            *sorted(others, key=lambda found: found.source is not None)]


@contextmanager
def _lent(swapped: list[tuple[Tensor, torch.Tensor, torch.Tensor]],
          stand_ins: list[tuple[Tensor, Tensor, torch.Tensor]], is_fake: bool) -> Iterator[None]:
    """Swap the data of Tensors for the run, and give them and the originals back after it."""
    try:
        for tensor, _, raw in swapped:
            set_data(tensor, raw)
        yield
    finally:
        state.masks = None
        for tensor, own, raw in swapped:
            if is_fake or data_of(tensor) is raw:
                set_data(tensor, own)
        for tensor, stand_in, raw in stand_ins:
            if stand_in._raw is not raw:
                tensor._raw = stand_in._raw
            tensor.__dict__.update(stand_in.__dict__)


def _called(trace: Trace, fn: Callable[..., Any], args: tuple, kwargs: dict, compares: bool,
            inspection: Inspection | None) -> Any:
    """What the function returns, while the run is this thread's.

    Args:
        compares: whether the function may compare an argument with a Tensor that is it.
        inspection: checks after the call that all that it met was inspected.
    """
    state.trace = trace
    try:
        with identities_checked(trace.reach), trace.outside:
            if compares:
                trace.refuse_once("may compare an argument with a Tensor that is it")
            value = fn(*args, **kwargs)
        if inspection is not None:
            inspection.check()
        return value
    finally:
        state.trace = None


def _with_stand_ins(args: tuple, kwargs: dict, held: set[int]
           ) -> tuple[tuple, dict, list[tuple[Tensor, Tensor, torch.Tensor]]]:
    """The arguments, with stand-ins for Tensors that the function can also reach otherwise.

    So the recording tells uses of the argument from uses of the other: the next call may get
    another Tensor. The list has each such Tensor, its stand-in, and its data at this time.
    """
    stand_ins: list[tuple[Tensor, Tensor, torch.Tensor]] = []

    def replaced(value: Any) -> Any:
        if not is_a(value, Tensor) or is_a(value, Parameter) or id(value) not in held:
            return value
        for tensor, stand_in, _ in stand_ins:
            if tensor is value:
                return stand_in
        raw = value._raw.detach()
        stand_in = wrap(raw)
        stand_in.__dict__.update(value.__dict__)
        stand_ins.append((value, stand_in, raw))
        return stand_in

    return (tuple([replaced(a) for a in args]), {k: replaced(v) for k, v in kwargs.items()},
            stand_ins)


def _inputs(given: list[Tensor], held: list[Tensor], kind: RunKind
            ) -> tuple[list[torch.Tensor], list[tuple[Tensor, torch.Tensor, torch.Tensor]]]:
    """The inputs of the graph, each a different object, and the Tensors whose data are swapped.

    The second list has for each of these the Tensor, its data, and its data during the run.

    An argument that is passed twice gives one input that is used, and one that isn't: the key of a
    call tells which are the same.
    """
    lent: list[torch.Tensor] = []
    swapped: list[tuple[Tensor, torch.Tensor, torch.Tensor]] = []
    seen: set[int] = set()
    known: set[int] = set()
    for number, tensor in enumerate((*given, *held)):
        raw = data_of(tensor)
        is_argument = number < len(given)
        found = kind.data(raw, is_argument)
        if found is raw and (id(raw) in seen or raw.requires_grad):
            found = raw.detach()
        seen.add(id(raw))
        if found is not raw and id(tensor) not in known and (
                kind.is_fake or raw.requires_grad or not is_argument):
            swapped.append((tensor, raw, found))
        known.add(id(tensor))
        lent.append(found)
    return lent, swapped


def _check_given(attributes: list[Any], given: list[Tensor], own: list[torch.Tensor]) -> None:
    """Check that the run hasn't changed the attributes or data tensors of given Tensors.

    Raises:
        CannotTrace: if it has.
    """
    if _attributes(given) != attributes:
        raise CannotTrace("changes an attribute or a hook of a Tensor that it was given")
    if any(t._raw is not raw for t, raw in zip(given, own, strict=True)):
        raise CannotTrace("assigns other data to a Tensor that it was given")


def _attributes(given: list[Tensor]) -> list[Any]:
    return [comparable(t.__dict__) for t in given]
