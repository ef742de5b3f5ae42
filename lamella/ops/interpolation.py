"""Resizing: interpolation of signals, images and volumes, and rearrangements of pixels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from ..core.dtype import is_inexact
from ..core.errors import op
from ..core.require import one_of
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .windows import each

__all__ = ["interpolate", "upsample", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle",
           "unfold", "fold", "col2im"]

_RANKS = {"nearest": (3, 4, 5), "linear": (3,), "bilinear": (4,), "bicubic": (4,),
          "trilinear": (5,), "area": (3, 4, 5), "nearest-exact": (3, 4)}
_ALIGNED = ("linear", "bilinear", "bicubic", "trilinear")


@op
def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None,
                recompute_scale_factor: bool | None = None) -> Tensor:
    """Resize signals (N, C, L), images (N, C, H, W) or volumes (N, C, D, H, W).

    Args:
        input: floating.
        size: the new spatial lengths, an int or one a dimension; or else
        scale_factor: what to multiply them by, a number or one a dimension.
        mode: ``'nearest'``, ``'nearest-exact'``, ``'area'``, or by rank ``'linear'``,
            ``'bilinear'``, ``'bicubic'``, ``'trilinear'``.
        align_corners: let the corner elements' centres coincide (the last four modes).
        recompute_scale_factor: use the rounded new lengths' own factors.

    Returns:
        Tensor of the type of `input`.

    Raises:
        ValueError: if not exactly one of `size` and `scale_factor` is given, or `mode` is unknown
            or does not go with the rank or the other arguments.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[1.0, 2.0, 3.0]]])
        >>> print(ms.ops.interpolate(x, size=5, mode='linear', align_corners=True))
        [[[1.  1.5 2.  2.5 3. ]]]
        >>> print(ms.ops.interpolate(x, size=6))
        [[[1. 1. 2. 2. 3. 3.]]]
    """
    raw = input._raw
    spatial = raw.dim() - 2
    one_of(mode, _RANKS, "mode", "interpolate")
    if raw.dim() not in _RANKS[mode]:
        raise ValueError(f"For 'interpolate', mode {mode!r} takes inputs of rank {_RANKS[mode]}, "
                         f"but got shape {input.shape}.")
    if (size is None) == (scale_factor is None):
        raise ValueError(f"For 'interpolate', exactly one of 'size' and 'scale_factor' must be "
                         f"given, but got {size} and {scale_factor}.")
    if align_corners is not None and mode not in _ALIGNED:
        raise ValueError(f"For 'interpolate', 'align_corners' goes with the modes {_ALIGNED}, "
                         f"but got mode {mode!r}.")
    if size is not None:
        return _to_lengths(input, list(each("interpolate", "size", size, spatial)), mode,
                           align_corners)
    factors = [scale_factor] * spatial if isinstance(scale_factor, (int, float)) else scale_factor
    if len(factors) != spatial or any(f <= 0 for f in factors):
        raise ValueError(f"For 'interpolate', 'scale_factor' must be a positive number or "
                         f"{spatial} of them, but got {scale_factor}.")
    if recompute_scale_factor or mode == "area":
        lengths = [math.floor(n * f) for n, f in zip(raw.shape[2:], factors, strict=True)]
        return _to_lengths(input, lengths, mode, align_corners)
    if not (raw.dim() == 5 and mode in ("nearest", "trilinear")):
        raise ValueError(f"For 'interpolate', 'scale_factor' needs 'recompute_scale_factor=True' "
                         f"in mode {mode!r} for an input of rank {raw.dim()}.")
    return wrap(F.interpolate(raw, None, [float(f) for f in factors], mode, align_corners))


def _to_lengths(input: Tensor, lengths: list[int], mode: str,
                align_corners: bool | None) -> Tensor:
    if mode == "bicubic" and not align_corners:
        # MindSpore's cubic weights are not PyTorch's: see `_taps` and `_resized_along`
        return resized("interpolate", input, lengths, mode, False, True)
    return wrap(F.interpolate(input._raw, lengths, None, mode, align_corners))


@op
def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None,
             recompute_scale_factor: bool | None = None) -> Tensor:
    """Another name of `interpolate`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.upsample(ms.Tensor([[[1.0, 2.0]]]), size=4))
        [[[1. 1. 2. 2.]]]
    """
    return interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)



def resized(name: str, input: Tensor, size: Any, mode: str, align_corners: bool,
            half_pixel_centers: bool) -> Tensor:
    """Images resized with any of the three conventions on where a pixel of the output lies."""
    if align_corners and half_pixel_centers:
        raise ValueError(f"For '{name}', 'align_corners' and 'half_pixel_centers' can't both be "
                         f"True.")
    raw = input._raw
    if raw.dim() != 4:
        raise ValueError(f"For '{name}', the input must have rank 4, but got shape {input.shape}.")
    lengths = each(name, "size", tuple(size.tolist()) if isinstance(size, Tensor) else size, 2)
    if mode in ("bilinear", "bicubic") and not raw.is_floating_point():
        raw = raw.float()
    if mode == "bilinear" and (align_corners or half_pixel_centers):
        return wrap(F.interpolate(raw, lengths, None, mode, align_corners))
    if mode == "nearest" and not align_corners and not half_pixel_centers \
            and (raw.is_floating_point() or raw.dtype == torch.uint8):  # the kernel's types
        return wrap(F.interpolate(raw, lengths, None, mode))
    for axis, length in zip((2, 3), lengths, strict=True):
        raw = _resized_along(raw, axis, length, mode, align_corners, half_pixel_centers)
    return wrap(raw)


def _resized_along(raw: torch.Tensor, axis: int, length: int, mode: str, align_corners: bool,
                   half_pixel_centers: bool) -> torch.Tensor:
    n = raw.shape[axis]
    steps = torch.arange(length, dtype=torch.float32, device=raw.device)
    if align_corners and length > 1:
        positions = steps * ((n - 1) / (length - 1))
    elif half_pixel_centers:
        positions = (steps + 0.5) * (n / length) - 0.5
    else:
        positions = steps * (n / length)
    if mode == "nearest":
        # half-pixel centres round down after the shift back, corners round half up
        rounded = torch.floor(positions + 0.5) if align_corners or half_pixel_centers \
            else torch.floor(positions)
        return raw.index_select(axis, rounded.long().clamp(0, n - 1))
    low = torch.floor(positions)
    share = (positions - low).to(raw.dtype)
    view = [1] * raw.dim()
    view[axis] = length
    out = total = torch.zeros((), dtype=raw.dtype, device=raw.device)
    for offset, weight in _taps(mode, share, half_pixel_centers):
        at = low.long() + offset
        if mode == "bicubic" and half_pixel_centers:  # pixels outside of the image have no weight
            weight = torch.where((at >= 0) & (at < n), weight, 0.0)
            total = total + weight.view(view)
        out = out + raw.index_select(axis, at.clamp(0, n - 1)) * weight.view(view)
    return out / total if total.dim() else out


def _taps(mode: str, t: torch.Tensor,
          half_pixel_centers: bool) -> list[tuple[int, torch.Tensor]]:
    """Offsets and weights of linear or cubic interpolation at the share `t` (Keys, 1981)."""
    if mode == "bilinear":
        return [(0, 1 - t), (1, t)]
    a = -0.5 if half_pixel_centers else -0.75
    t = torch.round(t * 1024) / 1024  # MindSpore looks the weights up in a table

    def near(x: torch.Tensor) -> torch.Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: torch.Tensor) -> torch.Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [(-1, far(t + 1)), (0, near(t)), (1, near(1 - t)), (2, far(2 - t))]


@op
def resize_linear_1d(x: Tensor, length: int, mode: str) -> Tensor:
    """Signals (N, C, W) resized by linear interpolation, by their ends or by half pixels."""
    return wrap(F.interpolate(x._raw, length, None, "linear", mode == "align_corners"))


@op
def resize_area(images: Tensor, size: tuple[int, int], align_corners: bool = False) -> Tensor:
    """Images (N, H, W, C) as the means over even cells of them, in float32."""
    raw = images._raw.float()
    down, across = (_area_weights(n, length, align_corners, raw)
                    for n, length in zip(raw.shape[1:3], size, strict=True))
    return wrap(torch.einsum("ph,nhwc,qw->npqc", down, raw, across))


def _area_weights(n: int, length: int, align_corners: bool, like: torch.Tensor) -> torch.Tensor:
    """How much each of `n` pixels counts in each of `length` cells' means, shape (length, n)."""
    step = (n - 1) / (length - 1) if align_corners and length > 1 else n / length
    start = (torch.arange(length, dtype=torch.float64, device=like.device) * step).unsqueeze(1)
    pixel = torch.arange(n, dtype=torch.float64, device=like.device)
    # the last pixel stands for all that lies behind the image, too
    end = torch.where(pixel == n - 1, math.inf, pixel + 1)
    shared = torch.minimum(start + step, end) - torch.maximum(start, pixel)
    return (shared.clamp_min(0) / step).to(like.dtype)


