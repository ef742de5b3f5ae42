"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from ..core.adapters import adapted
from ..core.docstrings import documented_like
from ..core.dtype import is_inexact
from ..core.errors import describe, op
from ..machine import products
from ..tensors.operators import python_syntax
from ..tensors.promotion import promote
from ..tensors.tensor import Tensor, as_raw, tensor_methods, wrap
from ..tensors.unsigned import SIGNED
from .arguments import axis_in, indices_of
from .operands import both, spelled

__all__ = [
    "batch_dot", "bmm", "cross", "dot", "einsum", "ger", "inner", "kron", "matmul", "mm", "mv",
    "outer", "sparse_segment_mean", "tensor_dot", "tensordot", "vecdot",
]


def _batch_axes(a: torch.Tensor, b: torch.Tensor, axes: Any) -> tuple[int, int]:
    if axes is None:
        axes = (a.dim() - 1, b.dim() - 2 if b.dim() > 2 else 1)
    first, second = (axes, axes) if isinstance(axes, int) else axes
    if a.dim() < 2 or b.dim() < 2:
        raise ValueError(f"For 'batch_dot', 'x1' and 'x2' must have 2 dimensions or more, but got "
                         f"shapes {tuple(a.shape)} and {tuple(b.shape)}.")
    first, second = axis_in(first, a.dim(), "batch_dot", "axes"), axis_in(
        second, b.dim(), "batch_dot", "axes")
    if first == 0 or second == 0:
        raise ValueError(f"For 'batch_dot', 'axes' must not name the batch axis 0, but got {axes}.")
    if a.shape[0] != b.shape[0] or a.shape[first] != b.shape[second]:
        raise ValueError(f"For 'batch_dot', the batches and the summed axes must have one length, "
                         f"but got shapes {tuple(a.shape)} and {tuple(b.shape)} with axes "
                         f"{(first, second)}.")
    return first, second


def _matrix(value: Any) -> torch.Tensor:
    return as_raw(value) if isinstance(value, (np.ndarray, list, tuple)) else value._raw


@op
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product; dimensions before the last two broadcast, a tensor of one dimension is a
    vector.

    Args:
        input: any shape.
        other: a Tensor or an array of the type of `input`.

    Returns:
        Tensor of the shape that the two give

    Raises:
        TypeError: if the types differ.
        ValueError: if the shapes don't fit or a tensor has no dimension.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.matmul(ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0], [4.0]])))
        [[11.]]
    """
    return wrap(products.matmul(_matrix(input), _matrix(other)))


@op
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices.

    Args:
        input: shape (N, M).
        mat2: shape (M, R).

    Returns:
        Tensor of shape (N, R)

    Raises:
        TypeError: if the types differ.
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.mm(ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0], [4.0]])))
        [[11.]]
    """
    return wrap(products.mm(input._raw, mat2._raw))


@documented_like(mm)
@op
def bmm(input_x: Tensor, mat2: Tensor) -> Tensor:
    """Product of each pair of matrices of two batches.

    Args:
        input_x: shape (*B, N, M).
        mat2: shape (*B, M, R).

    Returns:
        Tensor of shape (*B, N, R)

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.bmm(ms.Tensor([[[1.0, 2.0]]]), ms.Tensor([[[3.0], [4.0]]])))
        [[[11.]]]
    """
    a, b = input_x._raw, mat2._raw
    return wrap(products.bmm(a, b) if a.dim() == 3 == b.dim() else products.any_matmul(a, b))


