"""Images as arrays: what programs import from ``mindspore.dataset.vision.py_transforms_util``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .conversion import HsvToRgb, RgbToHsv

__all__ = ["hsv_to_rgbs", "hwc_to_chw", "is_numpy", "rgb_to_hsvs"]


def is_numpy(img: Any) -> bool:
    """Whether an image is a NumPy array."""
    return isinstance(img, np.ndarray)


def hwc_to_chw(img: np.ndarray) -> np.ndarray:
    """An image of shape (H, W, C) as (C, H, W); one of shape (H, W) as it is.

    >>> hwc_to_chw(np.zeros((2, 3, 1))).shape
    (1, 2, 3)
    """
    if not is_numpy(img):
        raise TypeError(f"For 'hwc_to_chw', 'img' must be a NumPy array, but got "
                        f"{type(img).__name__}.")
    if img.ndim not in (2, 3):
        raise TypeError(f"For 'hwc_to_chw', 'img' must have the shape (H, W) or (H, W, C), but got "
                        f"{img.shape}.")
    return img if img.ndim == 2 else img.transpose(2, 0, 1).copy()


def rgb_to_hsvs(np_rgb_imgs: np.ndarray, is_hwc: bool) -> np.ndarray:
    """Images of red, green and blue as hue, saturation and value; as `RgbToHsv`.

    >>> rgb_to_hsvs(np.ones((1, 1, 3)), True).tolist()
    [[[0.0, 0.0, 1.0]]]
    """
    return RgbToHsv(is_hwc)(np_rgb_imgs)


def hsv_to_rgbs(np_hsv_imgs: np.ndarray, is_hwc: bool) -> np.ndarray:
    """Images of hue, saturation and value as red, green and blue; as `HsvToRgb`.

    >>> hsv_to_rgbs(np.zeros((1, 1, 3)), True).tolist()
    [[[0.0, 0.0, 0.0]]]
    """
    return HsvToRgb(is_hwc)(np_hsv_imgs)
