"""Numbers and truth values in a loop of the program's, while its step is recorded as an operation.

A number that a step changes, or reads off a Tensor, is a `LoopNumber`; the outcome of a test is a
`Truth`. Each holds a tensor of one element. `loop_choices` computes an `if` on a `Truth`. A use
that isn't defined here ends the recording of the step, even where the program catches errors; then
the loop runs as Python's.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from ...core.state import state
from ...tensors.tensor import Tensor, wrap
from ..guards.search import reachable_from
from ..ir.operations import mutating
from .changes import Snapshot
from .dry import has_changed
from .loop_part import Unlike
from .scalars import SymbolicScalar

SMALL = 2**31  # ints below it are added exactly
LARGE = 2**53  # from it on ints aren't exact as floats, and sums that a loop carries too large
SHORT = (torch.float16, torch.bfloat16)
WIDE = {int: torch.int64, float: torch.float64}
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def unlike() -> Unlike:
    """The error for a step that can't be recorded. While one is recorded, another ends it first."""
    if state.trace is not None:
        state.trace.stop_dry_run("computes with a number as a graph can't")
    return Unlike()


class _Unbound:
    """The value of a name that has none: any use of it is an error."""

    def __bool__(self) -> bool:
        raise unlike()


UNBOUND = _Unbound()
SOMETIMES = _Unbound()  # of a name that only one branch of an `if` assigns


class Sums:
    """The sums of ints in a step: with the numbers of steps they may grow without end.

    Args:
        are_small: a tensor that says whether those of the steps before were small enough; None if
            nothing carries it. Then the first sum ends the recording of the step.

    Attributes:
        are_found: whether there is one.
    """

    def __init__(self, are_small: torch.Tensor | None):
        self.are_small, self.are_found = are_small, False

    def note(self, is_small: torch.Tensor) -> None:
        """Note that there is a sum, and whether it is small enough."""
        self.are_found = True
        if self.are_small is None:
            raise unlike()
        self.are_small = self.are_small & is_small.to(self.are_small.device)


class LoopNumber:
    """A number of a step, held by a tensor of one element.

    Attributes:
        held: the tensor, of the widest type.
        kind: `int` or `float`.
    """

    __slots__ = ("held", "kind")
    def __init__(self, held: torch.Tensor, kind: type):
        self.held, self.kind = held, kind
        state.trace.loops.has_numbers = True

    def __bool__(self) -> bool:
        return bool(Truth(self.held != 0))

    def __neg__(self) -> LoopNumber:
        return LoopNumber(-self.held, self.kind)

    def __abs__(self) -> LoopNumber:
        return LoopNumber(self.held.abs(), self.kind)

    def combined(self, name: str, other: Any, reflected: bool) -> Any:
        """The result of an operator."""
        function = getattr(operator, name)
        if isinstance(other, Tensor):
            pair = (self._beside(other._raw), other._raw)
            # kernels of products and sums take the number second, as for Python's
            return wrap(function(*(pair[::-1] if reflected or name in ("add", "mul") else pair)))
        operand, kind = _operand(other)
        if kind is int and self.kind is int:
            if name not in ("add", "sub") or type(other) is int and abs(other) >= SMALL:
                raise unlike()
            pair = (self.held, operand)
        else:
            pair = (self.held.double(), operand.double() if isinstance(operand, torch.Tensor)
                    else float(operand))
            kind = float
        if name == "truediv" and (reflected or type(other) not in WIDE or not other):
            raise unlike()  # Python raises an error where the divisor is 0
        held, sums = function(*(pair[::-1] if reflected else pair)), state.trace.loops.sums
        if kind is int and sums is not None and isinstance(operand, torch.Tensor):
            sums.note(held.abs() < LARGE)
        return LoopNumber(held, kind)

    def _beside(self, raw: torch.Tensor) -> torch.Tensor:
        """What stands for it beside a tensor: a kernel rounds it no sooner than Python's number."""
        if not raw.is_floating_point() or not raw.dim() and raw.dtype in SHORT:
            raise unlike()
        # beside a tensor with dimensions the wide type doesn't count
        return self.held if raw.dim() else self.held.to(raw.dtype)

    def compared(self, name: str, other: Any) -> Truth | Tensor:
        """The outcome of a comparison."""
        function = getattr(operator, name)
        if isinstance(other, Tensor):
            return wrap(function(self._beside(other._raw), other._raw))
        operand, kind = _operand(other)
        same = kind is self.kind
        return Truth(function(self.held if same else self.held.double(),
                              operand.double() if isinstance(operand, torch.Tensor) and not same
                              else operand))


def _operand(other: Any) -> tuple[Any, type]:
    """A number, or the tensor that holds it, and its type."""
    if isinstance(other, LoopNumber):
        return other.held, other.kind
    if type(other) in WIDE and (type(other) is float or abs(other) < LARGE):
        return other, type(other)
    if isinstance(other, SymbolicScalar) and type(other.value) in WIDE:
        return held_by(other), type(other.value)
    raise unlike()


for _name in ("add", "sub", "mul", "truediv"):
    setattr(LoopNumber, f"__{_name}__",
            lambda self, other, name=_name: self.combined(name, other, False))
    setattr(LoopNumber, f"__r{_name}__",
            lambda self, other, name=_name: self.combined(name, other, True))
