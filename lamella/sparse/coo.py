"""COOTensor: the coordinates of each value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .. import ops
from ..autodiff.stop import stop_gradient
from ..core.require import of_type
from ..tensors.tensor import Tensor, wrap
from .held import Held, checked_parts, meet, summed

if TYPE_CHECKING:
    from .csr import CSRTensor


class COOTensor(Held):
    """A sparse tensor as the coordinates of each value.

    Args:
        indices: the coordinates: (n, rank) integers.
        values: the n values.
        shape: the shape of the dense tensor.
        coo_tensor: a COOTensor to take all of it from, instead of the three.

    Raises:
        TypeError: if an argument is of another type, or `coo_tensor` comes with others.
        ValueError: if the shapes don't go together.

    Examples:
        >>> import lamella as ms
        >>> x = ms.COOTensor(ms.Tensor([[0, 1], [1, 2]]), ms.Tensor([1.0, 2.0]), (2, 3))
        >>> print(x.to_dense())
        [[0. 1. 0.]
         [0. 0. 2.]]
    """

    _parts = ("indices", "values")

    def __init__(self, indices: Any = None, values: Any = None, shape: Any = None,
                 coo_tensor: COOTensor | None = None):
        if coo_tensor is not None:
            of_type(coo_tensor, COOTensor, "coo_tensor", "COOTensor")
            if any(v is not None for v in (indices, values, shape)):
                raise TypeError("For 'COOTensor', 'indices', 'values' and 'shape' must be None if "
                                "'coo_tensor' is given.")
            indices, values, shape = coo_tensor.to_tuple()
        checked_parts("COOTensor", {"indices": indices, "values": values}, shape)
        if indices.ndim != 2 or values.ndim != 1 or indices.shape != (values.size, len(shape)):
            raise ValueError(f"For 'COOTensor', 'indices' must be of shape (n, {len(shape)}) and "
                             f"'values' of shape (n,), but got {indices.shape} and "
                             f"{values.shape} for a tensor of shape {shape}.")
        self.indices: Tensor = stop_gradient(indices)
        self.values = values
        self.shape = shape

    def with_values(self, values: Tensor) -> COOTensor:
        return COOTensor(self.indices, values, self.shape)

    def to_tuple(self) -> tuple[Tensor, Tensor, tuple[int, ...]]:
        """(indices, values, shape)"""
        return self.indices, self.values, self.shape

    def to_dense(self) -> Tensor:
        """The dense Tensor; values with the same indices add up."""
        zeros = ops.zeros(self.shape, self.values.dtype)
        return ops.tensor_scatter_add(zeros, self.indices, self.values)

    def to_csr(self) -> CSRTensor:
        """The same matrix as a CSRTensor.

        Raises:
            ValueError: if it has not two dimensions.
        """
        from .conversions import coo2csr
        from .csr import CSRTensor

        if self.ndim != 2:
            raise ValueError(f"For 'COOTensor.to_csr', the tensor must be a matrix, "
                             f"but got shape {self.shape}.")
        positions = self.indices._raw
        rows, order = torch.sort(positions[:, 0], stable=True)
        return CSRTensor(coo2csr(wrap(rows), self.shape[0]), wrap(positions[order, 1]),
                         wrap(self.values._raw[order]), self.shape)

    def coalesce(self) -> COOTensor:
        """The same tensor with ascending coordinates, each once."""
        positions, sums = summed(self.indices._raw, self.values._raw, self.shape)
        return COOTensor(wrap(positions), wrap(sums), self.shape)

    def add(self, other: COOTensor, thresh: Tensor) -> COOTensor:
        """The sum with another COOTensor; see `ops.coo_add`."""
        from .coo_operators import coo_add

        return coo_add(self, other, thresh)

    def _same_shape(self, other: Any, sign: str) -> None:
        if not isinstance(other, (Tensor, COOTensor)):
            raise TypeError(f"For 'COOTensor', '{sign}' takes a Tensor or a COOTensor, "
                            f"but got {type(other).__name__}.")
        if self.shape != other.shape:
            raise ValueError(f"For 'COOTensor', both sides of '{sign}' must have one shape, "
                             f"but got {self.shape} and {other.shape}.")

    def __add__(self, other: Any) -> Any:
        self._same_shape(other, "+")
        if isinstance(other, Tensor):
            dense, values = meet(other, self.values)
            return ops.tensor_scatter_add(wrap(dense), self.indices, wrap(values))
        return self.add(other, Tensor(0, self.dtype))

    def __sub__(self, other: Any) -> Any:
        self._same_shape(other, "-")
        return self + -other

    def _at(self, other: Any, sign: str) -> Tensor:
        """The elements of a dense Tensor in the positions of the values."""
        if not isinstance(other, Tensor):
            raise TypeError(f"For 'COOTensor', '{sign}' takes a Tensor, "
                            f"but got {type(other).__name__}.")
        self._same_shape(other, sign)
        return ops.gather_nd(other, self.indices)

    def __mul__(self, other: Any) -> COOTensor:
        return self.with_values(self.values * self._at(other, "*"))

    def __truediv__(self, other: Any) -> COOTensor:
        """The quotient; where `other` is 0 and there is no value, there is none after it."""
        return self.with_values(self.values / self._at(other, "/"))


class SparseTensor(COOTensor):
    """The former name of COOTensor, whose three arguments are needed."""

    def __init__(self, indices: Tensor, values: Tensor, shape: tuple[int, ...]):
        super().__init__(indices, values, shape)
