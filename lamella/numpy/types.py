"""Types and numbers of `mindspore.numpy`: what Python's data becomes, and what two types become.

Python's integers are int32 here and its floats float32 (int64 and float32 elsewhere in
MindSpore); everything else in this room asks `as_tensor`, `promoted` and `typed`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as onp
import torch

from .. import ops
from ..core.dtype import (
    Type,
    bool_,
    float16,
    float32,
    float64,
    from_raw,
    int8,
    int16,
    int32,
    int64,
    is_inexact,
    to_raw,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ..core.dtype import promote_types as _promoted_raw
from ..tensors.construction import as_raw
from ..tensors.tensor import Tensor, wrap

__all__ = ["PINF", "NINF", "all_types", "bool_", "dtype_map", "dtype_tuple", "float16", "float32",
           "float64", "float_", "inf", "int16", "int32", "int64", "int8", "int_", "nan",
           "numeric_types", "pi", "promote_types", "result_type", "uint", "uint16", "uint32",
           "uint64", "uint8"]

inf = PINF = float("inf")
NINF = -inf
nan = float("nan")
pi = 3.141592653589793

int_, uint, float_ = int32, uint32, float32

numeric_types = ["int_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                 "float_", "float16", "float32", "float64", "bool_"]
dtype_map = {"int": int_, "uint": uint, "float": float_, "bool": bool_,
             **{t.name: t for t in (int8, int16, int32, int64, uint8, uint16, uint32, uint64,
                                    float16, float32, float64)}}
dtype_tuple = tuple(dict.fromkeys(dtype_map.values()))
all_types = [f"np.{name}" for name in numeric_types]

_PYTHON = {bool: bool_, int: int_, float: float_}
_NARROWED = {torch.int64: torch.int32, torch.float64: torch.float32}
_HALF = (torch.bool, torch.int8, torch.uint8)  # whose trigonometric functions are float16


def as_tensor(value: Any, where: str, name: str = "x") -> Tensor:
    """A Tensor as it is; numbers, lists and tuples as a Tensor of int32, float32 or bool.

    Raises:
        TypeError: if `value` is anything else.
        ValueError: if nested lists have different lengths.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (list, tuple)) and any(_holds_tensor(v) for v in value):
        parts = [as_tensor(v, where, name) for v in value]
        kind = _of_parts([p.dtype for p in parts])
        return ops.stack([cast(p, kind) for p in parts])
    if isinstance(value, (bool, int, float, list, tuple)):
        raw = _of_numbers(value, where, name)
        if raw.dtype is torch.int64 and not fits_int32(value):
            return wrap(raw)
        return wrap(raw.to(_NARROWED.get(raw.dtype, raw.dtype)))
    if isinstance(value, (onp.ndarray, onp.generic)):
        return wrap(as_raw(value))
    raise TypeError(f"For '{where}', '{name}' must be a Tensor, a number, a list or a tuple, "
                    f"but got {value!r} of type {type(value).__name__}.")


def as_given(value: Any, where: str, name: str = "x") -> Tensor:
    """As `as_tensor`, but Python's integers are int64, as elsewhere in MindSpore."""
    if isinstance(value, (int, list, tuple)) and not _holds_tensor(value):
        return Tensor(value)
    return as_tensor(value, where, name)


def _of_parts(kinds: list[Type]) -> Type:
    """The type of an array of parts: as `promoted`, but float16 doesn't hold wider integers."""
    wide = float16 in kinds and {int16, int32, int64, uint16, uint32, uint64} & set(kinds)
    return functools.reduce(promoted, kinds, float32) if wide else functools.reduce(promoted, kinds)


def _of_numbers(value: Any, where: str, name: str) -> torch.Tensor:
    try:
        return as_raw(value)
    except TypeError:
        try:
            onp.asarray(value)
        except ValueError as error:
            raise ValueError(f"For '{where}', '{name}' must be nested lists of one shape, but "
                             f"got {value!r}: {error}") from None
        raise


def fits_int32(value: Any) -> bool:
    """Whether integers fit int32; checked on Python's numbers, so that a graph needs no guard."""
    if isinstance(value, (list, tuple)):
        return all(fits_int32(v) for v in value)
    return -2**31 <= value < 2**31


