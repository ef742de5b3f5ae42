"""Reductions and running sums: the extremes, sums, means, and the same without nan."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.dtype import is_inexact, uint8, uint16, uint32
from ..tensors.tensor import Tensor
from .shape import axes_in
from .types import (
    as_given,
    as_tensor,
    as_type,
    bool_,
    cast,
    float32,
    float64,
    floating,
    inf,
    int32,
    int64,
    nan,
    promoted,
    summed_type,
    typed,
)

__all__ = ["amax", "amin", "argmax", "argmin", "count_nonzero", "cumprod", "cumsum", "max",
           "mean", "min", "nancumsum", "nanmax", "nanmean", "nanmin", "nanstd", "nansum",
           "nanvar", "ptp", "std", "sum", "var"]


def amax(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None,
         where: Any = True) -> Tensor:
    """The greatest element over axes.

    Args:
        a: any shape.
        axis: the axis or axes to reduce; None stands for all.
        keepdims: whether reduced axes stay, with length 1.
        initial: a number that takes part.
        where: which elements take part: True, or booleans, which need `initial`.

    Raises:
        ValueError: if there is no such axis, one comes twice, or `where` comes without `initial`.

    Examples:
        >>> import lamella.numpy as np
        >>> a = np.array([[0.0, 1.0], [2.0, 3.0]])
        >>> print(np.amax(a, axis=0, where=np.array([False, True]), initial=-1))
        [-1.  3.]
    """
    a = _taking_part("amax", ops.maximum, a, initial, where)
    return ops.amax(a, _different(axis, a, "amax"), keepdims)


def amin(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None,
         where: Any = True) -> Tensor:
    """The least element over axes; see `amax`."""
    a = _taking_part("amin", ops.minimum, a, initial, where)
    return ops.amin(a, _different(axis, a, "amin"), keepdims)


max, min = amax, amin


def _different(axis: Any, a: Tensor, where: str) -> Any:
    """The axis or axes as they are, once it is checked that none comes twice."""
    if isinstance(axis, (tuple, list)):
        axes_in(axis, a.ndim, where)
    return axis


def _taking_part(name: str, extremum: Any, a: Any, initial: Any, where: Any) -> Tensor:
    a = as_tensor(a, name, "a")
    if initial is not None:
        if isinstance(initial, (list, tuple)) or isinstance(initial, Tensor) and initial.ndim:
            raise TypeError(f"For '{name}', 'initial' must be a number, but got {initial!r}.")
        start = cast(as_tensor(initial, name, "initial"), a.dtype)
        a = extremum(a, start)
    if where is not True:
        if initial is None:
            raise ValueError(f"For '{name}', 'initial' must be given where 'where' leaves out "
                             f"elements, but got None.")
        a = ops.where(cast(as_tensor(where, name, "where"), bool_), a, start)
    return a


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The greatest element less the least one, over axes."""
    x = as_tensor(x, "ptp")
    axis = _different(axis, x, "ptp")
    return ops.amax(x, axis, keepdims) - ops.amin(x, axis, keepdims)


def argmax(a: Any, axis: Any = None) -> Tensor:
    """As `ops.argmax`, in int64."""
    a = as_tensor(a, "argmax", "a")
    return ops.argmax(cast(a, int32) if a.dtype is bool_ else a, axis)


def argmin(a: Any, axis: Any = None) -> Tensor:
    """As `ops.argmin`, in int32; of one number in int64.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.argmin(ms.Tensor([3.0, 1.0, 2.0])))
        1
    """
    a = as_tensor(a, "argmin", "a")
    found = ops.argmin(cast(a, int32) if a.dtype is bool_ else a, axis)
    return cast(found, int32) if a.ndim else found


def sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
        initial: Any = None) -> Tensor:
    """As `ops.sum`: integers add up in int64.

    Args:
        a: any shape.
        axis: the axis or axes to reduce; None stands for all.
        dtype: the type to add up in.
        keepdims: whether reduced axes stay, with length 1.
        initial: a number to add to the sum.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.sum(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0))
        [4. 6.]
    """
    a = as_tensor(a, "sum", "a")
    kind = None if dtype is None else as_type(dtype, "sum")
    out = ops.sum(a, axis, keepdims, dtype=kind)
    return out if initial is None else out + initial


def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """The mean over axes in the type of `a`, then in `dtype`; of integers without a fraction.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.mean(np.array([1, 2])), np.mean(np.array([1.0, 2.0])))
        1 1.5
    """
    a = as_tensor(a, "mean", "a")
    return typed(ops.mean(a, _different(axis, a, "mean"), keepdims), dtype)


def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """As `ops.std`; integers as float32."""
    return ops.std(floating(as_tensor(x, "std")), axis, ddof, keepdims)


