"""Primitive classes of ``mindspore.ops.auto_generate``, which `mint` and Tensor methods use."""

from __future__ import annotations

from typing import Any

import torch

from ...core.context import current_device
from ...core.errors import op
from ...tensors.random import fresh_generator
from ...tensors.tensor import Tensor, wrap
from ..activation import swiglu
from ..arithmetic import add, mul, sub
from ..clip import clamp
from ..creation import zeros_like
from ..diagonal import tril
from ..division import fmod
from ..embedding import one_hot
from ..gather import index_select
from ..join import stack
from ..padding import pad as pad_with
from ..primitive import primitive
from ..products import bmm, matmul, outer
from ..ranges import arange
from ..rearrange import repeat_interleave
from ..reduce import mean
from ..reduce import sum as sum_of
from ..scan import cumsum
from ..slicing import strided_slice
from ..sorting import topk
from ..split import chunk, split
from .attributed import Attributed

__all__ = [
    "AddExt", "Arange", "BatchMatMulExt", "Chunk", "ClampScalar", "ClampTensor", "CumsumExt",
    "DropoutExt", "FmodScalar", "IndexSelect", "InplaceCopy", "MatMulExt", "MeanExt", "MoveTo",
    "Muls", "OneHotExt", "Outer", "RepeatInterleaveInt", "RepeatInterleaveTensor", "SliceExt",
    "SortExt", "SplitWithSize", "StackExt", "StridedSliceGrad", "SubExt", "SumExt", "Swiglu",
    "TopkExt", "TrilExt", "ZerosLikeExt", "chunk_ext", "format_cast", "move_to", "pad_ext",
    "split_ext",
]


