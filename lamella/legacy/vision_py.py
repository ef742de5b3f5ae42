"""``dataset.vision.py_transforms``: operations on PIL images, and on arrays with channels first."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from ..dataset import vision

__all__ = ["CutOut", "Cutout", "Decode", "Normalize", "NormalizePad", "RgbToBgr", "is_numpy",
           "is_pil", "to_tensor"]


class Decode(vision.Decode):
    """The image of an encoded file's bytes, as a PIL image.

    Examples:
        >>> from lamella.legacy.vision_py import Decode
        >>> Decode().to_pil
        True
    """

    def __init__(self):
        super().__init__(to_pil=True)


class Normalize(vision.Normalize):
    """As `vision.Normalize`, of images (C, H, W).

    Args:
        mean: of each channel, in [0, 1].
        std: each channel's standard deviation, in (0, 1].

    Examples:
        >>> import numpy as np
        >>> from lamella.legacy.vision_py import Normalize
        >>> Normalize([0.5, 0.0, 0.0], [0.5, 1.0, 1.0])(np.ones((3, 1, 1), np.float32)).ravel()
        array([1., 1., 1.], dtype=float32)
    """

    def __init__(self, mean: Any, std: Any):
        super().__init__(mean, std, is_hwc=False)


class NormalizePad(vision.NormalizePad):
    """As `Normalize`, with one more channel of zeros.

    Args:
        mean: of each channel, in [0, 1].
        std: each channel's standard deviation, in (0, 1].
        dtype: of the result, ``'float32'`` or ``'float16'``.
    """

    def __init__(self, mean: Any, std: Any, dtype: str = "float32"):
        super().__init__(mean, std, dtype, is_hwc=False)


class Cutout(vision.CutOut):
    """As `vision.CutOut`, of images (C, H, W).

    Args:
        length: the side of each square.
        num_patches: how many squares.
    """

    def __init__(self, length: int, num_patches: int = 1):
        super().__init__(length, num_patches, is_hwc=False)


CutOut = Cutout


class RgbToBgr:
    """The channels in reverse order.

    Args:
        is_hwc: the channels are the last dimension, not the first.

    Raises:
        TypeError: if the image is no array.
        ValueError: if it has no three dimensions, three channels among them.

    Examples:
        >>> import numpy as np
        >>> from lamella.legacy.vision_py import RgbToBgr
        >>> RgbToBgr(is_hwc=True)(np.array([[[1, 2, 3]]])).ravel()
        array([3, 2, 1])
    """

    def __init__(self, is_hwc: bool = False):
        if not isinstance(is_hwc, bool):
            raise TypeError(f"For 'RgbToBgr', 'is_hwc' must be a bool, but got {is_hwc!r}.")
        self.is_hwc = is_hwc

    def __call__(self, img: np.ndarray) -> np.ndarray:
        if not isinstance(img, np.ndarray):
            raise TypeError(f"For 'RgbToBgr', the image must be a NumPy array, but got "
                            f"{type(img).__name__}.")
        axis = 2 if self.is_hwc else 0
        if img.ndim != 3 or img.shape[axis] != 3:
            raise ValueError(f"For 'RgbToBgr', the image must have 3 dimensions, dimension {axis} "
                             f"with 3 channels, but got shape {img.shape}.")
        return np.flip(img, axis)


def is_pil(img: Any) -> bool:
    """Whether an image is one of PIL's."""
    return isinstance(img, Image.Image)


def is_numpy(img: Any) -> bool:
    """Whether an image is a NumPy array."""
    return isinstance(img, np.ndarray)


def to_tensor(img: Any, output_type: Any) -> np.ndarray:
    """An image as numbers in [0, 1], channels first.

    Args:
        img: a PIL image, or an array (H, W, C) or (H, W).
        output_type: NumPy's type of the result.
    """
    return vision.ToTensor(output_type)(img)
