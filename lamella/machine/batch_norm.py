"""Batch normalization with its sum, ReLU and casts (`batch_norm.cpp`), and as PyTorch computes it.

Forward: x (N, C, ...) in float32 or bfloat16 is normalized in float32; then a tensor is added; then
comes ReLU. The results are in float32, in bfloat16 or in both. Backward: the gradient is a sum of
two, where the result of ReLU is positive.
"""

from __future__ import annotations

import pathlib

import torch

from .casts import narrow, wide
from .extension import Extension

extension = Extension("lamella_batch_norm", pathlib.Path(__file__).with_name("batch_norm.cpp"),
                      for_this_processor=True)
aten = torch.ops.aten
Some = torch.Tensor | None
Results = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def by_torch(x: torch.Tensor, weight: Some, bias: Some, added: Some, eps: float, relu: bool,
             in_wide: bool, in_narrow: bool) -> Results:
    """The result in float32 and in bfloat16, means, and 1 / standard deviations.

    What isn't wanted has no elements.
    """
    y, mean, inverse = aten.native_batch_norm.default(wide(x), weight, bias, None, None, True, 0.0,
                                                      eps)
    if added is not None:
        y = y + wide(added)
    if relu:
        y = y.relu()
    rounded = narrow(y) if in_narrow else y.new_empty(0, dtype=torch.bfloat16)
    return y if in_wide else y.new_empty(0), rounded, mean, inverse


def by_torch_backward(grad: torch.Tensor, other: Some, result: Some, x: torch.Tensor, weight: Some,
                      mean: torch.Tensor, inverse: torch.Tensor, in_narrow: bool, of_added: bool
                      ) -> Results:
    """The gradients by x (in bfloat16 if `in_narrow`), weight, bias, and by what was added."""
    g = wide(grad)
    if other is not None:
        g = g + wide(other)
    if result is not None:
        g = aten.threshold_backward.default(g, wide(result), 0)
    of_x, of_weight, of_bias = aten.native_batch_norm_backward.default(
        g, wide(x), weight, None, None, mean, inverse, True, 0.0, [True, True, True])
    return narrow(of_x) if in_narrow else of_x, of_weight, of_bias, g if of_added else g.new_empty(
        0)


def fused(x: torch.Tensor, weight: Some, bias: Some, added: Some, eps: float, relu: bool,
          in_wide: bool, in_narrow: bool) -> Results:
    """As `by_torch`. The extension must be there."""
    return torch.ops.lamella.batch_norm.default(x, weight, bias, added, eps, relu, in_wide,
                                                in_narrow)


def fused_backward(grad: torch.Tensor, other: Some, result: Some, x: torch.Tensor, weight: Some,
                   mean: torch.Tensor, inverse: torch.Tensor, in_narrow: bool, of_added: bool
                   ) -> Results:
    """As `by_torch_backward`. The extension must be there."""
    return torch.ops.lamella.batch_norm_backward.default(grad, other, result, x, weight, mean,
                                                         inverse, in_narrow, of_added)
