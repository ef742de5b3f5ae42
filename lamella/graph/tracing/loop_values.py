"""What a loop of the program's computes with while its step is recorded as an operation.

A number that a step changes, or reads off a Tensor, is a `LoopNumber`, and what the program asks is
a `Truth`: both are tensors of one element. An `if` on such a truth value computes both of its ways
and takes what belongs to one. What isn't said here raises an error, by which the recording of the
step ends, and the loop runs as Python's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...autodiff.tree import container_tensors
from ...core.state import state
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..ir.operations import effects_of, is_random
from .loop_part import Unlike
from .scalars import SymbolicScalar

SMALL = 2**31  # ints below it are added exactly
_WIDE = {int: torch.int64, float: torch.float64}
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


class _Unbound:
    """The value of a name that has none: any use of it is an error."""

    def __bool__(self) -> bool:
        raise Unlike


UNBOUND = _Unbound()


class LoopNumber:
    """A number of a step, held by a tensor of one element.

    Attributes:
        held: the tensor, of the widest type.
        kind: `int` or `float`.
    """

    __slots__ = ("held", "kind")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, held: torch.Tensor, kind: type):
        self.held, self.kind = held, kind

    def __bool__(self) -> bool:
        return bool(Truth(self.held != 0))

    def __neg__(self) -> LoopNumber:
        return LoopNumber(-self.held, self.kind)

    def __abs__(self) -> LoopNumber:
        return LoopNumber(self.held.abs(), self.kind)

    def __repr__(self) -> str:
        raise Unlike

    def combined(self, name: str, other: Any, reflected: bool) -> Any:
        """The result of an operator."""
        function = getattr(operator, name)
        if isinstance(other, Tensor):
            if not other._raw.is_floating_point():
                raise Unlike
            pair = (self.held.to(other._raw.dtype), other._raw)
            return wrap(function(*(pair[::-1] if reflected else pair)))
        operand, kind = _operand(other)
        if kind is int and self.kind is int:
            if name not in ("add", "sub") or type(other) is int and abs(other) >= SMALL:
                raise Unlike
            pair = (self.held, operand)
        else:
            pair = (self.held.double(), operand.double() if isinstance(operand, torch.Tensor)
                    else float(operand))
            kind = float
        if name == "truediv" and (reflected or type(other) not in _WIDE or not other):
            raise Unlike  # Python raises an error where the divisor is 0
        return LoopNumber(function(*(pair[::-1] if reflected else pair)), kind)

    def compared(self, name: str, other: Any) -> Truth | Tensor:
        """The outcome of a comparison."""
        function = getattr(operator, name)
        if isinstance(other, Tensor):
            if not other._raw.is_floating_point():
                raise Unlike
            return wrap(function(self.held.to(other._raw.dtype), other._raw))
        operand, kind = _operand(other)
        same = kind is self.kind
        return Truth(function(self.held if same else self.held.double(),
                              operand.double() if isinstance(operand, torch.Tensor) and not same
                              else operand))


def _operand(other: Any) -> tuple[Any, type]:
    """A number, or the tensor that holds it, and its type."""
    if isinstance(other, LoopNumber):
        return other.held, other.kind
    if type(other) in _WIDE and (type(other) is float or abs(other) < 2**53):
        return other, type(other)
    if isinstance(other, SymbolicScalar) and type(other.value) in _WIDE:
        return held_by(other), type(other.value)
    raise Unlike


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

    def __bool__(self) -> bool:
        return state.trace.truth(self.held)


def held_by(number: Any) -> torch.Tensor:
    """The tensor of one element that holds a number."""
    if isinstance(number, LoopNumber):
        return number.held
    if isinstance(number, SymbolicScalar):
        return number.scalar(_WIDE[type(number.value)])
    return torch.scalar_tensor(number, dtype=_WIDE[type(number)])


def truth_of(value: Any) -> torch.Tensor | None:
    """A truth value as a tensor; None if it isn't one of a tensor."""
    if isinstance(value, Truth):
        return value.held
    if isinstance(value, (LoopNumber, Tensor)):
        raw = value.held if isinstance(value, LoopNumber) else value._raw
        if raw.numel() != 1 or raw.is_complex():
            raise Unlike
        return raw.detach().reshape(()) != 0
    return None


# -- what converted code calls ---------------------------------------------------------------------


def _is_dry() -> bool:
    return state.trace is not None and (state.trace.run_dry or state.trace.loops.is_asking)


