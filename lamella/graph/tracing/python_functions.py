"""Functions that the program calls with numbers: `math`, `float` and `int` take stand-ins."""

from __future__ import annotations

import builtins
import math
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ...core.state import state
from ...tensors.tensor import Tensor
from ..guards.reachable import Reachable
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


@contextmanager
def mathematics_recorded(reach: Reachable) -> Iterator[None]:
    """A block in which the program's functions of `math` take stand-ins."""
    spaces = [vars(math), *[space for _, space, _ in reach.names.spaces.values()
                            if isinstance(space, dict)]]
    replaced = [(space, name, value) for space in spaces for name, value in list(space.items())
                if isinstance(value, types.BuiltinFunctionType) and value in _MATHEMATICS]
    for space, name, value in replaced:
        space[name] = _MATHEMATICS[value]
    try:
        yield
    finally:
        for space, name, value in replaced:
            space[name] = value


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


@contextmanager
def conversions_recorded(reach: Reachable) -> Iterator[None]:
    """A block in which the program's `float` and `int` of stand-ins give stand-ins.

    Not in a module whose code another thread is running: `float` would not be the class of its
    numbers.
    """
    elsewhere = {*_running_elsewhere(), id(vars(builtins))}
    replaced = [(space, name) for _, space, names in reach.names.spaces.values()
                for name in _CLASSES.keys() & names.keys()
                if isinstance(space, dict) and name not in space and id(space) not in elsewhere]
    for space, name in replaced:
        space[name] = _CLASSES[name]
    try:
        yield
    finally:
        for space, name in replaced:
            space.pop(name, None)
