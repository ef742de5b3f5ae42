"""Operators on Python's values that `ops.functional` has: numbers, tuples, lists, dicts, strings.

MindSpore's compiler needs them; here Python's own syntax does the same.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..tensors.tensor import Tensor
from .arithmetic import add
from .composite import HyperMap, typeof
from .primitive import Primitive
from .primitives import scalars as _scalars

__all__ = [
    "SliceGetItem", "array_to_scalar", "augassign_add", "augassign_div",
    "augassign_floordiv", "augassign_mod", "augassign_mul", "augassign_sub", "bool_and", "bool_eq",
    "bool_not", "bool_or", "broadcast_gradient_args",
    "dict_getitem", "dict_setitem", "hastype", "hyper_add", "in_dict", "is_",
    "is_dynamic_sequence_element_unknown", "is_not", "is_sequence_shape_unknown",
    "is_sequence_value_unknown", "is_tensor_bool_cond", "isconstant", "list_equal",
    "list_getitem", "list_len", "list_setitem", "make_dict", "make_slice", "not_in_dict",
    "reduced_shape", "scalar_add", "scalar_div", "scalar_eq", "scalar_floordiv", "scalar_ge",
    "scalar_gt", "scalar_le", "scalar_log", "scalar_lt", "scalar_max", "scalar_min", "scalar_mod",
    "scalar_mul", "scalar_ne", "scalar_pow", "scalar_sub", "scalar_uadd", "scalar_usub",
    "shape_mul", "string_concat", "string_eq", "switch", "switch_layer", "tail", "tuple_div",
    "tuple_equal", "tuple_reversed", "tuple_setitem",
]

_classes: Any = _scalars  # classes without arguments
scalar_add, scalar_sub = _classes.ScalarAdd(), _classes.ScalarSub()
scalar_mul, scalar_div = _classes.ScalarMul(), _classes.ScalarDiv()
scalar_floordiv, scalar_mod = _classes.ScalarFloorDiv(), _classes.ScalarMod()
scalar_pow, scalar_log = _classes.ScalarPow(), _classes.ScalarLog()
scalar_eq, scalar_ge = _classes.ScalarEq(), _classes.ScalarGe()
scalar_gt, scalar_le = _classes.ScalarGt(), _classes.ScalarLe()
scalar_lt, scalar_max = _classes.ScalarLt(), _classes.ScalarMax()
scalar_min, scalar_uadd = _classes.ScalarMin(), _classes.ScalarUadd()
scalar_usub = _classes.ScalarUsub()
scalar_ne = operator.ne
bool_not = _classes.bool_not()
tuple_equal, list_equal = _classes.tuple_equal(), _classes.list_equal()
bool_and, bool_or, bool_eq = operator.and_, operator.or_, operator.eq
is_, is_not = operator.is_, operator.is_not
string_eq, string_concat = operator.eq, operator.add
list_getitem, dict_getitem, list_len = operator.getitem, operator.getitem, len
make_slice, shape_mul = slice, math.prod
# ``x += y`` of MindSpore's graphs, which leaves `x` as it is
augassign_add, augassign_sub, augassign_mul = operator.add, operator.sub, operator.mul
augassign_div, augassign_floordiv = operator.truediv, operator.floordiv
augassign_mod = operator.mod
hyper_add = HyperMap(add)


def isconstant(value: Any) -> bool:
    """Whether a value is known when it is looked at: it always is."""
    return True


def is_sequence_value_unknown(sequence: Sequence[Any]) -> bool:
    """Whether elements of a sequence, as a shape, are known only later: they never are."""
    return False


def is_sequence_shape_unknown(sequence: Sequence[Any]) -> bool:
    """Whether the length of a sequence is known only later: it never is."""
    return False


def is_dynamic_sequence_element_unknown(sequence: Sequence[Any]) -> bool:
    """Whether the elements of a sequence of varying length are known only later: never."""
    return False


def is_tensor_bool_cond(condition: Any) -> bool:
    """Whether a value can be the condition of an ``if``: a Tensor of one element can."""
    return isinstance(condition, Tensor) and condition.size == 1


def hastype(value: Any, kind: Any) -> bool:
    """Whether `typeof` of a value is a type.

    >>> from lamella.core import dtype as mstype
    >>> hastype(1, mstype.int64), hastype(1.0, mstype.int64)
    (True, False)
    """
    return typeof(value) == kind


def array_to_scalar(value: Tensor) -> Any:
    """The number in a Tensor of one element."""
    return value.item()


def tuple_div(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """The whole quotients of the elements of two tuples.

    Raises:
        ValueError: if a quotient isn't whole, or the lengths differ.
    """
    pairs = list(zip(x, y, strict=True))
    if any(b == 0 or a % b for a, b in pairs):
        raise ValueError(f"For 'tuple_div', the elements of 'x' must be multiples of those of "
                         f"'y', but got {x} and {y}.")
    return tuple(a // b for a, b in pairs)


def tuple_reversed(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """The elements in the opposite order."""
    return tuple(reversed(value))


def tuple_setitem(value: tuple[Any, ...], index: int, item: Any) -> tuple[Any, ...]:
    """A tuple with another element at `index`."""
    return tuple(list_setitem(list(value), index, item))


def list_setitem(value: list[Any], index: int, item: Any) -> list[Any]:
    """A list with another element at `index`."""
    out = list(value)
    out[index] = item
    return out


def tail(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """The elements but the first."""
    return value[1:]


def make_dict(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    """A dict of keys and their values."""
    return dict(zip(keys, values, strict=True))


def dict_setitem(value: dict[Any, Any], key: Any, item: Any) -> dict[Any, Any]:
    """A dict with another value under `key`."""
    return {**value, key: item}


def in_dict(key: Any, value: dict[Any, Any]) -> bool:
    """Whether a dict has a key."""
    return key in value


def not_in_dict(key: Any, value: dict[Any, Any]) -> bool:
    """Whether a dict has a key not."""
    return key not in value


def reduced_shape(shape: Sequence[int], axis: Any) -> tuple[int, ...]:
    """The shape of a reduction over axes, with 1 in their places; ``()`` is over all.

    >>> reduced_shape((2, 3), (0,))
    (1, 3)
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis) or tuple(range(len(shape)))
    over = {a % len(shape) for a in axes}
    return tuple(1 if i in over else n for i, n in enumerate(shape))


