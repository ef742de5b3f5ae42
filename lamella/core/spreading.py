"""The questions that `ops` and `nn` ask of the room that spreads a network over processes.

Operators, layers and gradients don't know how a network is cut. They ask here: `spreading()` gives
the answers. Those of `Spreading` are right where each process has everything. The room `parallel`
registers others, with `register_spreading`, which look at the settings and at the Parameters.

A tensor of which each process holds a part is a DTensor of PyTorch's. `is_part`, `local` and
`as_whole` are all that the rooms below `parallel` know of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

__all__ = ["Spreading", "as_whole", "is_part", "local", "register_spreading", "spreading"]


class Spreading:
    """The answers where each process holds and computes everything; the base of other answers."""

    # -- values ----------------------------------------------------------------------------------

    def computes(self, values: Iterable[Any]) -> bool:
        """Whether this process has the data of these values."""
        return True

    def is_spread(self, raws: Sequence[torch.Tensor]) -> bool:
        """Whether no process holds all of these tensors, as each stage of a pipeline has its own.
        """
        return False

    def total(self, name: str, raw: torch.Tensor, op: str,
              of: Iterable[torch.Tensor] = ()) -> torch.Tensor:
        """What each process computed of its own tensors, combined.

        Args:
            name: the function that the program called, for errors.
            raw: this process's value.
            op: how values are combined, as in `ops.AllReduce`.
            of: the tensors it was computed of. If they are parts, processes that hold the other
                parts take part as well, not the stages of a pipeline only.
        """
        return raw

    def attend(self, kernel: Callable[..., torch.Tensor], query: torch.Tensor, key: torch.Tensor,
               value: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Fused attention of tensors (B, heads, T, d) of which each process holds a part.

        Args:
            kernel: computes it of plain tensors: ``(query, key, value, bias)``.
        """
        return kernel(query, key, value, bias)

    def shares(self, cell: Any, gradients: Sequence[torch.Tensor],
               outs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """What the `bprop` of a Cell gets for the gradients of its results."""
        return gradients

    def wholes_of_shares(self, cell: Any, gradients: Sequence[torch.Tensor | None],
                         inputs: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        """The gradients of a Cell's inputs, of what its `bprop` gave."""
        return list(gradients)

    # -- Parameters ------------------------------------------------------------------------------

    def place(self, optimizer: Any) -> None:
        """Cut an optimizer's Parameters in parts as the settings say, once it has them.

        Raises:
            RuntimeError: if they are cut, and the optimizer needs wholes.
        """

    def fit(self, optimizer: Any, states: Sequence[Any], gradients: Any) -> Any:
        """Cut an optimizer's states as its Parameters are, and return the gradients cut so too."""
        return gradients

    # -- networks --------------------------------------------------------------------------------

    def shard_operator(self, operator: Any) -> None:
        """Have a Primitive that was given strategies lay out its inputs by them."""

    def shard_cell(self, cell: Any, plan: dict[str, Any]) -> None:
        """Have a Cell that was given strategies lay out its inputs and Parameters by them."""

    def differentiated(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that is differentiated by weights, as processes compute it together."""
        return function

    def collect(self, function: Any, weights: Sequence[Any], gradients: Sequence[Any]) -> None:
        """Add gradients by weights to the Parameters that collect them over parts of a batch."""

    def trained(self, network: Callable[..., Any], name: str,
                start: Callable[[Any], Any] | None) -> Callable[..., Any]:
        """The network of a training step, as processes compute it together.

        Args:
            name: the function that the program called.
            start: makes the gradient to start from out of a loss; None: one.
        """
        return network

    def runs_stages(self) -> bool:
        """Whether networks are run by the stages of a pipeline."""
        return False

    def run_stages(self, network: Any, cut: Callable[[], list[tuple]], name: str) -> Any:
        """The sum of what a network gives for the parts of a batch, run by the stages.

        Args:
            cut: returns, for each part of the batch, the arguments of the network.
            name: the function that the program called.
        """
        raise NotImplementedError


_answers = Spreading()


def spreading() -> Spreading:
    """The answers that hold now."""
    return _answers


def register_spreading(answers: Spreading) -> None:
    """Have `spreading` give these answers from now on."""
    global _answers
    _answers = answers


def is_part(raw: torch.Tensor) -> bool:
    """Whether a raw tensor is a DTensor, of which this process may hold a part."""
    return hasattr(raw, "full_tensor")


def local(raws: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """What this process holds of raw tensors."""
    return [raw.to_local() if is_part(raw) else raw for raw in raws]  # type: ignore[attr-defined]


def as_whole(raws: list[torch.Tensor]) -> list[torch.Tensor]:
    """Gradients of which some are parts, the others as DTensors too: then functions of all of them,
    such as a norm, are those of the wholes."""
    mesh = next((raw.device_mesh for raw in raws if is_part(raw)), None)  # type: ignore
    if mesh is None:
        return raws
    from torch.distributed.tensor import DTensor, Replicate

    return [raw if is_part(raw) else DTensor.from_local(raw, mesh, [Replicate()], run_check=False)
            for raw in raws]