@op
def scale_and_translate(images: Tensor, size: tuple[int, int], scale: Tensor, translation: Tensor,
                        kernel_type: str = "lanczos3", antialias: bool = True) -> Tensor:
    """Images resized by `scale` and moved by `translation`, with a chosen filter.

    Args:
        images: shape (N, H, W, C).
        size: (height, width) of the result.
        scale, translation: for (y, x); the point p goes to ``p * scale + translation``.
        kernel_type: the filter, a name in `FILTERS`.
        antialias: whether to widen the filter where the image shrinks.

    Returns:
        Tensor of float32, shape (N, height, width, C); 0 at points from outside the image.
    """
    raw = images._raw.float()
    down, across = (_filter_weights(raw.shape[1 + i], size[i], scale._raw[i], translation._raw[i],
                                    kernel_type, antialias) for i in (0, 1))
    return wrap(torch.einsum("ph,nhwc,qw->npqc", down, raw, across))


def _filter_weights(n: int, length: int, scale: torch.Tensor, move: torch.Tensor, kernel: str,
                    antialias: bool) -> torch.Tensor:
    centres = torch.arange(length, dtype=scale.dtype, device=scale.device) + 0.5
    positions = (centres / scale - move / scale).unsqueeze(1)
    wide = (1 / scale).clamp_min(1) if antialias else 1.0
    pixels = torch.arange(n, dtype=scale.dtype, device=scale.device) + 0.5
    weights = FILTERS[kernel](((pixels - positions) / wide).abs())
    total = weights.sum(1, keepdim=True)
    counts = (positions >= 0) & (positions <= n) & (total.abs() > 1e-35)
    return torch.where(counts, weights / torch.where(counts, total, 1.0), 0.0)