def _is_one(value: Any) -> bool:
    return isinstance(value, Tensor) and value._raw.numel() == 1 and not value._raw.is_complex()


def truth(kind: Any, value: Any) -> Any:
    """``bool(value)``, by what the program has under the name."""
    found = truth_of(value) if kind is bool and _is_dry() else None
    return kind(value) if found is None else Truth(found)


def number(kind: Any, value: Any) -> Any:
    """``float(value)``."""
    if getattr(kind, "own", kind) is float and _is_dry():
        if _is_one(value):
            return LoopNumber(value._raw.detach().reshape(()).double(), float)
        if isinstance(value, LoopNumber):
            return LoopNumber(value.held.double(), float)
    return kind(value)


def whole(kind: Any, value: Any) -> Any:
    """``int(value)``."""
    if getattr(kind, "own", kind) is int and _is_dry():
        if _is_one(value) and not value._raw.is_floating_point():
            return LoopNumber(value._raw.reshape(()).to(torch.int64), int)
        if isinstance(value, LoopNumber) and value.kind is int:
            return value
    return kind(value)


def item(value: Any) -> Any:
    """``value.item()``."""
    if _is_dry() and _is_one(value):
        if value._raw.dtype is torch.bool:
            return Truth(value._raw.reshape(()))
        kind = float if value._raw.is_floating_point() else int
        return LoopNumber(value._raw.detach().reshape(()).to(_WIDE[kind]), kind)
    return value.item()


def all_of(*parts: Callable[[], Any]) -> Any:
    """``and`` of what some functions give."""
    return _joined(parts, torch.logical_and, False)


def any_of(*parts: Callable[[], Any]) -> Any:
    """``or`` of what some functions give."""
    return _joined(parts, torch.logical_or, True)


def _joined(parts: Sequence[Callable[[], Any]], function: Any, ends: bool) -> Any:
    found = None
    for number, part in enumerate(parts):
        value = part()
        held = truth_of(value) if _is_dry() else None
        if held is not None:
            found = held if found is None else function(found, held)
        elif bool(value) is ends or found is None and number == len(parts) - 1:
            return value
    return value if found is None else Truth(found)


def not_of(value: Any) -> Any:
    """``not value``."""
    held = truth_of(value) if _is_dry() else None
    return not value if held is None else Truth(~held)


def chosen(test: Any, then: Callable[..., tuple], otherwise: Callable[..., tuple], values: tuple
           ) -> tuple:
    """The names that an ``if`` assigns, from the functions of its two ways."""
    held = truth_of(test) if _is_dry() else None
    if held is None:
        return then(*values) if test else otherwise(*values)
    nodes = state.trace.recorder.graph.nodes
    last = next(iter(reversed(nodes)))
    ways = then(*values), otherwise(*values)
    for node in reversed(nodes):
        if node is last:
            break
        if isinstance(node.target, torch._ops.OpOverload) and (
                is_random(node) or effects_of(node.target).written):
            raise Unlike  # only one of the ways would do it
    return tuple([_selected(held, *pair) for pair in zip(*ways, strict=True)])


def _selected(test: torch.Tensor, then: Any, otherwise: Any) -> Any:
    if then is otherwise:
        return then
    if then is UNBOUND or otherwise is UNBOUND:
        return UNBOUND
    if isinstance(then, Tensor):
        _check(isinstance(otherwise, Tensor) and then._raw.shape == otherwise._raw.shape
               and then._raw.dtype is otherwise._raw.dtype
               and not isinstance(then, Parameter) and not isinstance(otherwise, Parameter)
               # a way that isn't taken may have a derivative that is no number
               and not then._raw.requires_grad and not otherwise._raw.requires_grad)
        return wrap(torch.where(test, then._raw, otherwise._raw))
    if type(then) is type(otherwise) is tuple and len(then) == len(otherwise):
        return tuple([_selected(test, *pair) for pair in zip(then, otherwise, strict=True)])
    kinds = {_kind(then), _kind(otherwise)}
    if kinds <= {int} or kinds <= {float}:
        if type(then) is type(otherwise) in _WIDE and repr(then) == repr(otherwise):
            return then
        return LoopNumber(torch.where(test, held_by(then), held_by(otherwise)), kinds.pop())
    _check(type(then) is type(otherwise) and type(then) in (bool, str, type(None))
           and then == otherwise and not list(container_tensors(then)))
    return then


def _kind(value: Any) -> Any:
    return value.kind if isinstance(value, LoopNumber) else type(value)


def _check(holds: bool) -> None:
    if not holds:
        raise Unlike
