"""The Primitive classes of sparse tensors."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.require import of_type
from ..ops.arguments import as_ints
from ..ops.primitive import Primitive, primitive
from ..tensors.tensor import Tensor, wrap
from .coo import COOTensor
from .coo_operators import coalesce
from .held import meet, multiplied


def _sparse_to_dense(indices: Tensor, values: Tensor, sparse_shape: Any) -> Tensor:
    return COOTensor(indices, values, as_ints(sparse_shape, "SparseToDense")).to_dense()


def _sparse_dense_add(x1_indices: Tensor, x1_values: Tensor, x1_shape: Any, x2: Tensor) -> Tensor:
    return COOTensor(x1_indices, x1_values, as_ints(x1_shape, "SparseTensorDenseAdd")) + x2


def _slice(indices: Tensor, values: Tensor, shape: Any, start: Any, size: Any
           ) -> tuple[Tensor, Tensor, Tensor]:
    lengths, first, many = (as_ints(v, "SparseSlice") for v in (shape, start, size))
    ends = [min(f + m, n) for f, m, n in zip(first, many, lengths, strict=True)]
    low = torch.tensor(first, device=indices._raw.device)
    high = torch.tensor(ends, device=indices._raw.device)
    kept = ((indices._raw >= low) & (indices._raw < high)).all(1)
    return (wrap(indices._raw[kept] - low), wrap(values._raw[kept]),
            wrap((high - low).clamp(min=0)))


Coalesce = primitive("Coalesce", coalesce)
SparseToDense = primitive("SparseToDense", _sparse_to_dense)
SparseTensorDenseAdd = primitive("SparseTensorDenseAdd", _sparse_dense_add)
SparseSlice = primitive("SparseSlice", _slice)
SparseGatherV2 = primitive("SparseGatherV2", ops.gather)


class SparseTensorDenseMatmul(Primitive):
    """The product of a sparse matrix with a dense one.

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

    Raises:
        TypeError: if `adjoint_st` or `adjoint_dt` is no bool.
        ValueError: if the shapes don't go together.

    Examples:
        >>> import lamella as ms
        >>> product = ms.ops.SparseTensorDenseMatmul()
        >>> print(product(ms.Tensor([[0, 1], [1, 0]]), ms.Tensor([1.0, 2.0]), (2, 2),
        ...               ms.Tensor([[1.0, 1.0], [5.0, 6.0]])))
        [[5. 6.]
         [2. 2.]]
    """

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False):
        super().__init__("SparseTensorDenseMatmul")
        for name, value in (("adjoint_st", adjoint_st), ("adjoint_dt", adjoint_dt)):
            of_type(value, bool, name, "SparseTensorDenseMatmul")
        self.adjoint_st, self.adjoint_dt = adjoint_st, adjoint_dt

    def __call__(self, indices: Tensor, values: Tensor, sparse_shape: Any, dense: Tensor) -> Tensor:
        shape = as_ints(sparse_shape, "SparseTensorDenseMatmul", "sparse_shape")
        x = COOTensor(indices, values, shape)
        lengths = shape[::-1] if self.adjoint_st else shape
        other = dense.shape[::-1] if self.adjoint_dt else dense.shape
        if x.ndim != 2 or dense.ndim != 2 or other[0] != lengths[1]:
            raise ValueError(f"For 'SparseTensorDenseMatmul', the columns of the sparse matrix "
                             f"must be as many as the rows of the dense one, but got shapes "
                             f"{lengths} and {other}.")
        rows, columns = x.indices._raw.unbind(1)
        held, matrix = meet(x.values, dense)
        matrix = matrix.mH if self.adjoint_dt else matrix
        if self.adjoint_st:
            rows, columns, held = columns, rows, held.conj()
        return multiplied(rows, columns, held, matrix, lengths[0])
