"""Primitive classes of windows: patches of volumes, grey dilation, deformed windows."""

from __future__ import annotations

from typing import Any

import torch

from ...core.require import one_of
from ...tensors.tensor import Tensor, wrap
from ..arguments import FLOATS, require, typed
from ..composite import prim_attr_register
from ..convolution import deformable_columns
from ..patches import dilation2d, extract_image_patches, extract_volume_patches
from ..primitive import Primitive
from ..windows import each

__all__ = ["DeformableOffsets", "Dilation2D", "ExtractImagePatches", "ExtractVolumePatches"]

_REAL = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, *FLOATS)


def _pad_mode(value: Any, where: str, name: str) -> str:
    mode = value.upper() if isinstance(value, str) else value
    return one_of(mode, ("VALID", "SAME"), name, where)


class ExtractImagePatches(Primitive):
    """The windows of images as channels.

    Args:
        ksizes, strides, rates: an int, two for (H, W), or four that begin with two ones.
        padding: ``'VALID'``, or ``'SAME'``, which pads with zeros.

    Inputs:
        input_x: shape (N, C, H, W).

    Outputs:
        Tensor of shape (N, kH kW C, H_out, W_out).

    Raises:
        ValueError: if an argument is out of range, or the window larger than the image.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.arange(4.0).reshape((1, 1, 2, 2))
        >>> print(ms.ops.ExtractImagePatches(2, 1, 1)(x).reshape((4,)))
        [0. 1. 2. 3.]
    """

    @prim_attr_register
    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "VALID"):
        for argument in ("ksizes", "strides", "rates"):
            self.add_prim_attr(argument, each(self.name, argument, getattr(self, argument), 2))
        self.add_prim_attr("padding", _pad_mode(padding, self.name, "padding"))

    def __call__(self, input_x: Tensor) -> Tensor:
        raw = typed(input_x, self.name, "input_x", _REAL, 4)
        reach = [(k - 1) * rate + 1 for k, rate in zip(self.ksizes, self.rates, strict=True)]
        require(self.padding == "SAME" or all(
            n >= k for n, k in zip(raw.shape[2:], reach, strict=True)), ValueError,
            f"For '{self.name}', the window {tuple(reach)} must fit into the image "
            f"{tuple(raw.shape[2:])} where 'padding' is 'VALID'.")
        return extract_image_patches(input_x, self.ksizes, self.strides, self.rates, self.padding)


class ExtractVolumePatches(Primitive):
    """The windows of volumes as channels.

    Args:
        kernel_size, strides: an int, three for (D, H, W), or five that begin with two ones.
        padding: ``'VALID'``, or ``'SAME'``, which pads with zeros.

    Inputs:
        input_x: shape (N, C, D, H, W).

    Outputs:
        Tensor of shape (N, kD kH kW C, D_out, H_out, W_out).

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.arange(8.0).reshape((1, 1, 2, 2, 2))
        >>> print(ms.ops.ExtractVolumePatches(2, 1, "VALID")(x).reshape((8,)))
        [0. 1. 2. 3. 4. 5. 6. 7.]
    """

    @prim_attr_register
    def __init__(self, kernel_size: Any, strides: Any, padding: str):
        for argument in ("kernel_size", "strides"):
            three = each(self.name, argument, getattr(self, argument), 3)
            self.add_prim_attr(argument, (1, 1, *three))
        self.add_prim_attr("padding", _pad_mode(padding, self.name, "padding"))

    def __call__(self, input_x: Tensor) -> Tensor:
        raw, kernel = typed(input_x, self.name, "input_x", _REAL, 5), self.kernel_size[2:]
        require(self.padding == "SAME" or all(
            n >= k for n, k in zip(raw.shape[2:], kernel, strict=True)), ValueError,
            f"For '{self.name}', 'kernel_size' {kernel} must fit into the volume "
            f"{tuple(raw.shape[2:])} where 'padding' is 'VALID'.")
        return extract_volume_patches(input_x, kernel, self.strides[2:], self.padding)


