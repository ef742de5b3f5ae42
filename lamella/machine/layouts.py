"""Which layout pictures of 16 bits have in memory: with the channels last, where that is fast.

Convolutions and max pools of bfloat16 read such pictures as they are, where contiguous planes are
put into another order before and after. Kernels keep the layout of what they are given. So the
first convolution of a network, whose pictures have few channels, chooses for those after it.
"""

from __future__ import annotations

from typing import Any

import torch

from ..core.state import is_plain_run
from ..core.tape import note_results, only_with_gradients
from .casts import narrow, wide
from .halves import SLOW

__all__ = ["channels_last", "is_dense", "laid_as"]

LARGE = 2**14  # elements for which memory counts, and not what a call costs
FEW = 4  # channels whose order costs little to change
LAST = torch.channels_last


def is_last(raw: torch.Tensor) -> bool:
    """Whether the channels of (N, C, H, W) lie last in memory."""
    return raw.dim() == 4 and not raw.is_contiguous() and raw.is_contiguous(memory_format=LAST)


def is_dense(raw: torch.Tensor) -> bool:
    """Whether a tensor is contiguous, or pictures have their channels last."""
    return raw.is_contiguous() or is_last(raw)


def laid_as(raw: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """A tensor in the layout of another one, which is dense."""
    if is_last(like):
        return raw.contiguous(memory_format=LAST)
    return raw.contiguous()


def channels_last(x: Any, weight: Any) -> tuple[Any, Any]:
    """What a convolution under autocast is computed of, with the channels last where that pays.

    Gradients by contiguous tensors stay contiguous.
    """
    if not (type(x) is type(weight) is torch.Tensor and x.dim() == weight.dim() == 4
            and x.is_cpu and weight.is_cpu and x.numel() >= LARGE and _lowers_to_bfloat16()
            and weight.dtype is torch.float32 and weight.is_contiguous() and is_plain_run()):
        return x, weight
    if x.dtype is torch.float32 and x.shape[1] <= FEW and x.is_contiguous():
        return _Narrow.apply(x), _Narrow.apply(weight)
    if is_last(x):
        return x, _Narrow.apply(weight)
    return x, weight


def _lowers_to_bfloat16() -> bool:
    return torch.is_autocast_enabled("cpu") and (
        torch.get_autocast_dtype("cpu") is torch.bfloat16 not in SLOW)


class _Narrow(torch.autograd.Function):
    """A contiguous tensor of float32 in bfloat16, with the channels last; its gradient is as it.

    Changing the type and the order at once takes longer than one after the other.
    """

    @staticmethod
    def forward(ctx: Any, raw: torch.Tensor) -> torch.Tensor:
        low = narrow(raw).contiguous(memory_format=LAST)
        note_results(ctx, (low,))
        return low

    @staticmethod
    @only_with_gradients
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return wide(gradient.contiguous())
