"""Convolutions, transposed convolutions, and the dense layer's products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from ..core.errors import op
from ..machine import convolutions, products
from ..tensors.tensor import Tensor, wrap
from .windows import (
    each,
    given_padding,
    number_is_open,
    pad_mode_of,
    symmetric,
    taken_apart,
    window_padding,
)

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose2d", "conv3d_transpose",
           "deformable_conv2d", "dense", "bidense", "bias_add"]

_KERNELS = {1: convolutions.conv1d, 2: convolutions.conv2d, 3: convolutions.conv3d}
_TRANSPOSED = {1: convolutions.conv_transpose1d, 2: convolutions.conv_transpose2d,
               3: convolutions.conv_transpose3d}


def convolve(name: str, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any,
             pad_mode: str, padding: Any, dilation: Any, groups: int) -> Tensor:
    """A convolution in as many dimensions as `weight` has beyond two."""
    raw, kernels = input._raw, weight._raw
    rank = kernels.dim() - 2
    stride, dilation = each(name, "stride", stride, rank), each(name, "dilation", dilation, rank)
    if raw.shape[1] % groups or kernels.shape[0] % groups:
        raise ValueError(f"For '{name}', the numbers of input and output channels must be "
                         f"multiples of 'groups', but got {raw.shape[1]}, {kernels.shape[0]} and "
                         f"{groups}.")
    pairs = window_padding(name, pad_mode, padding, raw.shape[2:], kernels.shape[2:], stride,
                           dilation)
    if number_is_open():
        return wrap(_by_products(raw, kernels, bias, stride, pairs, dilation, groups))
    raw, pads = symmetric(raw, pairs)
    return wrap(_KERNELS[rank](raw, kernels, None if bias is None else bias._raw, stride, pads,
                               dilation, groups))


def _by_products(raw: torch.Tensor, kernels: torch.Tensor, bias: Tensor | None, stride: Any,
                 pairs: Any, dilation: Any, groups: int) -> torch.Tensor:
    """A convolution as products of its kernels with the windows."""
    windows = torch.stack(taken_apart(raw, kernels.shape[2:], stride, pairs, dilation), 2)
    count, channels, *_ = raw.shape
    lengths, outs = windows.shape[3:], kernels.shape[0]
    columns = windows.reshape(count, groups, channels // groups * windows.shape[2], -1)
    found = kernels.reshape(groups, outs // groups, -1) @ columns
    found = found.reshape(count, outs, *lengths)
    return found if bias is None else found + bias._raw.reshape(-1, *[1] * len(lengths))


def _transposed_by_products(raw: torch.Tensor, kernels: torch.Tensor, bias: Tensor | None,
                            stride: Any, before: Sequence[int], extra: Sequence[int],
                            dilation: Any, groups: int) -> torch.Tensor:
    """A convolution's transpose as a convolution of its input with zeros between the elements.

    Args:
        extra: how much longer the output is than without.
    """
    for axis, s in enumerate(stride, 2):
        if s > 1:
            places = torch.arange((raw.shape[axis] - 1) * s + 1, device=raw.device)
            raw = raw[(slice(None),) * axis + (places // s,)]
            shape = [-1 if i == axis else 1 for i in range(raw.dim())]
            raw = torch.where((places % s == 0).reshape(shape), raw, 0.0)
    for axis in range(2, kernels.dim()):  # by indices, as in `taken_apart`
        places = torch.arange(kernels.shape[axis] - 1, -1, -1, device=raw.device)
        kernels = kernels[(slice(None),) * axis + (places,)]
    ins, outs, *sizes = kernels.shape
    turned = kernels.reshape(groups, ins // groups, outs, *sizes).transpose(1, 2)
    pairs = [(d * (k - 1) - p, d * (k - 1) - p + e)
             for d, k, p, e in zip(dilation, sizes, before, extra, strict=True)]
    return _by_products(raw, turned.reshape(groups * outs, ins // groups, *sizes), bias,
                        (1,) * len(sizes), pairs, dilation, groups)


def _check_rank(name: str, input: Tensor, weight: Tensor, rank: int) -> None:
    for what, value in (("input", input), ("weight", weight)):
        if value._raw.dim() != rank + 2:
            raise ValueError(f"For '{name}', '{what}' must be a {rank + 2}D Tensor, but got shape "
                             f"{value.shape}.")


@op
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
           pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1,
           groups: int = 1) -> Tensor:
    """Convolution over sequences; the arguments are those of `conv2d`, with one dimension.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[1.0, 2.0, 3.0, 4.0]]])
        >>> print(ms.ops.conv1d(x, ms.Tensor([[[1.0, -1.0]]])))
        [[[-1. -1. -1.]]]
    """
    _check_rank("conv1d", input, weight, 1)
    return convolve("conv1d", input, weight, bias, stride, pad_mode, padding, dilation, groups)


@op
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
           pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1,
           groups: int = 1) -> Tensor:
    """Convolution over images (cross-correlation, as everywhere in deep learning).

    Args:
        input: shape (N, C_in, H, W).
        weight: shape (C_out, C_in / groups, kH, kW).
        bias: shape (C_out,), or None.
        stride, dilation: an int or one a dimension.
        pad_mode: ``'valid'`` pads nothing; ``'same'`` pads zeros so that the output is
            ceil(length / stride) long, with the odd one at the end; ``'pad'`` pads `padding`.
        padding: with ``'pad'``: an int, (H, W), or (top, bottom, left, right).
        groups: into how many parts the channels are split.

    Returns:
        Tensor of shape (N, C_out, H_out, W_out).

    Raises:
        ValueError: if a padding is given in another mode, `pad_mode` is unknown, or shapes
            don't fit.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.ops.ones((10, 32, 32, 32)), ms.ops.ones((32, 32, 3, 3))
        >>> ms.ops.conv2d(x, w).shape, ms.ops.conv2d(x, w, stride=2, pad_mode='same').shape
        ((10, 32, 30, 30), (10, 32, 16, 16))
    """
    _check_rank("conv2d", input, weight, 2)
    return convolve("conv2d", input, weight, bias, stride, pad_mode, padding, dilation, groups)


@op
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
           pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1,
           groups: int = 1) -> Tensor:
    """Convolution over volumes; the arguments are those of `conv2d`, with three dimensions.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.ops.ones((1, 3, 8, 8, 8)), ms.ops.ones((4, 3, 3, 3, 3))
        >>> ms.ops.conv3d(x, w, pad_mode='same').shape
        (1, 4, 8, 8, 8)
    """
    _check_rank("conv3d", input, weight, 3)
    return convolve("conv3d", input, weight, bias, stride, pad_mode, padding, dilation, groups)


def transposed_length(pad_mode: str, length: int, kernel: int, stride: int, dilation: int,
                      padding: int) -> int:
    """How long MindSpore makes the output of a transposed convolution in one dimension."""
    reach = dilation * (kernel - 1) + 1
    if pad_mode == "same":
        return length * stride
    if pad_mode == "valid":
        return length * stride + max(reach - stride, 0)
    return length * stride - padding + reach - stride


def convolve_transposed(name: str, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any,
                        pad_mode: str, padding: Any, dilation: Any, groups: int,
                        lengths: Any = None) -> Tensor:
    """A convolution's transpose with MindSpore's pad modes, in as many dimensions as `weight` says.

    It is the gradient, with respect to its input, of the convolution with these attributes.

    Args:
        weight: shape (C_in, C_out / groups, ...).
        lengths: of the output's spatial dimensions; default: what the pad mode makes them.
    """
    raw, kernels = input._raw, weight._raw
    rank = kernels.dim() - 2
    stride, dilation = each(name, "stride", stride, rank), each(name, "dilation", dilation, rank)
    mode = pad_mode_of(name, pad_mode, padding)
    sizes = kernels.shape[2:]
    pairs = given_padding(name, padding, rank)
    if lengths is None:
        lengths = [transposed_length(mode, n, k, s, d, sum(p)) for n, k, s, d, p in
                   zip(raw.shape[2:], sizes, stride, dilation, pairs, strict=True)]
    if mode == "same":
        pairs = window_padding(name, mode, 0, lengths, sizes, stride, dilation)
    elif mode == "valid":
        pairs = [(0, 0)] * rank
    # PyTorch's kernels cut as much off both ends, and have less than `most` of output padding; more
    # is wanted where the padding behind is the smaller one
    most = [max(s, d) - 1 for s, d in zip(stride, dilation, strict=True)]
    whole = [(n - 1) * s + d * (k - 1) + 1 for n, k, s, d in
             zip(raw.shape[2:], sizes, stride, dilation, strict=True)]
    ends = [(p, w - p - want) for (p, _), w, want in zip(pairs, whole, lengths, strict=True)]
    cut = [max(min(before, behind + m), 0) for (before, behind), m in zip(ends, most, strict=True)]
    # what is missing at the end is computed as output padding, what is too much is cut off
    rest = [c - behind for c, (_, behind) in zip(cut, ends, strict=True)]
    extra = [min(max(r, 0), m) for r, m in zip(rest, most, strict=True)]
    if number_is_open():
        out = _transposed_by_products(raw, kernels, bias, stride, cut, extra, dilation, groups)
    else:
        out = _TRANSPOSED[rank](raw, kernels, None if bias is None else bias._raw, stride, cut,
                                extra, groups, dilation)
    more = [(c - before, r - e) for c, (before, _), r, e in
            zip(cut, ends, rest, extra, strict=True)]
    if any(map(any, more)):
        out = F.pad(out, [n for pair in reversed(more) for n in pair])
    return wrap(out)


def conv_transpose(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, pad_mode: str,
                   padding: Any, output_padding: Any, dilation: Any, groups: int) -> Tensor:
    """`convolve_transposed` with the output padding of MindSpore's layers.

    In three dimensions the longer end is computed; in fewer it is zeros, without the bias.
    """
    name, rank = "conv_transpose", weight._raw.dim() - 2
    extra = each(name, "output_padding", output_padding, rank, 0)
    if not any(extra):
        return convolve_transposed(name, input, weight, bias, stride, pad_mode, padding, dilation,
                                   groups)
    if pad_mode.lower() != "pad":
        raise ValueError(f"For '{name}', 'output_padding' must be 0 when 'pad_mode' is not 'pad', "
                         f"but got {output_padding} and pad_mode={pad_mode!r}.")
    steps, gaps = each(name, "stride", stride, rank), each(name, "dilation", dilation, rank)
    if rank < 3:
        out = convolve_transposed(name, input, weight, bias, steps, pad_mode, padding, gaps, groups)
        return wrap(F.pad(out._raw, [n for e in reversed(extra) for n in (0, e)]))
    pads = given_padding(name, padding, rank)
    lengths = [transposed_length("pad", n, k, s, d, sum(p)) + e for n, k, s, d, p, e in
               zip(input.shape[2:], weight.shape[2:], steps, gaps, pads, extra, strict=True)]
    return convolve_transposed(name, input, weight, bias, steps, pad_mode, padding, gaps, groups,
                               lengths)


@op
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
                     padding: Any = 0, output_padding: Any = 0, groups: int = 1,
                     dilation: Any = 1) -> Tensor:
    """The transpose of a 2D convolution (a "deconvolution").

    Args:
        input: shape (N, C_in, H, W) or (C_in, H, W).
        weight: shape (C_in, C_out / groups, kH, kW).
        bias: shape (C_out,), or None.
        stride, padding, output_padding, dilation: an int or one a dimension.
        groups: into how many parts the channels are split.

    Returns:
        Tensor; its height is (H - 1) stride - 2 padding + dilation (kH - 1) + output_padding + 1.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.ops.ones((1, 4, 5, 5)), ms.ops.ones((4, 8, 3, 3))
        >>> ms.ops.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1).shape
        (1, 8, 10, 10)
    """
    if number_is_open() and input._raw.dim() == weight._raw.dim() == 4:
        steps, gaps, pads, extra = (each("conv_transpose2d", what, value, 2, least) for (
            what, value, least) in (("stride", stride, 1), ("dilation", dilation, 1),
                                    ("padding", padding, 0), ("output_padding", output_padding, 0)))
        return wrap(_transposed_by_products(input._raw, weight._raw, bias, steps, pads, extra, gaps,
                                            groups))
    return wrap(convolutions.conv_transpose2d(
        input._raw, weight._raw, None if bias is None else bias._raw, stride, padding,
        output_padding, groups, dilation))


@op
def conv3d_transpose(inputs: Tensor, weight: Tensor, pad_mode: str = "valid", padding: Any = 0,
                     stride: Any = 1, dilation: Any = 1, group: int = 1,
                     output_padding: Any = 0) -> Tensor:
    """The transpose of a 3D convolution.

    Args:
        inputs: shape (N, C_in, D, H, W).
        weight: shape (C_in, C_out / group, kD, kH, kW).
        pad_mode, padding, stride, dilation, group: as `conv3d`.
        output_padding: how much longer the output is, with ``pad_mode='pad'``.

    Returns:
        Tensor of shape (N, C_out, D_out, H_out, W_out).

    Raises:
        ValueError: if an argument is not of rank 5.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.ops.ones((16, 10, 4, 4, 4)), ms.ops.ones((10, 3, 2, 2, 2))
        >>> ms.ops.conv3d_transpose(x, w).shape
        (16, 3, 5, 5, 5)
    """
    _check_rank("conv3d_transpose", inputs, weight, 3)
    return conv_transpose(inputs, weight, None, stride, pad_mode, padding, output_padding,
                          dilation, group)


@op
def dense(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input` times the transpose of `weight`, plus `bias`.

    Args:
        input: shape (..., C_in).
        weight: shape (C_out, C_in) or (C_in,).
        bias: shape (C_out,) or (), or None.

    Returns:
        Tensor of shape (..., C_out), or (...) for a `weight` of rank 1.

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.Tensor([[1.0, 2.0, 3.0]]), ms.Tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> print(ms.ops.dense(x, w, ms.Tensor([10.0, 20.0])))
        [[14. 22.]]
    """
    return wrap(products.linear(input._raw, weight._raw, None if bias is None else bias._raw))


