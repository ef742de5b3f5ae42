"""`ResizeV2`, gradients of resizing and `AdjustContrastv2` as Primitive classes."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import op
from ...core.require import one_of
from ...tensors.tensor import Tensor, wrap
from ..interpolation import FILTERS, scale_and_translate
from ..primitive import primitive
from .attributes import with_attributes
from .gradients import pulled_back

__all__ = ["AdjustContrastv2", "ResizeV2", "ResizeV2Grad", "ScaleAndTranslateGrad"]

_MODES = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}


def _resized(name: str, raw: torch.Tensor, sizes: Any, coordinates: str, mode: str
             ) -> torch.Tensor:
    one_of(mode, tuple(_MODES), "mode", name)
    one_of(coordinates, ("align_corners", "half_pixel"), "coordinate_transformation_mode", name)
    if mode == "nearest" and coordinates != "half_pixel":
        raise ValueError(f"For '{name}', 'coordinate_transformation_mode' must be 'half_pixel' "
                         f"with the mode 'nearest', but got {coordinates!r}.")
    wanted = sizes.tolist() if isinstance(sizes, Tensor) else list(sizes)
    if raw.dim() != 4 or len(wanted) != 4 or wanted[:2] != list(raw.shape[:2]):
        raise ValueError(f"For '{name}', 'x' must have 4 dimensions, and 'sizes' 4 numbers of "
                         f"which the first two are those of 'x', but got shape "
                         f"{tuple(raw.shape)} and {wanted}.")
    if mode != "cubic" and wanted[2] != 1:
        raise ValueError(f"For '{name}', the third of 'sizes' must be 1 with the mode {mode!r}, "
                         f"but got {wanted}.")
    align = None if mode == "nearest" else coordinates == "align_corners"
    whole = not raw.is_floating_point()
    out = torch.nn.functional.interpolate(raw.double() if whole else raw, wanted[2:],
                                          mode=_MODES[mode], align_corners=align)
    return out.to(raw.dtype)


@op
def _resize(x: Tensor, roi: Any, scales: Any, sizes: Any, *, coordinate_transformation_mode: str,
            mode: str) -> Tensor:
    """Images of other sizes; `roi` and `scales` are accepted as MindSpore does."""
    return wrap(_resized("ResizeV2", x._raw, sizes, coordinate_transformation_mode, mode))


@op
def _resize_gradient(grads: Tensor, roi: Any, scales: Any, original_size: Any, *,
                     coordinate_transformation_mode: str, mode: str) -> Tensor:
    """The gradient of `ResizeV2` by the images, whose sizes were `original_size`."""
    sizes = original_size.tolist() if isinstance(original_size, Tensor) else original_size
    images = wrap(grads._raw.new_zeros(tuple(sizes)))
    return pulled_back(lambda x: wrap(_resized(
        "ResizeV2Grad", x._raw, grads.shape, coordinate_transformation_mode, mode)),
        grads, images)[0]


@op
def _contrast(images: Tensor, contrast_factor: Tensor) -> Tensor:
    """Each channel's distance from its mean over the image, times a factor."""
    if images.ndim < 3 or images.shape[-1] != 3:
        raise ValueError(f"For 'AdjustContrastv2', 'images' must have the shape (..., H, W, 3), "
                         f"but got {images.shape}.")
    raw = images._raw.float()
    mean = raw.mean((-3, -2), keepdim=True)
    return wrap(((raw - mean) * contrast_factor._raw + mean).to(images._raw.dtype))


@op
def _scale_and_translate_gradient(grads: Tensor, original_image: Tensor, scale: Tensor,
                                  translation: Tensor, *, kernel_type: str, antialias: bool
                                  ) -> Tensor:
    """The gradient of `ops.ScaleAndTranslate` by the images."""
    one_of(kernel_type, FILTERS, "kernel_type", "ScaleAndTranslateGrad")
    if grads.ndim != 4 or original_image.ndim != 4:
        raise ValueError(f"For 'ScaleAndTranslateGrad', the gradient and the images must have the "
                         f"shape (N, H, W, C), but got {grads.shape} and {original_image.shape}.")
    height, width = grads.shape[1:3]
    return pulled_back(lambda images: scale_and_translate(
        images, (height, width), scale, translation, kernel_type, antialias),
        grads, original_image)[0]


AdjustContrastv2 = primitive("AdjustContrastv2", _contrast)
ResizeV2 = with_attributes("ResizeV2", _resize, coordinate_transformation_mode="half_pixel",
                           mode="nearest")
ResizeV2Grad = with_attributes("ResizeV2Grad", _resize_gradient,
                               coordinate_transformation_mode="half_pixel", mode="nearest")
ScaleAndTranslateGrad = with_attributes(
    "ScaleAndTranslateGrad", _scale_and_translate_gradient, kernel_type="lanczos3",
    antialias=True)
