"""CSRTensor: the columns of the values, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..autodiff.stop import stop_gradient
from ..core.require import of_type
from ..tensors.tensor import Tensor, wrap
from .held import Held, checked_parts

if TYPE_CHECKING:
    from .coo import COOTensor


class CSRTensor(Held):
    """A sparse tensor as the columns of its values, row by row.

    Args:
        indptr: where the values of each row begin, and at last the number of values.
        indices: the column of each value.
        values: the values; of more than one dimension where the dense tensor has more than two.
        shape: the shape of the dense tensor.
        csr_tensor: a CSRTensor to take all of it from, instead of the four.

    Raises:
        TypeError: if an argument is of another type, or `csr_tensor` comes with others.
        ValueError: if the shapes don't go together.

    Examples:
        >>> import lamella as ms
        >>> x = ms.CSRTensor(ms.Tensor([0, 1, 2]), ms.Tensor([1, 2]), ms.Tensor([1.0, 2.0]), (2, 3))
        >>> print(x.to_dense())
        [[0. 1. 0.]
         [0. 0. 2.]]
    """

    _parts = ("indptr", "indices", "values")

    def __init__(self, indptr: Any = None, indices: Any = None, values: Any = None,
                 shape: Any = None, csr_tensor: CSRTensor | None = None):
        if csr_tensor is not None:
            of_type(csr_tensor, CSRTensor, "csr_tensor", "CSRTensor")
            if any(v is not None for v in (indptr, indices, values, shape)):
                raise TypeError("For 'CSRTensor', 'indptr', 'indices', 'values' and 'shape' must "
                                "be None if 'csr_tensor' is given.")
            indptr, indices, values, shape = csr_tensor.to_tuple()
        checked_parts("CSRTensor", {"indptr": indptr, "indices": indices, "values": values}, shape)
        fits = (len(shape) >= 2 and indptr.shape == (shape[0] + 1,)
                and values.ndim == len(shape) - 1 and indices.shape == values.shape[:1]
                and values.shape[1:] == shape[2:])
        if not fits:
            raise ValueError(f"For 'CSRTensor', a tensor of n values with the shape {shape} has "
                             f"'indptr' of shape (rows + 1,), 'indices' of shape (n,) and 'values' "
                             f"of shape (n, ...), but got {indptr.shape}, {indices.shape} and "
                             f"{values.shape}.")
        self.indptr: Tensor = stop_gradient(indptr)
        self.indices: Tensor = stop_gradient(indices)
        self.values = values
        self.shape = shape

    def with_values(self, values: Tensor) -> CSRTensor:
        return CSRTensor(self.indptr, self.indices, values, self.shape)

    def to_tuple(self) -> tuple[Tensor, Tensor, Tensor, tuple[int, ...]]:
        """(indptr, indices, values, shape)"""
        return self.indptr, self.indices, self.values, self.shape

    def rows(self) -> torch.Tensor:
        """The row of each value."""
        return rows_of(self.indptr._raw, self.indices.size)

    def to_coo(self) -> COOTensor:
        """The same matrix as a COOTensor.

        Raises:
            ValueError: if it has not two dimensions.
        """
        from .coo import COOTensor

        if self.ndim != 2:
            raise ValueError(f"For 'CSRTensor.to_coo', the tensor must be a matrix, "
                             f"but got shape {self.shape}.")
        positions = torch.stack((self.rows(), self.indices._raw), 1)
        return COOTensor(wrap(positions), self.values, self.shape)

    def to_dense(self) -> Tensor:
        """The dense Tensor; values with the same indices add up."""
        raw = self.values._raw
        flat = self.rows().long() * self.shape[1] + self.indices._raw.long()
        zeros = raw.new_zeros((self.shape[0] * self.shape[1], *self.shape[2:]))
        return wrap(zeros.index_add(0, flat, raw).reshape(self.shape))

    def mv(self, dense_vector: Tensor) -> Tensor:
        """The product with a dense matrix of one column; see `ops.csr_mv`."""
        from .csr_operators import csr_mv

        return csr_mv(self, dense_vector)

    def mm(self, matrix: Tensor | CSRTensor) -> Any:
        """The product with a dense matrix, or with a CSRTensor, which is one again."""
        from .csr_operators import csr_dense_mm, csr_mm

        return csr_mm(self, matrix) if isinstance(matrix, CSRTensor) else csr_dense_mm(self, matrix)

    def sum(self, axis: int) -> Tensor:
        """The sums along an axis, which stays; see `ops.csr_reduce_sum`."""
        from .csr_operators import csr_reduce_sum

        return csr_reduce_sum(self, axis)

    def add(self, b: CSRTensor, alpha: Tensor, beta: Tensor) -> CSRTensor:
        """``alpha * self + beta * b``; see `ops.csr_add`."""
        from .csr_operators import csr_add

        return csr_add(self, b, alpha, beta)

    def __add__(self, other: Any) -> CSRTensor:
        return self._plus(other, 1, "+")

    def __sub__(self, other: Any) -> CSRTensor:
        return self._plus(other, -1, "-")

    def _plus(self, other: Any, factor: int, sign: str) -> CSRTensor:
        if not isinstance(other, CSRTensor):
            raise TypeError(f"For 'CSRTensor', '{sign}' takes a CSRTensor, "
                            f"but got {type(other).__name__}.")
        return self.add(other, Tensor(1, self.dtype), Tensor(factor, self.dtype))

    def __mul__(self, other: Any) -> CSRTensor:
        from .csr_operators import csr_mul

        return csr_mul(self, other)

    def __truediv__(self, other: Any) -> CSRTensor:
        from .csr_operators import csr_div

        return csr_div(self, other)


def rows_of(indptr: torch.Tensor, count: int) -> torch.Tensor:
    """The row of each of `count` values."""
    number = torch.arange(count, device=indptr.device, dtype=indptr.dtype)
    return (torch.searchsorted(indptr, number, right=True) - 1).to(indptr.dtype)
