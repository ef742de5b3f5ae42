"""Layer normalization with the sum and casts around it (`layer_norm.cpp`), and as PyTorch does it.

Forward: what is added to x, then it is normalized over its last `dims` dimensions in float32; the
results are in float32, in bfloat16 or in both. Backward: the gradient by x, plus another one (of
what x was passed on to), in either type; with the sums of its columns, the gradient by a bias
before.
"""

from __future__ import annotations

import pathlib

import torch

from .casts import narrow, wide
from .extension import Extension

extension = Extension("lamella_layer_norm", pathlib.Path(__file__).with_name("layer_norm.cpp"),
                      for_this_processor=True)
aten = torch.ops.aten
Some = torch.Tensor | None
Results = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def by_torch(x: torch.Tensor, added: Some, weight: Some, bias: Some, dims: int, eps: float,
             in_wide: bool, in_narrow: bool) -> Results:
    """The sum, the result in float32 and in bfloat16, means, and 1 / standard deviations.

    What isn't wanted has no elements.
    """
    total = wide(x)
    none = total.new_empty(0)
    if added is not None:
        total = total + wide(added)
    y, mean, inverse = aten.native_layer_norm.default(total, x.shape[-dims:], weight, bias, eps)
    rounded = narrow(y) if in_narrow else none.new_empty(0, dtype=torch.bfloat16)
    return none if added is None else total, y if in_wide else none, rounded, mean, inverse


def by_torch_backward(grad: torch.Tensor, x: torch.Tensor, mean: torch.Tensor,
                      inverse: torch.Tensor, weight: Some, other: Some, dims: int, in_wide: bool,
                      in_narrow: bool, in_sums: bool) -> Results:
    """The gradient by x in float32 and in bfloat16, by weight, by bias, and sums of the second."""
    form = x.shape[-dims:]
    # PyTorch's kernel gives the gradients by weight and bias only where there are these
    ones = torch.ones(form)
    total, of_weight, of_bias = aten.native_layer_norm_backward.default(
        wide(grad), wide(x), form, mean, inverse, ones if weight is None else weight, ones,
        [True, True, True])
    if other is not None:
        total = total + wide(other)
    none = total.new_empty(0)
    rounded = narrow(total) if in_narrow or in_sums else none.new_empty(0, dtype=torch.bfloat16)
    sums = none
    if in_sums:
        rows = rounded.view(-1, form.numel())
        sums = aten.sum.dim_IntList(rows, [0], False, dtype=torch.float32)
    return (total if in_wide else none, rounded if in_narrow else rounded.view(-1)[:0], of_weight,
            of_bias, sums)


def fused(x: torch.Tensor, added: Some, weight: Some, bias: Some, dims: int, eps: float,
          in_wide: bool, in_narrow: bool) -> Results:
    """As `by_torch`. The extension must be there."""
    return torch.ops.lamella.layer_norm.default(x, added, weight, bias, dims, eps, in_wide,
                                                in_narrow)


def fused_backward(grad: torch.Tensor, x: torch.Tensor, mean: torch.Tensor, inverse: torch.Tensor,
                   weight: Some, other: Some, dims: int, in_wide: bool, in_narrow: bool,
                   in_sums: bool) -> Results:
    """As `by_torch_backward`. The extension must be there."""
    return torch.ops.lamella.layer_norm_backward.default(grad, x, mean, inverse, weight, other,
                                                         dims, in_wide, in_narrow, in_sums)
