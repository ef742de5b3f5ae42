"""Norms and distances."""

from __future__ import annotations

from typing import Any

import torch

from ..core.docstrings import documented_like
from ..core.dtype import to_raw
from ..core.errors import op
from ..machine import products
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import FLOATS, typed
from .operands import axes, floating, floats

__all__ = ["cdist", "dist", "matrix_norm", "norm", "pdist", "renorm", "vector_norm"]


_MATRIX_ORDERS = (1, -1, 2, -2, float("inf"), -float("inf"), "fro", "nuc")


def _operand(x: Tensor, dtype: Any) -> torch.Tensor:
    return floating(x._raw) if dtype is None else x._raw.to(to_raw(dtype, "norm"))


def _check_order(name: str, ord: Any, rank: int) -> None:
    if rank == 2 and ord not in _MATRIX_ORDERS:
        raise ValueError(f"For '{name}', 'ord' of a matrix must be one of {_MATRIX_ORDERS}, "
                         f"but got {ord!r}.")
    if rank == 1 and isinstance(ord, str):
        raise TypeError(f"For '{name}', 'ord' of a vector must be a number, but got {ord!r}.")


def _two_norm(raw: torch.Tensor, dims: tuple[int, ...], keep: bool) -> torch.Tensor:
    # the composition gives nan as the gradient of a zero norm, as MindSpore's does;
    # PyTorch's own norm gives 0
    wide = raw.float() if raw.dtype in (torch.float16, torch.bfloat16) else raw
    square = torch.square(wide.abs() if wide.is_complex() else wide)
    out = torch.sqrt(torch.sum(square, dims, keep))
    return out.to(raw.dtype) if wide is not raw or raw.is_complex() else out


@op
def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *,
         dtype: Any = None) -> Tensor:
    """Norm of vectors or matrices.

    Where a 2-norm or Frobenius norm is 0 its gradient is nan, as in MindSpore.

    Args:
        A: any shape; integers are computed in float32.
        ord: a number, inf, -inf, ``"fro"`` or ``"nuc"``; None: the 2-norm of all elements over
            `dim`.
        dim: the axis of vectors, or the two axes of matrices; None: the tensor itself is the
            vector or matrix.
        keepdim: whether reduced axes stay, with length 1.
        dtype: the type to compute in and return.

    Returns:
        Tensor without the reduced axes, or with length 1 there.

    Raises:
        ValueError: if there is no such norm or axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.norm(ms.Tensor([3.0, 4.0])))
        5.0
        >>> print(ms.ops.norm(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1, dim=1))
        [3. 7.]
    """
    raw = _operand(A, dtype)
    if ord is None or (ord == "fro" and (dim is None or isinstance(dim, (tuple, list)))):
        return wrap(_two_norm(raw, axes(dim, raw), keepdim))
    if ord == 2 and (isinstance(dim, int) or (dim is None and raw.dim() <= 1)):
        return wrap(_two_norm(raw, axes(dim, raw), keepdim))
    rank = raw.dim() if dim is None else len(axes(dim, raw))
    _check_order("norm", ord, rank)
    if rank == 1 and ord in (float("inf"), -float("inf")):
        # the gradient goes to one of equal elements
        along = torch.max if ord == float("inf") else torch.min
        return wrap(along(raw.abs(), axes(dim, raw)[0], keepdim)[0])
    if raw.dtype in (torch.float16, torch.bfloat16) and ord == "nuc":
        raw = raw.float()
    return wrap(torch.linalg.norm(raw, ord, dim, keepdim))


@op
def vector_norm(x: Tensor, ord: Any = 2, axis: Any = None, keepdims: bool = False, *,
                dtype: Any = None) -> Tensor:
    """Norm of the elements over axes, as one vector.

    Args:
        x: any shape.
        ord: a number, inf or -inf.
        axis: the axis or axes to reduce; None or () stands for all.
        keepdims: whether reduced axes stay, with length 1.
        dtype: the type to compute in and return; default: that of the input.

    Returns:
        Tensor without the reduced axes, or with length 1 there.

    Raises:
        ValueError: if `ord` is not a number, or there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.vector_norm(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        10.0
    """
    raw = _operand(x, dtype)
    if not isinstance(ord, (int, float)):
        raise ValueError(f"For 'vector_norm', 'ord' must be a number, but got {ord!r}.")
    if ord == 2:
        return wrap(_two_norm(raw, axes(axis, raw), keepdims))
    return wrap(torch.linalg.vector_norm(raw, ord, axes(axis, raw), keepdims).to(raw.dtype))


