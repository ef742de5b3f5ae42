"""Convolutions with 3 x 3 windows by Winograd's algorithm (`winograd.cpp`), and as PyTorch's.

Images are (N, C, H, W), weights (K, C, 3, 3), with multiples of `MULTIPLE` channels in float32 or
bfloat16; windows move by one, and the padding is `above` and below, `left` and right. Results have
their channels last in memory.
"""

from __future__ import annotations

import pathlib

import torch

from .extension import Extension

extension = Extension("lamella_winograd", pathlib.Path(__file__).with_name("winograd.cpp"),
                      for_this_processor=True)
aten = torch.ops.aten
MULTIPLE = 32
LAST = torch.channels_last


def by_torch(x: torch.Tensor, weight: torch.Tensor, above: int, left: int, backward: bool
             ) -> torch.Tensor:
    """The convolution; or, if `backward`, of a gradient by its result the gradient by its input."""
    how = (None, (1, 1), (above, left), (1, 1), backward, (0, 0), 1)
    return aten.convolution.default(x, weight, *how).contiguous(memory_format=LAST)


def by_torch_weights(gradient: torch.Tensor, x: torch.Tensor, above: int, left: int
                     ) -> torch.Tensor:
    """The gradient by the weights."""
    weight = x.new_empty(gradient.shape[1], x.shape[1], 3, 3)
    found = aten.convolution_backward.default(
        gradient, x, weight, None, (1, 1), (above, left), (1, 1), False, (0, 0), 1,
        (False, True, False))[1]
    return found.contiguous(memory_format=LAST)


def by_tiles(x: torch.Tensor, weight: torch.Tensor, above: int, left: int, backward: bool
             ) -> torch.Tensor:
    """As `by_torch`. The extension must be there."""
    return torch.ops.lamella.winograd.default(x, weight, above, left, backward)


def by_tiles_weights(gradient: torch.Tensor, x: torch.Tensor, above: int, left: int
                     ) -> torch.Tensor:
    """As `by_torch_weights`. The extension must be there."""
    return torch.ops.lamella.winograd_weights.default(gradient, x, above, left)
