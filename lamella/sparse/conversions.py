"""Sparse tensors from their parts and from other tensors, and their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .. import ops
from ..core.errors import op
from ..ops.arguments import raw_of
from ..tensors.tensor import Tensor, wrap
from .coo import COOTensor
from .csr import CSRTensor, rows_of
from .row import RowTensor


def need(value: Any, kind: Any, where: str, name: str) -> None:
    """Raise TypeError for an argument that is no `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"For '{where}', '{name}' must be a {kind.__name__}, "
                        f"but got {type(value).__name__}.")


# -- making them, and what they hold --------------------------------------------------------------

def make_coo_tensor(indices: Tensor, values: Tensor, dense_shape: tuple) -> COOTensor:
    """As `COOTensor`."""
    return COOTensor(indices, values, dense_shape)


make_sparse_tensor = make_coo_tensor


def make_csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor,
                    dense_shape: tuple) -> CSRTensor:
    """As `CSRTensor`."""
    return CSRTensor(indptr, indices, values, dense_shape)


def make_row_tensor(indices: Tensor, values: Tensor, dense_shape: tuple) -> RowTensor:
    """As `RowTensor`."""
    return RowTensor(indices, values, dense_shape)


make_row_tensor_inner = make_row_tensor


def _part(of: type, where: str, part: str) -> Callable[[Any], Any]:
    """A function that gives one part of a sparse tensor of a class."""
    def get(x: Any) -> Any:
        need(x, of, where, "x")
        return getattr(x, part)

    get.__name__ = get.__qualname__ = where
    get.__doc__ = f"``x.{part}`` of a `{of.__name__}`; TypeError for anything else."
    return get


coo_tensor_get_indices = _part(COOTensor, "coo_tensor_get_indices", "indices")
coo_tensor_get_values = _part(COOTensor, "coo_tensor_get_values", "values")
coo_tensor_get_dense_shape = _part(COOTensor, "coo_tensor_get_dense_shape", "shape")
csr_tensor_get_indptr = _part(CSRTensor, "csr_tensor_get_indptr", "indptr")
csr_tensor_get_indices = _part(CSRTensor, "csr_tensor_get_indices", "indices")
csr_tensor_get_values = _part(CSRTensor, "csr_tensor_get_values", "values")
csr_tensor_get_dense_shape = _part(CSRTensor, "csr_tensor_get_dense_shape", "shape")
row_tensor_get_indices = _part(RowTensor, "row_tensor_get_indices", "indices")
row_tensor_get_values = _part(RowTensor, "row_tensor_get_values", "values")
row_tensor_get_dense_shape = _part(RowTensor, "row_tensor_get_dense_shape", "shape")


def row_tensor_add(x: RowTensor, y: RowTensor) -> RowTensor:
    """The rows of both, one after the other: rows with one number add up where they are used."""
    need(x, RowTensor, "row_tensor_add", "x")
    need(y, RowTensor, "row_tensor_add", "y")
    return RowTensor(ops.cat((x.indices, y.indices)), ops.cat((x.values, y.values)), x.shape)


# -- conversions ----------------------------------------------------------------------------------

@op
def coo2csr(row_indices: Tensor, height: int) -> Tensor:
    """Where each row begins, from ascending numbers of rows.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.coo2csr(ms.Tensor([0, 0, 2]), 3))
        [0 2 2 3]
    """
    rows = raw_of(row_indices, "coo2csr", "row_indices")
    starts = torch.arange(height + 1, device=rows.device, dtype=rows.dtype)
    return wrap(torch.searchsorted(rows.contiguous(), starts).to(rows.dtype))


@op
def csr2coo(indptr: Tensor, nnz: int) -> Tensor:
    """The row of each of `nnz` values, from where each row begins.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.csr2coo(ms.Tensor([0, 2, 2, 3]), 3))
        [0 0 2]
    """
    return wrap(rows_of(raw_of(indptr, "csr2coo", "indptr"), nnz))


def csr_to_coo(tensor: CSRTensor) -> COOTensor:
    """As `CSRTensor.to_coo`."""
    need(tensor, CSRTensor, "csr_to_coo", "tensor")
    return tensor.to_coo()


def csr_to_dense(csr_tensor: CSRTensor) -> Tensor:
    """As `CSRTensor.to_dense`.

    Raises:
        TypeError: if it is no CSRTensor.
        ValueError: if it has not two dimensions.
    """
    need(csr_tensor, CSRTensor, "csr_to_dense", "csr_tensor")
    if csr_tensor.ndim != 2:
        raise ValueError(f"For 'csr_to_dense', 'csr_tensor' must be a matrix, "
                         f"but got shape {csr_tensor.shape}.")
    return csr_tensor.to_dense()


def _matrix(tensor: Any, where: str) -> None:
    need(tensor, Tensor, where, "tensor")
    if tensor.ndim != 2:
        raise ValueError(f"For '{where}', 'tensor' must be a matrix, but got shape {tensor.shape}.")


@op
def dense_to_sparse_coo(tensor: Tensor) -> COOTensor:
    """The nonzero elements of a matrix, with their indices in int32.

    Raises:
        TypeError: if it is no Tensor.
        ValueError: if it is no matrix.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.dense_to_sparse_coo(ms.Tensor([[0, 5], [7, 0]])).values)
        [5 7]
    """
    _matrix(tensor, "dense_to_sparse_coo")
    positions = torch.nonzero(tensor._raw.detach())
    values = tensor._raw[tuple(positions.unbind(1))]
    return COOTensor(wrap(positions.int()), wrap(values), tensor.shape)


def dense_to_sparse_csr(tensor: Tensor) -> CSRTensor:
    """As `dense_to_sparse_coo`, as a CSRTensor."""
    _matrix(tensor, "dense_to_sparse_csr")
    return dense_to_sparse_coo(tensor).to_csr()