def _lanczos(radius: int) -> Callable[[torch.Tensor], torch.Tensor]:
    def weight(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x <= radius, torch.sinc(x) * torch.sinc(x / radius), 0.0)
    return weight


def _cubic(b: float, c: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """The piecewise cubic filter with the parameters B and C of Mitchell and Netravali (1988)."""
    def weight(x: torch.Tensor) -> torch.Tensor:
        near = ((12 - 9 * b - 6 * c) * x + 12 * b + 6 * c - 18) * x * x + 6 - 2 * b
        far = (((-b - 6 * c) * x + 6 * b + 30 * c) * x - 12 * b - 48 * c) * x + 8 * b + 24 * c
        return torch.where(x < 1, near, torch.where(x < 2, far, 0.0)) / 6
    return weight


FILTERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "lanczos1": _lanczos(1),
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "gaussian": lambda x: torch.where(x < 1.5, (-2 * x * x).exp(), 0.0),
    "box": lambda x: torch.where(x < 0.5, 1.0, torch.where(x == 0.5, 0.5, 0.0)),
    "triangle": lambda x: (1 - x).clamp_min(0),
    "keyscubic": _cubic(0.0, 0.5),
    "mitchellcubic": _cubic(1 / 3, 1 / 3),
}


@op
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels turned into pixels: (..., C r², H, W) to (..., C, H r, W r) (Shi et al., 2016).

    Raises:
        ValueError: if r² does not divide the channels.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.pixel_shuffle(ms.ops.ones((3, 18, 4, 4)), 3).shape
        (3, 2, 12, 12)
    """
    raw = input._raw
    shuffled = F.pixel_shuffle(raw, upscale_factor)
    # PyTorch's gradient of an empty one has another shape
    return wrap(shuffled if raw.numel() else raw.reshape(shuffled.shape))


@op
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels turned into channels: (..., C, H r, W r) to (..., C r², H, W).

    Raises:
        ValueError: if r does not divide height and width.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.pixel_unshuffle(ms.ops.ones((3, 2, 12, 12)), 3).shape
        (3, 18, 4, 4)
    """
    return wrap(F.pixel_unshuffle(input._raw, downscale_factor))


