"""Adasum: optimizers that combine the updates of several processes (Maleki et al., 2020).

Of two updates, parallel parts are averaged, and orthogonal parts are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ... import ops
from ...communication import exchange
from ...communication.groups import create_group, group_of
from ...communication.settings import get_auto_parallel_context
from ...core.require import of_type
from ...tensors.tensor import Tensor, wrap
from ..cell import Cell
from .optimizer import Optimizer

__all__ = ["AdaSumByDeltaWeightWrapCell", "AdaSumByGradWrapCell"]

_SERVER = 8  # processes of a server, from 16 on
_TINY = 1e-12


def adaptive_sum(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """The adaptive sum of Tensors of one shape, pair by pair.

    Examples:
        >>> adaptive_sum([torch.tensor([3.0, 0.0]), torch.tensor([0.0, 2.0])])  # orthogonal
        tensor([3., 2.])
        >>> adaptive_sum([torch.tensor([3.0, 2.0])] * 4)  # equal: one of them
        tensor([3., 2.])
    """
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left, right = adaptive_sum(parts[:middle]), adaptive_sum(parts[middle:])
    product = (left * right).sum() + _TINY
    return (1 - product / (2 * ((left * left).sum() + _TINY))) * left + \
        (1 - product / (2 * ((right * right).sum() + _TINY))) * right


def summed_over(name: str, group: str | None, changes: Sequence[Tensor]) -> list[Tensor]:
    """For each Tensor, the adaptive sum over the processes of a group."""
    members, found = group_of(group, name), []
    for change in changes:
        every = exchange.all_gather(name, change._raw, members)
        found.append(wrap(adaptive_sum(list(every.float().unbind(0))).to(change._raw.dtype)))
    return found


def alike(rank: int, device_number: int, group_number: int) -> str | None:
    """The group of the processes that have this one's place on each server.

    Each process calls it, since making a group is a matter of all.
    """
    if device_number == 1:
        return None
    mine = None
    for place in range(device_number):
        ranks = [server * device_number + place for server in range(group_number)]
        name = "adasum-" + "-".join(map(str, ranks))
        create_group(name, ranks)
        mine = name if rank in ranks else mine
    return mine


class _AdaSumCell(Cell):
    """The group, and the checks of both."""

    def __init__(self, optimizer: Any):
        super().__init__(auto_prefix=False)
        name = type(self).__name__
        of_type(optimizer, Optimizer, "optimizer", name)
        mode = get_auto_parallel_context("parallel_mode")
        if mode == "stand_alone":
            raise RuntimeError(f"For '{name}', the parallel mode must not be 'stand_alone'.")
        if get_auto_parallel_context("enable_parallel_optimizer"):
            raise RuntimeError(f"For '{name}', the optimizer's states can't be spread over "
                               f"processes ('enable_parallel_optimizer').")
        if get_auto_parallel_context("pipeline_stages") > 1:
            raise RuntimeError(f"For '{name}', there can't be stages of a pipeline.")
        world = group_of(None, name)
        if world.size < 2 or world.size & (world.size - 1):
            raise RuntimeError(f"For '{name}', the number of processes must be a power of 2 above "
                               f"1, but got {world.size}.")
        self.optimizer = optimizer
        self.parameters = optimizer.parameters
        each = _SERVER if world.size >= 2 * _SERVER else 1
        self._group = alike(world.rank, each, world.size // each)

    def _summed(self, tensors: Any) -> tuple[Any, ...]:
        return tuple(summed_over(type(self).__name__, self._group, tensors))


class AdaSumByGradWrapCell(_AdaSumCell):
    """An optimizer that gets the adaptive sums of the processes' gradients.

    With 16 processes or more, each eight are a server, whose gradients are the same already.

    Args:
        optimizer: the optimizer.

    Inputs:
        - **grads** - a tuple of gradients.

    Raises:
        TypeError: if `optimizer` is none.
        RuntimeError: if there is one process, or their number no power of 2, or if states of the
            optimizer or the network are spread over processes.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> ms.nn.AdaSumByGradWrapCell(ms.nn.SGD([w], 0.1))
        Traceback (most recent call last):
        RuntimeError: For 'AdaSumByGradWrapCell', the parallel mode must not be 'stand_alone'.
    """

    def construct(self, grads: Any) -> Any:
        """Take a step."""
        return self.optimizer(self._summed(grads))


class AdaSumByDeltaWeightWrapCell(_AdaSumCell):
    """An optimizer whose steps are the adaptive sums of the steps of all processes.

    With 16 processes or more, each eight are a server, whose steps are the same already.

    Args:
        optimizer: the optimizer.

    Inputs:
        - **grads** - a tuple of gradients.

    Outputs:
        The Parameters.

    Raises:
        TypeError: if `optimizer` is none.
        RuntimeError: if there is one process, or their number no power of 2, or if states of the
            optimizer or the network are spread over processes.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> try:
        ...     ms.nn.AdaSumByDeltaWeightWrapCell(ms.nn.SGD([w], 0.1))
        ... except RuntimeError as error:
        ...     print(error.args[0][-44:])
        the parallel mode must not be 'stand_alone'.
    """

    def construct(self, grads: Any) -> Any:
        """Take a step."""
        before = [parameter.value().copy() for parameter in self.parameters]
        self.optimizer(grads)
        steps = [old - new for old, new in zip(before, self.parameters, strict=True)]
        for parameter, old, step in zip(self.parameters, before, self._summed(steps), strict=True):
            ops.assign(parameter, old - step)
        return self.parameters
