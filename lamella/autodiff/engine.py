"""The backward pass: what `torch.autograd.grad` does, without its imports.

Where a gradient starts from a given tensor, PyTorch's function imports SymPy to compare shapes: a
quarter of a second and 34 MB at the first derivative of a derivative. Here they fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch._C import _len_torch_function_stack  # type: ignore[attr-defined]
from torch.autograd.graph import _engine_run_backward

Raws = Sequence[torch.Tensor]


def backpropagate(outs: Iterable[tuple[torch.Tensor, torch.Tensor | None]], inputs: Raws,
                  again: bool, nested: bool) -> Sequence[torch.Tensor | None]:
    """The gradient by each input of outputs that require one; None if none depends on it.

    Args:
        outs: the outputs, each with the gradient to start from, of its shape and type; None for 1,
            of an output without dimensions.
        inputs: what to differentiate by.
        again: whether there will be another backward pass through the same operations.
        nested: whether the gradients will be differentiated.
    """
    raws, starts = [], []
    for out, start in outs:
        raws.append(out)
        starts.append(torch.ones_like(out) if start is None else start)
    if not raws or not inputs:
        return [None] * len(inputs)
    if _len_torch_function_stack():  # whoever watches the calls of functions knows it by its name
        return torch.autograd.grad(raws, inputs, starts, again, nested, allow_unused=True)
    return _engine_run_backward(tuple(raws), tuple(starts), again, nested, tuple(inputs), True,
                                accumulate_grad=False)
