"""Names of NumPy 1 that NumPy 2 no longer has."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["BOOLEAN", "offer"]

BOOLEAN = np.bool_  # the one type that NumPy 2 calls otherwise: its `__name__` was "bool_"

# what NumPy 1's documentation said each is; text: a name of NumPy 2
_NOW: dict[str, Any] = {
    "bool8": "bool_", "cfloat": "complex128", "clongfloat": "clongdouble", "complex": complex,
    "complex_": "complex128", "float": float, "float_": "float64", "Inf": "inf",
    "Infinity": "inf", "infty": "inf", "int": int, "int0": "intp", "longcomplex": "clongdouble",
    "longfloat": "longdouble", "NaN": "nan", "NAN": "nan", "object": object, "object0": "object_",
    "product": "prod", "cumproduct": "cumprod", "alltrue": "all", "sometrue": "any",
    "row_stack": "vstack", "round_": "round", "singlecomplex": "complex64",
    "str": str, "string_": "bytes_", "trapz": "trapezoid", "uint0": "uintp", "unicode_": "str_",
}

# what has no name of its own any more: what it was, and what to write
_OTHERS: dict[str, tuple[Callable[[], Any], str]] = {
    "NINF": (lambda: -np.inf, "-np.inf"),
    "NZERO": (lambda: -0.0, "-0.0"),
    "PINF": (lambda: np.inf, "np.inf"),
    "PZERO": (lambda: 0.0, "0.0"),
    "asfarray": (lambda: _as_floats, "np.asarray(a, dtype)"),
    "asscalar": (lambda: lambda a: a.item(), "a.item()"),
    "cast": (lambda: _Casts(), "np.asarray(a, dtype)"),
    "disp": (lambda: print, "print"),
    "find_common_type": (lambda: _common_type, "np.result_type"),
    "in1d": (lambda: lambda a, *args, **kwargs: np.isin(np.ravel(a), *args, **kwargs),
             "np.isin(np.ravel(a), b)"),
    "issubclass_": (lambda: lambda a, b: isinstance(a, type) and issubclass(a, b), "issubclass"),
    "issubsctype": (lambda: np.issubdtype, "np.issubdtype"),
    "mat": (lambda: np.asmatrix, "np.asmatrix"),
    "math": (lambda: math, "the module math"),
    "maximum_sctype": (lambda: _widest, "the type itself"),
    "msort": (lambda: lambda a: np.sort(a, axis=0), "np.sort(a, axis=0)"),
    "nbytes": (lambda: _Sizes(), "np.dtype(kind).itemsize"),
    "obj2sctype": (lambda: lambda kind: np.dtype(kind).type, "np.dtype(kind).type"),
    "sctype2char": (lambda: lambda kind: np.dtype(kind).char, "np.dtype(kind).char"),
    "sctypes": (lambda: _kinds(), "the types by their names"),
    "typeDict": (lambda: np.sctypeDict, "np.sctypeDict"),
    "warnings": (lambda: warnings, "the module warnings"),
}


class _Casts(dict):
    def __missing__(self, kind: Any) -> Callable[[Any], np.ndarray]:
        return lambda a: np.asarray(a).astype(kind)


class _Sizes(dict):
    def __missing__(self, kind: Any) -> int:
        return np.dtype(kind).itemsize


def _common_type(array_types: Any, scalar_types: Any) -> Any:
    """The arrays' common type; that of the scalars only where it is of a higher kind."""
    arrays = np.result_type(*array_types) if len(array_types) else None
    scalars = np.result_type(*scalar_types) if len(scalar_types) else None
    if arrays is None or scalars is None:
        return scalars if arrays is None else arrays
    order = "buifcSUVOMm"
    return scalars if order.index(scalars.kind) > order.index(arrays.kind) else arrays


def _as_floats(a: Any, dtype: Any = np.float64) -> np.ndarray:
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def _kinds() -> dict[str, list[type]]:
    names = {"int": "int8 int16 int32 int64", "uint": "uint8 uint16 uint32 uint64",
             "float": "float16 float32 float64 longdouble",
             "complex": "complex64 complex128 clongdouble"}
    kinds = {kind: [getattr(np, name) for name in of.split()] for kind, of in names.items()}
    return {**kinds, "others": [bool, object, bytes, str, np.void]}


def _widest(kind: Any) -> type:
    found = np.dtype(kind).type
    return next((of[-1] for of in _kinds().values() if found in of), found)


def offer() -> Callable[[], None]:
    """Let ``numpy`` give these names, with a DeprecationWarning at each place that uses one.

    Returns:
        A function that undoes this.

    Examples:
        >>> import warnings
        >>> import numpy as np
        >>> from lamella.legacy import numpy_names
        >>> undo = numpy_names.offer()
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     np.infty, np.float
        (inf, <class 'float'>)
        >>> undo()
    """
    found = vars(np)["__getattr__"]

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name in _OTHERS:
            make, said = _OTHERS[name]
            _warn(name, said)
            return make()
        now = _NOW.get(name)
        if now is None or isinstance(now, str) and not hasattr(np, now):
            return found(name)
        _warn(name, f"np.{now}" if isinstance(now, str) else now.__name__)
        return getattr(np, now) if isinstance(now, str) else now

    np.__getattr__ = __getattr__
    return lambda: setattr(np, "__getattr__", found)


def _warn(name: str, instead: str) -> None:
    warnings.warn(f"np.{name} is no part of NumPy 2; use {instead}.", DeprecationWarning,
                  stacklevel=3)
