"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import op
from ..tensor import Tensor, tensor_methods, wrap
from .arguments import as_int, axis_in, raw_of

__all__ = ["block_diag", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_scatter", "tril",
           "triu"]


@op
def diag(input: Tensor) -> Tensor:
    """A tensor with `input` on its diagonal: of shape ``input.shape + input.shape``.

    Raises:
        ValueError: if `input` has rank 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.diag(ms.Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    raw = raw_of(input, "diag")
    if raw.dim() == 0:
        raise ValueError("For 'diag', 'input' must have 1 dimension or more, but got shape ().")
    return wrap(raw.reshape(-1).diag().reshape(*raw.shape, *raw.shape))


@op
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the elements of `input` on its diagonal number `offset`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.diagflat(ms.Tensor([1, 2]), 1))
        [[0 1 0]
         [0 0 2]
         [0 0 0]]
    """
    return wrap(torch.diagflat(input._raw, as_int(offset, "diagflat", "offset")))


@op
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements on a diagonal of the matrices along `dim1` and `dim2`, as last dimension.

    Args:
        input: rank 2 or more.
        offset: 0 for the main diagonal, positive above it, negative below.
        dim1, dim2: two different dimensions.

    Raises:
        ValueError: if `input` is no matrix or the dimensions are one or out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.diagonal(ms.Tensor([[1, 2], [3, 4]])))
        [1 4]
    """
    return wrap(raw_of(input, "diagonal").diagonal(
        offset, *_plane(input, dim1, dim2, "diagonal")))


def _plane(input: Tensor, dim1: int, dim2: int, where: str) -> tuple[int, int]:
    rank = input._raw.dim()
    if rank < 2:
        raise ValueError(f"For '{where}', 'input' must have 2 dimensions or more, "
                         f"but got shape {input.shape}.")
    first, second = axis_in(dim1, rank, where, "dim1"), axis_in(dim2, rank, where, "dim2")
    if first == second:
        raise ValueError(f"For '{where}', 'dim1' and 'dim2' must differ, but both are {dim1}.")
    return first, second


@op
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices along `dim1` and `dim2` of the result, with `input`'s last dimension on a diagonal.

    Raises:
        ValueError: if `dim1` and `dim2` are one or out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.diag_embed(ms.Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    raw = raw_of(input, "diag_embed")
    first = axis_in(dim1, raw.dim() + 1, "diag_embed", "dim1")
    second = axis_in(dim2, raw.dim() + 1, "diag_embed", "dim2")
    if first == second:
        raise ValueError(f"For 'diag_embed', 'dim1' and 'dim2' must differ, but both are {dim1}.")
    return wrap(torch.diag_embed(raw, offset, first, second))


@op
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0,
                     dim2: int = 1) -> Tensor:
    """`input` with `src` on a diagonal.

    Raises:
        ValueError: if `src` has not the shape of that diagonal.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.diagonal_scatter(ms.ops.zeros((2, 2)), ms.Tensor([1.0, 2.0])))
        [[1. 0.]
         [0. 2.]]
    """
    plane = _plane(input, dim1, dim2, "diagonal_scatter")
    return wrap(torch.diagonal_scatter(input._raw, src._raw.to(input._raw.dtype), offset, *plane))


@op
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of matrices, zeros elsewhere.

    Args:
        input: rank 2 or more.
        diagonal: the last diagonal to keep; 0 is the main one.

    Raises:
        ValueError: if `input` is no matrix.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tril(ms.ops.ones((2, 3))))
        [[1. 0. 0.]
         [1. 1. 0.]]
    """
    return wrap(_matrix(input, "tril").tril(as_int(diagonal, "tril", "diagonal")))


@op
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of matrices, zeros elsewhere.

    Args:
        input: rank 2 or more.
        diagonal: the first diagonal to keep; 0 is the main one.

    Raises:
        ValueError: if `input` is no matrix.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.triu(ms.ops.ones((2, 3)), 1))
        [[0. 1. 1.]
         [0. 0. 1.]]
    """
    return wrap(_matrix(input, "triu").triu(as_int(diagonal, "triu", "diagonal")))


def _matrix(input: Any, where: str) -> torch.Tensor:
    raw = raw_of(input, where)
    if raw.dim() < 2:
        raise ValueError(f"For '{where}', 'input' must have 2 dimensions or more, "
                         f"but got shape {tuple(raw.shape)}.")
    return raw


@op
def block_diag(*inputs: Tensor) -> Tensor:
    """A matrix with the `inputs`, of rank 2 or less, one after the other along its diagonal.

    Raises:
        ValueError: if an input has more than 2 dimensions.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.block_diag(ms.Tensor([[1, 2]]), ms.Tensor([3])))
        [[1 2 0]
         [0 0 3]]
    """
    raws = [raw_of(i, "block_diag", "inputs") for i in inputs]
    if any(raw.dim() > 2 for raw in raws):
        raise ValueError(f"For 'block_diag', the inputs must have at most 2 dimensions, "
                         f"but got shapes {[tuple(raw.shape) for raw in raws]}.")
    return wrap(torch.block_diag(*raws))


def _fill_diagonal(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """The tensor with `fill_value` on its diagonal; with `wrap` it starts again in tall matrices."""
    raw = self._raw.clone()
    raw.fill_diagonal_(fill_value, wrap)
    out = object.__new__(Tensor)
    out._raw = raw
    return out


def _tensor_diag(self: Tensor, diagonal: int | None = None) -> Tensor:
    """`ops.diag`; given the number of a diagonal, PyTorch's: a matrix from a vector or back."""
    return diag(self) if diagonal is None else wrap(self._raw.diag(diagonal))


def _tensor_diagonal(self: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """`ops.diagonal`."""
    return diagonal(self, offset, axis1, axis2)


tensor_methods(diag=_tensor_diag, diagonal=_tensor_diagonal, diagflat=diagflat, tril=tril,
               triu=triu, diagonal_scatter=diagonal_scatter, fill_diagonal=_fill_diagonal)
