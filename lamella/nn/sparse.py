"""Layers that call operators of sparse tensors."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..tensors.tensor import Tensor
from .cell import Cell

__all__ = ["SparseTensorDenseMatmul", "SparseToDense"]


class SparseToDense(Cell):
    """The dense Tensor of a COOTensor.

    Inputs:
        - **sparse_tensor** - a COOTensor.

    Outputs:
        Tensor.

    Examples:
        >>> import lamella as ms
        >>> x = ms.COOTensor(ms.Tensor([[0, 1]]), ms.Tensor([3]), (1, 2))
        >>> print(ms.nn.SparseToDense()(x))
        [[0 3]]
    """

    def construct(self, sparse_tensor: Any) -> Tensor:
        return sparse_tensor.to_dense()


class SparseTensorDenseMatmul(Cell):
    """As `ops.SparseTensorDenseMatmul`.

    Args:
        adjoint_st: whether the sparse matrix is transposed.
        adjoint_dt: whether the dense matrix is transposed.

    Inputs:
        - **indices** - (n, 2) coordinates.
        - **values** - the n values.
        - **sparse_shape** - the shape of the sparse matrix.
        - **dense** - the dense matrix.

    Outputs:
        Tensor, the dense product.
    """

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False):
        super().__init__()
        self.adj_st, self.adj_dt = adjoint_st, adjoint_dt
        self.sparse_dense_matmul = ops.SparseTensorDenseMatmul(adjoint_st, adjoint_dt)

    def construct(self, indices: Tensor, values: Tensor, sparse_shape: Any,
                  dense: Tensor) -> Tensor:
        return self.sparse_dense_matmul(indices, values, sparse_shape, dense)
