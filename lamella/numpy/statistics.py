"""Weighted means, covariance and correlation."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.dtype import is_inexact
from ..core.require import of_type
from ..tensors.tensor import Tensor
from .join import concatenate
from .products import dot
from .reduce import mean
from .types import as_tensor, bool_, cast, float32, float64, typed

__all__ = ["average", "corrcoef", "cov"]


def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    """The weighted mean over axes; of integers without a fraction.

    Args:
        x: any shape.
        axis: the axis or axes to reduce; None stands for all.
        weights: of the shape of `x`, or of one dimension along `axis`; default: all are 1.
        returned: whether the sum of the weights is returned too.

    Returns:
        Tensor, or (Tensor, sum of the weights).

    Raises:
        TypeError: if `weights` has another shape, or one dimension and `axis` is no int.

    Examples:
        >>> import lamella.numpy as np
        >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> print(np.average(x, axis=1, weights=np.array([3.0, 1.0])))
        [1.25 3.25]
    """
    x = as_tensor(x, "average")
    if weights is None:
        out = mean(x, axis)
        total = ops.full(out.shape, x.size // out.size if out.size else 0, dtype=x.dtype)
    else:
        weights = as_tensor(weights, "average", "weights")
        if weights.shape != x.shape:
            if weights.ndim != 1 or not isinstance(axis, int):
                raise TypeError(f"For 'average', 'weights' must have the shape of 'x', or one "
                                f"dimension with an int for 'axis', but got shape {weights.shape} "
                                f"for x of shape {x.shape}, axis={axis!r}.")
            shape = [1] * x.ndim
            shape[axis] = -1
            weights = ops.reshape(weights, tuple(shape))
        products = x * weights
        total = cast(ops.sum(weights, axis), weights.dtype)
        out = ops.sum(products, axis)
        if is_inexact(products._raw.dtype) or products.dtype is bool_:
            out = out / total
        else:
            out = cast(ops.div(out, total, rounding_mode="trunc"), products.dtype)
    if not returned:
        return out
    return out, total if total.shape == out.shape else ops.broadcast_to(total, out.shape)


def _rows(m: Any, rowvar: Any, where: str) -> Tensor:
    m = as_tensor(m, where, "m")
    of_type(rowvar, bool, "rowvar", where)
    if m.ndim > 2 or m.size == 0:
        raise ValueError(f"For '{where}', the observations must be a vector or a matrix with at "
                         f"least one element, but got shape {m.shape}.")
    m = cast(m, float64 if m.dtype is float64 else float32)
    m = ops.reshape(m, (1,) * (2 - m.ndim) + m.shape)
    return m if rowvar or m.shape[0] == 1 else m.T


def _weights(weights: Any, count: int, name: str, like: Tensor) -> Tensor:
    weights = as_tensor(weights, "cov", name)
    if is_inexact(weights._raw.dtype):
        raise TypeError(f"For 'cov', '{name}' must be integers, but got {weights.dtype}.")
    if weights.shape != (count,):
        raise RuntimeError(f"For 'cov', '{name}' must have one number for each of the {count} "
                           f"observations, but got shape {weights.shape}.")
    return ops.abs(cast(weights, like.dtype))


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
        fweights: Any = None, aweights: Any = None, dtype: Any = None) -> Tensor:
    """The covariance matrix of variables.

    Args:
        m: observations: a variable a row, or one variable.
        y: further variables.
        rowvar: whether a row is a variable; else a column is.
        bias: whether sums are divided by the number of observations; else by one less.
        ddof: what to subtract from that number instead.
        fweights: how often each observation counts.
        aweights: how much each observation counts.
        dtype: the type of the result.

    Raises:
        ValueError: if `m` or `y` has more than two dimensions, or no elements.
        TypeError: if `rowvar` is no bool, or weights are no integers.
        RuntimeError: if there isn't one weight for each observation.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.cov(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])))
        [[ 1. -1.]
         [-1.  1.]]
    """
    m = _rows(m, rowvar, "cov")
    if y is not None:
        m = concatenate((m, _rows(y, rowvar, "cov")), axis=0)
    less = ddof if ddof is not None else 0 if bias else 1
    count = m.shape[1]
    repeats = None if fweights is None else _weights(fweights, count, "fweights", m)
    trust = None if aweights is None else _weights(aweights, count, "aweights", m)
    w = trust if repeats is None else repeats if trust is None else repeats * trust
    centred = m - ops.expand_dims(average(m, 1, w), -1)
    if w is None:
        divisor: Any = count - less
        right = centred.T
    else:
        total = ops.sum(w)
        share = 1 if trust is None or less == 0 else ops.sum(w * trust) / total
        divisor = total - less * share
        right = (centred * w).T
    return typed(ops.squeeze(dot(centred, right) / divisor), dtype)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Tensor:
    """The correlation coefficients of variables; `x`, `y` and `rowvar` as in `cov`.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.corrcoef(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])))
        [[ 1. -1.]
         [-1.  1.]]
    """
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return typed(c / c, dtype)
    spread = ops.sqrt(ops.diagonal(c))
    c = c / ops.expand_dims(spread, 1) / ops.expand_dims(spread, 0)
    return typed(ops.clamp(c, -1, 1), dtype)
