"""Operators on Python's values that `ops.functional` has: numbers, tuples, lists, dicts, strings.

MindSpore's compiler needs them; here Python's own syntax does the same.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.require import of_type, one_of
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

_BOOL = (bool, int)
_SEQUENCE = (tuple, list)

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
is_, is_not = operator.is_, operator.is_not
hyper_add = HyperMap(add)
make_slice = slice


def _told(value: Any) -> str:
    """A value's type, with its shape where it has one."""
    shape = getattr(value, "shape", None)
    return type(value).__name__ + (f" of shape {tuple(shape)}" if isinstance(shape, tuple) else "")


def _augmented(name: str, operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``x += y`` of MindSpore's graphs, and its like, which leave `x` as it is."""
    def augmented(x: Any, y: Any) -> Any:
        try:
            return operation(x, y)
        except (TypeError, ValueError, OverflowError) as error:  # of types or shapes
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"For '{name}', x and y must go together, but got {_told(x)} and "
                       f"{_told(y)}.") from error

    augmented.__name__ = augmented.__qualname__ = name
    augmented.__doc__ = f"The result of `{operation.__name__}`; the first argument stays."
    return augmented


augassign_add = _augmented("augassign_add", operator.add)
augassign_sub = _augmented("augassign_sub", operator.sub)
augassign_mul = _augmented("augassign_mul", operator.mul)
augassign_div = _augmented("augassign_div", operator.truediv)
augassign_floordiv = _augmented("augassign_floordiv", operator.floordiv)
augassign_mod = _augmented("augassign_mod", operator.mod)


def bool_and(x: bool, y: bool) -> bool:
    """Whether both hold."""
    return of_type(x, _BOOL, "x", "bool_and") & of_type(y, _BOOL, "y", "bool_and")


def bool_or(x: bool, y: bool) -> bool:
    """Whether one of them holds, or both."""
    return of_type(x, _BOOL, "x", "bool_or") | of_type(y, _BOOL, "y", "bool_or")


def bool_eq(x: bool, y: bool) -> bool:
    """Whether both hold, or none."""
    return of_type(x, _BOOL, "x", "bool_eq") == of_type(y, _BOOL, "y", "bool_eq")


def string_eq(x: str, y: str) -> bool:
    """Whether two strings are equal."""
    return of_type(x, str, "x", "string_eq") == of_type(y, str, "y", "string_eq")


def string_concat(x: str, y: str) -> str:
    """Two strings as one."""
    return of_type(x, str, "x", "string_concat") + of_type(y, str, "y", "string_concat")


def list_len(value: list[Any]) -> int:
    """How many elements there are."""
    return len(of_type(value, _SEQUENCE, "value", "list_len"))


def list_getitem(value: list[Any], index: int) -> Any:
    """The element at `index`.

    Raises:
        IndexError: if there is none.
    """
    return of_type(value, _SEQUENCE, "value", "list_getitem")[
        _place(index, value, "list_getitem")]


def dict_getitem(value: dict[Any, Any], key: Any) -> Any:
    """The value under `key`.

    Raises:
        KeyError: if the dict has no such key.
    """
    of_type(value, dict, "value", "dict_getitem")
    if _key(key, "dict_getitem") not in value:
        raise KeyError(f"For 'dict_getitem', 'key' must be one of the dict's, but got {key!r}.")
    return value[key]


def shape_mul(shape: Sequence[int]) -> int:
    """The product of the lengths of a shape."""
    return math.prod(_shape(shape, "shape", "shape_mul"))


def _place(index: Any, value: Sequence[Any], owner: str) -> int:
    """An index of a sequence."""
    of_type(index, int, "index", owner)
    if not -len(value) <= index < len(value):
        raise IndexError(f"For '{owner}', 'index' must be in [-{len(value)}, {len(value)}), but "
                         f"got {index}.")
    return index


def _key(key: Any, owner: str) -> Any:
    """A key of a dict."""
    try:
        hash(key)
    except TypeError as error:
        raise TypeError(f"For '{owner}', 'key' must be hashable, but got "
                        f"{type(key).__name__}.") from error
    return key


def _shape(value: Any, name: str, owner: str) -> tuple[int, ...]:
    """A tuple or list of ints, as a tuple."""
    return tuple([of_type(n, int, f"{name}[{i}]", owner) for i, n in enumerate(
        of_type(value, _SEQUENCE, name, owner))])


def _pairs(x: Any, y: Any, names: tuple[str, str], owner: str) -> list[tuple[Any, Any]]:
    """The elements of two tuples or lists side by side."""
    for value, name in zip((x, y), names, strict=True):
        of_type(value, _SEQUENCE, name, owner)
    if len(x) != len(y):
        raise ValueError(f"For '{owner}', '{names[0]}' and '{names[1]}' must have the same length, "
                         f"but got {len(x)} and {len(y)}.")
    return list(zip(x, y, strict=True))


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
    if of_type(value, (Tensor, np.ndarray, np.generic), "value", "array_to_scalar").size != 1:
        raise ValueError(f"For 'array_to_scalar', 'value' must have one element, but got the "
                         f"shape {value.shape}.")
    return value.item()