@op
def mv(mat: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix and a vector.

    Args:
        mat: shape (N, M).
        vec: shape (M,).

    Returns:
        Tensor of shape (N,)

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.mv(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), ms.Tensor([1.0, 1.0])))
        [3. 7.]
    """
    if mat._raw.dim() != 2 or vec._raw.dim() != 1:
        return wrap(torch.mv(mat._raw, vec._raw))  # raises
    return wrap(products.any_matmul(mat._raw, vec._raw))


@op
def dot(input: Tensor, other: Tensor) -> Tensor:
    """Products summed over the last axis of `input` and the last but one of `other`.

    Args:
        input: any shape.
        other: a Tensor of the type of `input`.

    Returns:
        Tensor of the shape of `input` without its last axis, then that of `other` without the
        summed one

    Raises:
        ValueError: if the summed axes differ in length.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.dot(ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0], [4.0]])))
        [[11.]]
    """
    a, b = input._raw, other._raw
    pair: Any = ([-1], [-2 if b.dim() > 1 else -1])
    return wrap(products.tensordot(a, b, pair))


@op
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Products summed over the last axes; with a tensor of rank 0 the plain product.

    Args:
        input: any shape.
        other: a Tensor whose last axis has the length of that of `input`.

    Returns:
        Tensor of the two shapes without the last axes

    Raises:
        ValueError: if the last axes differ in length.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.inner(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])))
        11.0
    """
    return wrap(products.inner(input._raw, other._raw))


@op
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Products of each element of one vector with each of another.

    Args:
        input: shape (N,).
        vec2: shape (M,).

    Returns:
        Tensor of shape (N, M)

    Raises:
        ValueError: if one is not a vector.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.outer(ms.Tensor([1, 2]), ms.Tensor([3, 4])))
        [[3 4]
         [6 8]]
    """
    return wrap(torch.outer(*promote(input._raw, vec2._raw)))


ger = outer


@op
def vecdot(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    """Products summed along an axis; those of complex numbers take the conjugate of `x`.

    Args:
        x: any shape.
        y: a Tensor that broadcasts with `x`.
        axis: the axis.

    Returns:
        Tensor of the shape that the two broadcast to, without `axis`

    Raises:
        ValueError: if the shapes don't broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.vecdot(ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0, 4.0]])))
        [11.]
    """
    a, b = both(x, y)
    if is_inexact(a.dtype):
        return wrap(torch.linalg.vecdot(a, b, dim=axis))
    if a.dtype in SIGNED:  # these stay, where other integers widen
        return wrap((a.long() * b.long()).sum(axis).to(a.dtype))
    return wrap((a * b).sum(axis))


@op
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Products of tensors, summed over the letters that the result does not name.

    Args:
        equation: such as ``"ij,jk->ik"``; or the first of pairs of a Tensor and a list of axis
            numbers.
        operands: the tensors.

    Returns:
        Tensor of the shape that the equation names

    Raises:
        ValueError: if the equation doesn't fit the tensors.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.einsum("ij,jk->ik", ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0], [4.0]])))
        [[11.]]
    """
    if not isinstance(equation, (str, Tensor)):
        raise TypeError(f"For 'einsum', 'equation' must be a str, but got {describe(equation)}.")
    single = len(operands) == 1 and isinstance(operands[0], (list, tuple))
    values = operands[0] if single else operands
    return wrap(products.einsum(*[getattr(v, "_raw", v) for v in (equation, *values)]))


@op
def tensor_dot(x1: Tensor, x2: Tensor, axes: Any) -> Tensor:
    """Products summed over pairs of axes of two tensors.

    Args:
        x1: any shape.
        x2: any shape.
        axes: how many last axes of `x1` to sum with the first ones of `x2`, or the axes of
            each.

    Returns:
        Tensor of the axes that are left, those of `x1` first

    Raises:
        ValueError: if the summed axes differ in length.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tensor_dot(ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0], [4.0]]), 1))
        [[11.]]
    """
    if not isinstance(axes, int):
        axes = [[a] if isinstance(a, int) else list(a) for a in axes]
    return wrap(products.tensordot(x1._raw, x2._raw, axes))


tensordot = adapted(tensor_dot, "x1, x2, axes=2", "tensordot")


