"""Primitive classes of resizing and sampling images."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from ...core.primitive import primitive
from ...core.require import of_type, one_of
from ...tensors.tensor import Tensor, wrap
from .. import image, interpolation
from ..arguments import FLOATS, as_ints, as_shape, require, require_values, typed
from ..operands import flag
from .attributed import Attributed
from .attributes import with_attributes
from .detection import length_pair

__all__ = [
    "AffineGrid", "ChannelShuffle", "Col2Im", "CropAndResize", "DepthToSpace", "GridSampler2D",
    "GridSampler3D", "Im2Col", "ResizeArea", "ResizeBicubic", "ResizeBilinearV2", "ResizeLinear1D",
    "ResizeNearestNeighbor", "ResizeNearestNeighborV2", "ScaleAndTranslate", "SpaceToDepth",
    "UpsampleNearest3D", "UpsampleTrilinear3D",
]

_REAL = (torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.int64,
         *FLOATS)


class _Resize(Attributed):
    _mode = ""

    def __init__(self, align_corners: bool = False, half_pixel_centers: bool = False):
        for name, value in (("align_corners", align_corners),
                            ("half_pixel_centers", half_pixel_centers)):
            of_type(value, bool, name, type(self).__name__)
        super().__init__(align_corners=align_corners, half_pixel_centers=half_pixel_centers)

    def __call__(self, image: Any, size: Any) -> Any:
        return interpolation.resized(self.name, image, size, self._mode, self.align_corners,
                                     self.half_pixel_centers)


class ResizeBilinearV2(_Resize):
    """Images (N, C, H, W) resized by linear interpolation; the size is an input.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ResizeBilinearV2(True)(ms.Tensor([[[[1.0, 3.0]]]]), (1, 3)))
        [[[[1. 2. 3.]]]]
    """

    _mode = "bilinear"


class ResizeBicubic(_Resize):
    """Images (N, C, H, W) resized by cubic interpolation; the size is an input.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.ResizeBicubic()(ms.ops.ones((1, 1, 2, 2)), (4, 4)).shape
        (1, 1, 4, 4)
    """

    _mode = "bicubic"


class ResizeNearestNeighborV2(_Resize):
    """Images (N, C, H, W) resized by repeating pixels; the size is an input.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ResizeNearestNeighborV2()(ms.Tensor([[[[1.0, 3.0]]]]), (1, 4)))
        [[[[1. 1. 3. 3.]]]]
    """

    _mode = "nearest"


class ResizeNearestNeighbor(_Resize):
    """Images (N, C, H, W) resized by repeating pixels; the size is an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ResizeNearestNeighbor((1, 4))(ms.Tensor([[[[1.0, 3.0]]]])))
        [[[[1. 1. 3. 3.]]]]
    """

    _mode = "nearest"

    def __init__(self, size: Any, align_corners: bool = False, half_pixel_centers: bool = False):
        super().__init__(align_corners, half_pixel_centers)
        self.add_prim_attr("size", interpolation.each("ResizeNearestNeighbor", "size", size, 2))

    def __call__(self, input_x: Any) -> Any:
        # MindSpore's kernel doesn't look at half_pixel_centers
        return interpolation.resized(self.name, input_x, self.size, "nearest", self.align_corners,
                                     False)


class ResizeArea(Attributed):
    """Images (N, H, W, C) as the means over even cells of them, in float32.

    Args:
        align_corners: whether the lengths count from first to last pixel, not from edge to edge.

    Inputs:
        images: of real numbers, shape (N, H, W, C).
        size: (height, width), a Tensor of int32.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[[2.0], [4.0], [6.0], [8.0]], [[10.0], [12.0], [14.0], [16.0]]]])
        >>> print(ms.ops.ResizeArea()(x, ms.Tensor([1, 2], ms.int32)).squeeze())
        [ 7. 11.]
    """

    def __init__(self, align_corners: bool = False):
        super().__init__(align_corners=flag(align_corners, "ResizeArea", "align_corners"))

    def __call__(self, images: Any, size: Any) -> Any:
        typed(images, self.name, "images", _REAL, 4)
        return interpolation.resize_area(images, length_pair(size, self.name), self.align_corners)


class ResizeLinear1D(Attributed):
    """Signals (N, C, W) resized by linear interpolation.

    Args:
        coordinate_transformation_mode: ``'align_corners'``: the ends stay at the ends;
            ``'half_pixel'``: a pixel stands for the half before it and the half behind.

    Inputs:
        x: float16, float32 or float64, shape (N, C, W).
        size: the new length, a tuple, list or Tensor of one int.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ResizeLinear1D()(ms.Tensor([[[1.0, 2.0, 3.0]]]), (5,)))
        [[[1.  1.5 2.  2.5 3. ]]]
    """

    def __init__(self, coordinate_transformation_mode: str = "align_corners"):
        super().__init__(coordinate_transformation_mode=one_of(
            coordinate_transformation_mode, ("align_corners", "half_pixel"),
            "coordinate_transformation_mode", "ResizeLinear1D"))

    def __call__(self, x: Any, size: Any) -> Any:
        length, = interpolation.each(self.name, "size", as_shape(size, self.name, "size"), 1)
        typed(x, self.name, "x", FLOATS, 3)
        return interpolation.resize_linear_1d(x, length, self.coordinate_transformation_mode)


class ScaleAndTranslate(Attributed):
    """Images resized and moved, with a chosen filter.

    Args:
        kernel_type: ``'lanczos1'``, ``'lanczos3'``, ``'lanczos5'``, ``'gaussian'``, ``'box'``,
            ``'triangle'``, ``'keyscubic'`` or ``'mitchellcubic'``.
        antialias: whether to widen the filter where the image shrinks.

    Inputs:
        images: of real numbers, shape (N, H, W, C).
        size: (height, width) of the result, a Tensor of int32.
        scale, translation: for (y, x), Tensors of float32; the point p goes to
            ``p * scale + translation``.

    Outputs:
        Tensor of float32, shape (N, height, width, C); 0 at points from outside the image.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[[9.0], [5.0]], [[6.0], [1.0]]]])
        >>> one = ms.Tensor([1.0, 1.0])
        >>> moved = ms.ops.ScaleAndTranslate()(x, ms.Tensor([2, 2], ms.int32), one, one)
        >>> print(moved.squeeze())
        [[0. 0.]
         [0. 9.]]
    """

    def __init__(self, kernel_type: str = "lanczos3", antialias: bool = True):
        super().__init__(kernel_type=one_of(kernel_type, interpolation.FILTERS, "kernel_type",
                                            "ScaleAndTranslate"),
                         antialias=flag(antialias, "ScaleAndTranslate", "antialias"))

    def __call__(self, images: Any, size: Any, scale: Any, translation: Any) -> Any:
        name = self.name
        typed(images, name, "images", _REAL, 4)
        for argument, value in (("scale", scale), ("translation", translation)):
            raw = typed(value, name, argument, (torch.float32,), 1)
            require(len(raw) == 2, ValueError, f"For '{name}', '{argument}' must have 2 elements, "
                                               f"but got shape {value.shape}.")
        require_values((scale._raw > 0).all(),
                       f"For '{name}', the elements of 'scale' must be positive.")
        return interpolation.scale_and_translate(images, length_pair(size, name), scale,
                                                 translation, self.kernel_type, self.antialias)


class GridSampler2D(Attributed):
    """`ops.grid_sample` with its attributes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.GridSampler2D()(ms.Tensor([[[[2.0]]]]), ms.Tensor([[[[0.0, 0.0]]]])))
        [[[[2.]]]]
    """

    def __init__(self, interpolation_mode: str = "bilinear", padding_mode: str = "zeros",
                 align_corners: bool = False):
        super().__init__(interpolation_mode=interpolation_mode, padding_mode=padding_mode,
                         align_corners=align_corners)

    def __call__(self, input_x: Any, grid: Any) -> Any:
        return image.grid_sample(input_x, grid, *self.attrs.values())


class GridSampler3D(GridSampler2D):
    """`ops.grid_sample` with its attributes, for volumes.

    Examples:
        >>> import lamella as ms
        >>> x, grid = ms.ops.ones((1, 1, 2, 2, 2)), ms.ops.ones((1, 1, 1, 1, 3)) * 0.5
        >>> print(ms.ops.GridSampler3D()(x, grid).shape)
        (1, 1, 1, 1, 1)
    """


class CropAndResize(Attributed):
    """`ops.crop_and_resize` with its attributes.

    Examples:
        >>> import lamella as ms
        >>> x, box = ms.ops.ones((2, 8, 8, 3)), ms.Tensor([[0.0, 0.0, 0.5, 0.5]])
        >>> ms.ops.CropAndResize()(x, box, ms.Tensor([1]), (4, 4)).shape
        (1, 4, 4, 3)
    """

    def __init__(self, method: str = "bilinear", extrapolation_value: float = 0.0):
        super().__init__(method=method, extrapolation_value=extrapolation_value)

    def __call__(self, x: Any, boxes: Any, box_indices: Any, crop_size: Any) -> Any:
        return image.crop_and_resize(x, boxes, box_indices, crop_size, self.method,
                                     self.extrapolation_value)


class ChannelShuffle(Attributed):
    """`ops.channel_shuffle` with its attribute.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.ChannelShuffle(2)(ms.ops.ones((1, 4, 2, 2))).shape
        (1, 4, 2, 2)
    """

    def __init__(self, group: int):
        super().__init__(group=group)

    def __call__(self, x: Any) -> Any:
        return interpolation.channel_shuffle(x, self.group)


class DepthToSpace(Attributed):
    """Channels turned into pixels: (N, C b², H, W) to (N, C, H b, W b), the blocks' rows first.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.DepthToSpace(2)(ms.Tensor([[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]])))
        [[[[1. 2.]
           [3. 4.]]]]
    """

    def __init__(self, block_size: int):
        _check_block(type(self).__name__, block_size)
        super().__init__(block_size=block_size)

    def __call__(self, x: Any) -> Any:
        n, depth, height, width = x.shape
        b = self.block_size
        if depth % (b * b):
            raise ValueError(f"For 'DepthToSpace', the number of channels must be a multiple of "
                             f"{b * b}, but got shape {x.shape}.")
        raw = x._raw.reshape(n, b, b, depth // (b * b), height, width)
        return wrap(raw.permute(0, 3, 4, 1, 5, 2).reshape(n, -1, height * b, width * b))


class SpaceToDepth(Attributed):
    """Pixels turned into channels: the inverse of `DepthToSpace`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.SpaceToDepth(2)(ms.Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).shape)
        (1, 4, 1, 1)
    """

    def __init__(self, block_size: int):
        _check_block(type(self).__name__, block_size)
        super().__init__(block_size=block_size)

    def __call__(self, x: Any) -> Any:
        n, depth, height, width = x.shape
        b = self.block_size
        if height % b or width % b:
            raise ValueError(f"For 'SpaceToDepth', height and width must be multiples of {b}, "
                             f"but got shape {x.shape}.")
        raw = x._raw.reshape(n, depth, height // b, b, width // b, b)
        return wrap(raw.permute(0, 3, 5, 1, 2, 4).reshape(n, -1, height // b, width // b))


def _check_block(name: str, block_size: int) -> None:
    if block_size < 2:
        raise ValueError(f"For '{name}', 'block_size' must be an int of 2 or more, "
                         f"but got {block_size!r}.")


class Im2Col(Attributed):
    """`ops.unfold`, with channels and window elements as dimensions of their own.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.Im2Col(2)(ms.ops.ones((1, 3, 4, 4))).shape
        (1, 3, 4, 9)
    """

    def __init__(self, ksizes: Any, strides: Any = 1, dilations: Any = 1, pads: Any = 0):
        super().__init__(ksizes=interpolation.each("Im2Col", "ksizes", ksizes, 2),
                         strides=strides, dilations=dilations, pads=pads)

    def __call__(self, x: Any) -> Any:
        out = interpolation.unfold(x, self.ksizes, self.dilations, self.pads, self.strides)
        n, c = x.shape[:2]
        return out.reshape((n, c, self.ksizes[0] * self.ksizes[1], -1))


class Col2Im(Attributed):
    """`ops.fold` of a tensor (N, C, window elements, windows).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Col2Im([1, 2])(ms.ops.ones((1, 1, 2, 2)), ms.Tensor([1, 3])))
        [[[[1. 2. 1.]]]]
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding,
                         stride=stride)

    def __call__(self, x: Any, output_size: Any) -> Any:
        return interpolation.fold(x, output_size, self.kernel_size, self.dilation, self.padding,
                                  self.stride)


