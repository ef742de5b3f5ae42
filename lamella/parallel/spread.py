"""Parameters that are only partly in this process, though their shape is known."""

from __future__ import annotations

import math
from typing import Any

from ..tensors.parameter import Parameter
from ..tensors.tensor import wrap

__all__ = ["SpreadParameter"]


class SpreadParameter(Parameter):
    """A Parameter that is cut in parts, or held by other processes."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the whole's dimensions."""
        return tuple(self._data.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._data.dim()

    @property
    def size(self) -> int:
        """The number of the whole's elements."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        """The data type."""
        return wrap(self._data).dtype

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("A Tensor of rank 0 has no len().")
        return self.shape[0]
