"""The Primitive class of convolutions channel by channel."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor, wrap
from .. import convolution
from ..arguments import require
from .attributed import Attributed

__all__ = ["DepthwiseConv2dNative"]


class DepthwiseConv2dNative(Attributed):
    """A convolution of each channel with its own filters.

    Args:
        channel_multiplier: how many filters each channel has.
        kernel_size: their size, an int or two.
        mode: 3.
        pad_mode, pad, stride, dilation: as `ops.Conv2D`.
        group: 1.

    Inputs:
        - **x** - Tensor (N, C, H, W).
        - **weight** - Tensor (channel_multiplier, C, kernel_size[0], kernel_size[1]).

    Outputs:
        Tensor (N, C * channel_multiplier, H_out, W_out), the results of a channel side by side.

    Raises:
        ValueError: if an argument is out of range, or shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.ops.ones((1, 2, 2, 2)), ms.Tensor([1.0, 2.0]).reshape((1, 2, 1, 1))
        >>> print(ms.ops.DepthwiseConv2dNative(1, 1)(x, w).sum((2, 3)))
        [[4. 8.]]
    """

    def __init__(self, channel_multiplier: int, kernel_size: Any, mode: int = 3,
                 pad_mode: str = "valid", pad: Any = 0, stride: Any = 1, dilation: Any = 1,
                 group: int = 1):
        super().__init__(channel_multiplier=channel_multiplier, kernel_size=kernel_size, mode=mode,
                         pad_mode=pad_mode, pad=pad, stride=stride, dilation=dilation, group=group)
        convolution.pad_mode_of(self.name, pad_mode, pad)
        for what in ("channel_multiplier", "kernel_size", "stride", "dilation"):
            rank = 1 if what == "channel_multiplier" else 2
            convolution.each(self.name, what, getattr(self, what), rank)
        require(group == 1 and mode == 3, ValueError,
                f"For '{self.name}', 'group' must be 1 and 'mode' 3, but got {group} and {mode}.")

    def __call__(self, x: Tensor, weight: Tensor) -> Tensor:
        sizes = convolution.each(self.name, "kernel_size", self.kernel_size, 2)
        require(x.ndim == 4 and weight.shape == (self.channel_multiplier, x.shape[1], *sizes),
                ValueError, f"For '{self.name}', 'x' must have the shape (N, C, H, W) and 'weight' "
                f"({self.channel_multiplier}, C, {sizes[0]}, {sizes[1]}), but got {x.shape} and "
                f"{weight.shape}.")
        filters = wrap(weight._raw.transpose(0, 1).flatten(0, 1).unsqueeze(1))
        return convolution.conv2d(x, filters, None, self.stride, self.pad_mode, self.pad,
                                  self.dilation, x.shape[1])
