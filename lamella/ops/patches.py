"""Windows of images and volumes: laid out as channels, or reduced with a filter that is added."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .windows import same_padding

__all__: list[str] = []


def _windows(raw: torch.Tensor, kernel: tuple[int, ...], stride: tuple[int, ...],
             dilation: tuple[int, ...], pad_mode: str, fill: float) -> torch.Tensor:
    """All windows over the last dimensions: shape (N, C, positions..., kernel...)."""
    rank = len(kernel)
    if pad_mode == "SAME":
        pairs = same_padding(raw.shape[2:], kernel, stride, dilation)
        raw = F.pad(raw, [n for pair in reversed(pairs) for n in pair], value=fill)
    for axis in range(rank):
        reach = dilation[axis] * (kernel[axis] - 1) + 1
        raw = raw.unfold(2 + axis, reach, stride[axis])[..., ::dilation[axis]]
    return raw


@op
def extract_image_patches(input: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...],
                          rate: tuple[int, ...], pad_mode: str) -> Tensor:
    """The windows of images as channels.

    Args:
        input: shape (N, C, H, W).
        kernel, stride, rate: for (H, W).
        pad_mode: ``'VALID'`` or ``'SAME'``, which pads with zeros.

    Returns:
        Tensor of shape (N, kH kW C, H_out, W_out), the channel last.
    """
    found = _windows(input._raw, kernel, stride, rate, pad_mode, 0)
    return wrap(found.permute(0, 4, 5, 1, 2, 3).flatten(1, 3))


@op
def extract_volume_patches(input: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...],
                           pad_mode: str) -> Tensor:
    """The windows of volumes as channels.

    Args:
        input: shape (N, C, D, H, W).
        kernel, stride: for (D, H, W).
        pad_mode: ``'VALID'`` or ``'SAME'``, which pads with zeros.

    Returns:
        Tensor of shape (N, kD kH kW C, D_out, H_out, W_out), the channel last.
    """
    found = _windows(input._raw, kernel, stride, (1, 1, 1), pad_mode, 0)
    return wrap(found.permute(0, 5, 6, 7, 1, 2, 3, 4).flatten(1, 4))


@op
def dilation2d(x: Tensor, filter: Tensor, stride: tuple[int, ...], dilation: tuple[int, ...],
               pad_mode: str) -> Tensor:
    """The largest sum of pixel and filter over each window, channel by channel.

    Args:
        x: shape (N, C, H, W).
        filter: shape (C, kH, kW).
        stride, dilation: for (H, W).
        pad_mode: ``'VALID'`` or ``'SAME'``; what lies outside never is the largest.
    """
    raw, added = x._raw, filter._raw
    whole = not raw.is_floating_point()
    lowest = torch.iinfo(raw.dtype).min if whole else -torch.inf
    kernel = (added.shape[1], added.shape[2])
    found = _windows(raw, kernel, stride, dilation, pad_mode, lowest)
    if whole and pad_mode == "SAME":  # the lowest number plus the filter would wrap around
        outside = _windows(torch.ones_like(raw, dtype=torch.float32), kernel, stride, dilation,
                           pad_mode, 0) == 0
        return wrap((found + added[:, None, None]).masked_fill(outside, lowest).amax((-2, -1)))
    return wrap((found + added[:, None, None]).amax((-2, -1)))
