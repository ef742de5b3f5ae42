"""`DistributedDataParallel`: a network whose gradients are those of all processes' batches.

The network's Parameters are read through aliases; a backward pass leaves the gradients by all of
them at one node of the tape, which adds them up over the processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from ..communication import exchange
from ..communication.buckets import Reduction, cut
from ..communication.groups import group_of
from ..core.require import of_type, one_of
from ..core.state import state
from ..nn.cell import Cell
from ..tensors.parameter import Parameter

__all__ = ["DistributedDataParallel"]

_NAME = "DistributedDataParallel"


class DistributedDataParallel(Cell):
    """Runs a network; gradients by its Parameters are the mean over the processes of a group.

    Each process computes those of its own batch. As in MindSpore, gradients add up from one
    backward pass to the next until `zero_grad` is called.

    Args:
        module: the network.
        init_sync: whether all begin with the values that the group's first process has.
        process_group: the group's name; default: all processes.
        bucket_cap_mb: at how many MB a message of gradients is full; default 25.
        find_unused_parameters, static_graph: have no effect: gradients of Parameters that are not
            used are zeros, and messages are the same in each step.
        average_in_collective: whether gradients are divided after they are added up, not before.
        reducer_mode: ``"CppReducer"`` or ``"PythonReducer"``, which are the same here.

    Inputs and outputs are those of the network.

    Raises:
        TypeError: if `module` is no Cell.
        ValueError: if `bucket_cap_mb` isn't above 0, or there is no such `reducer_mode`.

    Examples:
        >>> import lamella as ms
        >>> from lamella.parallel.distributed import DistributedDataParallel
        >>> net = DistributedDataParallel(ms.nn.Dense(2, 1, weight_init="ones", has_bias=False))
        >>> gradient = ms.grad(lambda x: net(x).sum(), None, net.trainable_params())
        >>> print(gradient(ms.Tensor([[1.0, 2.0]]))[0])
        [[1. 2.]]
    """

    def __init__(self, module: Cell, init_sync: bool = True, process_group: str | None = None,
                 bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
                 average_in_collective: bool = False, static_graph: bool = False,
                 reducer_mode: str = "CppReducer"):
        super().__init__(auto_prefix=False)
        of_type(module, Cell, "module", _NAME)
        if bucket_cap_mb is not None and not bucket_cap_mb > 0:
            raise ValueError(f"For '{_NAME}', 'bucket_cap_mb' must be above 0, but got "
                             f"{bucket_cap_mb}.")
        one_of(reducer_mode, ("CppReducer", "PythonReducer"), "reducer_mode", _NAME)
        self.module = module
        self.process_group = process_group
        self.average_in_collective = average_in_collective
        self.sync_enabled = True
        self._largest = None if bucket_cap_mb is None else int(bucket_cap_mb * (1 << 20))
        self._sums: dict[Parameter, torch.Tensor] = {}  # gradients since `zero_grad`
        if init_sync:
            self._begin_alike()

    def _begin_alike(self) -> None:
        group = group_of(self.process_group, _NAME)
        held = [p.init_data() for p in self.module.get_parameters() if p.gradient_of is None]
        for bucket in cut([p._data for p in held], self._largest) if group.size > 1 else ():
            raws = [held[place]._data for place in bucket]
            flat = torch.cat([raw.reshape(-1) for raw in raws])
            flat = exchange.broadcast(_NAME, flat, group.ranks[0], group)
            pieces = flat.split([raw.numel() for raw in raws])
            for raw, piece in zip(raws, pieces, strict=True):
                raw.copy_(piece.view_as(raw))

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        """The network's result."""
        overlay = {} if state.overlay is None else state.overlay
        # gradients by parts of Parameters are those of all processes anyway
        weights = [p for p in self.module.trainable_params()
                   if p.gradient_of is None and p in overlay and overlay[p].requires_grad]
        if not weights:
            return self.module(*inputs, **kwargs)
        aliases = [overlay[p] for p in weights]
        exchange.refuse_graphs("adds up gradients over processes as they come")
        seen: Any = _Gate.apply(self, weights, *aliases)
        overlay.update(zip(weights, seen, strict=True))
        try:
            return self.module(*inputs, **kwargs)
        finally:
            for weight, alias, own in zip(weights, aliases, seen, strict=True):
                if overlay[weight] is own:  # not assigned by the network
                    overlay[weight] = alias

    def added(self, weights: list[Parameter], raws: list[torch.Tensor]) -> list[torch.Tensor]:
        """The sums over all processes of a backward pass's gradients, added to earlier ones."""
        found = [raw + self._sums[p] if p in self._sums else raw
                 for p, raw in zip(weights, raws, strict=True)]
        group = group_of(self.process_group, _NAME)
        if self.sync_enabled and group.size > 1:
            late = self.average_in_collective
            reduction = Reduction(_NAME, found, group, 1 if late else group.size, self._largest)
            found = reduction.finish(found)
            found = [raw / group.size for raw in found] if late else found
        self._sums.update((p, raw.clone()) for p, raw in zip(weights, found, strict=True))
        return found

    def zero_grad(self) -> None:
        """Forget the gradients of earlier backward passes."""
        self._sums.clear()

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block in which gradients add up in each process alone."""
        before, self.sync_enabled = self.sync_enabled, False
        try:
            yield
        finally:
            self.sync_enabled = before


class _Gate(torch.autograd.Function):
    """An identity on Parameters whose backward pass gets the gradients by all of them at once."""

    @staticmethod
    def forward(ctx: Any, owner: DistributedDataParallel, weights: list[Parameter],
                *aliases: torch.Tensor) -> Any:
        ctx.owner, ctx.weights = owner, weights
        return tuple([alias.view_as(alias) for alias in aliases])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, *ctx.owner.added(ctx.weights, list(gradients))
