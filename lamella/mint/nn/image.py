"""Layers of `mint.nn` that pool to a size and resize."""

from __future__ import annotations

from typing import Any

from . import functional as F
from .function_layer import FunctionLayer

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
           "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class AdaptiveAvgPool1d(FunctionLayer):
    """As `functional.adaptive_avg_pool1d`.

    >>> from lamella import mint
    >>> mint.nn.AdaptiveAvgPool1d(2)(mint.ones((1, 3, 5))).shape
    (1, 3, 2)
    """

    function = staticmethod(F.adaptive_avg_pool1d)

    def __init__(self, output_size: Any):
        super().__init__(output_size=output_size)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """As `functional.adaptive_avg_pool2d`.

    Examples:
        >>> import lamella as ms
        >>> ms.mint.nn.AdaptiveAvgPool2d(1)(ms.ops.ones((2, 3, 5, 7))).shape
        (2, 3, 1, 1)
    """

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(AdaptiveAvgPool1d):
    """As `functional.adaptive_avg_pool3d`."""

    function = staticmethod(F.adaptive_avg_pool3d)

    def extend_repr(self) -> str:
        return ""


class AdaptiveMaxPool1d(FunctionLayer):
    """As `functional.adaptive_max_pool1d`."""

    function = staticmethod(F.adaptive_max_pool1d)

    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__(output_size=output_size, return_indices=return_indices)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}, return_indices={self.return_indices}"


class Upsample(FunctionLayer):
    """As `functional.interpolate`."""

    function = staticmethod(F.interpolate)

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                 align_corners: bool | None = None, recompute_scale_factor: bool | None = None):
        super().__init__(size=size, scale_factor=scale_factor, mode=mode,
                         align_corners=align_corners, recompute_scale_factor=recompute_scale_factor)


class UpsamplingBilinear2d(FunctionLayer):
    """As `functional.interpolate` with ``mode="bilinear"`` and aligned corners.

    >>> from lamella import mint
    >>> mint.nn.UpsamplingBilinear2d(scale_factor=2)(mint.ones((1, 1, 2, 3))).shape
    (1, 1, 4, 6)
    """

    function = staticmethod(F.interpolate)

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size=size, scale_factor=scale_factor)
        self._names = (*self._names, "mode", "align_corners")
        self.mode, self.align_corners = "bilinear", True


class UpsamplingNearest2d(FunctionLayer):
    """As `functional.interpolate` with ``mode="nearest"``."""

    function = staticmethod(F.interpolate)

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size=size, scale_factor=scale_factor)
