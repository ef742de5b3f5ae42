"""`DistributedDataParallel`: a network whose gradients are those of all processes' batches.

The network's Parameters are read through aliases; a backward pass leaves the gradients by all of
them at one node of the tape, the gate, which adds them up over the processes. What a single
operation computes is sent as soon as it has, while the backward pass goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from ..autodiff.tree import tensors
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
        self._level: Any = None  # the gradient call that they were added to last
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
        call = _Call(self, weights, aliases)
        seen: Any = _Gate.apply(call, *aliases)
        overlay.update(zip(weights, seen, strict=True))
        try:
            found = self.module(*inputs, **kwargs)
            if self.sync_enabled and group_of(self.process_group, _NAME).size > 1:
                call.watch(found, seen[0].grad_fn)
            return found
        finally:
            for weight, alias, own in zip(weights, aliases, seen, strict=True):
                if overlay[weight] is own:  # not assigned by the network
                    overlay[weight] = alias

    def reduction(self, likes: list[torch.Tensor]) -> Reduction | None:
        """What takes gradients like these as they come; None where each process keeps its own."""
        group = group_of(self.process_group, _NAME)
        if not self.sync_enabled or group.size == 1:
            return None
        divisor = 1 if self.average_in_collective else group.size
        return Reduction(_NAME, likes, group, divisor, self._largest)

    def finished(self, reduction: Reduction | None, raws: list[torch.Tensor]) -> list[torch.Tensor]:
        """The gradients of all processes, of which `reduction` has been given some."""
        if reduction is None:
            return raws
        found = reduction.finish(raws)
        if self.average_in_collective:
            return [raw / group_of(self.process_group, _NAME).size for raw in found]
        return found

    def zero_grad(self) -> None:
        """Forget the gradients of earlier backward passes."""
        self._sums.clear()
        self._level = None

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block in which gradients add up in each process alone."""
        before, self.sync_enabled = self.sync_enabled, False
        try:
            yield
        finally:
            self.sync_enabled = before


class _Call:
    """A call of the network, and how far the backward pass through it is.

    Args:
        owner: the wrapper.
        weights: the Parameters whose gradients are added up.
        aliases: what stands for them in the gradient call.
    """

    def __init__(self, owner: DistributedDataParallel, weights: list[Parameter],
                 aliases: list[torch.Tensor]):
        self.owner, self.weights = owner, weights
        self.level = state.level
        self.likes = [alias.detach() for alias in aliases]
        self.runs = self.adds = False
        self.sent: set[int] = set()
        self.reduction: Reduction | None = None

    def watch(self, found: Any, gate: Any) -> None:
        """Send gradients that a single operation computes when it has computed them.

        Args:
            found: what the network gave.
            gate: the node of the tape that the weights were read through.
        """
        readers: dict[int, list[tuple[Any, int]]] = {}
        nodes = [t._raw.grad_fn for t in tensors(found)]
        known = set(nodes)
        while nodes:
            node = nodes.pop()
            if node is None or node._sequence_nr() < gate._sequence_nr():  # is from before the call
                continue
            for number, (source, place) in enumerate(node.next_functions):
                if source is gate:
                    readers.setdefault(place, []).append((node, number))
                elif source not in known:
                    known.add(source)
                    nodes.append(source)
        for place, (first, *more) in readers.items():
            if not more:
                node, number = first
                node.register_hook(partial(self._computed, place, number))

    def _computed(self, place: int, number: int, gradients: Any, _: Any) -> None:
        """One gradient, which no other operation adds to."""
        if gradients[number] is None:
            return
        if place in self.sent:  # an error ended the backward pass before this one
            self.runs = False
        with torch.no_grad():
            self._begin()
            if self.reduction is not None:
                self.sent.add(place)
                self.reduction.ready(place, self._with_earlier(place, gradients[number]))

    def _begin(self) -> None:
        if not self.runs:
            self.runs, self.sent = True, set()
            # of several calls of the network in a gradient call, one adds those of earlier passes
            self.adds = self.owner._level is not self.level
            self.owner._level = self.level
            self.reduction = self.owner.reduction(self.likes)

    def _with_earlier(self, place: int, raw: torch.Tensor) -> torch.Tensor:
        earlier = self.owner._sums.get(self.weights[place])
        return raw if earlier is None or not self.adds else raw + earlier

    def end(self, raws: list[torch.Tensor]) -> list[torch.Tensor]:
        """The sums over all processes of all gradients, added to those of earlier passes."""
        self._begin()
        given = [raw if place in self.sent else self._with_earlier(place, raw)
                 for place, raw in enumerate(raws)]
        found = self.owner.finished(self.reduction, given)
        self.runs, self.sent, self.reduction = False, set(), None
        sums = self.owner._sums
        for weight, raw in zip(self.weights, found, strict=True):
            before = None if self.adds else sums.get(weight)
            sums[weight] = raw.clone() if before is None else before + raw
        return found


class _Gate(torch.autograd.Function):
    """An identity on Parameters whose backward pass gets the gradients by all of them at once."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *aliases: torch.Tensor) -> Any:
        ctx.call = call
        return tuple([alias.view_as(alias) for alias in aliases])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, *ctx.call.end(list(gradients))
