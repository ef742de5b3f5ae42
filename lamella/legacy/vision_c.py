"""``dataset.vision.c_transforms``, where it differs from ``dataset.vision``."""

from __future__ import annotations

from typing import Any

from ..dataset import vision

__all__ = ["Decode", "SoftDvppDecodeRandomCropResizeJpeg", "SoftDvppDecodeResizeJpeg"]


class Decode(vision.Decode):
    """The image of an encoded file's bytes, as an array in RGB.

    Args:
        rgb: must be True; images in BGR were given up.

    Raises:
        ValueError: if `rgb` isn't True.

    Examples:
        >>> from lamella.legacy.vision_c import Decode
        >>> Decode(True).to_pil
        False
    """

    def __init__(self, rgb: bool = True):
        if rgb is not True:
            raise ValueError(f"For 'Decode', 'rgb' must be True, but got {rgb!r}.")
        super().__init__()


class SoftDvppDecodeRandomCropResizeJpeg(vision.RandomCropDecodeResize):
    """`vision.RandomCropDecodeResize`; without an Ascend's way of rounding.

    Args:
        size: of the result, an int or (height, width).
        scale: the least and the largest area of the crop, as shares of the image's.
        ratio: the least and the largest ratio of its width to its height.
        max_attempts: how often a crop is drawn before the middle is taken.

    Examples:
        >>> from lamella.legacy.vision_c import SoftDvppDecodeRandomCropResizeJpeg
        >>> SoftDvppDecodeRandomCropResizeJpeg((8, 6)).size
        (8, 6)
    """

    def __init__(self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3 / 4, 4 / 3),
                 max_attempts: int = 10):
        super().__init__(size, scale, ratio, max_attempts=max_attempts)


class SoftDvppDecodeResizeJpeg:
    """`vision.Decode`, then `vision.Resize`, without an Ascend's way of rounding.

    Args:
        size: of the result, (height, width), or an int for the shorter side.

    Examples:
        >>> import io
        >>> import numpy as np
        >>> from PIL import Image
        >>> from lamella.legacy.vision_c import SoftDvppDecodeResizeJpeg
        >>> file = io.BytesIO()
        >>> Image.new("RGB", (6, 4)).save(file, "JPEG")
        >>> SoftDvppDecodeResizeJpeg((2, 3))(np.frombuffer(file.getvalue(), np.uint8)).shape
        (2, 3, 3)
    """

    def __init__(self, size: Any):
        self._decode, self._resize = vision.Decode(), vision.Resize(size)

    def __call__(self, image: Any) -> Any:
        return self._resize(self._decode(image))