def _holds_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or (
        isinstance(value, (list, tuple)) and any(_holds_tensor(v) for v in value))


def to_tensors(*args: Any) -> Any:
    """Data as Tensors: one, or a tuple of several; `mindspore.numpy.utils._to_tensor`."""
    found = tuple(as_tensor(a, "mindspore.numpy") for a in args)
    return found[0] if len(found) == 1 else found


def raise_value_error(info: str, param: Any = None) -> None:
    """Raise ValueError with a text; `mindspore.numpy.utils_const._raise_value_error`."""
    raise ValueError(info if param is None else f"{info}{param}")


def as_tensors(where: str, **values: Any) -> list[Tensor]:
    """`as_tensor` of several named arguments."""
    return [as_tensor(value, where, name) for name, value in values.items()]


def as_type(dtype: Any, where: str) -> Type:
    """A type given as MindSpore's, as NumPy's, as Python's, or by name.

    Raises:
        TypeError: if it is no type that `mindspore.numpy` has.
    """
    if isinstance(dtype, str):
        found = dtype_map.get(dtype.lower()) or _of_array(dtype)
    elif isinstance(dtype, type) and dtype in _PYTHON:
        found = _PYTHON[dtype]
    else:
        found = from_raw.get(to_raw(dtype, where))
    if found is None:
        raise TypeError(f"For '{where}', 'dtype' must be one of {', '.join(dtype_map)}, "
                        f"but got {dtype!r}.")
    return found


def _of_array(name: str) -> Type | None:
    """The type for a name of NumPy's, such as ``"i2"``."""
    try:
        return dtype_map.get(onp.dtype(name).name)
    except TypeError:
        return None


def cast(x: Tensor, dtype: Type) -> Tensor:
    """`x` in a type; itself if it has it."""
    return x if x.dtype is dtype else ops.cast(x, dtype)


def typed(result: Tensor, dtype: Any, where: str = "dtype") -> Tensor:
    """A function's result in the type that its caller asked for by `dtype=`."""
    return result if dtype is None else cast(result, as_type(dtype, where))


def promoted(a: Type, b: Type) -> Type:
    """The type that two types meet in."""
    if {a, b} == {uint16, float64}:
        return float32  # as 2.10's table has it
    if uint64 in (a, b) and {a, b} & {int8, int16, int32, int64}:
        return float64
    return from_raw[_promoted_raw(a.raw, b.raw)]  # type: ignore[arg-type]


def together(*tensors: Tensor) -> list[Tensor]:
    """Tensors in the one type that they all meet in."""
    kind = functools.reduce(promoted, [t.dtype for t in tensors])
    return [cast(t, kind) for t in tensors]


def floating(x: Tensor) -> Tensor:
    """`x`, integers and booleans as float32."""
    return x if is_inexact(x._raw.dtype) else cast(x, float32)


def trigonometric(x: Any, where: str) -> Tensor:
    """`x` in the type of its sine: float16 for types of one byte, float32 for other integers."""
    x = as_tensor(x, where)
    return cast(x, float16) if x._raw.dtype in _HALF else floating(x)


def summed_type(x: Tensor) -> Type:
    """The type that running sums and products of `x` have: int32 for narrower signed integers."""
    return int32 if x._raw.dtype in (torch.bool, torch.int8, torch.int16, torch.uint8) else x.dtype


def promote_types(type1: Any, type2: Any) -> Type:
    """The type that an operation on two types computes in.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.promote_types(np.float32, np.int64))
        Float32
    """
    return promoted(as_type(type1, "promote_types"), as_type(type2, "promote_types"))


def result_type(*arrays_and_dtypes: Any) -> Type:
    """The type that Tensors, numbers and types meet in.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.result_type("int8", 3.5))
        Float32
    """
    if not arrays_and_dtypes:
        raise TypeError("For 'result_type', there must be one argument or more.")

    def kind(value: Any) -> Type:
        if isinstance(value, (Tensor, list, tuple)):
            return as_tensor(value, "result_type").dtype
        return _PYTHON[type(value)] if type(value) in _PYTHON else as_type(value, "result_type")

    return functools.reduce(promoted, map(kind, arrays_and_dtypes))
