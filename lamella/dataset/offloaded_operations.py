"""The operations that `offload=True` moves out of a pipeline, on a batch of images.

Each is a function of a raw tensor of the shape (batch, height, width, channels), and of the
operation, which has the arguments. Random numbers are NumPy's, drawn for each image of a batch in
MindSpore's order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..core.dtype import to_raw


def _images(raw: torch.Tensor, operation: Any) -> torch.Tensor:
    if raw.ndim != 4:
        raise ValueError(f"For {type(operation).__name__} offload operation, the dimension of "
                         f"input should be 4, but got {raw.ndim}. Images are offloaded in "
                         f"batches: call 'batch' after 'map'.")
    return raw


def _drawn(raw: torch.Tensor, low: float = 0.0, high: float = 1.0) -> torch.Tensor:
    """A number for each image, of a shape that goes with the images."""
    drawn = low + (high - low) * np.random.uniform(size=(len(raw), 1)).astype(np.float32)
    return torch.from_numpy(drawn.astype(np.float32)).to(raw.device)[..., None, None]


def _flipped(raw: torch.Tensor, operation: Any, dimension: int) -> torch.Tensor:
    images = _images(raw, operation).float()
    turned = _drawn(images) < float(np.float32(operation.prob))
    return torch.where(turned, images.flip(dimension), images)


def _horizontally(raw: torch.Tensor, operation: Any) -> torch.Tensor:
    return _flipped(raw, operation, 2)


def _vertically(raw: torch.Tensor, operation: Any) -> torch.Tensor:
    return _flipped(raw, operation, 1)


def _channels_first(raw: torch.Tensor, operation: Any) -> torch.Tensor:
    return _images(raw, operation).permute(0, 3, 1, 2).contiguous()


def _normalized(raw: torch.Tensor, operation: Any) -> torch.Tensor:
    shape = (-1,) if operation.is_hwc else (-1, 1, 1)
    mean, std = (torch.tensor(list(values), dtype=torch.float32, device=raw.device).reshape(shape)
                 for values in (operation.mean, operation.std))
    return (raw.float() - mean) / std


def _rescaled(raw: torch.Tensor, operation: Any) -> torch.Tensor:
    return raw.float() * operation.rescale + operation.shift


def _converted(raw: torch.Tensor, operation: Any) -> torch.Tensor:
    return raw.to(to_raw(operation.data_type))


def _sharpened(raw: torch.Tensor, operation: Any) -> torch.Tensor:
    images = _images(raw, operation).float().permute(0, 3, 1, 2)
    weight = torch.ones(3, 3, device=raw.device)
    weight[1, 1] = 5.0
    channels = images.shape[1]
    smooth = images.clone()  # the edges stay
    smooth[:, :, 1:-1, 1:-1] = torch.nn.functional.conv2d(
        images, (weight / 13.0).expand(channels, 1, 3, 3), padding=1,
        groups=channels)[:, :, 1:-1, 1:-1]
    factor = _drawn(images, *operation.degrees)
    return (images * factor + smooth * (1 - factor)).permute(0, 2, 3, 1)


def _adjusted(raw: torch.Tensor, operation: Any) -> torch.Tensor:
    """Brightness, contrast, saturation and hue, in this order."""
    images = _images(raw, operation).float()
    bright, contrast, colour, turn = (_drawn(images, *limits) for limits in (
        operation.brightness, operation.contrast, operation.saturation, operation.hue))
    red, green, blue = images.unbind(-1)
    gray = (0.2989 * red + 0.587 * green + 0.114 * blue)[..., None]
    middle = gray.mean((1, 2), keepdim=True) + 0.5
    images = (images * bright).clamp(0.0, 255.0)
    images = (images * contrast + middle * (1 - contrast)).clamp(0.0, 255.0)
    images = (images * colour + gray * (1 - colour)).clamp(0.0, 255.0)
    return _turned(images, turn[..., 0]) if operation.hue != (0, 0) else images


def _turned(images: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
    """The hue of each pixel moved by a part of the colour circle."""
    red, green, blue = images.unbind(-1)
    high, low = images.amax(-1), images.amin(-1)
    spread = (high - low).clamp(min=torch.finfo(torch.float32).eps)
    hue = torch.where(high == red, (green - blue) / spread % 6,
                      torch.where(high == green, (blue - red) / spread + 2,
                                  (red - green) / spread + 4)) + 6 * turn
    places = [(n + hue) % 6 for n in (5, 3, 1)]
    return torch.stack([high - (high - low) * torch.minimum(place, 4 - place).clamp(0, 1)
                        for place in places], -1)


BY_NAME: dict[str, Callable[[torch.Tensor, Any], torch.Tensor]] = {
    "HWC2CHW": _channels_first, "Normalize": _normalized, "RandomColorAdjust": _adjusted,
    "RandomHorizontalFlip": _horizontally, "RandomSharpness": _sharpened,
    "RandomVerticalFlip": _vertically, "Rescale": _rescaled, "ToType": _converted,
    "TypeCast": _converted}