@documented_like(norm)
@op
def matrix_norm(A: Tensor, ord: Any = 'fro', axis: Any = (-2, -1),
                keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Norm of matrices.

    Args:
        A: at least two dimensions; integers are computed in float32.
        ord: 1, -1, 2, -2, inf, -inf, ``"fro"`` or ``"nuc"``.
        axis: the two axes of the matrices.
        keepdims: whether reduced axes stay, with length 1.
        dtype: the type to compute in and return.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.matrix_norm(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), "nuc"))
        5.8309517
    """
    _check_order("matrix_norm", ord, 2)
    raw = _operand(A, dtype)
    if ord == "fro":
        return wrap(_two_norm(raw, tuple(axis), keepdims))
    return wrap(torch.linalg.matrix_norm(raw, ord, tuple(axis), keepdims))


@op
def dist(input: Tensor, other: Tensor | float, p: float = 2) -> Tensor:
    """The `p`-norm of the difference of two tensors.

    Args:
        input: any shape.
        other: a Tensor that broadcasts with the first one, or a number.
        p: the order of the norm.

    Returns:
        Tensor of rank 0

    Raises:
        ValueError: if the shapes don't broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.dist(ms.Tensor([1.0, 2.0]), ms.Tensor([4.0, 6.0])))
        5.0
    """
    x, y = floats(input, other)
    return wrap(torch.linalg.vector_norm(x - y, p))  # `torch.dist` fails in derivatives by p = 0


@op
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """The `p`-norms of the differences between each row of one tensor and each row of another.

    Args:
        x1: shape (..., P, M).
        x2: shape (..., R, M).
        p: the order of the norm.

    Returns:
        Tensor of shape (..., P, R)

    Raises:
        ValueError: if the rows differ in length or `p` is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cdist(ms.Tensor([[1.0, 1.0], [2.0, 2.0]]), ms.Tensor([[3.0, 3.0]])))
        [[2.828427 ]
         [1.4142135]]
    """
    return wrap(products.cdist(*floats(x1, x2), p))


@op
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The `p`-norms of the differences between each two rows of a matrix.

    Args:
        input: float16, float32 or float64, shape (N, M).
        p: the order of the norm, 0 or more.

    Returns:
        Tensor of shape (N (N - 1) / 2,): rows 0 and 1, 0 and 2, and so on.

    Raises:
        TypeError: if `input` is of another type or `p` no float.
        ValueError: if `input` is no matrix or `p` is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.pdist(ms.Tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])))
        [5.        1.        4.2426405]
    """
    if not isinstance(p, float):
        raise TypeError(f"For 'pdist', 'p' must be a float, but got {p!r}.")
    if p < 0:
        raise ValueError(f"For 'pdist', 'p' must be 0 or more, but got {p}.")
    raw = typed(input, "pdist", "input", FLOATS, 2)
    if not raw.shape[0]:  # PyTorch's kernel for the gradient kills the process
        return wrap(raw.reshape(-1))
    wide = raw.float() if raw.itemsize == 2 else raw  # PyTorch has no kernel for float16
    return wrap(torch.pdist(wide, p).to(raw.dtype))


@op
def renorm(input: Tensor, p: float, axis: Any, maxnorm: float) -> Tensor:
    """The tensor with each slice along `axis` scaled down to a `p`-norm of at most `maxnorm`.

    Args:
        input: any shape.
        p: the order of the norm.
        axis: the axis whose indices pick the slices.
        maxnorm: the largest norm allowed.

    Returns:
        Tensor of the shape of `input`

    Raises:
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.renorm(ms.Tensor([[1.0, 1.0], [3.0, 3.0]]), 1, 0, 3.0))
        [[1.  1. ]
         [1.5 1.5]]
    """
    return wrap(torch.renorm(input._raw, p, axis, maxnorm))


tensor_methods(norm=norm, renorm=renorm)
