"""Layers of `nn` that 2.10 no longer has."""

from __future__ import annotations

from typing import Any

from ..core import checks
from ..nn.cell import Cell
from ..tensors.tensor import Tensor
from .operators import ResizeBilinear as _Resize

__all__ = ["ResizeBilinear"]


class ResizeBilinear(Cell):
    """Resizes images (N, C, H, W) by linear interpolation.

    Args:
        half_pixel_centers: pixels' centres lie at halves; otherwise at whole numbers.

    Raises:
        TypeError: if an argument has a wrong type.
        ValueError: if not exactly one of `size` and `scale_factor` is given, or one is below 1.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.layers import ResizeBilinear
        >>> print(ResizeBilinear()(ms.Tensor([[[[1.0, 3.0]]]]), scale_factor=2))
        [[[[1. 2. 3. 3.]
           [1. 2. 3. 3.]]]]
    """

    def __init__(self, half_pixel_centers: bool = False):
        super().__init__()
        self.half_pixel_centers = checks.check_bool(half_pixel_centers, "half_pixel_centers",
                                                    self.cls_name)

    def construct(self, x: Tensor, size: Any = None, scale_factor: int | None = None,
                  align_corners: bool = False) -> Tensor:
        """The images at `size`, or at `scale_factor` times their height and width."""
        if (size is None) == (scale_factor is None):
            raise ValueError(f"For 'ResizeBilinear', one of 'size' and 'scale_factor' must be "
                             f"given, but got {size!r} and {scale_factor!r}.")
        if size is None:
            scale = checks.check_int(scale_factor, 1, checks.GE, "scale_factor", self.cls_name)
            size = (scale * x.shape[2], scale * x.shape[3])
        return _Resize(size, align_corners, self.half_pixel_centers)(x)
