"""Comparison, booleans, bits, and questions about elements.

Every function is the one of `ops` of that name or meaning; `dtype` is the type of the result.
"""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.require import of_type
from ..tensors.tensor import Tensor
from .faces import in_one_type, of_one, of_two
from .shape import axes_in
from .types import as_tensor, as_tensors, bool_, cast, int32, together, typed

__all__ = ["array_equal", "array_equiv", "bitwise_and", "bitwise_not", "bitwise_or",
           "bitwise_xor", "equal", "greater", "greater_equal", "invert", "isclose", "isfinite",
           "isinf", "isnan", "isneginf", "isposinf", "isscalar", "less", "less_equal",
           "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal", "signbit",
           "sometrue"]

equal = of_two(ops.equal)
not_equal = of_two(ops.not_equal)
less = of_two(ops.less)
less_equal = of_two(ops.less_equal)
greater = of_two(ops.greater)
greater_equal = of_two(ops.greater_equal)
logical_and = of_two(ops.logical_and)
logical_or = of_two(ops.logical_or)
logical_xor = of_two(ops.logical_xor)
bitwise_and = of_two(ops.bitwise_and, in_one_type)
bitwise_or = of_two(ops.bitwise_or, in_one_type)
bitwise_xor = of_two(ops.bitwise_xor, in_one_type)
invert = of_one(ops.invert)
isfinite = of_one(ops.isfinite)
isinf = of_one(ops.isinf)
isnan = of_one(ops.isnan)


def logical_not(a: Any, dtype: Any = None) -> Tensor:
    """As `ops.logical_not`."""
    return typed(ops.logical_not(as_tensor(a, "logical_not", "a")), dtype)


bitwise_not = invert


def isposinf(x: Any) -> Tensor:
    """As `ops.isposinf`."""
    return ops.isposinf(as_tensor(x, "isposinf"))


def isneginf(x: Any) -> Tensor:
    """As `ops.isneginf`."""
    return ops.isneginf(as_tensor(x, "isneginf"))


def isscalar(element: Any) -> bool:
    """Whether it is a real number, a boolean or text of Python's.

    Examples:
        >>> import lamella.numpy as np
        >>> np.isscalar(3.1), np.isscalar([3.1]), np.isscalar(np.array(3.1))
        (True, False, False)
    """
    return isinstance(element, (bool, int, float, str))


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08,
            equal_nan: bool = False) -> Tensor:
    """As `ops.isclose`, also of two types.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.isclose(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 2.1])))
        [ True False]
    """
    x, y = together(*as_tensors("isclose", a=a, b=b))
    return ops.isclose(x, y, rtol, atol, equal_nan)


def signbit(x: Any, dtype: Any = None) -> Tensor:
    """Whether it is below 0.

    Raises:
        TypeError: if `dtype` is another than bool.
    """
    if dtype is not None and dtype not in (bool_, bool, "bool"):
        raise TypeError(f"For 'signbit', 'dtype' must be bool or None, but got {dtype!r}.")
    x = as_tensor(x, "signbit")
    return ops.less(cast(x, int32) if x.dtype is bool_ else x, 0)


def sometrue(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """As `ops.any`, of numbers too.

    Raises:
        TypeError: if `keepdims` is no bool.
    """
    if not isinstance(keepdims, int):
        raise TypeError(f"For 'sometrue', 'keepdims' must be a bool, but got {keepdims!r}.")
    a = as_tensor(a, "sometrue", "a")
    if isinstance(axis, (tuple, list)):
        axes_in(axis, a.ndim, "sometrue")
    return ops.any(a if a.dtype is bool_ else ops.not_equal(a, 0), axis, bool(keepdims))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Tensor:
    """Whether two arrays have one shape and equal elements.

    Args:
        a1: a Tensor, a number or nested lists.
        a2: a Tensor, a number or nested lists.
        equal_nan: whether nan equals nan.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.array_equal([0, 1], [0, 1]), np.array_equal([0, 1], [[0, 1]]))
        True False
    """
    of_type(equal_nan, bool, "equal_nan", "array_equal")
    x, y = as_tensors("array_equal", a1=a1, a2=a2)
    if x.shape != y.shape:
        return Tensor(False)
    same = ops.equal(x, y)
    if equal_nan:
        same = ops.logical_or(same, ops.logical_and(ops.isnan(x), ops.isnan(y)))
    return ops.all(same)


def array_equiv(a1: Any, a2: Any) -> Tensor:
    """Whether two arrays broadcast to one shape and are equal there."""
    x, y = as_tensors("array_equiv", a1=a1, a2=a2)
    pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
    if any(m != n and 1 not in (m, n) for m, n in pairs):
        return Tensor(False)
    return ops.all(ops.equal(x, y))
