"""Older Primitives, some of whose attributes are arguments of their successors."""

from __future__ import annotations

from typing import Any

from ..ops import interpolation
from ..ops.primitives.image import ResizeBilinearV2
from ..tensors.tensor import Tensor

__all__ = ["ResizeBilinear"]


class ResizeBilinear(ResizeBilinearV2):
    """Images (N, C, H, W) resized by linear interpolation to the size given here.

    Args:
        size: the new height and width, ints of 1 or more.
        align_corners: let the corner pixels' centres coincide.
        half_pixel_centers: pixels' centres lie at halves.

    Raises:
        TypeError: if `size` is no tuple or list of ints.
        ValueError: if `size` has no two lengths of 1 or more.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.operators import ResizeBilinear
        >>> print(ResizeBilinear((1, 4))(ms.Tensor([[[[1.0, 3.0]]]])))
        [[[[1. 2. 3. 3.]]]]
    """

    def __init__(self, size: Any, align_corners: bool = False, half_pixel_centers: bool = False):
        super().__init__(align_corners, half_pixel_centers)
        if not isinstance(size, (tuple, list)) or not all(
                isinstance(n, int) and not isinstance(n, bool) for n in size):
            raise TypeError(f"For 'ResizeBilinear', 'size' must be a tuple or list of ints, "
                            f"but got {size!r}.")
        if len(size) != 2 or min(size) < 1:
            raise ValueError(f"For 'ResizeBilinear', 'size' must be two ints of 1 or more, "
                             f"but got {size!r}.")
        self.size = tuple(size)

    def __call__(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return interpolation.resized(self.name, x, self.size, self._mode, self.align_corners,
                                     self.half_pixel_centers)
