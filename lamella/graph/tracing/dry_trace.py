"""The trace of a dry run, which reads stand-ins off tensors."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from ..guards.reachable import Reachable
from .append_only import AppendOnly
from .effects import DeferredCall, kept
from .given import Given
from .number_functions import number_function
from .outside import OURS, origin_of
from .read_scalars import ReadScalar
from .recorder import Recorder
from .refusals import CannotTrace, Cause
from .run import run_traced
from .run_kind import RunKind
from .scalar_environment import ScalarEnvironment
from .scalars import SymbolicScalar
from .texts import appended_to, is_only_returned
from .trace import HeldTensor, Trace


class DryTrace(Trace):
    """A dry run: it is undone, so side effects outside of the process are refused."""

    scalars: ScalarEnvironment | None

    def refuse(self, what: str, cause: Cause = Cause.ALWAYS) -> None:
        if self.refused is None:
            super().refuse(what, cause)
        raise CannotTrace(what, cause)

    def exchange(self, call: Any, given: Any) -> Any:
        raise CannotTrace("communicates with other processes")

    def only_passes(self, frame: FrameType, value: Any) -> bool:
        if super().only_passes(frame, value):
            return True
        if not isinstance(value, SymbolicScalar):
            return False
        if type(appended_to(frame)) is AppendOnly:
            return True
        return is_only_returned(frame) and _is_outermost(frame)

    def called(self, function: Callable[..., Any], value: Any, operands: list[Any]) -> Any:
        """The stand-in for a function's value; that it has this type in replays is guarded."""
        if type(value) is not float and (type(value) is not int or abs(value) >= 2**63):
            return self.refuse("needs the value of a number that it reads off a tensor")
        held, holds = self.recorder.call(number_function(function, type(value)), operands)
        self.guard(holds)
        return ReadScalar(weakref.proxy(self), value, held)

    def defer(self, function: Callable[..., None], args: tuple, kwargs: dict,
              keep: Callable[[Any], Any] | None = None) -> None:
        self.deferred.append(DeferredCall(function, args, kwargs, keep or _kept))

    def number(self, raw: torch.Tensor) -> Any:
        self.reads.append(ReadScalar(weakref.proxy(self), self.peek(raw), raw))
        return self.reads[-1]

    def read(self, raw: torch.Tensor) -> Any:
        assert self.scalars is not None
        wide = torch.float64 if raw.is_floating_point() else torch.int64
        if (len(self.reads) not in self.scalars.reads or raw.is_complex()
                or raw.dtype in (torch.bool, torch.uint64)
                or torch._C._are_functorch_transforms_active()):
            return super().read(raw)
        # a copy, since the tensor may be changed after it was read
        held = raw.detach().reshape(()).to(wide, copy=True)
        # in no cycle: a trace holds copies of all that the run has changed
        self.reads.append(ReadScalar(weakref.proxy(self), self.peek(held), held))
        return self.reads[-1]


class Dry(RunKind):
    """A run with stand-ins for numbers.

    Args:
        scalars: these numbers.
    """

    def __init__(self, scalars: ScalarEnvironment):
        self._scalars = scalars

    def trace(self, reach: Reachable, held: list[HeldTensor], inputs: list[torch.Tensor],
              given: Given) -> Trace:
        recorder = Recorder(inputs)
        recorder.is_undoable = recorder.defers = True
        trace = DryTrace(reach, held, recorder, given)
        trace.loops.lines = None
        trace.scalars, self._scalars.recorder = self._scalars, recorder
        return trace


def _is_outermost(frame: FrameType) -> bool:
    """Whether what a function returns goes to Lamella and from there to the compiled call."""
    if frame.f_code.co_name == "construct":  # of a Cell, whose hooks are given what it returns
        return False
    outer = frame.f_back
    while outer is not None and outer.f_code is not run_traced.__code__:
        if origin_of(outer.f_code.co_filename) != OURS:
            return False
        outer = outer.f_back
    return outer is not None


def _kept(arg: Any) -> Any:
    return arg if isinstance(arg, SymbolicScalar) else kept(arg)
