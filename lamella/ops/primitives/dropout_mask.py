"""Dropout in two steps: a mask with a bit for each element, then the masked values."""

from __future__ import annotations

from typing import Any

import torch

from ...core import context
from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from .attributed import Attributed
from .random import own_stream

__all__ = ["DropoutDoMask", "DropoutGenMask"]

_BLOCK = 128  # elements; masks are as long as whole blocks of them


def _bits(device: torch.device) -> torch.Tensor:
    return 1 << torch.arange(8, device=device)


def _number(keep_prob: Any) -> float:
    found = float(keep_prob)
    if not 0 <= found <= 1:
        raise ValueError(f"'keep_prob' must be in [0, 1], but got {found}.")
    return found


class DropoutGenMask(Attributed):
    """A random mask for `DropoutDoMask`; each call gives another.

    Args:
        Seed0, Seed1: seeds of the random numbers.

    Inputs:
        - **shape** - of the Tensor whose elements are to be kept or not.
        - **keep_prob** - the share of elements that are kept, a Tensor or a number.

    Outputs:
        Tensor of uint8, a bit for each element.

    Raises:
        ValueError: if `keep_prob` is not in [0, 1].

    Examples:
        >>> import lamella as ms
        >>> mask = ms.ops.DropoutGenMask(1, 2)((4, 100), ms.Tensor(0.5))
        >>> mask.shape, mask.dtype
        ((64,), mindspore.uint8)
    """

    def __init__(self, Seed0: int = 0, Seed1: int = 0):  # noqa: N803  (MindSpore's names)
        super().__init__(Seed0=Seed0, Seed1=Seed1)

    def __call__(self, shape: Any, keep_prob: Any) -> Tensor:
        share = _number(keep_prob)
        count = -(-torch.Size(shape).numel() // _BLOCK) * _BLOCK
        device = context.current_device()
        kept = torch.rand(count, generator=own_stream(self, self.Seed0, self.Seed1),
                          device=device) < share
        return wrap((kept.reshape(-1, 8) * _bits(device)).sum(1).to(torch.uint8))


class DropoutDoMask(Attributed):
    """The elements that a mask of `DropoutGenMask` keeps, divided by their share; the rest 0.

    Inputs:
        - **input_x** - Tensor.
        - **mask** - what `DropoutGenMask` gave for its shape.
        - **keep_prob** - as there.

    Raises:
        ValueError: if the mask is too short, or `keep_prob` is not in [0, 1].

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((2, 3))
        >>> mask = ms.ops.DropoutGenMask()(x.shape, ms.Tensor(1.0))
        >>> print(ms.ops.DropoutDoMask()(x, mask, ms.Tensor(1.0)))
        [[1. 1. 1.]
         [1. 1. 1.]]
    """

    def __init__(self):
        super().__init__()

    def __call__(self, input_x: Tensor, mask: Tensor, keep_prob: Any) -> Tensor:
        return _masked(input_x, mask, keep_prob)


@op
def _masked(input_x: Tensor, mask: Tensor, keep_prob: Any) -> Tensor:
    raw, bits = input_x._raw, mask._raw
    if bits.numel() * 8 < raw.numel():
        raise ValueError(f"For 'DropoutDoMask', 'mask' must have a bit for each of the "
                         f"{raw.numel()} elements, but got shape {mask.shape}.")
    kept = bits.reshape(-1, 1).int().bitwise_and(_bits(bits.device)) != 0
    kept = kept.reshape(-1)[:raw.numel()].reshape(raw.shape)
    share = _number(keep_prob)
    return wrap(torch.where(kept, raw / share if share else raw, 0))
