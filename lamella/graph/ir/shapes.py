"""Guards on shapes that values decide, such as that of what a mask selects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch


class ShapeGuard:
    """A guard on the shape of a result.

    Attributes:
        shape: the shape that the result had when the graph was recorded.
        holds: tells whether it holds, of the arguments and of all results so far whose shapes
            values decide, of which the last is the one that is guarded.
    """

    def __init__(self, shape: torch.Size, holds: Callable[[Sequence[torch.Tensor]], bool]):
        self.shape = shape
        self.holds = holds

    @classmethod
    def of(cls, raw: torch.Tensor) -> ShapeGuard:
        """Holds for results of the shape that this one has."""
        shape = raw.shape
        return cls(shape, lambda tensors: tensors[-1].shape == shape)
