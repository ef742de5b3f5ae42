"""Functions that the program calls with numbers: `math`, `float` and `int` take stand-ins."""

from __future__ import annotations

import builtins
import math
import sys
import threading
import types
from collections.abc import Callable
from types import FrameType
from typing import Any

from ...core.state import state
from ...tensors.tensor import Tensor
from ..guards.reachable import Reachable
from ..guards.sources import Global, Source, kept_in
from .scalars import TESTS, SymbolicScalar, is_number, is_on_tensor, without


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `math` that also takes stand-ins."""
    def called(*args: Any) -> Any:
        scalars = [arg for arg in args if isinstance(arg, SymbolicScalar)]
        number = max(scalars, key=is_on_tensor, default=None)
        if number is None or not all(map(is_number, args)):
            return function(*without(args))
        return number.function_of(function, f"math.{function.__name__}", *args)

    return called


def _testing(function: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A test of `math` that also takes stand-ins."""
    def called(number: Any) -> bool:
        is_symbolic = isinstance(number, SymbolicScalar)
        return number.test(function.__name__) if is_symbolic else function(number)

    return called


_MATHEMATICS = {**{getattr(math, name): _testing(getattr(math, name)) for name in TESTS},
                **{function: _of_numbers(function) for function in [
    getattr(math, name) for name in """exp expm1 log log1p log2 log10 sqrt pow sin cos tan asin acos
    atan atan2 sinh cosh tanh degrees radians hypot copysign fabs fmod""".split()]}}


def mathematics(reach: Reachable) -> list[tuple[Source, Any]]:
    """Where the program finds functions of `math`, with those that take stand-ins."""
    found = kept_in(reach, {types.BuiltinFunctionType}).values()
    return [*((Global(vars(math), function.__name__), called)
              for function, called in _MATHEMATICS.items()),
            *((source, _MATHEMATICS[value]) for source, value in found if value in _MATHEMATICS)]


class _AsNumbers(type):
    """The class of the stand-ins for `float` and `int`."""

    own: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and state.trace is not None:
            arg: Any = args[0]
            if isinstance(arg, Tensor) and arg._raw.numel() == 1 and not arg._raw.is_complex():
                arg = arg.item()
            if isinstance(arg, SymbolicScalar):
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


def conversions(reach: Reachable) -> list[tuple[Source, Any]]:
    """Where the program finds `float` and `int`, with classes that give stand-ins for stand-ins.

    Not in a module whose code another thread is running: `float` would not be the class of its
    numbers.
    """
    elsewhere = {*_running_elsewhere(), id(vars(builtins))}
    return [(Global(space, name), _CLASSES[name]) for _, space, names in reach.names.spaces.values()
            for name in _CLASSES.keys() & names.keys()
            if isinstance(space, dict) and name not in space and id(space) not in elsewhere]
