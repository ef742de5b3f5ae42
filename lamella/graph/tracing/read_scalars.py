"""Numbers that a run reads off its tensors, such as ``float(loss)``, as symbolic scalars.

A dry run gives the program a stand-in: the number stays in the graph, as a tensor of one element
in float64 or int64, which hold every such number exactly. Arithmetic on it and its use beside a
tensor are kernels, or calls of Python's own functions where kernels would round otherwise. A
comparison is a guard on its outcome, and where the program returns, keeps or prints it, each replay
reads it off the results. Any other use needs the value itself, and ends the dry run.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from .number_functions import WIDE
from .scalar_kernels import MOST
from .scalars import SymbolicScalar, value_of

if TYPE_CHECKING:
    from .dry_trace import DryTrace

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

    def plain(self, use: str = "the value") -> Any:
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

    def converted(self, kind: type) -> Any:
        """`float` or `int` of it, if it is exact."""
        if type(self.value) is kind:
            return self
        if not (self.is_small() if kind is float else self.trace.guard(self.held.abs() < MOST)):
            return self.plain()
        return ReadScalar(self.trace, kind(self.value), self.held.to(WIDE[kind]))


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