@op
def bidense(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 W x2 + b for each output.

    Args:
        input1: shape (..., C1).
        input2: shape (..., C2), with the same leading dimensions.
        weight: shape (C_out, C1, C2).
        bias: shape (C_out,), or None.

    Returns:
        Tensor of shape (..., C_out).

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0, 4.0]])
        >>> print(ms.ops.bidense(x, y, ms.ops.ones((1, 2, 2)), ms.Tensor([0.5])))
        [[21.5]]
    """
    return wrap(products.bilinear(input1._raw, input2._raw, weight._raw,
                           None if bias is None else bias._raw))


@op
def bias_add(input_x: Tensor, bias: Tensor) -> Tensor:
    """Add one number a channel (dimension 1).

    Args:
        input_x: shape (N, C, ...).
        bias: shape (C,).

    Returns:
        Tensor of the shape of `input_x`.

    Raises:
        ValueError: if `bias` has not one entry a channel.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[0.0, 1.0], [2.0, 3.0]])
        >>> print(ms.ops.bias_add(x, ms.Tensor([10.0, 20.0])))
        [[10. 21.]
         [12. 23.]]
    """
    raw, offsets = input_x._raw, bias._raw
    if raw.dim() < 2 or offsets.dim() != 1 or offsets.shape[0] != raw.shape[1]:
        raise ValueError(f"For 'bias_add', 'bias' must have the shape (C,) for an input of shape "
                         f"(N, C, ...), but got {bias.shape} and {input_x.shape}.")
    return wrap(raw + offsets.view(-1, *(1,) * (raw.dim() - 2)))


@op
def deformable_conv2d(x: Tensor, weight: Tensor, offsets: Tensor, kernel_size: Any, strides: Any,
                      padding: Any, bias: Tensor | None = None, dilations: Any = (1, 1, 1, 1),
                      groups: int = 1, deformable_groups: int = 1,
                      modulated: bool = True) -> Tensor:
    """A convolution whose taps are moved by offsets (Zhu et al., 2018, Deformable ConvNets v2).

    Args:
        x: shape (N, C_in, H, W).
        weight: shape (C_out, C_in / groups, kH, kW).
        offsets: shape (N, 3 deformable_groups kH kW, H_out, W_out): for each tap the moves in x,
            then those in y, then the weights; 2 instead of 3 without `modulated`.
        kernel_size: (kH, kW).
        strides, dilations: (N, C, H, W) entries; the first two are 1.
        padding: (top, bottom, left, right).
        bias: shape (C_out,), or None.
        groups, deformable_groups: into how many parts the channels are split.
        modulated: whether `offsets` hold weights.

    Returns:
        Tensor of shape (N, C_out, H_out, W_out).

    Raises:
        ValueError: if shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x, w = ms.ops.ones((1, 1, 4, 4)), ms.ops.ones((1, 1, 3, 3))
        >>> offsets = ms.ops.zeros((1, 18, 2, 2))
        >>> args = ((3, 3), (1, 1, 1, 1), (0, 0, 0, 0))
        >>> print(ms.ops.deformable_conv2d(x, w, offsets, *args, modulated=False))
        [[[[9. 9.]
           [9. 9.]]]]
    """
    columns = deformable_columns(x._raw, offsets._raw, kernel_size, strides, padding, dilations,
                                 deformable_groups, modulated, fits=True)
    # (N, C, kH kW, H_out, W_out) times (C_out, C / groups, kH kW), a group at a time
    n, c, taps, height, width = columns.shape
    kernels = weight._raw
    split = columns.reshape(n, groups, c // groups * taps, height * width)
    flat = kernels.reshape(groups, kernels.shape[0] // groups, -1)
    out = (flat @ split).reshape(n, kernels.shape[0], height, width)
    return wrap(out if bias is None else out + bias._raw.view(-1, 1, 1))


def deformable_columns(raw: torch.Tensor, offsets: torch.Tensor, kernel_size: Any, strides: Any,
                       padding: Any, dilations: Any, deformable_groups: int,
                       modulated: bool, fits: bool) -> torch.Tensor:
    """What each tap of a deformable convolution reads: shape (N, C, kH kW, H_out, W_out).

    There are as many windows as offsets: all that the picture has, if it `fits`.
    """
    if raw.dtype is torch.float16:  # which is too coarse for places in a picture
        return deformable_columns(raw.float(), offsets.float(), kernel_size, strides, padding,
                                  dilations, deformable_groups, modulated, fits).half()
    name = "deformable_conv2d"
    kernel, step = each(name, "kernel_size", kernel_size, 2), each(name, "strides", strides, 2)
    gap, pads = each(name, "dilations", dilations, 2), given_padding(name, padding, 2)
    n, c, height, width = raw.shape
    groups, taps = deformable_groups, kernel[0] * kernel[1]
    out_h, out_w = offsets.shape[2:]
    if fits:
        out_h, out_w = ((length + sum(p) - d * (k - 1) - 1) // s + 1 for length, p, k, s, d in
                        zip((height, width), pads, kernel, step, gap, strict=True))
    parts = 3 if modulated else 2
    if offsets.shape != (n, parts * groups * taps, out_h, out_w):
        raise ValueError(f"For '{name}', 'offsets' must have the shape "
                         f"{(n, parts * groups * taps, out_h, out_w)}, "
                         f"but got {tuple(offsets.shape)}.")
    moves = offsets.reshape(n, parts, groups, taps, out_h, out_w)
    kind = {"dtype": raw.dtype, "device": raw.device}
    tap_y = (torch.arange(kernel[0], **kind) * gap[0]).repeat_interleave(kernel[1]).view(-1, 1, 1)
    tap_x = (torch.arange(kernel[1], **kind) * gap[1]).repeat(kernel[0]).view(-1, 1, 1)
    y = (torch.arange(out_h, **kind) * step[0] - pads[0][0]).view(1, -1, 1) + tap_y + moves[:, 1]
    x = (torch.arange(out_w, **kind) * step[1] - pads[1][0]).view(1, 1, -1) + tap_x + moves[:, 0]
    # grid_sample counts from -1 to 1 over the pixels' outer edges
    grid = torch.stack(((2 * x + 1) / width - 1, (2 * y + 1) / height - 1), -1)
    grid = grid.reshape(n * groups, taps * out_h, out_w, 2)
    sampled = F.grid_sample(raw.reshape(n * groups, c // groups, height, width), grid,
                            align_corners=False)
    sampled = sampled.reshape(n, groups, c // groups, taps, out_h, out_w)
    if modulated:
        sampled = sampled * moves[:, 2].unsqueeze(2)
    return sampled.reshape(n, c, taps, out_h, out_w)
