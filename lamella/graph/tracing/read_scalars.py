"""Symbolic scalars that a run reads off its tensors, such as ``float(loss)``, and that vary.

A dry run gives the program a stand-in: the number stays in the graph, as a tensor of one element
in float64 or int64, which hold every such number exactly. Arithmetic on it and its use beside a
tensor are kernels, or calls of Python's own functions where kernels would round otherwise. A
comparison is a guard on its outcome, and where the program returns, keeps or prints it, each replay
reads it off the results. Any other use needs the value itself, and ends the dry run.
"""

from __future__ import annotations

import builtins
import operator
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch

from ...core.state import state
from ...tensors.tensor import Tensor
from ..guards.reachable import Reachable
from .append_only import AppendOnly
from .effects import DeferredCall, kept
from .functions import WIDE, number_function
from .outside import OURS, origin_of
from .refusals import CannotTrace, Cause
from .run import run_traced
from .scalars import MOST, ScalarEnvironment, SymbolicScalar, value_of
from .texts import appended_to, is_only_returned
from .trace import Trace

_PYTHONS = {int, float, bool}
_KERNELS = frozenset(("add", "sub", "mul", "truediv"))  # operators that round as Python's do
SMALL = 2**31  # ints below it can be added and multiplied in int64


class ReadScalar(SymbolicScalar):
    """A stand-in for a number that was read off a tensor, or computed of such numbers."""

    __slots__ = ("trace", "held", "_is_small")
    held: torch.Tensor

    def __init__(self, trace: DryTrace, value: Any, held: torch.Tensor):
        assert trace.scalars is not None
        super().__init__(trace.scalars, value, "")
        self.trace, self.held, self._is_small = trace, held, False

    def plain(self) -> Any:
        self.trace.refuse("needs the value of a number that it reads off a tensor")

    def made(self, value: Any, text: str, of_any_type: bool = False) -> Any:
        return self.plain()

    def scalar(self, kind: torch.dtype) -> torch.Tensor:
        return self.held.to(kind)

    def function_of(self, function: Callable[..., Any], name: str, *operands: Any) -> Any:
        """The result of a function of numbers, computed by Python also in replays."""
        if not {*map(type, map(value_of, operands))} <= _PYTHONS:
            return self.plain()
        try:
            value = function(*map(value_of, operands))
        except Exception:  # noqa: BLE001  (the function itself then raises it at its line)
            return self.plain()
        return self.trace.called(function, value, [_scalar(operand) for operand in operands])

    def is_small(self) -> bool:
        """Whether it is a float, or an int that can't overflow; this is guarded then."""
        if type(self.value) is int and not self._is_small:
            if abs(self.value) >= SMALL:
                return False
            self.trace.guard((self.held < SMALL) & (self.held > -SMALL))
            self._is_small = True
        return True

    def test(self, name: str) -> bool:
        """The outcome of a test, such as `math.isnan`, which is guarded."""
        return bool(self.trace.guard(getattr(torch, name)(self.held)))

    def __bool__(self) -> bool:
        return bool(self.trace.guard(self.held != 0))

    def __neg__(self) -> Any:
        return ReadScalar(self.trace, -self.value, -self.held) if self.is_small() else self.plain()

    def __abs__(self) -> Any:
        if not self.is_small():
            return self.plain()
        return ReadScalar(self.trace, abs(self.value), self.held.abs())

    def combined(self, name: str, left: Any, right: Any) -> Any:
        """The result of an operator for two numbers: a kernel, or Python where that rounds."""
        function = getattr(operator, name)
        if name not in _KERNELS:
            return self.function_of(function, name, left, right)
        operand = _operand(self, right if left is self else left) if self.is_small() else None
        if operand is None or name == "truediv" and not right:  # it is guarded not to be 0
            return self.plain()
        value = function(value_of(left), value_of(right))
        held = self.held if type(value) is int else self.held.double()
        both = (held, operand) if left is self else (operand, held)
        return ReadScalar(self.trace, value, function(*both))

    def decided(self, name: str, other: Any) -> bool:
        """The outcome of a comparison with a number, which is guarded."""
        operand, both = _operand(self, other), {type(self.value), type(value_of(other))}
        if operand is None or both == {int, float} and not self.is_small():
            return self.plain()
        held = self.held if both == {int} else self.held.double()
        return bool(self.trace.guard(getattr(operator, name)(held, operand)))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def as_float(self) -> Any:
        """`float` of it."""
        if not self.is_small():
            return self.plain()
        return ReadScalar(self.trace, float(self.value), self.held.double())

    def as_int(self) -> Any:
        """`int` of it, if it is not too large for int64."""
        if not self.trace.guard(self.held.abs() < MOST):
            return self.plain()
        return ReadScalar(self.trace, int(self.value), self.held.long())