def split_ext(tensor: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """As `ops.split`; an int is a part's length, a list has the lengths.

    Examples:
        >>> import lamella as ms
        >>> [part.size for part in ms.ops.split_ext(ms.ops.arange(5), 2)]
        [2, 2, 1]
    """
    return split(tensor, split_size, dim)


def pad_ext(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """As `ops.pad`, whose `padding` is `pad`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.pad_ext(ms.Tensor([[1.0]]), (1, 0)))
        [[0. 1.]]
    """
    return pad_with(input, pad, mode, value)


@op
def move_to(input: Tensor, to: str = "CPU", blocking: bool = True) -> Tensor:
    """A copy on another device, or the Tensor itself if it is there.

    Args:
        input: any shape.
        to: ``"CPU"``, or ``"GPU"``, ``"NPU"`` or ``"Ascend"`` for the device that Tensors are made
            on.
        blocking: whether to wait until it is there.

    Returns:
        Tensor.

    Raises:
        ValueError: if `to` is another name.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.move_to(ms.Tensor([1.0]), "CPU"))
        [1.]
    """
    if not isinstance(to, str) or to.upper() not in ("CPU", "GPU", "NPU", "ASCEND"):
        raise ValueError(f"For 'move_to', 'to' must be 'CPU', 'GPU', 'NPU' or 'Ascend', "
                         f"but got {to!r}.")
    position = "cpu" if to.upper() == "CPU" else current_device()
    return wrap(input._raw.to(position, non_blocking=not blocking))


def format_cast(input: Tensor, acl_format: int) -> Tensor:
    """The Tensor itself: an Ascend's order of elements in memory is no other value.

    Args:
        input: any shape.
        acl_format: the number of a format of Ascend's.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.format_cast(ms.Tensor([1.0]), 29))
        [1.]
    """
    return input


def chunk_ext(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As `ops.chunk`, whose `axis` is `dim`.

    Examples:
        >>> import lamella as ms
        >>> [part.size for part in ms.ops.chunk_ext(ms.ops.arange(5), 2)]
        [3, 2]
    """
    return chunk(input, chunks, dim)


def _scaled(other: Any, alpha: Any) -> Any:
    return other if isinstance(alpha, (int, float)) and alpha == 1 else other * alpha


def _add(input: Any, other: Any, alpha: Any = 1) -> Tensor:
    """`input` + `alpha` * `other`."""
    return add(input, _scaled(other, alpha))


def _sub(input: Any, other: Any, alpha: Any = 1) -> Tensor:
    """`input` - `alpha` * `other`."""
    return sub(input, _scaled(other, alpha))


def _sum(input: Tensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """As `ops.sum`."""
    return sum_of(input, dim, keepdim, dtype=dtype)


def _mean(input: Tensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """As `ops.mean`, converted to `dtype` first."""
    return mean(input if dtype is None else input.astype(dtype), dim, keepdim)


def _cumsum(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """As `ops.cumsum`."""
    return cumsum(input, dim, dtype)


def _sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False
          ) -> tuple[Tensor, Tensor]:
    """As `ops.sort`, with indices in int64."""
    values, positions = torch.sort(input._raw, dim=dim, descending=descending, stable=True)
    return wrap(values), wrap(positions)


def _topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
          ) -> tuple[Tensor, Tensor]:
    """As `ops.topk`, with indices in int64."""
    values, positions = topk(input, k, dim, largest, sorted)
    return values, wrap(positions._raw.long())


def _repeat(input: Tensor, repeats: Any, dim: int | None = None, output_size: int | None = None
            ) -> Tensor:
    """As `ops.repeat_interleave`."""
    return repeat_interleave(input, repeats, dim)


def _arange(start: Any, end: Any, step: Any, dtype: Any = None) -> Tensor:
    """As `ops.arange`."""
    return arange(start, end, step, dtype=dtype)


def _zeros_like(input: Tensor, dtype: Any = None) -> Tensor:
    """As `ops.zeros_like`."""
    return zeros_like(input, dtype=dtype)


@op
def _slice(input: Tensor, dim: int, start: int, end: int, step: int) -> Tensor:
    """The elements from `start` to `end`, each `step`-th, along a dimension."""
    raw = input._raw
    if not -raw.dim() <= dim < raw.dim():
        raise ValueError(f"For 'SliceExt', 'dim' must be in [{-raw.dim()}, {raw.dim()}), "
                         f"but got {dim}.")
    if step < 1:
        raise ValueError(f"For 'SliceExt', 'step' must be above 0, but got {step}.")
    chosen = [slice(None)] * raw.dim()
    chosen[dim] = slice(start, end, step)
    return wrap(raw[tuple(chosen)])


@op
def _copy(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the values of `src`, broadcast, into `input`; returns `input`."""
    return input.copy_(src)


def _dropout(input: Tensor, p: float, seed: Any, offset: Any) -> tuple[Tensor, Tensor]:
    """The input with the share `p` of its values 0, and which are kept; `seed` chooses them."""
    stream = fresh_generator(object(), int(seed), int(offset))
    kept = torch.rand(input.shape, generator=stream, device=input._raw.device) >= p
    raw = input._raw
    scale = 1 / (1 - p) if p < 1 else 0.0
    return wrap(raw * kept.to(raw.dtype) * scale), wrap(kept)


AddExt = primitive("AddExt", _add)
Arange = primitive("Arange", _arange)
BatchMatMulExt = primitive("BatchMatMulExt", bmm)
Chunk = primitive("Chunk", chunk_ext)
ClampScalar = primitive("ClampScalar", clamp)
ClampTensor = primitive("ClampTensor", clamp)
CumsumExt = primitive("CumsumExt", _cumsum)
DropoutExt = primitive("DropoutExt", _dropout)
FmodScalar = primitive("FmodScalar", fmod)
IndexSelect = primitive("IndexSelect", index_select)
InplaceCopy = primitive("InplaceCopy", _copy)
MatMulExt = primitive("MatMulExt", matmul)
MoveTo = primitive("MoveTo", move_to)
MeanExt = primitive("MeanExt", _mean)
Muls = primitive("Muls", mul)
Outer = primitive("Outer", outer)
RepeatInterleaveInt = primitive("RepeatInterleaveInt", _repeat)
RepeatInterleaveTensor = primitive("RepeatInterleaveTensor", _repeat)
SliceExt = primitive("SliceExt", _slice)
SortExt = primitive("SortExt", _sort)
SplitWithSize = primitive("SplitWithSize", split_ext)
SubExt = primitive("SubExt", _sub)
SumExt = primitive("SumExt", _sum)
Swiglu = primitive("Swiglu", swiglu)
TopkExt = primitive("TopkExt", _topk)
TrilExt = primitive("TrilExt", tril)
ZerosLikeExt = primitive("ZerosLikeExt", _zeros_like)


class StackExt(Attributed):
    """As `ops.stack`, along the attribute `dim`."""

    def __init__(self, dim: int = 0):
        super().__init__(dim=dim)

    def __call__(self, tensors: Any) -> Tensor:
        return stack(tensors, self.dim)


class OneHotExt(Attributed):
    """As `ops.one_hot`, along the attribute `axis`."""

    def __init__(self, axis: int = -1):
        super().__init__(axis=axis)

    def __call__(self, tensor: Tensor, num_classes: int, on_value: Any, off_value: Any) -> Tensor:
        return one_hot(tensor, num_classes, on_value, off_value, self.axis)


class StridedSliceGrad(Attributed):
    """The gradient of `ops.StridedSlice`: zeros of a shape, with values where the slice was.

    Args: those of `ops.StridedSlice`.

    Inputs:
        - **dy** - Tensor of the slice's shape.
        - **shapex** - the shape of what was sliced.
        - **begin**, **end**, **strides** - of the slice.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.StridedSliceGrad()(ms.Tensor([1.0, 2.0]), (4,), (1,), (3,), (1,)))
        [0. 1. 2. 0.]
    """

    def __init__(self, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0,
                 new_axis_mask: int = 0, shrink_axis_mask: int = 0):
        super().__init__(begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask,
                         new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask)

    def __call__(self, dy: Tensor, shapex: Any, begin: Any, end: Any, strides: Any) -> Tensor:
        shape = shapex.tolist() if isinstance(shapex, Tensor) else tuple(shapex)
        raw = dy._raw
        count = torch.Size(shape).numel()
        positions = wrap(torch.arange(count, device=raw.device).reshape(tuple(shape)))
        taken = strided_slice(
            positions, begin, end, strides, self.begin_mask, self.end_mask, self.ellipsis_mask,
            self.new_axis_mask, self.shrink_axis_mask)._raw
        if [n for n in taken.shape if n != 1] != [n for n in raw.shape if n != 1]:
            raise ValueError(f"For 'StridedSliceGrad', 'dy' must have the slice's shape "
                             f"{tuple(taken.shape)} but for lengths of 1, but got {dy.shape}.")
        whole = raw.new_zeros(count).index_put((taken.reshape(-1),), raw.reshape(-1))
        return wrap(whole.reshape(tuple(shape)))

