"""Primitive classes of shapes, joins, indices, creation and order."""

from __future__ import annotations

import builtins
from typing import Any

import torch

from ... import dtype as mstype
from ...tensor import Tensor, wrap
from ..arguments import as_int, as_ints, axis_in, indices_of, raw_of
from ..composite import prim_attr_register
from ..creation import (
    cast,
    eye,
    fill,
    fills,
    linspace,
    logspace,
    meshgrid,
    ones,
    ones_like,
    range,  # noqa: A004
    scalar_cast,
    scalar_to_array,
    scalar_to_tensor,
    tril_indices,
    triu_indices,
    tuple_to_array,
    zeros,
    zeros_like,
)
from ..diagonal import diag, matrix_band_part, tril, triu
from ..gather import gather, gather_d, gather_nd
from ..join import concat, stack
from ..primitive import Primitive, primitive
from ..rearrange import flip, reverse_sequence, roll, tile, transpose
from ..select import masked_fill, masked_scatter, masked_select, nonzero, select
from ..shape import (
    broadcast_to,
    dtype,
    dyn_shape,
    expand_dims,
    flatten,
    rank,
    reshape,
    shape,
    size,
    squeeze,
)
from ..slicing import batch_to_space_nd, slice, space_to_batch_nd, strided_slice  # noqa: A004
from ..sorting import bucketize, searchsorted, sort, top_k, unique, unique_consecutive
from ..sorting import unique_with_pad as _unique_with_pad
from ..split import split, unstack

__all__ = [
    "BatchToSpaceND", "BroadcastTo", "Bucketize", "Cast", "Concat", "DType", "Diag",
    "DynamicShape", "ExpandDims", "Eye", "Fill", "FillDiagonal", "FillV2", "Fills", "Flatten",
    "Gather", "GatherD", "GatherNd", "GatherV2", "IdentityN", "InvertPermutation", "LinSpace",
    "ListDiff", "LogSpace", "MaskedFill", "MaskedScatter", "MaskedSelect", "MatrixBandPart",
    "Meshgrid", "NonZero", "Ones", "OnesLike", "Pack", "ParallelConcat", "Range", "Rank",
    "Reshape", "ReverseSequence", "ReverseV2", "Roll", "ScalarCast", "ScalarToArray",
    "ScalarToTensor", "SearchSorted", "Select", "Shape", "Size", "Slice", "Sort",
    "SpaceToBatchND", "Split", "SplitV", "Squeeze", "Stack", "StridedSlice", "TensorShape",
    "TensorToTuple", "Tile", "TopK", "Transpose", "Tril", "TrilIndices", "Triu", "TriuIndices",
    "TupleToArray", "Unique", "UniqueConsecutive", "UniqueWithPad", "Unpack", "UnravelIndex",
    "Unstack", "Zeros", "ZerosLike",
]

Cast = primitive("Cast", cast)
DType = primitive("DType", dtype)
Diag = primitive("Diag", diag)
ExpandDims = primitive("ExpandDims", expand_dims)
Fill = primitive("Fill", fill)
Fills = primitive("Fills", fills)
Flatten = primitive("Flatten", flatten)
GatherD = primitive("GatherD", gather_d)
GatherNd = primitive("GatherNd", gather_nd)
Eye = primitive("Eye", eye)
LinSpace = primitive("LinSpace", linspace)
MatrixBandPart = primitive("MatrixBandPart", matrix_band_part)
MaskedFill = primitive("MaskedFill", masked_fill)
MaskedScatter = primitive("MaskedScatter", masked_scatter)
MaskedSelect = primitive("MaskedSelect", masked_select)
NonZero = primitive("NonZero", nonzero)
Ones = primitive("Ones", ones)
OnesLike = primitive("OnesLike", ones_like)
Rank = primitive("Rank", rank)
Reshape = primitive("Reshape", reshape)
ScalarCast = primitive("ScalarCast", scalar_cast)
ScalarToArray = primitive("ScalarToArray", scalar_to_array)
ScalarToTensor = primitive("ScalarToTensor", scalar_to_tensor)
Select = primitive("Select", select)
Shape = primitive("Shape", shape)
Size = primitive("Size", size)
Slice = primitive("Slice", slice)
TensorShape = primitive("TensorShape", dyn_shape)
Tile = primitive("Tile", tile)
Transpose = primitive("Transpose", transpose)
TupleToArray = primitive("TupleToArray", tuple_to_array)
Unique = primitive("Unique", unique)
UniqueWithPad = primitive("UniqueWithPad", _unique_with_pad)
Zeros = primitive("Zeros", zeros)
ZerosLike = primitive("ZerosLike", zeros_like)


class DynamicShape(Primitive):
    """`ops.dyn_shape`; `dtype` is accepted as MindSpore does."""

    @prim_attr_register
    def __init__(self, dtype: Any = 9):
        pass

    def __call__(self, x: Tensor) -> Tensor:
        return dyn_shape(x)


