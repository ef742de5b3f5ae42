"""How a Parameter lies over the processes that hold it, in the terms of strategy files."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..communication.groups import group_of
from ..tensors.tensor import Tensor
from . import stages
from .parts import PartParameter

__all__ = ["ParameterLayout", "layout_of"]


class ParameterLayout(NamedTuple):
    """How one Parameter is cut.

    Attributes:
        devices: how many processes there are along each axis of their arrangement.
        axes: for each dimension the axes that it is cut along, counted from the last, major first.
        extra: in how many parts the optimizer's parallelism cuts dimension 0 once more; -1: as
            many as there are processes that would hold the same.
        stages: the pipeline's stages that have it.
    """

    devices: tuple[int, ...]
    axes: tuple[tuple[int, ...], ...]
    extra: int = 0
    stages: tuple[int, ...] = (0,)

    @property
    def size(self) -> int:
        """The number of processes of a stage."""
        return math.prod(self.devices)

    def cell(self, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """In how many parts each dimension is cut, and which of them a process of a stage has."""
        coordinates, rest = [], rank
        for length in reversed(self.devices):  # the last axis first, as axes are counted
            coordinates.append(rest % length)
            rest //= length
        lengths = self.devices[::-1]
        counts, index = [], []
        for axes in self.axes:
            count = place = 0
            for axis in axes:
                count, place = ((count or 1) * lengths[axis],
                                place * lengths[axis] + coordinates[axis])
            counts.append(count or 1)
            index.append(place)
        if self.extra and counts:
            parts, part = self._extra(coordinates, lengths)
            counts[0], index[0] = counts[0] * parts, index[0] * parts + part
        return tuple(counts), tuple(index)

    def _extra(self, coordinates: list[int], lengths: tuple[int, ...]) -> tuple[int, int]:
        """In how many parts dimension 0 is cut once more, and which of them it is."""
        used = {axis for axes in self.axes for axis in axes}
        free = [axis for axis, length in enumerate(lengths) if axis not in used and length > 1]
        wanted = math.prod(lengths[axis] for axis in free) if self.extra == -1 else self.extra
        parts, part = 1, 0
        for axis in free:
            if parts == wanted:
                break
            taken = min(lengths[axis], wanted // parts)
            if wanted % (parts * taken) or lengths[axis] % taken:
                break
            part += parts * (coordinates[axis] % taken)
            parts *= taken
        if parts != wanted:
            raise ValueError(f"An arrangement {self.devices} of processes can't cut a Parameter "
                             f"along axes {self.axes} in {wanted} more parts.")
        return parts, part


def layout_of(value: Tensor) -> ParameterLayout:
    """How a Parameter lies over the processes that hold it: those of a stage, or all."""
    if not isinstance(value, PartParameter):
        pipeline = stages.latest()
        alike = group_of(None, "save_checkpoint") if pipeline is None else pipeline.alike
        return ParameterLayout((alike.size,), ((),) * value.ndim)
    devices, axes, extra = value.placement.arrangement()
    from_last = [tuple(len(devices) - 1 - axis for axis in axes.get(dim, ()))
                 for dim in range(value.ndim)]
    return ParameterLayout(tuple(devices), tuple(from_last), extra)
