"""Images as arrays: what programs import from ``mindspore.dataset.vision.py_transforms_util``."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["hwc_to_chw", "is_numpy"]


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
