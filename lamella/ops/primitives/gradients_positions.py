"""Primitive classes of gradients of pooling, of convolution weights and of image sampling.

The poolings are those that are given the positions of the maxima, adaptive and fractional ones.
"""

from __future__ import annotations

from typing import Any

import torch

from ...core import dtype as mstype
from ...core.dtype import to_raw
from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..adaptive_pooling import fractional_pool
from ..image import affine_grid
from ..primitive import Primitive, primitive
from .attributes import with_attributes
from .gradients import pulled_back
from .gradients_layers import shape_from
from .image import CropAndResize, UpsampleNearest3D, UpsampleTrilinear3D
from .nn import Conv2D, Conv3D

__all__ = [
    "AdaptiveAvgPool2DGrad", "AdaptiveAvgPool3DGrad", "AdaptiveMaxPool2DGrad",
    "AdaptiveMaxPool3DGrad", "AffineGridGrad", "Conv2DBackpropFilter", "Conv3DBackpropFilter",
    "Conv3DBackpropInput", "CropAndResizeGradBoxes", "CropAndResizeGradImage",
    "FractionalAvgPoolGrad", "FractionalMaxPool3DGradWithFixedKsize", "FractionalMaxPoolGrad",
    "FractionalMaxPoolGradWithFixedKsize", "MaxPool3DGradWithArgmax", "MaxPoolGradGradWithArgmax",
    "MaxPoolGradWithArgmax", "MaxPoolGradWithArgmaxV2", "MaxUnpool2DGrad", "MaxUnpool3DGrad",
    "UpsampleNearest1D", "UpsampleNearest1DGrad", "UpsampleNearest2D", "UpsampleNearest2DGrad",
    "UpsampleNearest3DGrad", "UpsampleTrilinear3DGrad",
]


def _scattered(x: Tensor, grads: Tensor, argmax: Tensor, rank: int) -> Tensor:
    """Zeros like `x`, with each gradient added at its position in its image."""
    flat = torch.zeros_like(x._raw).flatten(-rank)
    return wrap(flat.scatter_add(-1, argmax._raw.long().flatten(-rank),
                                 grads._raw.to(flat.dtype).flatten(-rank)).reshape(x.shape))


def _gathered(values: Tensor, argmax: Tensor, rank: int) -> Tensor:
    """The values at positions in their images."""
    positions = argmax._raw.long()
    return wrap(values._raw.flatten(-rank).gather(-1, positions.flatten(-rank)).reshape(
        positions.shape))


def _at_maxima(name: str, rank: int, *required: str, grads_first: bool = False,
               **defaults: Any) -> type[Primitive]:
    """A class that adds gradients at the positions of maxima; its attributes say what they were."""
    def gradient(x: Tensor, grads: Tensor, argmax: Tensor, **_: Any) -> Tensor:
        first, second = (grads, x) if grads_first else (x, grads)
        return _scattered(first, second, argmax, rank)

    gradient.__name__ = "_gradient"
    computed = op(gradient, name)
    return (with_attributes(name, computed, *required, **defaults) if required or defaults
            else primitive(name, computed))


def _from_maxima(name: str, rank: int, *required: str, **defaults: Any) -> type[Primitive]:
    """A class that takes from its second input what is at given positions."""
    def gradient(x: Tensor, grads: Tensor, argmax: Tensor, **_: Any) -> Tensor:
        return _gathered(grads, argmax, rank)

    gradient.__name__ = "_gradient"
    return with_attributes(name, op(gradient, name), *required, **defaults)


MaxPoolGradWithArgmax = _at_maxima("MaxPoolGradWithArgmax", 2, kernel_size=1, strides=1,
                                   pad_mode="VALID", data_format="NCHW")
MaxPoolGradWithArgmaxV2 = _at_maxima("MaxPoolGradWithArgmaxV2", 2, "kernel_size", strides=None,
                                     pads=0, dilation=(1, 1), ceil_mode=False,
                                     argmax_type=mstype.int64)
MaxPool3DGradWithArgmax = _at_maxima("MaxPool3DGradWithArgmax", 3, "ksize", "strides", "pads",
                                     dilation=(1, 1, 1), ceil_mode=False, data_format="NCDHW")
FractionalMaxPoolGradWithFixedKsize = _at_maxima("FractionalMaxPoolGradWithFixedKsize", 2,
                                                 data_format="NCHW")
