"""The answers to `core.spreading` if a network is spread over several processes.

See `core.spreading`, which says what is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from ..communication import exchange, settings
from ..communication.groups import group_of
from ..core.spreading import Spreading, is_part, register_spreading
from . import accumulation, attention, parts, pipeline, rules, sharding, stages

__all__ = ["OverProcesses"]


class OverProcesses(Spreading):
    """The settings decide, and how Parameters are cut already."""

    def computes(self, values: Iterable[Any]) -> bool:
        return stages.computes(values)

    def is_spread(self, raws: Sequence[torch.Tensor]) -> bool:
        return stages.is_spread(raws)

    def total(self, name: str, raw: torch.Tensor, op: str,
              of: Iterable[torch.Tensor] = ()) -> torch.Tensor:
        if any(map(is_part, of)):
            found = stages.latest()
            holders = group_of(None, name) if found is None else found.alike
            raw = exchange.all_reduce(name, raw, op, holders)
        return stages.total(name, raw, op)

    def attend(self, kernel: Callable[..., torch.Tensor], query: torch.Tensor, key: torch.Tensor,
               value: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        return attention.attend(kernel, query, key, value, bias)

    def shares(self, cell: Any, gradients: Sequence[torch.Tensor],
               outs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        return rules.shares(cell, gradients, outs)

    def wholes_of_shares(self, cell: Any, gradients: Sequence[torch.Tensor | None],
                         inputs: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        return rules.wholes_of_shares(cell, gradients, inputs)

    def place(self, optimizer: Any) -> None:
        if settings.shards_optimizer():
            parts.place(optimizer.parameters, parts.placement_of())
        parts.check_elementwise(optimizer)
        if not optimizer._elementwise:
            parts.keep_whole(optimizer.parameters)

    def fit(self, optimizer: Any, states: Sequence[Any], gradients: Any) -> Any:
        if stages.latest() is not None:
            stages.place_states(optimizer.parameters, states)
        if not parts.in_use:
            return gradients
        parts.check_elementwise(optimizer)
        parts.fit_states(optimizer.parameters, states)
        return parts.parts_of(gradients, optimizer.parameters)

    def shard_operator(self, operator: Any) -> None:
        sharding.shard_operator(operator)

    def shard_cell(self, cell: Any, plan: dict[str, Any]) -> None:
        sharding.plan_parameters(cell, plan, "Cell.shard")
        sharding.shard_cell(cell)

    def differentiated(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if sharding.splits() and not sharding.in_region():
            return sharding.region(function, "grad")
        return function

    def collect(self, function: Any, weights: Sequence[Any], gradients: Sequence[Any]) -> None:
        if settings._is_in_auto_parallel_mode():
            accumulation.collect(function, weights, gradients)

    def trained(self, network: Callable[..., Any], name: str,
                start: Callable[[Any], Any] | None) -> Callable[..., Any]:
        if stages.in_use():
            return pipeline.staged(network, name, start or pipeline.from_one)
        return sharding.region(network, name) if sharding.splits() else network

    def runs_stages(self) -> bool:
        return stages.in_use()

    def run_stages(self, network: Any, cut: Callable[[], list[tuple]], name: str) -> Any:
        return pipeline.run_stages(network, cut, name)


register_spreading(OverProcesses())
