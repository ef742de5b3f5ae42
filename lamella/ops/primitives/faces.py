"""Primitive classes under other names, or in older forms."""

from __future__ import annotations

from typing import Any

import torch

from ...core import context
from ...core import dtype as mstype
from ...core.dtype import to_raw
from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..activation import softmax
from ..arithmetic import add
from ..bitwise import bitwise_and
from ..piecewise import relu
from ..primitive import primitive
from ..scatter import tensor_scatter_elements
from ..shape import broadcast_to
from .attributes import with_attributes

__all__ = ["AddV2", "BitwiseAndTensor", "ClipByNorm", "ConcatOffset", "ConcatOffsetV1",
           "Diagonal", "DynamicBroadcastTo", "Empty", "EmptyLike", "MaxDim", "MinDim", "NewEmpty",
           "RangeV2", "ReLUV3", "Scatter", "ScatterValue",
           "SparseSoftmaxCrossEntropyWithLogitsV2", "TensorCopySlices"]


@op
def _diagonal(input: Tensor, *, offset: int, dim1: int, dim2: int) -> Tensor:
    """The diagonals over two dimensions, as the last dimension."""
    return wrap(torch.diagonal(input._raw, offset, dim1, dim2))


@op
def _clip_by_norm(x: Tensor, clip_norm: Any, *, axis: Any) -> Tensor:
    """Values scaled so that their norm over the axes is at most `clip_norm`."""
    raw = x._raw
    norm = torch.linalg.vector_norm(raw, dim=axis, keepdim=True)
    limit = clip_norm._raw if isinstance(clip_norm, Tensor) else clip_norm
    return wrap(raw * limit / torch.maximum(norm, torch.as_tensor(limit).to(norm.dtype)))


@op
def _concat_offset(inputs: Any, *, N: int, axis: int) -> Tensor:  # noqa: N803
    """Where each of some Tensors begins in their concatenation: (Tensors, dimensions)."""
    shapes = [value.shape for value in inputs]
    rank = len(shapes[0])
    offsets, begin = [], 0
    for shape in shapes:
        offsets.append([begin if i == axis % rank else 0 for i in range(rank)])
        begin += shape[axis]
    return wrap(torch.tensor(offsets, dtype=torch.int64, device=inputs[0]._raw.device))


@op
def _offsets_of_shapes(axis: Tensor, x: Any) -> tuple[Tensor, ...]:
    """Where each of some Tensors, of which the shapes are given, begins in the concatenation."""
    kinds = [axis.dtype, *(shape.dtype for shape in x)]
    if any(kind != mstype.int32 for kind in kinds):
        raise TypeError("For 'ConcatOffsetV1', 'axis' and the Tensors of 'x' must be of int32, but "
                        f"got {', '.join(map(str, kinds))}.")
    shapes = [shape._raw.tolist() for shape in x]
    rank, where = len(shapes[0]), int(axis._raw.item())
    if not -rank <= where < rank:
        raise ValueError(f"For 'ConcatOffsetV1', 'axis' must be in [-{rank}, {rank}), but got "
                         f"{where}.")
    where %= rank
    others = {(*shape[:where], *shape[where + 1:]) for shape in shapes}
    if len(others) > 1 or any(len(shape) != rank for shape in shapes):
        raise ValueError("For 'ConcatOffsetV1', the shapes of 'x' must be the same except along "
                         f"the axis {where}, but got {shapes}.")
    offsets, begin = [], 0
    for shape in shapes:
        offset = [begin if i == where else 0 for i in range(rank)]
        offsets.append(wrap(torch.tensor(offset, dtype=torch.int32, device=axis._raw.device)))
        begin += shape[where]
    return tuple(offsets)