FractionalMaxPool3DGradWithFixedKsize = _at_maxima("FractionalMaxPool3DGradWithFixedKsize", 3,
                                                   data_format="NCDHW")
AdaptiveMaxPool2DGrad = _at_maxima("AdaptiveMaxPool2DGrad", 2, grads_first=True)
AdaptiveMaxPool3DGrad = _at_maxima("AdaptiveMaxPool3DGrad", 3, grads_first=True)
MaxPoolGradGradWithArgmax = _from_maxima(  # its positions count all channels
    "MaxPoolGradGradWithArgmax", 3, kernel_size=1, strides=1, pad_mode="VALID")
MaxUnpool2DGrad = _from_maxima("MaxUnpool2DGrad", 2, "ksize", strides=0, pads=0, output_shape=(),
                               data_format="NCHW")
MaxUnpool3DGrad = _from_maxima("MaxUnpool3DGrad", 3, "ksize", strides=0, pads=0, output_shape=(),
                               data_format="NCDHW")


def _of_linear(forward: Any, dout: Tensor, shape: Any) -> Tensor:
    """The gradient of a linear function of a Tensor of a shape, whose values don't matter."""
    kind = dout._raw.dtype if dout._raw.is_floating_point() else torch.float64
    none = wrap(dout._raw.new_zeros(shape_from(shape), dtype=kind))
    return wrap(pulled_back(forward, dout, none)[0]._raw.to(dout._raw.dtype))


def _adaptive(name: str, kernel: Any, rank: int) -> type[Primitive]:
    def gradient(input_grad: Tensor, orig_input_shape: Any) -> Tensor:
        sizes = input_grad.shape[-rank:]
        return _of_linear(lambda x: wrap(kernel(x._raw, sizes)), input_grad, orig_input_shape)

    gradient.__name__ = "_gradient"
    return primitive(name, op(gradient, name))


AdaptiveAvgPool2DGrad = _adaptive("AdaptiveAvgPool2DGrad",
                                  torch.nn.functional.adaptive_avg_pool2d, 2)
AdaptiveAvgPool3DGrad = _adaptive("AdaptiveAvgPool3DGrad",
                                  torch.nn.functional.adaptive_avg_pool3d, 3)


@op
def _affine_grid_grad(y_grad: Tensor, x_size: Any, *, align_corners: bool) -> Tensor:
    size = shape_from(x_size)
    rank = len(size) - 2
    return _of_linear(lambda theta: affine_grid(theta, size, align_corners), y_grad,
                      (size[0], rank, rank + 1))


@op
def _fractional_max_grad(orig_input: Tensor, orig_output: Tensor, out_backprop: Tensor,
                         row_pooling_sequence: Tensor, col_pooling_sequence: Tensor, *,
                         overlapping: bool) -> Tensor:
    rows, columns = row_pooling_sequence._raw, col_pooling_sequence._raw
    return pulled_back(lambda x: fractional_pool(x, rows, columns, False, overlapping),
                       out_backprop, orig_input)[0]


@op
def _fractional_mean_grad(orig_input_tensor_shape: Any, out_backprop: Tensor,
                          row_pooling_sequence: Tensor, col_pooling_sequence: Tensor, *,
                          overlapping: bool) -> Tensor:
    rows, columns = row_pooling_sequence._raw, col_pooling_sequence._raw
    return _of_linear(lambda x: fractional_pool(x, rows, columns, True, overlapping),
                      out_backprop, orig_input_tensor_shape)


AffineGridGrad = with_attributes("AffineGridGrad", _affine_grid_grad, align_corners=False)
FractionalMaxPoolGrad = with_attributes("FractionalMaxPoolGrad", _fractional_max_grad,
                                        overlapping=False)
FractionalAvgPoolGrad = with_attributes("FractionalAvgPoolGrad", _fractional_mean_grad,
                                        overlapping=False)


@op
def _crop_grad_boxes(grads: Tensor, images: Tensor, boxes: Tensor, box_index: Tensor, *,
                     method: str) -> Tensor:
    crop = CropAndResize(method)
    return pulled_back(lambda b: crop(images, b, box_index, grads.shape[1:3]), grads, boxes)[0]


@op
def _crop_grad_image(grads: Tensor, boxes: Tensor, box_index: Tensor, image_size: Any, *, T: Any,
                     method: str) -> Tensor:
    crop = CropAndResize(method)
    out = _of_linear(lambda x: crop(x, boxes, box_index, grads.shape[1:3]), grads, image_size)
    return wrap(out._raw.to(to_raw(T)))