def tuple_div(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """The whole quotients of the elements of two tuples.

    Raises:
        ValueError: if a quotient isn't whole, or the lengths differ.
    """
    pairs = _pairs(_shape(x, "x", "tuple_div"), _shape(y, "y", "tuple_div"), ("x", "y"),
                   "tuple_div")
    if any(b == 0 or a % b for a, b in pairs):
        raise ValueError(f"For 'tuple_div', the elements of 'x' must be multiples of those of "
                         f"'y', but got {x} and {y}.")
    return tuple(a // b for a, b in pairs)


def tuple_reversed(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """The elements in the opposite order."""
    return tuple(reversed(of_type(value, _SEQUENCE, "value", "tuple_reversed")))


def tuple_setitem(value: tuple[Any, ...], index: int, item: Any) -> tuple[Any, ...]:
    """A tuple with another element at `index`."""
    return tuple(_replaced(value, index, item, "tuple_setitem"))


def list_setitem(value: list[Any], index: int, item: Any) -> list[Any]:
    """A list with another element at `index`."""
    return _replaced(value, index, item, "list_setitem")


def _replaced(value: Any, index: Any, item: Any, owner: str) -> list[Any]:
    out = list(of_type(value, _SEQUENCE, "value", owner))
    out[_place(index, out, owner)] = item
    return out


def tail(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """The elements but the first."""
    return of_type(value, _SEQUENCE, "value", "tail")[1:]


def make_dict(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    """A dict of keys and their values."""
    return {_key(key, "make_dict"): value
            for key, value in _pairs(keys, values, ("keys", "values"), "make_dict")}


def dict_setitem(value: dict[Any, Any], key: Any, item: Any) -> dict[Any, Any]:
    """A dict with another value under `key`."""
    return {**of_type(value, dict, "value", "dict_setitem"), _key(key, "dict_setitem"): item}


def in_dict(key: Any, value: dict[Any, Any]) -> bool:
    """Whether a dict has a key."""
    return _key(key, "in_dict") in of_type(value, dict, "value", "in_dict")


def not_in_dict(key: Any, value: dict[Any, Any]) -> bool:
    """Whether a dict has a key not."""
    return _key(key, "not_in_dict") not in of_type(value, dict, "value", "not_in_dict")


def reduced_shape(shape: Sequence[int], axis: Any) -> tuple[int, ...]:
    """The shape of a reduction over axes, with 1 in their places; ``()`` is over all.

    >>> reduced_shape((2, 3), (0,))
    (1, 3)
    """
    shape = _shape(shape, "shape", "reduced_shape")
    axes = _shape((axis,) if isinstance(axis, int) else axis, "axis", "reduced_shape")
    over = {_place(a, shape, "reduced_shape") % len(shape) for a in axes or range(len(shape))}
    return tuple(1 if i in over else n for i, n in enumerate(shape))


def broadcast_gradient_args(x_shape: Sequence[int], y_shape: Sequence[int]
                            ) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes over which the gradients by two broadcast inputs are summed.

    >>> broadcast_gradient_args((2, 1), (2, 3))
    ((1,), ())
    """
    given = (_shape(x_shape, "x_shape", "broadcast_gradient_args"),
             _shape(y_shape, "y_shape", "broadcast_gradient_args"))
    rank = max(map(len, given))
    x, y = ((None,) * (rank - len(shape)) + shape for shape in given)
    if not all(n == m or {n, m} & {1, None} for n, m in zip(x, y, strict=True)):
        raise ValueError(f"For 'broadcast_gradient_args', the shapes must broadcast, but got "
                         f"{given[0]} and {given[1]}.")
    # a length of 1, or none, beside another is repeated, which sums in the gradient
    out = tuple(m if n in (1, None) else n for n, m in zip(x, y, strict=True))
    first, second = (tuple(i for i, n in enumerate(shape) if n != out[i]) for shape in (x, y))
    return first, second


def switch(condition: Any, then: Any, otherwise: Any) -> Any:
    """One of two values by a condition."""
    if not isinstance(condition, type) and math.prod(getattr(condition, "shape", ())) != 1:
        raise ValueError(f"For 'switch', 'condition' must have one element, but got the shape "
                         f"{tuple(condition.shape)}.")
    return then if condition else otherwise


def switch_layer(index: Tensor, layers: Sequence[Callable[..., Any]]) -> Any:
    """One of some functions by its number, counted from the end if it is negative.

    Raises:
        IndexError: if there is none of this number.
    """
    number = index.item() if isinstance(index, Tensor) and index.size == 1 else index
    of_type(layers, _SEQUENCE, "layers", "switch_layer")
    return layers[_place(number, layers, "switch_layer")]


class SliceGetItem(Primitive):
    """One end of a slice, or its step.

    Inputs:
        - **slice_value** (slice).
        - **value** (str) - ``"start"``, ``"stop"`` or ``"step"``.

    Raises:
        TypeError: if the first input is no slice.
        ValueError: if `value` is none of these.

    Examples:
        >>> SliceGetItem()(slice(1, 5), "stop")
        5
    """

    def __init__(self) -> None:
        super().__init__("SliceGetItem")

    def __call__(self, slice_value: slice, value: str) -> Any:
        of_type(slice_value, slice, "slice_value", "SliceGetItem")
        one_of(value, ("start", "stop", "step"), "value", "SliceGetItem")
        end = getattr(slice_value, value)
        return end.item() if getattr(end, "ndim", None) == 1 else end
