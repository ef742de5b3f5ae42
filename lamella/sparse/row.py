"""RowTensor: some rows of a tensor, as gradients of embeddings have them."""

from __future__ import annotations

from typing import Any

from ..tensors.tensor import Tensor
from .held import Held, checked_parts


class RowTensorInner(Held):
    """Some rows of a dense tensor.

    Args:
        indices: the numbers of the rows.
        values: the rows.
        shape: the shape of the dense tensor.
        row_tensor: a RowTensor to take all of it from, instead of the three.

    Raises:
        TypeError: if an argument is of another type, or `row_tensor` comes with others.
        ValueError: if the shapes don't go together.

    Examples:
        >>> import lamella as ms
        >>> x = ms.RowTensor(ms.Tensor([1]), ms.Tensor([[1.0, 2.0]]), (3, 2))
        >>> print(x.values, x.dense_shape)
        [[1. 2.]] (3, 2)
    """

    _parts = ("indices", "values")

    def __init__(self, indices: Any = None, values: Any = None, shape: Any = None,
                 row_tensor: RowTensorInner | None = None):
        if row_tensor is not None:
            if not isinstance(row_tensor, RowTensorInner):
                raise TypeError(f"For 'RowTensor', 'row_tensor' must be a RowTensor, but got "
                                f"{type(row_tensor).__name__}.")
            if any(v is not None for v in (indices, values, shape)):
                raise TypeError("For 'RowTensor', 'indices', 'values' and 'shape' must be None if "
                                "'row_tensor' is given.")
            indices, values, shape = row_tensor.indices, row_tensor.values, row_tensor.shape
        checked_parts("RowTensor", {"indices": indices, "values": values}, shape)
        if indices.ndim != 1 or values.shape != (indices.size, *shape[1:]):
            raise ValueError(f"For 'RowTensor', 'indices' must be of shape (n,) and 'values' of "
                             f"shape (n, ...), but got {indices.shape} and {values.shape} for a "
                             f"tensor of shape {shape}.")
        self.indices: Tensor = indices
        self.values = values
        self.shape = shape

    def with_values(self, values: Tensor) -> RowTensorInner:
        return type(self)(self.indices, values, self.shape)

    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The shape of the dense tensor."""
        return self.shape


class RowTensor(RowTensorInner):
    __doc__ = RowTensorInner.__doc__
