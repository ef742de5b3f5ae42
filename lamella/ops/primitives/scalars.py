"""Primitive classes of Python's numbers, and of comparing sequences of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ...tensors.tensor import Tensor
from ..primitive import Primitive, primitive

__all__ = [
    "BoolNot", "ScalarAdd", "ScalarBool", "ScalarDiv", "ScalarEq", "ScalarFloorDiv", "ScalarGe",
    "ScalarGt", "ScalarLe", "ScalarLog", "ScalarLt", "ScalarMax", "ScalarMin", "ScalarMod",
    "ScalarMul", "ScalarPow", "ScalarSub", "ScalarUadd", "ScalarUsub", "bit_and", "bit_or",
    "bool_not", "list_equal", "list_greater_equal", "list_greater_than", "list_le", "list_lt",
    "sequence_len", "tuple_equal", "tuple_greater_equal", "tuple_greater_than", "tuple_le",
    "tuple_lt",
]


def _of_numbers(name: str, function: Callable[..., Any], kinds: tuple[type, ...] = (int, float)
                ) -> type[Primitive]:
    """A Primitive class of one or two numbers of Python's; other values are a TypeError."""
    def compute(*numbers: Any) -> Any:
        for number in numbers:
            if not isinstance(number, kinds) and not (isinstance(number, Tensor)
                                                      and not number.ndim):
                raise TypeError(f"For '{name}', the inputs must be numbers, but got {number!r}.")
        return function(*numbers)

    compute.__name__ = "_compute"
    return primitive(name, compute)


ScalarAdd = _of_numbers("ScalarAdd", operator.add)
ScalarSub = _of_numbers("ScalarSub", operator.sub)
ScalarMul = _of_numbers("ScalarMul", operator.mul)
ScalarDiv = _of_numbers("ScalarDiv", operator.truediv)
ScalarFloorDiv = _of_numbers("ScalarFloorDiv", operator.floordiv)
ScalarMod = _of_numbers("ScalarMod", operator.mod)
ScalarPow = _of_numbers("ScalarPow", operator.pow)
ScalarEq = _of_numbers("ScalarEq", operator.eq)
ScalarGe = _of_numbers("ScalarGe", operator.ge)
ScalarGt = _of_numbers("ScalarGt", operator.gt)
ScalarLe = _of_numbers("ScalarLe", operator.le)
ScalarLt = _of_numbers("ScalarLt", operator.lt)
ScalarMax = _of_numbers("ScalarMax", max)
ScalarMin = _of_numbers("ScalarMin", min)
ScalarLog = _of_numbers("ScalarLog", math.log)
ScalarUadd = _of_numbers("ScalarUadd", operator.pos)
ScalarUsub = _of_numbers("ScalarUsub", operator.neg)
ScalarBool = _of_numbers("ScalarBool", bool)
bool_not = _of_numbers("bool_not", operator.not_)
BoolNot = _of_numbers("BoolNot", operator.not_, (bool,))
bit_and = _of_numbers("bit_and", operator.and_, (int,))
bit_or = _of_numbers("bit_or", operator.or_, (int,))


def _of_sequences(name: str, kind: type, function: Callable[..., Any]) -> type[Primitive]:
    """A Primitive class that compares two tuples, or two lists."""
    def compare(x: Any, y: Any) -> bool:
        for given in (x, y):
            if not isinstance(given, kind):
                raise TypeError(f"For '{name}', the inputs must be of type {kind.__name__}, "
                                f"but got {given!r}.")
        return bool(function(x, y))

    compare.__name__ = "_compare"
    return primitive(name, compare)


tuple_equal = _of_sequences("tuple_equal", tuple, operator.eq)
tuple_greater_than = _of_sequences("tuple_greater_than", tuple, operator.gt)
tuple_greater_equal = _of_sequences("tuple_greater_equal", tuple, operator.ge)
tuple_lt = _of_sequences("tuple_lt", tuple, operator.lt)
tuple_le = _of_sequences("tuple_le", tuple, operator.le)
list_equal = _of_sequences("list_equal", list, operator.eq)
list_greater_than = _of_sequences("list_greater_than", list, operator.gt)
list_greater_equal = _of_sequences("list_greater_equal", list, operator.ge)
list_lt = _of_sequences("list_lt", list, operator.lt)
list_le = _of_sequences("list_le", list, operator.le)


def _length(sequence: Any) -> int:
    """The number of elements of a tuple or list."""
    return len(sequence)


sequence_len = primitive("sequence_len", _length)