@op
def batch_dot(x1: Tensor, x2: Tensor, axes: Any = None) -> Tensor:
    """Products of two batches, summed over one axis of each.

    Args:
        x1: shape (B, ...), of two dimensions or more.
        x2: shape (B, ...), of two dimensions or more.
        axes: the axis of each to sum over, or one for both; default: the last of `x1` and the
            last but one of `x2`.

    Returns:
        Tensor of the batch axis, then what is left of `x1` and of `x2`; of shape (B, 1) if
        nothing is

    Raises:
        ValueError: if the batches or the summed axes differ in length.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.batch_dot(ms.Tensor([[[1.0, 2.0]]]), ms.Tensor([[[3.0], [4.0]]])))
        [[[11.]]]
    """
    a, b = x1._raw, x2._raw
    first, second = _batch_axes(a, b, axes)
    left = a.movedim(first, -1)
    right = b.movedim(second, 1)
    out = products.bmm(left.reshape(a.shape[0], math.prod(left.shape[1:-1]), left.shape[-1]),
                       right.reshape(b.shape[0], right.shape[1], math.prod(right.shape[2:])))
    shape = [*left.shape[:-1], *right.shape[2:]]
    return wrap(out.reshape(shape if len(shape) > 1 else [a.shape[0], 1]))


@op
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: each element of `input` times all of `other`.

    Args:
        input: any shape.
        other: any shape.

    Returns:
        Tensor whose lengths are the products of the two

    Raises:
        ValueError: if the shapes don't broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.kron(ms.Tensor([[1, 2]]), ms.Tensor([[1], [3]])))
        [[1 2]
         [3 6]]
    """
    # PyTorch takes no transposed tensor where the ranks differ
    return wrap(torch.kron(input._raw.contiguous(), other._raw.contiguous()))


@op
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross product of vectors of three elements.

    Args:
        input: any shape.
        other: a Tensor that broadcasts with `input`.
        dim: the axis of the vectors; default: the first of length 3.

    Returns:
        Tensor of the shape that the two broadcast to

    Raises:
        ValueError: if that axis has not length 3.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cross(ms.Tensor([1.0, 0.0, 0.0]), ms.Tensor([0.0, 1.0, 0.0])))
        [0. 0. 1.]
    """
    a, b = both(input, other)
    if dim is None or dim == -65530:
        dim = next((d for d, n in enumerate(a.shape) if n == 3), -1)
    return wrap(torch.linalg.cross(a, b, dim=dim))


@op
def sparse_segment_mean(x: Tensor, indices: Tensor, segment_ids: Tensor) -> Tensor:
    """Means of the rows of `x` that `indices` picks, one for each segment.

    Args:
        x: any shape.
        indices: the rows to pick, of shape (N,).
        segment_ids: the segment of each picked row, ascending, of shape (N,).

    Returns:
        Tensor with a row for each segment; zeros for one without rows

    Raises:
        ValueError: if the two differ in length.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[0.0], [2.0], [4.0]])
        >>> y = ms.Tensor([0, 1, 2])
        >>> z = ms.Tensor([0, 0, 1])
        >>> print(ms.ops.sparse_segment_mean(x, y, z))
        [[1.]
         [4.]]
    """
    picks, ids = (indices_of(v, "sparse_segment_mean", name).flatten() for v, name in
                  ((indices, "indices"), (segment_ids, "segment_ids")))
    if ids.shape != picks.shape or ids.numel() and int(ids.min()) < 0:
        raise ValueError(f"For 'sparse_segment_mean', 'segment_ids' must be 0 or more, one for "
                         f"each of 'indices', but got {ids.tolist()[:9]} for {len(picks)}.")
    rows = x._raw[picks]
    count = int(ids[-1]) + 1 if ids.numel() else 0
    total = rows.new_zeros((count, *rows.shape[1:])).index_add(0, ids, rows)
    sizes = torch.bincount(ids, minlength=count).clamp(min=1).to(rows.dtype)
    return wrap(total / sizes.reshape(-1, *[1] * (rows.dim() - 1)))


tensor_methods(matmul=spelled(matmul, tensor2="other"), mm=mm, bmm=bmm, dot=dot, inner=inner,
               outer=outer, ger=outer, cross=cross)
python_syntax(matmul=(products.matmul, matmul))
