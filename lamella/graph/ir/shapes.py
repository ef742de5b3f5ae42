"""Guards on data-dependent shapes, such as that of a selection by a mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch


class ShapeGuard:
    """A guard on the data-dependent shape of a result.

    Attributes:
        shape: the shape of the result when the graph was recorded.
        holds: whether the guard holds, given the arguments and all results so far with
            data-dependent shapes, the last of which is the guarded one.
    """

    def __init__(self, shape: torch.Size, holds: Callable[[Sequence[torch.Tensor]], bool]):
        self.shape = shape
        self.holds = holds

    @classmethod
    def of(cls, raw: torch.Tensor) -> ShapeGuard:
        """A guard that holds for results with the shape of this one."""
        shape = raw.shape
        return cls(shape, lambda tensors: tensors[-1].shape == shape)
