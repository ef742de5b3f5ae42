"""Parameters that strategies cut: each process holds the slice that it computes with.

In a region a slice is a DTensor as it is, and so is its gradient: nothing is gathered. Whoever
reads such a Parameter outside of a region gets the whole.
"""

from __future__ import annotations

from typing import Any

import torch

from .parts import PartParameter, Placement

__all__ = ["Slices"]


class Slices(Placement):
    """How a strategy cuts a Parameter, along some of its dimensions.

    Attributes:
        mesh: all processes, arranged in axes.
        placements: for each axis, how the Parameter lies along it, as torch's DTensor says it.
    """

    def __init__(self, mesh: Any, placements: tuple[Any, ...]):
        self.mesh, self.placements = mesh, tuple(placements)
        self.others, self.divisor, self.on_use, self.takes_parts = None, 1, False, True
        self.counts: dict[int, int] = {}
        for axis, placement in enumerate(self.placements):
            if placement.is_shard():
                self.counts[placement.dim] = self.counts.get(placement.dim, 1) * mesh.size(axis)

    def whole_shape(self, part: tuple[int, ...]) -> tuple[int, ...]:
        """The lengths of the whole's dimensions."""
        return tuple(length * self.counts.get(dim, 1) for dim, length in enumerate(part))

    def arrangement(self) -> tuple[list[int], dict[int, list[int]], int]:
        """As `Placement.arrangement`; neighbouring axes of one use are one axis."""
        lengths: list[int] = []
        axes: dict[int, list[int]] = {}
        before = None
        for axis, placement in enumerate(self.placements):
            if lengths and placement == before:
                lengths[-1] *= self.mesh.size(axis)
                continue
            lengths.append(self.mesh.size(axis))
            before = placement
            if placement.is_shard():
                axes.setdefault(placement.dim, []).append(len(lengths) - 1)
        return lengths, axes, 0

    def part(self, whole: torch.Tensor) -> torch.Tensor:
        """This process's slice of a whole."""
        if hasattr(whole, "redistribute"):
            return whole.redistribute(self.mesh, self.placements).to_local()  # type: ignore
        place = self.mesh.get_coordinate()
        for axis, placement in enumerate(self.placements):
            if placement.is_shard():
                whole = whole.chunk(self.mesh.size(axis), placement.dim)[place[axis]]
        return whole.contiguous()

    def scattered(self, raw: torch.Tensor) -> torch.Tensor:
        """This process's slice of a whole's gradient, which all processes have."""
        return self.part(raw)

    def reduced(self, weights: list[PartParameter], raws: list[torch.Tensor], level: Any
                ) -> list[torch.Tensor]:
        """The gradients by slices, unchanged: a region has already added them up.

        They are by wholes, which all processes have, in the run that cuts the Parameters.
        """
        return [raw if raw.shape == w._data.shape else self.part(raw)
                for w, raw in zip(weights, raws, strict=True)]

    def whole_of(self, parameter: PartParameter, alias: torch.Tensor) -> torch.Tensor:
        """The whole of a Parameter, in a gradient call that has an alias of its slice."""
        return self.gather(alias)

    def gather(self, part: torch.Tensor) -> torch.Tensor:
        """The full Parameter, recorded on the tape."""
        return self.around(part).full_tensor()  # type: ignore[attr-defined]

    def around(self, part: torch.Tensor) -> torch.Tensor:
        """The whole as a DTensor, of which this process has its slice."""
        from torch.distributed.tensor import DTensor

        return DTensor.from_local(part, self.mesh, self.placements, run_check=False)