@op
def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """Channels in groups dealt out in turn (Zhang et al., 2018, ShuffleNet).

    Raises:
        ValueError: if `groups` does not divide the channels.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[[0]], [[1]], [[2]], [[3]]]])
        >>> print(ms.ops.channel_shuffle(x, 2).tolist())
        [[[[0]], [[2]], [[1]], [[3]]]]
    """
    raw = x._raw
    n, c, *rest = raw.shape
    if groups < 1 or c % groups:
        raise ValueError(f"For 'channel_shuffle', 'groups' must divide the {c} channels, "
                         f"but got {groups}.")
    dealt = raw.view(n, groups, c // groups, *rest).transpose(1, 2)
    return wrap(dealt.clone(memory_format=torch.contiguous_format).view(raw.shape))


@op
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
           stride: Any = 1) -> Tensor:
    """The windows of images as columns (im2col).

    Args:
        input: shape (N, C, H, W).
        kernel_size, dilation, padding, stride: an int or (H, W).

    Returns:
        Tensor of shape (N, C kH kW, windows).

    Examples:
        >>> import lamella as ms
        >>> ms.ops.unfold(ms.ops.ones((4, 4, 32, 32)), kernel_size=3).shape
        (4, 36, 900)
    """
    raw = input._raw
    if not is_inexact(raw.dtype):
        return wrap(F.unfold(raw.double(), kernel_size, dilation, padding, stride).to(raw.dtype))
    return wrap(F.unfold(raw, kernel_size, dilation, padding, stride))


@op
def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
         stride: Any = 1) -> Tensor:
    """The sum of windows, put back to where `unfold` takes them (col2im).

    Args:
        input: shape (N, C kH kW, windows) or (N, C, kH kW, windows).
        output_size: (H, W), a tuple or Tensor.
        kernel_size, dilation, padding, stride: an int or (H, W).

    Returns:
        Tensor of shape (N, C, H, W).

    Raises:
        ValueError: if the number of windows doesn't fit.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fold(ms.ops.ones((1, 2, 2)), (1, 3), (1, 2)))
        [[[[1. 2. 1.]]]]
    """
    raw = input._raw
    size = output_size.tolist() if isinstance(output_size, Tensor) else output_size
    if raw.dim() == 4:
        raw = raw.flatten(1, 2)
    pads: Any = padding
    pads = pads if isinstance(pads, (tuple, list)) else (pads,)
    if any(isinstance(pad, int) and pad >= 2**31 for pad in pads):  # the kernel doesn't end
        raise ValueError(f"For 'fold', 'padding' must be below 2 ** 31, but got {padding}.")
    return wrap(F.fold(raw, size, kernel_size, dilation, padding, stride))


@op
def col2im(input_x: Tensor, output_size: Any, kernel_size: Any, dilation: Any, padding_value: Any,
           stride: Any) -> Tensor:
    """`fold` of a tensor of shape (N, C, kH kW, windows).

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((1, 1, 2, 2))
        >>> print(ms.ops.col2im(x, ms.Tensor([1, 3]), [1, 2], [1, 1], [0, 0], [1, 1]))
        [[[[1. 2. 1.]]]]
    """
    return fold(input_x, output_size, kernel_size, dilation, padding_value, stride)


tensor_methods(unfold=unfold, fold=fold, col2im=col2im)