def _upsampled(name: str, x: Tensor, output_size: Any, scales: Any, **how: Any) -> Tensor:
    if x.ndim != 5:
        raise ValueError(f"For '{name}', the input must have 5 dimensions, but got {x.shape}.")
    if (output_size is None) == (scales is None):
        raise ValueError(f"For '{name}', either 'output_size' or 'scales' must be given.")
    size = None if output_size is None else as_ints(output_size, name, "output_size")
    scales = scales.tolist() if isinstance(scales, Tensor) else scales
    factors = None if scales is None else [float(s) for s in scales]
    return wrap(F.interpolate(x._raw, size, factors, **how))


def _nearest3d(x: Tensor, output_size: Any = None, scales: Any = None) -> Tensor:
    """Volumes of another size, each element that of the nearest position."""
    return _upsampled("UpsampleNearest3D", x, output_size, scales, mode="nearest")


def _trilinear3d(x: Tensor, output_size: Any = None, scales: Any = None, *,
                 align_corners: bool) -> Tensor:
    """Volumes of another size, each element linear between the 8 around it."""
    return _upsampled("UpsampleTrilinear3D", x, output_size, scales, mode="trilinear",
                      align_corners=align_corners)


AffineGrid = with_attributes("AffineGrid", image.affine_grid, align_corners=False)
UpsampleNearest3D = primitive("UpsampleNearest3D", _nearest3d)
UpsampleTrilinear3D = with_attributes("UpsampleTrilinear3D", _trilinear3d, align_corners=False)
