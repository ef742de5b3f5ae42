"""Primitive classes on int8: quantizing, and products of quantized matrices, on any device."""

from __future__ import annotations

from typing import Any

import torch

from ...core import dtype as mstype
from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..primitive import Primitive
from .attributed import Attributed

__all__ = ["DynamicQuantExt", "QuantBatchMatmul", "QuantV2"]


def _as_int8(raw: torch.Tensor) -> torch.Tensor:
    return raw.round().clamp(-128, 127).to(torch.int8)


class QuantV2(Primitive):
    """round(x * scale + offset) as int8.

    Inputs:
        - **x** - Tensor, floating.
        - **scale**, **offset** - Tensors of its type, of the length of its last axis.
        - **sqrt_mode** - whether `scale` is multiplied twice.
        - **rounding_mode** - ``"ROUND"``, to the nearest, ties to even.
        - **dst_type** - int8.

    Outputs:
        Tensor of the shape of `x`, int8; numbers outside of its range become its ends.

    Examples:
        >>> import lamella as ms
        >>> from lamella.ops.primitives.quantized import QuantV2
        >>> x, scale = ms.Tensor([0.5, 150.0]), ms.Tensor([80.0, 40.0])
        >>> print(QuantV2()(x, scale, ms.Tensor([0.0, 2.0])))
        [ 40 127]
    """

    def __init__(self):
        super().__init__("QuantV2")

    def __call__(self, x: Tensor, scale: Tensor, offset: Tensor, sqrt_mode: bool = False,
                 rounding_mode: str = "ROUND", dst_type: Any = mstype.int8) -> Tensor:
        if rounding_mode.upper() != "ROUND" or dst_type is not mstype.int8:
            raise ValueError(f"For '{self.name}', 'rounding_mode' must be 'ROUND' and 'dst_type' "
                             f"int8, but got {rounding_mode!r} and {dst_type}.")
        return _quantized(x, scale, offset, sqrt_mode)


@op
def _quantized(x: Tensor, scale: Tensor, offset: Tensor, sqrt_mode: bool) -> Tensor:
    factor = scale._raw.float()
    product = x._raw.float() * (factor * factor if sqrt_mode else factor)
    return wrap(_as_int8(product + offset._raw.float()))


class DynamicQuantExt(Primitive):
    """Rows as int8, with a scale for each: its largest absolute value over 127.

    Inputs:
        - **x** - Tensor (..., n), floating.
        - **smooth_scales** - Tensor (n,) that `x` is multiplied by first, or None.

    Outputs:
        Tensor of the shape of `x`, int8, and the scales, float32, shape (...).

    Examples:
        >>> import lamella as ms
        >>> from lamella.ops.primitives.quantized import DynamicQuantExt
        >>> print(*DynamicQuantExt()(ms.Tensor([[1.27, -0.5], [0.0, 254.0]])))
        [[127 -50]
         [  0 127]] [0.01 2.  ]
    """

    def __init__(self):
        super().__init__("DynamicQuantExt")

    def __call__(self, x: Tensor, smooth_scales: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return _quantized_by_row(x, smooth_scales)


@op
def _quantized_by_row(x: Tensor, smooth_scales: Tensor | None) -> tuple[Tensor, Tensor]:
    raw = x._raw.float()
    if smooth_scales is not None:
        raw = raw * smooth_scales._raw.float()
    scale = raw.abs().amax(-1) / 127
    return wrap(_as_int8(raw / torch.where(scale == 0, 1.0, scale).unsqueeze(-1))), wrap(scale)


class QuantBatchMatmul(Attributed):
    """Products of int8 matrices, scaled back to floating-point numbers.

    Args:
        transpose_x1, transpose_x2: whether the last two axes are exchanged first.
        dtype: type of the result: float16, bfloat16, float32 or int8.

    Inputs:
        - **x1** - Tensor (..., M, K), int8.
        - **x2** - Tensor (..., K, N), int8.
        - **scale** - shape (1,) or (N,), floating; as int64, the lower 32 bits are a float32.
        - **offset** - added to a result in int8, or None.
        - **bias** - Tensor (N,): int32, added to the integers; floating, added at the end.
        - **pertokenScaleOptional** - Tensor (M,), a factor for each row, or None.

    Outputs:
        Tensor (..., M, N).

    Examples:
        >>> import lamella as ms
        >>> from lamella.ops.primitives.quantized import QuantBatchMatmul
        >>> a, b = ms.Tensor([[1, 2]], ms.int8), ms.Tensor([[3], [4]], ms.int8)
        >>> print(QuantBatchMatmul(dtype=ms.float32)(a, b, ms.Tensor([0.5])))
        [[5.5]]
    """

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False,
                 dtype: Any = mstype.float16):
        super().__init__(transpose_x1=transpose_x1, transpose_x2=transpose_x2, dtype=dtype)

    def __call__(self, x1: Tensor, x2: Tensor, scale: Tensor, offset: Tensor | None = None,
                 bias: Tensor | None = None, pertokenScaleOptional: Tensor | None = None) -> Tensor:
        a = x1.swapaxes(-1, -2) if self.transpose_x1 else x1
        b = x2.swapaxes(-1, -2) if self.transpose_x2 else x2
        return _scaled_product(a, b, scale, offset, bias, pertokenScaleOptional,
                               mstype.to_raw(self.dtype))


@op
def _scaled_product(x1: Tensor, x2: Tensor, scale: Tensor, offset: Tensor | None,
                    bias: Tensor | None, row_scale: Tensor | None, kind: torch.dtype) -> Tensor:
    # int32 sums fit in float64 exactly, where products of matrices are fast
    total = x1._raw.double() @ x2._raw.double()
    if bias is not None and bias._raw.dtype is torch.int32:
        total = total + bias._raw
    total = total.float() * _factor(scale._raw)
    if row_scale is not None:
        total = total * row_scale._raw.float().unsqueeze(-1)
    if bias is not None and bias._raw.is_floating_point():
        total = total + bias._raw.float()
    if kind is torch.int8:
        return wrap(_as_int8(total if offset is None else total + offset._raw.float()))
    return wrap(total.to(kind))


def _factor(raw: torch.Tensor) -> torch.Tensor:
    """A scale as float32: 64-bit integers hold its bits."""
    if raw.dtype in (torch.int64, torch.uint64):
        return raw.view(torch.int64).to(torch.int32).view(torch.float32)
    return raw.float()
