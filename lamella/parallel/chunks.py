"""Chunks of a network: the parts that the stages of a pipeline run, one after the other.

Without interleaving each stage has one. Otherwise a stage has several, which come after one another
in a loop over the stages (Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on
GPU Clusters Using Megatron-LM") or in a V: two of them, the second path from the last stage back to
the first (Qi et al. 2024, "Zero Bubble Pipeline Parallelism").
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Chunks"]


class Chunks(NamedTuple):
    """Which stage runs which chunk.

    Attributes:
        stages: how many there are.
        order: in which order the chunks follow: ``"once"``, ``"loop"`` or ``"v"``.

    Examples:
        >>> from lamella.parallel.chunks import Chunks
        >>> for order in ("once", "loop", "v"):
        ...     print([Chunks(3, order).find(stage, 2) for stage in range(3)])
        [0, 1, 2]
        [3, 4, 2]
        [5, 4, 2]
    """

    stages: int
    order: str = "once"

    def stage(self, chunk: int) -> int:
        """The stage that runs a chunk."""
        if self.order == "v" and chunk >= self.stages:
            return 2 * self.stages - 1 - chunk
        return chunk % self.stages

    def find(self, stage: int, least: int) -> int:
        """The first chunk of a stage from the chunk `least` on, or the last one that it has."""
        if self.order == "v":
            return stage if stage >= least else 2 * self.stages - 1 - stage
        rounds = -(-(least - stage) // self.stages) if self.order == "loop" else 0
        return stage + max(rounds, 0) * self.stages

    def count(self, last: int) -> int:
        """How many chunks all stages have if `last` is the last one that is used."""
        return 2 * self.stages if self.order == "v" else (last // self.stages + 1) * self.stages
