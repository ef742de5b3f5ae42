"""`torch.func.vjp` without its import of the compiler, a second and 40 MB at the first call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .engine import Raws, backpropagate


def vjp(fn: Callable[..., tuple[Any, Any]], *primals: torch.Tensor
        ) -> tuple[Raws, Callable[..., list[torch.Tensor]], Any]:
    """Run a function in a level of `torch.func` that records it for the gradient.

    Args:
        fn: from tensors to a tuple of tensors, and a tuple of those that no gradient starts from.
        primals: its arguments.

    Returns:
        The tensors, a function from their cotangents to those of the primals, with `again` and
        `nested` as those of `backpropagate`, and the other tensors.
    """
    outs: tuple[torch.Tensor, ...] = ()
    inputs: tuple[torch.Tensor, ...] = ()

    def run(*aliases: torch.Tensor) -> tuple[Any, Any]:
        nonlocal inputs, outs
        inputs = aliases
        outs, others = fn(*aliases)
        return outs, others

    def back(starts: Raws, again: bool, nested: bool) -> list[torch.Tensor]:
        pairs = [(out, start) for out, start in zip(outs, starts, strict=True)
                 if out.requires_grad]
        found = backpropagate(pairs, inputs, again, nested)
        return [torch.zeros_like(x) if gradient is None else gradient
                for gradient, x in zip(found, inputs, strict=True)]

    found: Any = torch.func.vjp(run, *primals, has_aux=True)
    values, _, others = found
    return values, back, others
