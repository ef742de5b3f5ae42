"""Primitive classes that move elements to other positions."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from ...errors import op
from ...primitive import primitive
from ...tensor import Tensor, wrap
from ..activation import fast_gelu, gelu
from ..adaptive_pooling import adaptive_max_pool3d
from ..arguments import indices_of
from ..combine import lerp
from ..diagonal import matrix_diag, matrix_diag_part, matrix_set_diag
from ..image import affine_grid
from ..pooling import max_unpool2d
from ..rearrange import transpose
from ..slicing import batch_to_space_nd, space_to_batch_nd
from ..windows import same_padding
from .attributed import Attributed
from .attributes import with_attributes

__all__ = [
    "AdaptiveMaxPool3D", "AffineGrid", "BatchToSpace", "BatchToSpaceNDV2", "CheckNumerics",
    "CompareAndBitpack", "DataFormatDimMap", "DataFormatVecPermute", "DiagPart", "FastGelu", "Gelu",
    "IndexPut", "InplaceIndexAdd", "LerpScalar", "MatrixDiagPartV3", "MatrixDiagV3",
    "MatrixSetDiagV3", "MaxPoolWithArgmax", "MaxUnpool2D", "SpaceToBatch", "TransposeView",
    "UpsampleNearest3D", "UpsampleTrilinear3D",
]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, Tensor) else value


def _adaptive_max_pool3d(x: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """As `ops.adaptive_max_pool3d`, with indices."""
    values, positions = adaptive_max_pool3d(x, tuple(_plain(output_size)), True)
    return values, wrap(positions._raw.int())


def _batch_to_space(input_x: Tensor, block_shape: Any, crops: Any) -> Tensor:
    """As `ops.batch_to_space_nd`, whose first numbers are for the channels."""
    shape, cut = _plain(block_shape), _plain(crops)
    if len(shape) == input_x.ndim - 1 and shape[0] == 1 and list(cut[0]) == [0, 0]:
        shape, cut = shape[1:], cut[1:]
    return batch_to_space_nd(input_x, shape, cut)


@op
def check_numerics(x: Tensor) -> Tensor:
    """The Tensor; an error if an element is infinite or no number."""
    if not bool(torch.isfinite(x._raw).all()):
        raise RuntimeError("For 'CheckNumerics', the input has elements that are infinite or nan.")
    return wrap(x._raw.clone())


@op
def compare_and_bitpack(x: Tensor, threshold: Tensor) -> Tensor:
    """Which elements are above a threshold: a bit each, the first the highest, 8 a byte."""
    raw = x._raw
    if raw.dim() == 0 or raw.shape[-1] % 8:
        raise ValueError(f"For 'CompareAndBitpack', the last dimension must be a multiple of 8, "
                         f"but got shape {x.shape}.")
    bits = (raw > threshold._raw).unflatten(-1, (-1, 8))
    weights = 1 << torch.arange(7, -1, -1, device=raw.device)
    return wrap((bits * weights).sum(-1).to(torch.uint8))


def _check_format(name: str, **given: str) -> None:
    for argument, value in given.items():
        if not isinstance(value, str) or sorted(value) != list("CHNW"):
            raise ValueError(f"For '{name}', '{argument}' must be an order of the letters N, C, H "
                             f"and W, but got {value!r}.")


class _Formats(Attributed):
    """Dimensions of one order, in another.

    Args:
        src_format, dst_format: the orders, as ``"NHWC"``.

    Raises:
        ValueError: if one is no order of these letters.
    """

    def __init__(self, src_format: str = "NHWC", dst_format: str = "NCHW"):
        super().__init__(src_format=src_format, dst_format=dst_format)
        _check_format(self.name, src_format=src_format, dst_format=dst_format)


class DataFormatDimMap(_Formats):
    """The numbers that dimensions have in another order; see there for the arguments.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.DataFormatDimMap()(ms.Tensor([0, 1, 2, 3])))
        [0 3 1 2]
    """

    def __call__(self, input_x: Tensor) -> Tensor:
        raw = input_x._raw
        if raw.numel() and bool(((raw < -4) | (raw > 3)).any()):
            raise ValueError(f"For '{self.name}', dimensions must be in [-4, 4), "
                             f"but got {input_x}.")
        positions = torch.tensor([self.src_format.index(c) for c in self.dst_format],
                              device=raw.device)
        return wrap(positions[raw.long() % 4].to(raw.dtype))


class DataFormatVecPermute(_Formats):
    """A number for each dimension (or a pair), in another order.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.DataFormatVecPermute()(ms.Tensor([1, 2, 3, 4])))
        [1 4 2 3]
    """

    def __call__(self, input_x: Tensor) -> Tensor:
        raw = input_x._raw
        if raw.dim() not in (1, 2) or raw.shape[0] != 4:
            raise ValueError(f"For '{self.name}', the input must have shape (4,) or (4, 2), "
                             f"but got {input_x.shape}.")
        return wrap(raw[[self.src_format.index(c) for c in self.dst_format]])


@op
def diag_part(x: Tensor) -> Tensor:
    """The elements whose first half of positions equals the second half."""
    raw = x._raw
    half = raw.dim() // 2
    if raw.dim() % 2 or raw.dim() == 0 or raw.shape[:half] != raw.shape[half:]:
        raise ValueError(f"For 'DiagPart', the two halves of the shape must be equal, "
                         f"but got {x.shape}.")
    shape = raw.shape[:half]
    size = shape.numel()
    return wrap(raw.reshape(size, size).diagonal().reshape(shape).clone())


@op
def _max_with_positions(x: Tensor, kernel_size: Any, strides: Any, pad_mode: str,
                     data_format: str) -> tuple[Tensor, Tensor]:
    raw = x._raw
    if pad_mode.lower() not in ("valid", "same") or data_format != "NCHW":
        raise ValueError(f"For 'MaxPoolWithArgmax', 'pad_mode' must be 'valid' or 'same' and "
                         f"'data_format' 'NCHW', but got {pad_mode!r} and {data_format!r}.")
    kernel, stride = (tuple(v)[-2:] if isinstance(v, (tuple, list)) else (v, v)
                      for v in (kernel_size, strides))
    (top, bottom), (left, right) = (0, 0), (0, 0)
    if pad_mode.lower() == "same":
        (top, bottom), (left, right) = same_padding(raw.shape[2:], kernel, stride, (1, 1))
    padded = F.pad(raw, (left, right, top, bottom), value=float("-inf"))
    values, positions = F.max_pool2d(padded, kernel, stride, return_indices=True)
    wide, width = padded.shape[-1], raw.shape[-1]
    positions = (positions // wide - top) * width + positions % wide - left
    channels = torch.arange(raw.shape[1], device=raw.device).reshape(-1, 1, 1)
    positions = positions + channels * (raw.shape[2] * width)
    return wrap(values), wrap(positions.int())


@op
def _index_put(x1: Tensor, x2: Tensor, indices: Any, accumulate: Any) -> Tensor:
    positions = tuple([i._raw if i._raw.dtype is torch.bool else indices_of(i, "IndexPut")
                    for i in indices])
    return wrap(x1._raw.index_put(positions, x2._raw, bool(accumulate)))


class InplaceIndexAdd(Attributed):
    """Adds slices to those of a Parameter at given positions; returns the Parameter.

    Args:
        axis: the dimension that the positions count along.

    Inputs:
        - **var** - Parameter or Tensor.
        - **indices** - Tensor (N,).
        - **updates** - Tensor of `var`'s shape, with N along `axis`.
    """

    def __init__(self, axis: int):
        super().__init__(axis=axis)

    def __call__(self, var: Any, indices: Tensor, updates: Tensor) -> Any:
        var._raw = var._raw.index_add(self.axis, indices._raw.long(), updates._raw)
        return var


def _upsampled(name: str, x: Tensor, output_size: Any, scales: Any, **how: Any) -> Tensor:
    if x.ndim != 5:
        raise ValueError(f"For '{name}', the input must have 5 dimensions, but got {x.shape}.")
    if (output_size is None) == (scales is None):
        raise ValueError(f"For '{name}', either 'output_size' or 'scales' must be given.")
    size = None if output_size is None else tuple(_plain(output_size))
    factors = None if scales is None else [float(s) for s in _plain(scales)]
    return wrap(F.interpolate(x._raw, size, factors, **how))


def _nearest3d(x: Tensor, output_size: Any = None, scales: Any = None) -> Tensor:
    """Volumes of another size, each element that of the nearest position."""
    return _upsampled("UpsampleNearest3D", x, output_size, scales, mode="nearest")


def _trilinear3d(x: Tensor, output_size: Any = None, scales: Any = None, *,
                 align_corners: bool) -> Tensor:
    """Volumes of another size, each element linear between the 8 around it."""
    return _upsampled("UpsampleTrilinear3D", x, output_size, scales, mode="trilinear",
                      align_corners=align_corners)


def _matrix_diag(x: Tensor, k: Any, num_rows: Any, num_cols: Any, padding_value: Any, *,
                 align: str) -> Tensor:
    """As `ops.matrix_diag`."""
    return matrix_diag(x, k, num_rows, num_cols, padding_value, align)


def _unpooled(x: Tensor, argmax: Tensor, *, ksize: Any, strides: Any, pads: Any, output_shape: Any,
              data_format: str) -> Tensor:
    """As `ops.max_unpool2d`."""
    if data_format != "NCHW":
        raise ValueError(f"For 'MaxUnpool2D', 'data_format' must be 'NCHW' here, "
                         f"but got {data_format!r}.")
    return max_unpool2d(x, argmax, ksize, strides or None, pads, tuple(output_shape) or None)


AdaptiveMaxPool3D = primitive("AdaptiveMaxPool3D", _adaptive_max_pool3d)
AffineGrid = with_attributes("AffineGrid", affine_grid, align_corners=False)
BatchToSpace = with_attributes(
    "BatchToSpace", lambda input_x, block_size, crops: batch_to_space_nd(
        input_x, [block_size] * 2, crops), "block_size", "crops")
BatchToSpaceNDV2 = primitive("BatchToSpaceNDV2", _batch_to_space)
CheckNumerics = primitive("CheckNumerics", check_numerics)
CompareAndBitpack = primitive("CompareAndBitpack", compare_and_bitpack)
DiagPart = primitive("DiagPart", diag_part)
FastGelu = primitive("FastGelu", fast_gelu)
Gelu = primitive("Gelu", lambda x: gelu(x, "tanh"))
IndexPut = with_attributes("IndexPut", _index_put, accumulate=0)
LerpScalar = primitive("LerpScalar", lerp)
MatrixDiagPartV3 = with_attributes("MatrixDiagPartV3", matrix_diag_part, align="RIGHT_LEFT")
MatrixDiagV3 = with_attributes("MatrixDiagV3", _matrix_diag, align="RIGHT_LEFT")
MatrixSetDiagV3 = with_attributes("MatrixSetDiagV3", matrix_set_diag, align="RIGHT_LEFT")
MaxPoolWithArgmax = with_attributes("MaxPoolWithArgmax", _max_with_positions, kernel_size=1, strides=1,
                                    pad_mode="valid", data_format="NCHW")
MaxUnpool2D = with_attributes("MaxUnpool2D", _unpooled, "ksize", strides=0, pads=0, output_shape=(),
                              data_format="NCHW")
SpaceToBatch = with_attributes(
    "SpaceToBatch", lambda input_x, block_size, paddings: space_to_batch_nd(
        input_x, [block_size] * 2, paddings), "block_size", "paddings")
TransposeView = primitive("TransposeView", transpose)
UpsampleNearest3D = primitive("UpsampleNearest3D", _nearest3d)
UpsampleTrilinear3D = with_attributes("UpsampleTrilinear3D", _trilinear3d, align_corners=False)
