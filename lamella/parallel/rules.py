"""Gradients of the program's rules (`Cell.bprop`) if operators are spread over processes.

MindSpore runs such a rule on what each process holds. Where several processes hold the same value,
each has a share of its gradient: their sum is the gradient. So a rule from such a value to one that
is cut over these processes has to multiply by their number, and rules that were written for
strategies do (MindFormers' cross entropy, for one). A Cell whose operators have no strategies says
nothing of processes: its rule gets and gives whole gradients, as in one process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..core.spreading import is_part
from .sharding import is_sharded

__all__ = ["shares", "wholes_of_shares"]


def shares(cell: Any, gradients: Sequence[torch.Tensor], outs: Sequence[torch.Tensor]
           ) -> Sequence[torch.Tensor]:
    """What the rule of a Cell gets for the gradients of its results."""
    if not any(map(is_part, outs)) or not is_sharded(cell):
        return gradients
    return [_share(gradient, out) if is_part(out) and is_part(gradient) else gradient
            for gradient, out in zip(gradients, outs, strict=True)]


def wholes_of_shares(cell: Any, gradients: Sequence[torch.Tensor | None],
                     inputs: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    """The gradients of the inputs, of what the rule gave."""
    if not any(map(is_part, inputs)) or not is_sharded(cell):
        return list(gradients)
    return [gradient if gradient is None or not is_part(gradient) or not is_part(given)
            else gradient * _processes(given, lambda of_input, own: (
                not of_input.is_shard() and own.is_replicate()), gradient)
            for gradient, given in zip(gradients, inputs, strict=True)]


def _share(gradient: Any, out: Any) -> torch.Tensor:
    from torch.distributed.tensor import Replicate

    if any(placement.is_partial() for placement in gradient.placements):
        gradient = gradient.redistribute(placements=[
            Replicate() if placement.is_partial() else placement
            for placement in gradient.placements])
    return gradient / _processes(out, lambda placement, _: not placement.is_shard())


def _processes(value: Any, counts: Callable[[Any, Any], bool], other: Any = None) -> int:
    """The number of processes along the axes whose placements count."""
    placements = zip(value.placements, (other if other is not None else value).placements,
                     strict=True)
    return math.prod([value.device_mesh.size(axis)
                      for axis, pair in enumerate(placements) if counts(*pair)])
