"""A backward pass in two: first the gradients that other stages wait for, later all others.

Source: Qi et al. 2024, "Zero Bubble Pipeline Parallelism". PyTorch's pipelining finds where the
second pass can start, so that it repeats no kernels of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.graph import get_gradient_edge

from ..autodiff.engine import in_this_thread
from ..autodiff.run import Run, starts_of
from ..tensors.tensor import Tensor, wrap

__all__ = ["SplitBackward"]


class SplitBackward:
    """The gradients of a recorded run, first by some inputs, then by all others.

    Args:
        made: the run.
        outputs: what it gave.
        starts: a gradient for each of these.
        count: how many of what it is differentiated by come first.
    """

    def __init__(self, made: Run, outputs: Sequence[Tensor], starts: Sequence[Tensor], count: int):
        self.made, self.count = made, count
        self.raws, self.starts = starts_of(list(outputs), list(starts))
        self.found: list[Any] = []
        self.groups: list[dict[str, Any]] = []
        # all at once: later if nothing comes first, else where PyTorch can't split it
        self.whole = not count or any(made.level.assigned.values())
        self.outputs = list(outputs), list(starts)
        self.gradients: list[Tensor] | None = None

    def by_inputs(self) -> list[Tensor]:
        """The gradients by the first inputs."""
        made, count = self.made, self.count
        if self.whole:
            return self._by_all()[:count] if count else []
        from torch.distributed.pipelining._backward import stage_backward_input

        inputs = made.aliases[:count]
        with torch.enable_grad(), in_this_thread():
            ends = [raw.clone() for raw in self.raws]  # it detaches those that it is given
            try:
                found, self.groups = stage_backward_input(
                    ends, self.starts, inputs, iter(self._others()))  # type: ignore[arg-type]
            except RuntimeError as error:
                raise error.__cause__ or error from None  # PyTorch's own would hide it
        _clear(inputs)
        self.found = [gradient for alias, gradient in zip(inputs, found, strict=True)
                      if alias.requires_grad]
        return [wrap(raw) for raw in made.filled(self.found, count)]

    def by_others(self) -> list[Tensor]:
        """The gradients by all others."""
        if self.whole:
            return self._by_all()[self.count:]
        from torch.distributed.pipelining._backward import stage_backward_weight

        others = self._others()
        reached = {node for group in self.groups for node in group["params"]}
        with torch.enable_grad(), in_this_thread():
            alone = [each for each in others if get_gradient_edge(each).node not in reached]
            if alone and self.raws:  # of outputs that don't depend on the first inputs
                for each, raw in zip(alone, torch.autograd.grad(
                        self.raws, alone, self.starts, retain_graph=True, allow_unused=True),
                        strict=True):
                    each.grad = raw
            stage_backward_weight(iter(others), self.groups, retain_graph=True)
        found = [*self.found, *(each.grad for each in others)]
        _clear(others)
        return self.made.finished(found)[self.count:]

    def _by_all(self) -> list[Tensor]:
        if self.gradients is None:
            self.gradients = self.made.backward(*self.outputs)
        return self.gradients

    def _others(self) -> list[Any]:
        return [alias for alias in self.made.aliases[self.count:] if alias.requires_grad]


def _clear(aliases: Sequence[torch.Tensor]) -> None:
    for each in aliases:
        each.grad = None
