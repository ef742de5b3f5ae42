"""Cross entropy of logits (N, C) with classes (`cross_entropy.cpp`), and as PyTorch computes it.

PyTorch's kernels write the logarithms of all probabilities, a gradient that is zero but for one
number a row, and the gradient proper, each as large as the logits in float32. The kernel writes the
last one only.
"""

from __future__ import annotations

import pathlib

import torch

from .casts import narrow, wide
from .extension import Extension

extension = Extension("lamella_cross_entropy", pathlib.Path(__file__).with_name(
    "cross_entropy.cpp"), for_this_processor=True)
aten = torch.ops.aten
Results = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def by_torch(x: torch.Tensor, target: torch.Tensor, reduction: int, ignored: int) -> Results:
    """The loss, how many rows count, and the largest number and the logarithm of each row (N, 2).

    The logarithm is that of the sum of exponentials relative to the largest number.
    """
    logits = wide(x)
    loss, total = aten.nll_loss_forward.default(
        aten._log_softmax.default(logits, 1, False), target, None, reduction, ignored)
    largest = logits.amax(1, keepdim=True)
    return loss, total, torch.cat([largest, (logits - largest).exp().sum(1, keepdim=True).log()], 1)


def by_torch_backward(grad: torch.Tensor, x: torch.Tensor, target: torch.Tensor,
                      sums: torch.Tensor, reduction: int, ignored: int, in_narrow: bool
                      ) -> torch.Tensor:
    """The gradient by x, in bfloat16 if `in_narrow`."""
    logarithms = aten._log_softmax.default(wide(x), 1, False)
    total = (target != ignored).sum().to(torch.float32)
    picked = aten.nll_loss_backward.default(grad, logarithms, target, None, reduction, ignored,
                                            total)
    found = aten._log_softmax_backward_data.default(picked, logarithms, 1, torch.float32)
    return narrow(found) if in_narrow else found


def fused(x: torch.Tensor, target: torch.Tensor, reduction: int, ignored: int) -> Results:
    """As `by_torch`. The extension must be there."""
    return torch.ops.lamella.cross_entropy.default(x, target, reduction, ignored)


def fused_backward(grad: torch.Tensor, x: torch.Tensor, target: torch.Tensor, sums: torch.Tensor,
                   reduction: int, ignored: int, in_narrow: bool) -> torch.Tensor:
    """As `by_torch_backward`. The extension must be there."""
    return torch.ops.lamella.cross_entropy_backward.default(grad, x, target, sums, reduction,
                                                            ignored, in_narrow)