for _name in _COMPARISONS:
    setattr(LoopNumber, f"__{_name}__", lambda self, other, name=_name: self.compared(name, other))


class Truth:
    """A truth value of a step, held by a tensor of one element."""

    __slots__ = ("held",)

    def __init__(self, held: torch.Tensor):
        self.held = held
        state.trace.loops.has_numbers = True

    def __bool__(self) -> bool:
        return state.trace.truth(self.held)


def _unknown(*_: Any) -> Any:
    """In place of a method that numbers have, and tensors that hold them haven't."""
    raise unlike()


# the methods of numbers: those of an object are its own, but for texts and keys
for _class in (LoopNumber, Truth):
    for _name in ({*dir(int), *dir(float)} - {*dir(object)} | {
            "__hash__", "__repr__", "__str__", "__format__", "__reduce__", "__reduce_ex__",
            "__eq__", "__ne__", "__array__"}) - {*vars(_class)}:
        is_method = callable(getattr(int, _name, _unknown))
        setattr(_class, _name, _unknown if is_method else property(_unknown))


def held_by(number: Any) -> torch.Tensor:
    """The tensor of one element that holds a number, whose value as a float is exact."""
    if isinstance(number, LoopNumber):
        return number.held
    if isinstance(number, SymbolicScalar):
        return number.scalar(WIDE[type(number.value)])
    if type(number) is int and abs(number) >= LARGE:
        raise unlike()
    return torch.scalar_tensor(number, dtype=WIDE[type(number)])


def truth_of(value: Any) -> torch.Tensor | None:
    """A truth value as a tensor; None if it isn't one of a tensor."""
    if isinstance(value, Truth):
        return value.held
    if isinstance(value, (LoopNumber, Tensor)):
        raw = value.held if isinstance(value, LoopNumber) else value._raw
        if raw.numel() != 1 or raw.is_complex():
            raise unlike()
        return raw.detach().reshape(()) != 0
    return None


# -- what converted code calls ---------------------------------------------------------------------


def is_dry() -> bool:
    """Whether truth values are Tensors just now."""
    return state.trace is not None and (state.trace.run_dry or state.trace.loops.is_asking)


def _is_one(value: Any) -> bool:
    return isinstance(value, Tensor) and value._raw.numel() == 1 and not value._raw.is_complex()


def truth(kind: Any, value: Any) -> Any:
    """``bool(value)``, by what the program has under the name."""
    found = truth_of(value) if kind is bool and is_dry() else None
    return kind(value) if found is None else Truth(found)


def number(kind: Any, value: Any) -> Any:
    """``float(value)``."""
    if getattr(kind, "own", kind) is float and is_dry():
        if _is_one(value):
            return LoopNumber(value._raw.detach().reshape(()).double(), float)
        if isinstance(value, LoopNumber):
            return LoopNumber(value.held.double(), float)
    return kind(value)


def whole(kind: Any, value: Any) -> Any:
    """``int(value)``."""
    if getattr(kind, "own", kind) is int and is_dry():
        if _is_one(value) and not value._raw.is_floating_point():
            return LoopNumber(value._raw.reshape(()).to(torch.int64), int)
        if isinstance(value, LoopNumber) and value.kind is int:
            return value
    return kind(value)


def item(value: Any) -> Any:
    """``value.item()``."""
    if is_dry() and _is_one(value):
        if value._raw.dtype is torch.bool:
            return Truth(value._raw.reshape(()))
        kind = float if value._raw.is_floating_point() else int
        return LoopNumber(value._raw.detach().reshape(()).to(WIDE[kind]), kind)
    return value.item()


def all_of(*parts: Callable[[], Any]) -> Any:
    """``and`` of what some functions give."""
    return _joined(parts, torch.logical_and, False)


def any_of(*parts: Callable[[], Any]) -> Any:
    """``or`` of what some functions give."""
    return _joined(parts, torch.logical_or, True)


@contextmanager
def computing(mask: torch.Tensor, program: Callable[..., Any], values: Sequence[Any] = ()
              ) -> Iterator[None]:
    """A block that computes what the program computes only if `mask` is true.

    Where that runs dry, it must have no effect, not even on what a step has made.

    Args:
        program: the function that is called in the block.
        values: what it is given.
    """
    if not state.trace.run_dry:  # it has run dry before
        yield
        return
    loops, nodes = state.trace.loops, state.trace.recorder.graph.nodes
    last, before = next(iter(reversed(nodes))), Snapshot(reachable_from(program, *values))
    around = loops.taken
    loops.taken = mask if around is None else mask & around
    try:
        yield
    finally:
        loops.taken = around
    made = itertools.takewhile(lambda node: node is not last, reversed(nodes))
    if has_changed(before) or next(mutating(made), None) is not None:
        raise unlike()


def _joined(parts: Sequence[Callable[[], Any]], function: Any, ends: bool) -> Any:
    found: Any = None
    for number, part in enumerate(parts):
        if found is None:
            value = part()
        else:
            with computing(~found if ends else found, part):
                value = part()
        held = truth_of(value) if is_dry() else None
        if held is not None:
            found = held if found is None else function(found, held)
        elif found is None and number == len(parts) - 1 or bool(value) is ends:
            return value
    assert found is not None
    return Truth(found)


def not_of(value: Any) -> Any:
    """``not value``."""
    held = truth_of(value) if is_dry() else None
    return not value if held is None else Truth(~held)
