"""What sparse tensors share: a base class with shape, type and values, and sums by index."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.dtype import Type
from ..core.dtype import promote_types as _promoted
from ..core.require import of_type
from ..tensors.tensor import Tensor, wrap


class Held:
    """The base of sparse tensors; not made by itself."""

    values: Tensor
    shape: tuple[int, ...]
    _parts: tuple[str, ...] = ()  # the names of the attributes that are Tensors

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={_shown(getattr(self, name))}" for name in self._parts)
        return f"{type(self).__name__}(shape={list(self.shape)}, dtype={self.dtype}, {parts})"

    @property
    def dtype(self) -> Type:
        """The type of the values."""
        return self.values.dtype

    @property
    def size(self) -> int:
        """The number of values."""
        return self.values.size

    @property
    def itemsize(self) -> int:
        """Bytes of one value."""
        return self.values.itemsize

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def with_values(self, values: Tensor) -> Any:
        """Other values in the same positions."""
        raise NotImplementedError

    def astype(self, dtype: Any) -> Any:
        """The values in another type."""
        return self.with_values(self.values.astype(dtype))

    def abs(self) -> Any:
        """The values' absolute values."""
        return self.with_values(ops.abs(self.values))

    def __neg__(self) -> Any:
        return self.with_values(-self.values)


def _shown(x: Tensor) -> str:
    """A Tensor inside a sparse one: as its `repr`, without commas between elements."""
    head, _, values = repr(x).partition("value=")
    return f"{head}value={values.replace(',', '').lstrip(' ')}"


def checked_parts(where: str, kinds: dict[str, Any], shape: Any) -> None:
    """Check that parts are Tensors, indices of int16, int32 or int64, and `shape` a tuple of ints.

    Raises:
        TypeError: if one is of another type.
        ValueError: if a length is below 1.
    """
    for name, part in kinds.items():
        of_type(part, Tensor, name, where)
        if name != "values" and part._raw.dtype not in (torch.int16, torch.int32, torch.int64):
            raise TypeError(f"For '{where}', '{name}' must be int16, int32 or int64, "
                            f"but got {part.dtype}.")
    if not isinstance(shape, tuple) or not all(isinstance(n, int) for n in shape):
        raise TypeError(f"For '{where}', 'shape' must be a tuple of ints, but got {shape!r}.")
    if any(n < 1 for n in shape):
        raise ValueError(f"For '{where}', the lengths in 'shape' must be 1 or more, "
                         f"but got {shape}.")


def meet(a: Tensor, b: Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two Tensors' raw tensors in the type that they meet in."""
    kind = _promoted(a._raw.dtype, b._raw.dtype)
    return a._raw.to(kind), b._raw.to(kind)


def summed(positions: torch.Tensor, values: torch.Tensor, lengths: tuple[int, ...]
           ) -> tuple[torch.Tensor, torch.Tensor]:
    """Positions in ascending order, each once, with the sums of their values.

    Args:
        positions: (n, rank) integers.
        values: n values, or n rows of values.
        lengths: the shape that the positions lie in.
    """
    flat = torch.zeros(positions.shape[0], dtype=torch.int64, device=positions.device)
    for column, length in zip(positions.unbind(1), lengths, strict=True):
        flat = flat * length + column
    kept, group = torch.unique(flat, return_inverse=True)
    sums = values.new_zeros((kept.numel(), *values.shape[1:])).index_add(0, group, values)
    columns = []
    for length in reversed(lengths):
        columns.append(kept % length)
        kept = torch.div(kept, length, rounding_mode="floor")
    return torch.stack(columns[::-1], 1).to(positions.dtype), sums


def multiplied(rows: torch.Tensor, columns: torch.Tensor, values: torch.Tensor,
               dense: torch.Tensor, height: int) -> Tensor:
    """The product of a sparse matrix of `height` rows with a dense one."""
    found = dense[columns.long()] * values[:, None]
    return wrap(found.new_zeros((height, dense.shape[1])).index_add(0, rows.long(), found))
