"""Diagonals and triangles of matrices, Vandermonde's matrix."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core import context
from ..core.dtype import is_inexact
from ..core.errors import op
from ..ops.arguments import as_shape
from ..tensors.tensor import Tensor, wrap
from .types import as_tensor, as_type, bool_, cast, float32, int32, int64

__all__ = ["diag", "diag_indices", "diagflat", "diagonal", "trace", "tri", "tril", "tril_indices",
           "tril_indices_from", "triu", "triu_indices", "triu_indices_from", "vander"]


@op
def diag(v: Any, k: int = 0) -> Tensor:
    """A matrix with a vector on a diagonal, or a diagonal of a matrix.

    Args:
        v: a vector or a matrix.
        k: which diagonal: above the main one if above 0.

    Raises:
        ValueError: if `v` is neither.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.diag(np.array([1, 2])), np.diag(np.array([[1, 2], [3, 4]]), k=1))
        [[1 0]
         [0 2]] [2]
    """
    v = as_tensor(v, "diag", "v")
    if v.ndim not in (1, 2):
        raise ValueError(f"For 'diag', 'v' must be a vector or a matrix, but got shape {v.shape}.")
    return wrap(torch.diag(v._raw, k))


@op
def diagflat(v: Any, k: int = 0) -> Tensor:
    """As `diag` of the flattened array."""
    return wrap(torch.diag(as_tensor(v, "diagflat", "v")._raw.reshape(-1), k))


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """As `ops.diagonal`."""
    return ops.diagonal(as_tensor(a, "diagonal", "a"), offset, axis1, axis2)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sum of a diagonal; unless `dtype` is given, of integers in int64, and of booleans whether
    one is true."""
    a = as_tensor(a, "trace", "a")
    kept = ops.diagonal(a, offset, axis1, axis2)
    if dtype is not None:
        return ops.sum(kept, -1, dtype=as_type(dtype, "trace"))
    found = ops.sum(kept if is_inexact(a._raw.dtype) else cast(kept, int64), -1)
    return cast(found, bool_) if a.dtype is bool_ else found


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Tensor:  # noqa: N803
    """A matrix of 1 on and below a diagonal, and 0 above it.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.tri(2, 3, 1))
        [[1. 1. 0.]
         [1. 1. 1.]]
    """
    rows, columns = as_shape((N, N if M is None else M), "tri", "N, M")
    return ops.tril(ops.ones((rows, columns), as_type(dtype, "tri")), k)


def tril(m: Any, k: int = 0) -> Tensor:
    """As `ops.tril`, also of integer types and booleans; a vector stands for each row.

    Raises:
        ValueError: if `m` has no dimensions.
    """
    return _triangle("tril", ops.tril, m, k)


def triu(m: Any, k: int = 0) -> Tensor:
    """As `ops.triu`, also of integer types and booleans; a vector stands for each row.

    Raises:
        ValueError: if `m` has no dimensions.
    """
    return _triangle("triu", ops.triu, m, k)


def _triangle(where: str, function: Any, m: Any, k: int) -> Tensor:
    m = as_tensor(m, where, "m")
    if m.ndim == 0:
        raise ValueError(f"For '{where}', 'm' must have one dimension or more, but got a number.")
    return function(ops.broadcast_to(m, m.shape * 2) if m.ndim == 1 else m, k)


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The positions of the main diagonal of an array of `ndim` axes of length `n`, in int32.

    Raises:
        TypeError: if `n` or `ndim` is no int.
        ValueError: if `n` is negative.
    """
    if not isinstance(n, int) or not isinstance(ndim, int):
        raise TypeError(f"For 'diag_indices', 'n' and 'ndim' must be ints, "
                        f"but got {n!r} and {ndim!r}.")
    if n < 0:
        raise ValueError(f"For 'diag_indices', 'n' must be 0 or more, but got {n}.")
    positions = torch.arange(n, dtype=torch.int32, device=context.current_device())
    return (wrap(positions),) * ndim


def _positions(where: str, function: Any, n: Any, k: Any, m: Any) -> tuple[Tensor, Tensor]:
    for name, value in (("n", n), ("k", k), ("m", m)):
        if not isinstance(value, (int, float)) and not (name == "m" and value is None):
            raise TypeError(f"For '{where}', '{name}' must be a number, but got {value!r}.")
    rows, columns = (max(-int(-count // 1), 0) for count in (n, n if m is None else m))
    both = function(rows, columns, int(k), dtype=torch.int32, device=context.current_device())
    return wrap(both[0]), wrap(both[1])


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and columns on and below a diagonal of an (n, m) matrix, in int32."""
    return _positions("tril_indices", torch.tril_indices, n, k, m)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and columns on and above a diagonal of an (n, m) matrix, in int32."""
    return _positions("triu_indices", torch.triu_indices, n, k, m)


def _matrix_shape(arr: Any, where: str) -> tuple[int, int]:
    arr = as_tensor(arr, where, "arr")
    if arr.ndim != 2:
        raise ValueError(f"For '{where}', 'arr' must be a matrix, but got shape {arr.shape}.")
    return arr.shape[0], arr.shape[1]


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Tensor, Tensor]:
    """As `tril_indices` for the shape of a matrix."""
    rows, columns = _matrix_shape(arr, "tril_indices_from")
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Tensor, Tensor]:
    """As `triu_indices` for the shape of a matrix."""
    rows, columns = _matrix_shape(arr, "triu_indices_from")
    return triu_indices(rows, k, columns)


@op
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """The powers of a vector's elements, a column each.

    Args:
        x: a vector.
        N: the number of columns; default: the length of `x`.
        increasing: whether the powers ascend; else the highest comes first.

    Raises:
        TypeError: if `N` is no int, or `increasing` no bool.
        ValueError: if `x` is no vector, or `N` is below 1.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.vander([1, 2, 3], N=2))
        [[1 1]
         [2 1]
         [3 1]]
    """
    x = as_tensor(x, "vander")
    if x.ndim != 1:
        raise ValueError(f"For 'vander', 'x' must be a vector, but got shape {x.shape}.")
    count = N or x.size
    if not isinstance(count, int) or not isinstance(increasing, bool):
        raise TypeError(f"For 'vander', 'N' must be an int and 'increasing' a bool, "
                        f"but got {N!r} and {increasing!r}.")
    if count < 1:
        raise ValueError(f"For 'vander', 'N' must be 1 or more, but got {N}.")
    raw = (cast(x, int32) if x.dtype is bool_ else x)._raw
    powers = torch.arange(count, device=raw.device).to(raw.dtype)
    return wrap(raw[:, None] ** (powers if increasing else powers.flip(0)))