class FillV2(Primitive):
    """A tensor of the shape given first, of the value and type of the Tensor given second."""

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, shape: Any, value: Tensor) -> Tensor:
        return fill(value.dtype, shape, value)


class FillDiagonal(Primitive):
    """A copy of a tensor with one value on its diagonal.

    Args:
        fill_value: the value.
        wrap: whether the diagonal starts again below in tall matrices.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.FillDiagonal(5.0)(ms.ops.zeros((2, 2))))
        [[5. 0.]
         [0. 5.]]
    """

    @prim_attr_register
    def __init__(self, fill_value: float, wrap: bool = False):
        pass

    def __call__(self, input_x: Tensor) -> Tensor:
        return input_x.fill_diagonal(self.fill_value, self.wrap)


class Concat(Primitive):
    """`ops.concat` along `axis`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Concat(1)((ms.Tensor([[1]]), ms.Tensor([[2]]))))
        [[1 2]]
    """

    @prim_attr_register
    def __init__(self, axis: int = 0):
        as_int(axis, "Concat")

    def __call__(self, tensors: Any) -> Tensor:
        return concat(tensors, self.axis)


class Stack(Primitive):
    """`ops.stack` along `axis`."""

    @prim_attr_register
    def __init__(self, axis: int = 0):
        as_int(axis, "Stack")

    def __call__(self, tensors: Any) -> Tensor:
        return stack(tensors, self.axis)


Pack = Stack


class Unstack(Primitive):
    """`ops.unstack` along `axis`; `num` is the number of parts, for a check."""

    @prim_attr_register
    def __init__(self, axis: int = 0, num: int | None = None):
        as_int(axis, "Unstack")

    def __call__(self, input_x: Tensor) -> tuple[Tensor, ...]:
        parts = unstack(input_x, self.axis)
        if self.num is not None and self.num != len(parts):
            raise ValueError(f"For 'Unstack', 'num' must be the length {len(parts)} of axis "
                             f"{self.axis}, but got {self.num}.")
        return parts


Unpack = Unstack


class Split(Primitive):
    """A tensor as `output_num` pieces of one length along `axis`.

    Raises:
        ValueError: if `output_num` is not positive or no divisor of the length.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.ops.Split(0, 2)(ms.Tensor([1, 2, 3, 4]))
        >>> print(a, b)
        [1 2] [3 4]
    """

    @prim_attr_register
    def __init__(self, axis: int = 0, output_num: int = 1):
        as_int(axis, "Split")
        if as_int(output_num, "Split", "output_num") <= 0:
            raise ValueError(f"For 'Split', 'output_num' must be positive, but got {output_num}.")

    def __call__(self, input_x: Tensor) -> tuple[Tensor, ...]:
        raw = raw_of(input_x, "Split", "input_x")
        axis = axis_in(self.axis, raw.dim(), "Split")
        if raw.shape[axis] % self.output_num:
            raise ValueError(f"For 'Split', the length {raw.shape[axis]} of axis {axis} must be a "
                             f"multiple of 'output_num' {self.output_num}.")
        return tuple([wrap(p) for p in raw.chunk(self.output_num, axis)])


class SplitV(Primitive):
    """A tensor as `num_split` pieces of given lengths; one may be -1, which is worked out."""

    @prim_attr_register
    def __init__(self, size_splits: Any, split_dim: int, num_split: int):
        if len(size_splits) != num_split or list(size_splits).count(-1) > 1:
            raise ValueError(f"For 'SplitV', 'size_splits' must have 'num_split' = {num_split} "
                             f"lengths, at most one of them -1, but got {size_splits}.")

    def __call__(self, input_x: Tensor) -> tuple[Tensor, ...]:
        raw = raw_of(input_x, "SplitV", "input_x")
        have = raw.shape[axis_in(self.split_dim, raw.dim(), "SplitV", "split_dim")]
        rest = have - sum(n for n in self.size_splits if n != -1)
        return split(input_x, [rest if n == -1 else n for n in self.size_splits], self.split_dim)


class IdentityN(Primitive):
    """Copies of a tuple of Tensors."""

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, x: Any) -> tuple[Tensor, ...]:
        return tuple([wrap(raw_of(v, "IdentityN", "x").clone()) for v in x])


class ParallelConcat(Primitive):
    """Tensors whose dimension 0 has length 1, one after the other along it."""

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, values: Any) -> Tensor:
        if any(v.shape[:1] != (1,) for v in values):
            raise ValueError(f"For 'ParallelConcat', dimension 0 of each tensor must have length "
                             f"1, but got shapes {[v.shape for v in values]}.")
        return concat(values, 0)