def broadcast_gradient_args(x_shape: Sequence[int], y_shape: Sequence[int]
                            ) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes over which the gradients by two broadcast inputs are summed.

    >>> broadcast_gradient_args((2, 1), (2, 3))
    ((1,), ())
    """
    out = torch.broadcast_shapes(tuple(x_shape), tuple(y_shape))

    def summed(shape: Sequence[int]) -> tuple[int, ...]:
        padded = (None,) * (len(out) - len(shape)) + tuple(shape)
        return tuple(i for i, (n, m) in enumerate(zip(padded, out, strict=True)) if n != m)

    return summed(x_shape), summed(y_shape)


def switch(condition: Any, then: Any, otherwise: Any) -> Any:
    """One of two values by a condition."""
    return then if condition else otherwise


def switch_layer(index: Tensor, layers: Sequence[Callable[..., Any]]) -> Any:
    """One of some functions by its number, counted from the end if it is negative.

    Raises:
        IndexError: if there is none of this number.
    """
    return layers[int(index)]


class SliceGetItem(Primitive):
    """One end of a slice, or its step.

    Inputs:
        - **slice_value** (slice).
        - **value** (str) - ``"start"``, ``"stop"`` or ``"step"``.

    Raises:
        TypeError: if the first input is no slice.
        AttributeError: if slices have no such attribute.

    Examples:
        >>> SliceGetItem()(slice(1, 5), "stop")
        5
    """

    def __init__(self) -> None:
        super().__init__("SliceGetItem")

    def __call__(self, slice_value: slice, value: str) -> Any:
        if not isinstance(slice_value, slice):
            raise TypeError(f"For 'SliceGetItem', 'slice_value' must be a slice, but got "
                            f"{type(slice_value).__name__}.")
        if value not in ("start", "stop", "step"):
            raise AttributeError(f"'slice' object has no attribute {value!r}")
        end = getattr(slice_value, value)
        return end.item() if getattr(end, "ndim", None) == 1 else end