CropAndResizeGradBoxes = with_attributes("CropAndResizeGradBoxes", _crop_grad_boxes,
                                         method="bilinear")
CropAndResizeGradImage = with_attributes("CropAndResizeGradImage", _crop_grad_image, "T",
                                         method="bilinear")


class Conv2DBackpropFilter(Conv2D):
    """The gradient of `Conv2D` by its weights; inputs: the result's gradient, the input, and the
    shape of the weights."""

    def __init__(self, out_channel: int, kernel_size: Any, pad_mode: str = "valid", pad: Any = 0,
                 pad_list: Any = (0, 0, 0, 0), mode: int = 1, stride: Any = (1, 1),
                 dilation: Any = (1, 1, 1, 1), group: int = 1, data_format: str = "NCHW"):
        two = dilation[2:] if isinstance(dilation, tuple) and len(dilation) == 4 else dilation
        steps = stride[2:] if isinstance(stride, tuple) and len(stride) == 4 else stride
        super().__init__(out_channel, kernel_size, mode, pad_mode, pad, steps, two, group,
                         data_format)

    def __call__(self, out_backprop: Tensor, input: Tensor, filter_sizes: Any) -> Tensor:  # type: ignore[override]
        forward = super().__call__
        return _of_linear(lambda w: forward(input, w), out_backprop, filter_sizes)


class Conv3DBackpropFilter(Conv3D):
    """The gradient of `Conv3D` by its weights; inputs: the input, the result's gradient, and the
    shape of the weights."""

    def __init__(self, out_channel: int, kernel_size: Any, mode: int = 1, pad_mode: str = "valid",
                 pad: Any = 0, stride: Any = 1, dilation: Any = 1, group: int = 1,
                 data_format: str = "NCDHW"):
        steps, gaps = (value[2:] if isinstance(value, tuple) and len(value) == 5 else value
                       for value in (stride, dilation))
        super().__init__(out_channel, kernel_size, mode, pad_mode, pad, steps, gaps, group,
                         data_format)

    def __call__(self, x: Tensor, out_backprop: Tensor, filter_size: Any) -> Tensor:  # type: ignore[override]
        forward = super().__call__
        return _of_linear(lambda w: forward(x, w), out_backprop, filter_size)


class Conv3DBackpropInput(Conv3DBackpropFilter):
    """The gradient of `Conv3D` by its input; inputs: the weights, the result's gradient, and the
    shape of the input."""

    def __call__(self, filter: Tensor, out_backprop: Tensor, input_size: Any) -> Tensor:  # type: ignore[override]
        return _of_linear(lambda x: Conv3D.__call__(self, x, filter), out_backprop, input_size)


@op
def _nearest(x: Tensor, output_size: Any = None, scales: Any = None) -> Tensor:
    """Images or signals with their pixels repeated, to a size or by factors."""
    size = None if output_size is None else shape_from(output_size)
    kernel = torch.nn.functional.interpolate
    return wrap(kernel(x._raw, size, None if scales is None else tuple(scales)))


def _of_upsampling(name: str, forward: Any, **attributes: Any) -> type[Primitive]:
    def gradient(dy: Tensor, input_size: Any, output_size: Any = None, scales: Any = None,
                 **given: Any) -> Tensor:
        upsample = forward(**given)
        return _of_linear(lambda x: upsample(x, output_size, scales), dy, input_size)

    gradient.__name__ = "_gradient"
    computed = op(gradient, name)
    return with_attributes(name, computed, **attributes) if attributes else primitive(
        name, computed)


UpsampleNearest1D = primitive("UpsampleNearest1D", _nearest)
UpsampleNearest2D = primitive("UpsampleNearest2D", _nearest)
UpsampleNearest1DGrad = _of_upsampling("UpsampleNearest1DGrad", UpsampleNearest1D)
UpsampleNearest2DGrad = _of_upsampling("UpsampleNearest2DGrad", UpsampleNearest2D)
UpsampleNearest3DGrad = _of_upsampling("UpsampleNearest3DGrad", UpsampleNearest3D)
UpsampleTrilinear3DGrad = _of_upsampling("UpsampleTrilinear3DGrad", UpsampleTrilinear3D,
                                         align_corners=False)