def _scalar(operand: Any) -> Any:
    """What stands for an operand of a function that Python computes."""
    if isinstance(operand, ReadScalar):
        return operand.held
    return operand.scalar(WIDE[type(operand.value)]) if type(operand) is SymbolicScalar else operand


def _operand(number: ReadScalar, other: Any) -> Any:
    """What stands for the other operand beside `held`; None if it has to be a plain number."""
    if isinstance(other, ReadScalar):
        return other.held if other.is_small() else None
    if type(other) is SymbolicScalar and type(other.value) in WIDE:
        beside: Any = other  # whose comparisons are guards
        if type(other.value) is int and not -SMALL < beside < SMALL:
            return None
        return other.scalar(WIDE[type(other.value)])
    if type(other) is float or type(other) is int and abs(other) < SMALL:
        return other
    return None


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

    def read(self, raw: torch.Tensor) -> Any:
        assert self.scalars is not None
        wide = torch.float64 if raw.is_floating_point() else torch.int64
        if len(self.reads) not in self.scalars.reads or raw.is_complex() or (
                raw.dtype is torch.bool or torch._C._are_functorch_transforms_active()):
            return super().read(raw)
        # a copy, since the tensor may be changed after it was read
        held = raw.detach().reshape(()).to(wide, copy=True)
        # in no cycle: a trace holds copies of all that the run has changed
        self.reads.append(ReadScalar(weakref.proxy(self), self.peek(held), held))
        return self.reads[-1]


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


class _AsNumbers(type):
    """The class of the stand-ins for `float` and `int`."""

    own: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and state.trace is not None:
            arg: Any = args[0]
            if isinstance(arg, Tensor) and arg._raw.numel() == 1 and not arg._raw.is_complex():
                arg = arg.item()
            if isinstance(arg, ReadScalar):
                if type(arg.value) is cls.own:
                    return arg
                return arg.as_float() if cls.own is float else arg.as_int()
            if type(arg) is SymbolicScalar:
                return arg.converted(cls.own)
        return cls.own(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.own)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.own)


_CLASSES = {kind.__name__: _AsNumbers(kind.__name__, (), {"own": kind}) for kind in (float, int)}


def _running_elsewhere() -> set[int]:
    """By identity, the globals of all code that other threads are running."""
    found: set[int] = set()
    for thread, frame in sys._current_frames().items():
        inner: FrameType | None = None if thread == threading.get_ident() else frame
        while inner is not None:
            found.add(id(inner.f_globals))
            inner = inner.f_back
    return found


@contextmanager
def conversions_recorded(reach: Reachable) -> Iterator[None]:
    """A block in which the program's `float` and `int` of stand-ins give stand-ins.

    Not in a module whose code another thread is running: `float` would not be the class of its
    numbers.
    """
    elsewhere = {*_running_elsewhere(), id(vars(builtins))}
    replaced = [(space, name) for _, space, names in reach.spaces.values()
                for name in _CLASSES.keys() & names.keys()
                if isinstance(space, dict) and name not in space and id(space) not in elsewhere]
    for space, name in replaced:
        space[name] = _CLASSES[name]
    try:
        yield
    finally:
        for space, name in replaced:
            space.pop(name, None)
