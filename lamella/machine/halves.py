"""Kernels of float16 on a CPU, computed in float32.

Where the processor has no arithmetic of float16, PyTorch's convolutions and matrix products of it
are plain loops, which take 15 to 180 times as long as float32's. In float32 the sums are more
exact, too, and are rounded once. (Those of bfloat16 have fast kernels.) Gradients follow, since
conversions are recorded like any operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["in_float32"]


def in_float32(kernel: Callable[..., torch.Tensor], rows: int = 0) -> Callable[..., torch.Tensor]:
    """A kernel of raw tensors that computes what is all of float16 on a CPU in float32.

    Args:
        kernel: its first two arguments are tensors, the third one, if any, a tensor or None.
        rows: with fewer rows of the first argument PyTorch's own kernel is used: it reads the
            second one as it is, which then takes most of the time.
    """
    half = torch.float16

    def called(a: torch.Tensor, b: torch.Tensor, *rest: Any) -> torch.Tensor:
        if a.dtype is not half:
            return kernel(a, b, *rest)
        added = rest[0] if rest else None
        if (b.dtype is not half or added is not None and added.dtype is not half or not a.is_cpu
                or a.dim() == 0 or a.numel() < rows * a.shape[-1]):
            return kernel(a, b, *rest)
        if added is not None:
            rest = (added.float(), *rest[1:])
        return kernel(a.float(), b.float(), *rest).to(half)

    return called
