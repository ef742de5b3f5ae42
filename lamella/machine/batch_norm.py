"""Batch normalization with its sum, ReLU and casts (`batch_norm.cpp`), and as PyTorch computes it.

Forward: x (N, C, ...) in float32 or bfloat16 is normalized in float32; then a tensor is added; then
comes ReLU. The results are in float32, in bfloat16 or in both. Backward: the gradient is a sum of
two, where the result of ReLU is positive.
"""

from __future__ import annotations

import pathlib
from typing import Any

import torch

from ..core.state import is_plain_run
from ..core.tape import note_results, only_with_gradients
from .casts import narrow, wide
from .extension import Extension
from .layouts import is_dense, laid_as

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


LARGE = 2**14  # elements for which memory counts, and not what a call costs


def in_float32(x: torch.Tensor, weight: Some, bias: Some, *running: Any
               ) -> tuple[torch.Tensor, ...] | None:
    """`torch.native_batch_norm` of bfloat16 in float32, without a copy of x in that type.

    None where PyTorch's kernels have to do it; what is needed is built when that is first asked.
    """
    mean, var, training, _, eps = running
    if (x.dtype is not torch.bfloat16 or type(x) is not torch.Tensor or not x.is_cpu
            or x.numel() < LARGE or mean is not None or var is not None or not training
            or not is_plain_run() or 1 in x.shape[1:] or not is_dense(x)):
        return None
    if any(v is not None and (v.dtype is not torch.float32 or not v.is_contiguous())
           for v in (weight, bias)):
        return None
    if extension.obtain() is None:
        return None
    return _InFloat32.apply(x, weight, bias, eps)  # type: ignore[return-value]


class _InFloat32(torch.autograd.Function):
    """The kernel on the tape. The gradient's own gradient is that of PyTorch's kernels."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: Some, bias: Some, eps: float) -> Any:
        y, _, mean, inverse = fused(x, weight, bias, None, eps, False, True, False)
        ctx.save_for_backward(x, weight, mean, inverse)
        ctx.mark_non_differentiable(mean, inverse)
        note_results(ctx, (y, mean, inverse))
        return y, mean, inverse

    @staticmethod
    @only_with_gradients
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        x, weight, mean, inverse = ctx.saved_tensors
        gradient = laid_as(gradients[0], x)
        if torch.is_grad_enabled():
            found = by_torch_backward(gradient, None, None, x, weight, mean, inverse, True, False)
        else:
            found = fused_backward(gradient, None, None, x, weight, mean, inverse, True, False)
        # nothing is added and `eps` is a number, so the fourth of both is None
        return tuple(g if wanted else None
                     for g, wanted in zip(found, ctx.needs_input_grad, strict=True))
