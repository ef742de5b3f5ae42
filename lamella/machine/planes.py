"""Max pools of planes in the layout that is fastest on the CPU: with the channels last.

PyTorch's kernel for contiguous planes compares one number at a time. The one for tensors whose
channels come last compares a vector of channels, and takes a tenth of the time: less than half of
it with both conversions. It is the other way round for the gradient, which puts each number back
to where it came from, and on processors without AVX2, where both kernels compare one number at a
time. Results and indices are the same, NaN included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from ..core.state import is_plain_run
from ..core.tape import note_results, only_with_gradients

aten = torch.ops.aten

LARGE = 1 << 17  # elements; with fewer the conversions take as long as the kernel
MANY = 16  # channels; fewer don't fill a vector
VECTORS = torch.backends.cpu.get_cpu_capability().startswith("AVX")  # AVX2 or AVX512


def suits(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> bool:
    """Whether contiguous planes of this shape, (N, C, H, W), are pooled with the channels last."""
    return (VECTORS and len(shape) == 4 and shape[1] >= MANY and torch.Size(shape).numel() >= LARGE
            and dtype.is_floating_point and device.type == "cpu")


def max_pool2d(raw: torch.Tensor, kernel: Any, stride: Any = None, padding: Any = 0,
               dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """`torch.nn.functional.max_pool2d` by the faster kernel.

    A compiled function chooses its layouts itself, and sizes that may vary decide nothing.
    """
    if (type(raw) is not torch.Tensor or not suits(raw.shape, raw.dtype, raw.device)
            or not raw.is_contiguous() or not is_plain_run()):
        return F.max_pool2d(raw, kernel, stride, padding, dilation, ceil_mode, return_indices)
    sizes = [_pair(size) for size in (kernel, stride or kernel, padding, dilation)]
    found = _MaxPool.apply(raw, *sizes, ceil_mode)
    return found if return_indices else found[0]  # type: ignore[index]


def _pair(size: Any) -> list[int]:
    return [size, size] if isinstance(size, int) else list(size)


class _MaxPool(torch.autograd.Function):
    """A max pool with the channels last; its gradient is that of contiguous planes."""

    @staticmethod
    def forward(ctx: Any, raw: torch.Tensor, *options: Any) -> tuple[torch.Tensor, torch.Tensor]:
        last = raw.contiguous(memory_format=torch.channels_last)
        values, indices = aten.max_pool2d_with_indices(last, *options)
        values, indices = values.contiguous(), indices.contiguous()
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(raw, indices)
        ctx.options = options
        note_results(ctx, (values, indices))
        return values, indices

    @staticmethod
    @only_with_gradients
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        raw, indices = ctx.saved_tensors
        found = aten.max_pool2d_with_indices_backward(gradients[0], raw, *ctx.options, indices)
        return found, *(None for _ in ctx.options)