def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """As `ops.var`; integers as float32."""
    return ops.var(floating(as_tensor(x, "var")), axis, ddof, keepdims)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """As `ops.count_nonzero`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.numpy.count_nonzero(ms.Tensor([1, 0, 2])))
        2
    """
    x = as_tensor(x, "count_nonzero")
    return ops.count_nonzero(x, () if axis is None else axis, keepdims)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """As `ops.cumsum`; without `axis` of the flattened array, and of narrow integer types in int32.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.cumsum(np.array([[1, 2], [3, 4]])))
        [ 1  3  6 10]
    """
    a = as_tensor(a, "cumsum", "a")
    kind = summed_type(a) if dtype is None else as_type(dtype, "cumsum")
    if kind is bool_:  # whether the sum isn't 0
        return cast(cumsum(a, axis), bool_)
    return ops.cumsum(cast(ops.ravel(a) if axis is None else a, kind), axis or 0)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """As `ops.cumprod`; without `axis` of the flattened array, and of narrow types in 32 bits.

    Products of floating-point numbers are computed in their type, and then have `dtype`.

    Raises:
        TypeError: if `axis` is neither an int nor None.
    """
    a = as_given(a, "cumprod", "a")
    if axis is not None and not isinstance(axis, int):
        raise TypeError(f"For 'cumprod', 'axis' must be an int or None, but got {axis!r}.")
    kind = summed_type(a) if dtype is None else as_type(dtype, "cumprod")
    if dtype is None and a.dtype in (uint8, uint16):
        kind = uint32
    flat = ops.ravel(a) if axis is None else a
    if kind is uint32:
        return cast(ops.cumprod(cast(flat, int64), axis or 0), kind)
    if is_inexact(a._raw.dtype) or kind is bool_:
        flat = cast(flat, int32) if flat.dtype is bool_ else flat
        return cast(ops.cumprod(flat, axis or 0), kind)
    return ops.cumprod(cast(flat, kind), axis or 0, dtype=kind)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """As `cumsum`, with nan counted as 0."""
    return cumsum(_without_nan(as_tensor(a, "nancumsum", "a"), 0), axis, dtype)


def _without_nan(a: Tensor, instead: Any) -> Tensor:
    return ops.where(ops.isnan(a), Tensor(instead, a.dtype), a) if a._raw.is_floating_point() else a


def _nan_extremum(where: str, extremum: Any, a: Any, axis: Any, dtype: Any, keepdims: Any,
                  instead: float) -> Tensor:
    if not isinstance(keepdims, int):
        raise TypeError(f"For '{where}', 'keepdims' must be a bool, but got {keepdims!r}.")
    a = as_tensor(a, where, "a")
    axis = _different(axis, a, where)
    out = extremum(_without_nan(a, instead), axis, bool(keepdims))
    if a._raw.is_floating_point():
        out = ops.where(ops.all(ops.isnan(a), axis, bool(keepdims)), Tensor(nan, a.dtype), out)
    return typed(out, dtype)


def nanmax(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The greatest element over axes that isn't nan; nan if there is none."""
    return _nan_extremum("nanmax", ops.amax, a, axis, dtype, keepdims, -inf)


def nanmin(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The least element over axes that isn't nan; nan if there is none."""
    return _nan_extremum("nanmin", ops.amin, a, axis, dtype, keepdims, inf)


def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over axes in the type of `a`, with nan counted as 0."""
    a = as_tensor(a, "nansum", "a")
    axis = _different(axis, a, "nansum")
    if a.dtype is bool_:
        return typed(ops.any(a, axis, keepdims), dtype)
    if not is_inexact(a._raw.dtype):
        return typed(cast(ops.sum(cast(a, int64), axis, keepdims), a.dtype), dtype)
    return typed(ops.sum(_without_nan(a, 0), axis, keepdims, dtype=a.dtype), dtype)


def _count(a: Tensor, axis: Any, keepdims: bool) -> Tensor:
    return ops.sum(ops.cast(ops.logical_not(ops.isnan(a)), a.dtype), axis, keepdims)


def _wide(a: Any, where: str) -> Tensor:
    a = as_tensor(a, where, "a")
    return cast(a, promoted(a.dtype, float32) if a._raw.is_floating_point() else float32)


def _kind(a: Tensor, dtype: Any) -> Any:
    return (float64 if a.dtype is float64 else float32) if dtype is None else dtype


def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over axes of what isn't nan, in float32, or in float64 if `a` is that.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.nanmean(np.array([1.0, np.nan, 2.0])))
        1.5
    """
    a = _wide(a, "nanmean")
    axis = _different(axis, a, "nanmean")
    out = ops.sum(_without_nan(a, 0), axis, keepdims) / _count(a, axis, keepdims)
    return typed(out, _kind(a, dtype))


def _nan_spread(a: Tensor, axis: Any, ddof: int, keepdims: bool) -> Tensor:
    centred = _without_nan(a - nanmean(a, axis, keepdims=True), 0)
    return ops.sum(centred * centred, axis, keepdims) / (_count(a, axis, keepdims) - ddof)


def nanvar(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0,
           keepdims: bool = False) -> Tensor:
    """The variance over axes of what isn't nan, in float32, or in float64 if `a` is that."""
    a = _wide(a, "nanvar")
    return typed(_nan_spread(a, axis, ddof, keepdims), _kind(a, dtype))


def nanstd(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0,
           keepdims: bool = False) -> Tensor:
    """The root of `nanvar`."""
    a = _wide(a, "nanstd")
    return typed(ops.sqrt(_nan_spread(a, axis, ddof, keepdims)), _kind(a, dtype))