class Squeeze(Primitive):
    """`ops.squeeze` of the dimensions `axis`; all of length 1 where it is empty."""

    @prim_attr_register
    def __init__(self, axis: Any = ()):
        as_ints(axis, "Squeeze", "axis")

    def __call__(self, input: Tensor) -> Tensor:
        return squeeze(input, self.axis)


class BroadcastTo(Primitive):
    """`ops.broadcast_to` with the shape as an attribute."""

    @prim_attr_register
    def __init__(self, shape: Any):
        as_ints(shape, "BroadcastTo")

    def __call__(self, input: Tensor) -> Tensor:
        return broadcast_to(input, self.shape)


class ReverseV2(Primitive):
    """`ops.flip` along the dimensions `axis`."""

    @prim_attr_register
    def __init__(self, axis: Any):
        as_ints(axis, "ReverseV2", "axis")

    def __call__(self, input: Tensor) -> Tensor:
        return flip(input, self.axis)


class ReverseSequence(Primitive):
    """`ops.reverse_sequence` with the dimensions as attributes."""

    @prim_attr_register
    def __init__(self, seq_dim: int, batch_dim: int = 0):
        pass

    def __call__(self, x: Tensor, seq_lengths: Tensor) -> Tensor:
        return reverse_sequence(x, seq_lengths, self.seq_dim, self.batch_dim)


class Roll(Primitive):
    """`ops.roll` with its arguments as attributes."""

    @prim_attr_register
    def __init__(self, shifts: Any, dims: Any = None):
        pass

    def __call__(self, input: Tensor) -> Tensor:
        return roll(input, self.shifts, self.dims)


class Tril(Primitive):
    """`ops.tril` with the diagonal as an attribute."""

    @prim_attr_register
    def __init__(self, diagonal: int = 0):
        as_int(diagonal, "Tril", "diagonal")

    def __call__(self, input: Tensor) -> Tensor:
        return tril(input, self.diagonal)


class Triu(Primitive):
    """`ops.triu` with the diagonal as an attribute."""

    @prim_attr_register
    def __init__(self, diagonal: int = 0):
        as_int(diagonal, "Triu", "diagonal")

    def __call__(self, input: Tensor) -> Tensor:
        return triu(input, self.diagonal)


class TrilIndices(Primitive):
    """`ops.tril_indices` with its arguments as attributes; int32 by default."""

    @prim_attr_register
    def __init__(self, row: int, col: int, offset: int = 0, dtype: Any = mstype.int32):
        pass

    def __call__(self) -> Tensor:
        return tril_indices(self.row, self.col, self.offset, dtype=self.dtype)


class TriuIndices(Primitive):
    """`ops.triu_indices` with its arguments as attributes; int32 by default."""

    @prim_attr_register
    def __init__(self, row: int, col: int, offset: int = 0, dtype: Any = mstype.int32):
        pass

    def __call__(self) -> Tensor:
        return triu_indices(self.row, self.col, self.offset, dtype=self.dtype)


class Range(Primitive):
    """`ops.range` with the most numbers there may be as an attribute."""

    @prim_attr_register
    def __init__(self, maxlen: int = 1000000):
        pass

    def __call__(self, start: Any, end: Any, step: Any) -> Tensor:
        return range(start, end, step, self.maxlen)


class LogSpace(Primitive):
    """`ops.logspace` with the steps, base and type as attributes."""

    @prim_attr_register
    def __init__(self, steps: int = 10, base: int = 10, dtype: Any = mstype.float32):
        pass

    def __call__(self, start: Any, end: Any) -> Tensor:
        return logspace(start, end, self.steps, self.base, dtype=self.dtype)


class Meshgrid(Primitive):
    """`ops.meshgrid` of a tuple of Tensors."""

    @prim_attr_register
    def __init__(self, indexing: str = "xy"):
        if indexing not in ("xy", "ij"):
            raise ValueError(f"For 'Meshgrid', 'indexing' must be 'xy' or 'ij', "
                             f"but got {indexing!r}.")

    def __call__(self, inputs: Any) -> tuple[Tensor, ...]:
        return meshgrid(*inputs, indexing=self.indexing)


class StridedSlice(Primitive):
    """`ops.strided_slice` with the masks as attributes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.StridedSlice()(ms.Tensor([1, 2, 3]), (0,), (3,), (2,)))
        [1 3]
    """

    @prim_attr_register
    def __init__(self, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0,
                 new_axis_mask: int = 0, shrink_axis_mask: int = 0):
        pass

    def __call__(self, input_x: Tensor, begin: Any, end: Any, strides: Any) -> Tensor:
        return strided_slice(input_x, begin, end, strides, self.begin_mask, self.end_mask,
                             self.ellipsis_mask, self.new_axis_mask, self.shrink_axis_mask)


