"""``dataset.vision.c_transforms``, where it differs from ``dataset.vision``."""

from __future__ import annotations

from ..dataset import vision

__all__ = ["Decode"]


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