class Dilation2D(Primitive):
    """Grey dilation: the largest sum of pixel and filter over each window, channel by channel.

    Args:
        stride, dilation: an int, two for (H, W), or four that begin with two ones.
        pad_mode: ``'SAME'`` or ``'VALID'``; what lies outside never is the largest.
        data_format: ``'NCHW'``.

    Inputs:
        x: of real numbers, shape (N, C, H, W).
        filter: of the type of `x`, shape (C, kH, kW).

    Examples:
        >>> import lamella as ms
        >>> x, bump = ms.Tensor([[[[1.0, 5.0, 2.0]]]]), ms.Tensor([[[0.0, 3.0]]])
        >>> print(ms.ops.Dilation2D(1, 1, "VALID")(x, bump))
        [[[[8. 5.]]]]
    """

    @prim_attr_register
    def __init__(self, stride: Any, dilation: Any, pad_mode: str = "SAME",
                 data_format: str = "NCHW"):
        for argument in ("stride", "dilation"):
            two = each(self.name, argument, getattr(self, argument), 2)
            self.add_prim_attr(argument, (1, 1, *two))
        self.add_prim_attr("pad_mode", _pad_mode(pad_mode, self.name, "pad_mode"))
        one_of(data_format, ("NCHW",), "data_format", self.name)

    def __call__(self, x: Tensor, filter: Tensor) -> Tensor:
        raw = typed(x, self.name, "x", _REAL, 4)
        added = typed(filter, self.name, "filter", _REAL, 3)
        require(added.dtype is raw.dtype, TypeError,
                f"For '{self.name}', 'filter' must be of the type of 'x', {x.dtype}, "
                f"but got {filter.dtype}.")
        require(added.shape[0] == raw.shape[1], ValueError,
                f"For '{self.name}', 'filter' must have the shape (C, kH, kW) for 'x' "
                f"(N, C, H, W), but got {filter.shape} and {x.shape}.")
        return dilation2d(x, filter, self.stride[2:], self.dilation[2:], self.pad_mode)


class DeformableOffsets(Primitive):
    """What the taps of a deformable convolution read, as an image of windows side by side.

    Args:
        strides, dilations: (1, 1, H, W) entries.
        pads: (top, bottom, left, right).
        ksize: (kH, kW).
        data_format: ``'NCHW'``.
        deformable_groups: into how many parts the channels are split.
        modulated: must be True: the offsets hold weights.

    Inputs:
        x: shape (N, C, H, W).
        offsets: shape (N, 3 deformable_groups kH kW, H_out, W_out), see `ops.deformable_conv2d`.

    Outputs:
        Tensor of shape (N, C, H_out kH, W_out kW).

    Examples:
        >>> import lamella as ms
        >>> offsets = ms.ops.concat((ms.ops.zeros((1, 8, 1, 1)), ms.ops.ones((1, 4, 1, 1))), 1)
        >>> deform = ms.ops.DeformableOffsets((1, 1, 1, 1), (0, 0, 0, 0), (2, 2))
        >>> print(deform(ms.Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), offsets))
        [[[[1. 2.]
           [3. 4.]]]]
    """

    @prim_attr_register
    def __init__(self, strides: Any, pads: Any, ksize: Any, dilations: Any = (1, 1, 1, 1),
                 data_format: str = "NCHW", deformable_groups: int = 1, modulated: bool = True):
        require(modulated is True, ValueError,
                f"For '{self.name}', 'modulated' must be True, but got {modulated!r}.")
        one_of(data_format, ("NCHW",), "data_format", self.name)

    def __call__(self, x: Tensor, offsets: Tensor) -> Tensor:
        return wrap(windows_of(
            self.name, typed(x, self.name, "x", FLOATS, 4),
            typed(offsets, self.name, "offsets", FLOATS, 4), self.ksize, self.strides, self.pads,
            self.dilations, self.deformable_groups, fits=True))


def windows_of(name: str, x: torch.Tensor, offsets: torch.Tensor, ksize: Any, strides: Any,
               pads: Any, dilations: Any, groups: int, fits: bool) -> torch.Tensor:
    """What `DeformableOffsets` gives, see `convolution.deformable_columns`."""
    columns = deformable_columns(x, offsets, ksize, strides, pads, dilations, groups, True, fits)
    n, channels, _, high, wide = columns.shape
    tall, broad = each(name, "ksize", ksize, 2)
    # (N, C, kH, kW, H_out, W_out) to (N, C, H_out, kH, W_out, kW)
    laid = columns.reshape(n, channels, tall, broad, high, wide).permute(0, 1, 4, 2, 5, 3)
    return laid.reshape(n, channels, high * tall, wide * broad)
