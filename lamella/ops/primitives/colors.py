"""Primitive classes of colours: the last dimension of images (or that of channels) has three."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import op
from ...core.primitive import primitive
from ...tensors.tensor import Tensor, wrap

__all__ = ["AdjustHue", "AdjustSaturation", "HSVToRGB", "RGBToHSV"]


def _three(name: str, raw: torch.Tensor) -> torch.Tensor:
    if raw.dim() == 0 or raw.shape[-1] != 3:
        raise ValueError(f"For '{name}', the last dimension must have 3 elements, but got shape "
                         f"{tuple(raw.shape)}.")
    if not raw.is_floating_point():
        raise TypeError(f"For '{name}', the input must be of a floating type, but got {raw.dtype}.")
    return raw


def _to_hsv(raw: torch.Tensor) -> torch.Tensor:
    red, green, blue = raw.unbind(-1)
    value = raw.amax(-1)
    span = value - raw.amin(-1)
    safe = torch.where(span == 0, 1, span)
    hue = torch.where(value == red, (green - blue) / safe, torch.where(
        value == green, (blue - red) / safe + 2, (red - green) / safe + 4)) / 6
    hue = torch.where(span == 0, 0, hue - hue.floor())
    saturation = torch.where(value > 0, span / torch.where(value > 0, value, 1), 0)
    return torch.stack((hue, saturation, value), -1)


def _to_rgb(raw: torch.Tensor) -> torch.Tensor:
    hue, saturation, value = raw.unbind(-1)
    positions = torch.tensor([5.0, 3.0, 1.0], dtype=raw.dtype, device=raw.device)
    turn = (positions + 6 * hue.unsqueeze(-1)) % 6
    away = torch.minimum(turn, 4 - turn).clamp(0, 1)
    return value.unsqueeze(-1) * (1 - saturation.unsqueeze(-1) * away)


@op
def rgb_to_hsv(images: Tensor) -> Tensor:
    """Hue, saturation and value, each in [0, 1], of red, green and blue."""
    return wrap(_to_hsv(_three("RGBToHSV", images._raw)))


@op
def hsv_to_rgb(x: Tensor) -> Tensor:
    """Red, green and blue of hue, saturation and value."""
    return wrap(_to_rgb(_three("HSVToRGB", x._raw)))


@op
def adjust_hue(image: Tensor, delta: Any) -> Tensor:
    """Colours whose hue is `delta` of a whole turn further."""
    raw = _three("AdjustHue", image._raw)
    hue, saturation, value = _to_hsv(raw).unbind(-1)
    further = hue + (delta._raw.to(raw.dtype) if isinstance(delta, Tensor) else delta)
    return wrap(_to_rgb(torch.stack((further - further.floor(), saturation, value), -1)))


@op
def adjust_saturation(image: Tensor, scale: Any) -> Tensor:
    """Colours whose saturation is multiplied by `scale`, at most 1."""
    raw = _three("AdjustSaturation", image._raw)
    hue, saturation, value = _to_hsv(raw).unbind(-1)
    factor = scale._raw.to(raw.dtype) if isinstance(scale, Tensor) else scale
    return wrap(_to_rgb(torch.stack((hue, (saturation * factor).clamp(0, 1), value), -1)))


AdjustHue = primitive("AdjustHue", adjust_hue)
AdjustSaturation = primitive("AdjustSaturation", adjust_saturation)
HSVToRGB = primitive("HSVToRGB", hsv_to_rgb)
RGBToHSV = primitive("RGBToHSV", rgb_to_hsv)
