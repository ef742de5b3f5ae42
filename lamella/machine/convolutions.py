"""PyTorch's convolutions; those of float16 are computed in float32 on a CPU.

PyTorch's kernel for float16 there is a plain loop, which takes 15 to 180 times as long as
float32's. In float32 the sums are more exact, too, and are rounded once. (Those of bfloat16 have a
fast kernel.) The gradients follow, since conversions are recorded like any operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
           "conv_transpose3d"]


def _with_fast_halves(kernel: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def convolution(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None,
                    *args: Any) -> torch.Tensor:
        half = torch.float16
        if (input.dtype is not half or weight.dtype is not half or not input.is_cpu
                or bias is not None and bias.dtype is not half):
            return kernel(input, weight, bias, *args)
        return kernel(input.float(), weight.float(), None if bias is None else bias.float(),
                      *args).to(half)

    return convolution


conv1d = _with_fast_halves(F.conv1d)
conv2d = _with_fast_halves(F.conv2d)
conv3d = _with_fast_halves(F.conv3d)
conv_transpose1d = _with_fast_halves(F.conv_transpose1d)
conv_transpose2d = _with_fast_halves(F.conv_transpose2d)
conv_transpose3d = _with_fast_halves(F.conv_transpose3d)