@op
def _max_along(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The largest elements along a dimension, and their positions in int64."""
    values, positions = torch.max(input._raw, dim, keepdim)
    return wrap(values), wrap(positions)


@op
def _min_along(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest elements along a dimension, and their positions in int64."""
    values, positions = torch.min(input._raw, dim, keepdim)
    return wrap(values), wrap(positions)


@op
def _range(start: Tensor, limit: Tensor, delta: Tensor, *, maxlen: int) -> Tensor:
    """The numbers from `start` up to `limit` in steps of `delta`; not more than `maxlen`."""
    out = torch.arange(start.item(), limit.item(), delta.item(), dtype=start._raw.dtype,
                       device=start._raw.device)
    if len(out) > maxlen:
        raise ValueError(f"For 'RangeV2', there must be at most 'maxlen' = {maxlen} numbers, but "
                         f"there are {len(out)}.")
    return wrap(out)


@op
def _empty(size: Any, dtype: Any = None, device: Any = None, pin_memory: bool = False) -> Tensor:
    """A Tensor whose elements are not set."""
    kind = to_raw(mstype.float32 if dtype is None else dtype)
    return wrap(torch.empty(tuple(size), dtype=kind, device=context.current_device()))


@op
def _empty_like(input: Tensor, dtype: Any = None, device: Any = None, pin_memory: bool = False
                ) -> Tensor:
    """A Tensor of the same shape whose elements are not set."""
    kind = input._raw.dtype if dtype is None else to_raw(dtype)
    return wrap(torch.empty_like(input._raw, dtype=kind))


@op
def _new_empty(input: Tensor, size: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A Tensor of another shape, and of the same type, whose elements are not set."""
    kind = input._raw.dtype if dtype is None else to_raw(dtype)
    return wrap(input._raw.new_empty(tuple(size), dtype=kind))


@op
def _cross_entropy(features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The losses of classes, and their gradients by the scores."""
    classes = labels._raw.long()
    losses = torch.nn.functional.cross_entropy(features._raw, classes, reduction="none")
    wanted = torch.nn.functional.one_hot(classes, features.shape[-1])
    return wrap(losses), wrap(softmax(features)._raw - wanted)


@op
def _scattered(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: Any = "none") -> Tensor:
    """`input` with the elements of `src` at the places of `index` along `dim`, set or added."""
    how = reduce if isinstance(reduce, str) else {0: "none", 1: "add"}.get(reduce, str(reduce))
    return tensor_scatter_elements(input, index, src, dim, how)


@op
def _filled(input: Tensor, dim: int, index: Tensor, src: Any, reduce: Any = "none") -> Tensor:
    """`input` with one number at the places of `index` along `dim`, set or added."""
    number = src._raw if isinstance(src, Tensor) else src
    source = wrap(torch.full_like(index._raw, 0, dtype=input._raw.dtype) + number)
    return _scattered(input, dim, index, wrap(source._raw.to(input._raw.dtype)), reduce)


@op
def _copy_slices(x: Tensor, value: Tensor, begin: Any, end: Any, strides: Any) -> Tensor:
    """A copy of `x` with `value` in the slice from `begin` to `end`."""
    places = tuple(map(slice, begin, end, strides))
    if any(step < 1 for step in strides):
        raise ValueError(f"For 'TensorCopySlices', 'strides' must be above 0, but got {strides}.")
    raw = x._raw.clone()
    part = raw[places]
    part.copy_(value._raw.reshape(part.shape) if value._raw.numel() == part.numel()
               else value._raw)
    return wrap(raw)


AddV2 = primitive("AddV2", add)
BitwiseAndTensor = primitive("BitwiseAndTensor", bitwise_and)
ClipByNorm = with_attributes("ClipByNorm", _clip_by_norm, axis=None)
ConcatOffset = with_attributes("ConcatOffset", _concat_offset, N=2, axis=0)
ConcatOffsetV1 = primitive("ConcatOffsetV1", _offsets_of_shapes)
Diagonal = with_attributes("Diagonal", _diagonal, offset=0, dim1=0, dim2=1)
DynamicBroadcastTo = primitive("DynamicBroadcastTo", broadcast_to)
Empty = primitive("Empty", _empty)
EmptyLike = primitive("EmptyLike", _empty_like)
MaxDim = primitive("MaxDim", _max_along)
MinDim = primitive("MinDim", _min_along)
NewEmpty = primitive("NewEmpty", _new_empty)
RangeV2 = with_attributes("RangeV2", _range, maxlen=1000000)
ReLUV3 = primitive("ReLUV3", relu)
SparseSoftmaxCrossEntropyWithLogitsV2 = primitive("SparseSoftmaxCrossEntropyWithLogitsV2",
                                                  _cross_entropy)
Scatter = primitive("Scatter", _scattered)
ScatterValue = primitive("ScatterValue", _filled)
TensorCopySlices = primitive("TensorCopySlices", _copy_slices)