class Gather(Primitive):
    """`ops.gather` with the batch dimensions as an attribute."""

    @prim_attr_register
    def __init__(self, batch_dims: int = 0):
        as_int(batch_dims, "Gather", "batch_dims")

    def __call__(self, input_params: Tensor, input_indices: Tensor, axis: Any) -> Tensor:
        return gather(input_params, input_indices, axis, self.batch_dims)


GatherV2 = Gather


class TopK(Primitive):
    """`ops.top_k`: the greatest elements along the last dimension and their places, int32."""

    @prim_attr_register
    def __init__(self, sorted: bool = True):
        pass

    def __call__(self, input_x: Tensor, k: Any) -> tuple[Tensor, Tensor]:
        return top_k(input_x, k, self.sorted)


class Sort(Primitive):
    """`ops.sort` with axis and direction as attributes."""

    @prim_attr_register
    def __init__(self, axis: int = -1, descending: bool = False):
        as_int(axis, "Sort")

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return sort(x, self.axis, self.descending)


class SearchSorted(Primitive):
    """`ops.searchsorted` with the side and the type of the result as attributes."""

    @prim_attr_register
    def __init__(self, dtype: Any = mstype.int64, right: bool = False):
        pass

    def __call__(self, sorted_sequence: Tensor, values: Tensor,
                 sorter: Tensor | None = None) -> Tensor:
        return searchsorted(sorted_sequence, values, out_int32=self.dtype is mstype.int32,
                            right=self.right, sorter=sorter)


class Bucketize(Primitive):
    """`ops.bucketize` with the boundaries as an attribute; what equals one lies after it."""

    @prim_attr_register
    def __init__(self, boundaries: Any):
        pass

    def __call__(self, input: Tensor) -> Tensor:
        return bucketize(input, self.boundaries, right=True)


class UniqueConsecutive(Primitive):
    """`ops.unique_consecutive` with its options as attributes."""

    @prim_attr_register
    def __init__(self, return_inverse: bool = False, return_counts: bool = False,
                 dim: int | None = None):
        pass

    def __call__(self, input: Tensor) -> Any:
        return unique_consecutive(input, self.return_inverse, self.return_counts, self.dim)


class BatchToSpaceND(Primitive):
    """`ops.batch_to_space_nd` with its arguments as attributes."""

    @prim_attr_register
    def __init__(self, block_shape: Any, crops: Any):
        pass

    def __call__(self, input_x: Tensor) -> Tensor:
        return batch_to_space_nd(input_x, self.block_shape, self.crops)


class SpaceToBatchND(Primitive):
    """`ops.space_to_batch_nd` with its arguments as attributes."""

    @prim_attr_register
    def __init__(self, block_shape: Any, paddings: Any):
        pass

    def __call__(self, input_x: Tensor) -> Tensor:
        return space_to_batch_nd(input_x, self.block_shape, self.paddings)


class UnravelIndex(Primitive):
    """The coordinates of places counted through a flattened tensor: (k, n) for n places.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.UnravelIndex()(ms.Tensor([5]), ms.Tensor([2, 3])))
        [[1]
         [2]]
    """

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, indices: Tensor, dims: Tensor) -> Tensor:
        places = indices_of(indices, "UnravelIndex")
        return wrap(torch.stack(torch.unravel_index(places, as_ints(dims, "UnravelIndex", "dims")))
                    .to(indices._raw.dtype))


class InvertPermutation(Primitive):
    """The permutation, a tuple, that undoes another.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.InvertPermutation()((2, 0, 1))
        (1, 2, 0)
    """

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, input_x: Any) -> tuple[int, ...]:
        order = as_ints(input_x, "InvertPermutation", "input_x")
        if sorted(order) != list(builtins.range(len(order))):
            raise ValueError(f"For 'InvertPermutation', the input must have each of the numbers "
                             f"from 0 to {len(order) - 1} once, but got {order}.")
        return tuple(order.index(i) for i in builtins.range(len(order)))


class ListDiff(Primitive):
    """The elements of one tensor that another does not have, and where they are.

    Examples:
        >>> import lamella as ms
        >>> out, places = ms.ops.ListDiff()(ms.Tensor([1, 2, 3]), ms.Tensor([2]))
        >>> print(out, places)
        [1 3] [0 2]
    """

    @prim_attr_register
    def __init__(self, out_idx: Any = mstype.int32):
        pass

    def __call__(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        known = torch.isin(raw_of(x, "ListDiff", "x"), raw_of(y, "ListDiff", "y"))
        places = (~known).nonzero()[:, 0]
        return wrap(x._raw[places]), cast(wrap(places), self.out_idx)


class TensorToTuple(Primitive):
    """The elements of a tensor of rank 1 as a tuple of numbers."""

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, x: Tensor) -> tuple:
        return tuple(raw_of(x, "TensorToTuple", "x").tolist())
