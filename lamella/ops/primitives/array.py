"""Primitive classes of shapes, joins, splits and rearrangement."""

from __future__ import annotations

from typing import Any

from ...core.errors import op
from ...core.state import numbers
from ...tensors.tensor import Tensor, wrap
from ..arguments import as_int, as_ints, axis_in, raw_of
from ..assign import assign
from ..composite import prim_attr_register
from ..diagonal import (
    diag,
    matrix_band_part,
    matrix_diag,
    matrix_diag_part,
    matrix_set_diag,
    tril,
    triu,
)
from ..join import concat, stack
from ..primitive import Primitive, primitive
from ..rearrange import flip, reverse_sequence, roll, tile, transpose
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
from ..slicing import batch_to_space_nd, space_to_batch_nd
from ..split import split, unstack
from .attributes import whole_number, whole_numbers, with_attributes

__all__ = [
    "BatchToSpace", "BatchToSpaceND", "BatchToSpaceNDV2", "BroadcastTo", "Concat", "CopyWithSlice",
    "DType", "Diag", "DiagPart", "DynamicShape", "Expand", "ExpandDims", "Flatten", "IdentityN",
    "InvertPermutation", "MatrixBandPart", "MatrixDiagPartV3", "MatrixDiagV3", "MatrixSetDiagV3",
    "Pack", "ParallelConcat", "Rank", "Reshape", "ReverseSequence", "ReverseV2", "Roll",
    "SelectView", "Shape", "Size", "SpaceToBatch", "SpaceToBatchND", "Split", "SplitV", "Squeeze",
    "Stack", "TensorShape", "TensorToScalar", "TensorToTuple", "Tile", "Transpose",
    "TransposeExtView", "TransposeView", "Tril", "Triu", "Unpack", "Unstack",
]

DType = primitive("DType", dtype)
Diag = primitive("Diag", diag)
ExpandDims = primitive("ExpandDims", expand_dims)
Flatten = primitive("Flatten", flatten)
MatrixBandPart = primitive("MatrixBandPart", matrix_band_part)
Rank = primitive("Rank", rank)
Reshape = primitive("Reshape", reshape)
Shape = primitive("Shape", shape)
Size = primitive("Size", size)
TensorShape = primitive("TensorShape", dyn_shape)
Tile = primitive("Tile", tile)
Transpose = primitive("Transpose", transpose)


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
    """`ops.stack` along `axis`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Stack(axis=1)([ms.Tensor([1, 2]), ms.Tensor([3, 4])]))
        [[1 3]
         [2 4]]
    """

    @prim_attr_register
    def __init__(self, axis: int = 0):
        as_int(axis, "Stack")

    def __call__(self, tensors: Any) -> Tensor:
        return stack(tensors, self.axis)


Pack = Stack


class Unstack(Primitive):
    """`ops.unstack` along `axis`; `num` is the number of parts, for a check.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.ops.Unstack()(ms.Tensor([[1, 2], [3, 4]]))
        >>> print(a, b)
        [1 2] [3 4]
    """

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
        if not isinstance(size_splits, (tuple, list)):
            raise TypeError(f"For 'SplitV', 'size_splits' must be a tuple or list of ints, "
                            f"but got {size_splits!r} of type {type(size_splits).__name__}.")
        if len(size_splits) != num_split or list(size_splits).count(-1) > 1:
            raise ValueError(f"For 'SplitV', 'size_splits' must have 'num_split' = {num_split} "
                             f"lengths, at most one of them -1, but got {size_splits}.")

    def __call__(self, input_x: Tensor) -> tuple[Tensor, ...]:
        raw = raw_of(input_x, "SplitV", "input_x")
        have = raw.shape[axis_in(self.split_dim, raw.dim(), "SplitV", "split_dim")]
        rest = have - sum(n for n in self.size_splits if n != -1)
        return split(input_x, [rest if n == -1 else n for n in self.size_splits], self.split_dim)


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
    """`ops.squeeze` of the dimensions `axis`; all of length 1 where it is empty.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.Squeeze(1)(ms.ops.ones((2, 1, 3))).shape
        (2, 3)
    """

    @prim_attr_register
    def __init__(self, axis: Any = ()):
        as_ints(axis, "Squeeze", "axis")

    def __call__(self, input: Tensor) -> Tensor:
        return squeeze(input, self.axis)


class BroadcastTo(Primitive):
    """`ops.broadcast_to` with the shape as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.BroadcastTo((2, 2))(ms.Tensor([1, 2])))
        [[1 2]
         [1 2]]
    """

    @prim_attr_register
    def __init__(self, shape: Any):
        as_ints(shape, "BroadcastTo")

    def __call__(self, input: Tensor) -> Tensor:
        return broadcast_to(input, self.shape)


class Expand(Primitive):
    """`ops.broadcast_to` with the shape as a Tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Expand()(ms.Tensor([[1.0], [2.0]]), ms.Tensor([2, 3])))
        [[1. 1. 1.]
         [2. 2. 2.]]
    """

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, x: Tensor, shape: Tensor) -> Tensor:
        return broadcast_to(x, as_ints(wrap(raw_of(shape, self.name, "shape")), self.name))


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
        if not isinstance(input_x, (tuple, list)):
            raise ValueError(f"For 'InvertPermutation', 'input_x' must be a tuple or a list, "
                             f"but got {type(input_x).__name__}.")
        order = as_ints(input_x, "InvertPermutation", "input_x")
        if sorted(order) != list(range(len(order))):
            raise ValueError(f"For 'InvertPermutation', the input must have each of the numbers "
                             f"from 0 to {len(order) - 1} once, but got {order}.")
        return tuple(order.index(i) for i in range(len(order)))


class TensorToScalar(Primitive):
    """The number that a tensor of one element holds."""

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, input_x: Tensor) -> int | float | bool:
        raw = raw_of(input_x, "TensorToScalar", "input_x")
        if raw.numel() != 1:
            raise ValueError(f"For 'TensorToScalar', 'input_x' must have one element, but got a "
                             f"tensor of shape {list(raw.shape)}.")
        return numbers(raw.reshape(1))[0]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, Tensor) else value


def _batch_to_space(input_x: Tensor, block_shape: Any, crops: Any) -> Tensor:
    """As `ops.batch_to_space_nd`, whose first numbers are for the channels."""
    shape, cut = _plain(block_shape), _plain(crops)
    if len(shape) == input_x.ndim - 1 and shape[0] == 1 and list(cut[0]) == [0, 0]:
        shape, cut = shape[1:], cut[1:]
    return batch_to_space_nd(input_x, shape, cut)


def _space_to_batch(input_x: Tensor, *, block_shape: Any, paddings: Any) -> Tensor:
    return space_to_batch_nd(input_x, block_shape, paddings)


def _shape_of(x: Tensor, *, dtype: Any) -> Tensor:
    return dyn_shape(x)


def _reversed(input: Tensor, *, axis: Any) -> Tensor:
    return flip(input, axis)


def _copies(x: Any) -> tuple[Tensor, ...]:
    """Copies of a tuple of Tensors."""
    return tuple([wrap(raw_of(v, "IdentityN", "x").clone()) for v in x])


def _elements(x: Tensor) -> tuple:
    """The elements of a tensor of rank 1 as a tuple of numbers."""
    return tuple(numbers(raw_of(x, "TensorToTuple", "x")))


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


def _matrix_diag(x: Tensor, k: Any, num_rows: Any, num_cols: Any, padding_value: Any, *,
                 align: str) -> Tensor:
    """As `ops.matrix_diag`."""
    return matrix_diag(x, k, num_rows, num_cols, padding_value, align)


BatchToSpace = with_attributes(
    "BatchToSpace", lambda input_x, block_size, crops: batch_to_space_nd(
        input_x, [block_size] * 2, crops), "block_size", "crops")
BatchToSpaceND = with_attributes("BatchToSpaceND", batch_to_space_nd, "block_shape", "crops")
BatchToSpaceNDV2 = primitive("BatchToSpaceNDV2", _batch_to_space)
DiagPart = primitive("DiagPart", diag_part)
DynamicShape = with_attributes("DynamicShape", _shape_of, dtype=9)
IdentityN = primitive("IdentityN", _copies)
MatrixDiagPartV3 = with_attributes("MatrixDiagPartV3", matrix_diag_part, align="RIGHT_LEFT")
MatrixDiagV3 = with_attributes("MatrixDiagV3", _matrix_diag, align="RIGHT_LEFT")
MatrixSetDiagV3 = with_attributes("MatrixSetDiagV3", matrix_set_diag, align="RIGHT_LEFT")
ReverseSequence = with_attributes("ReverseSequence", reverse_sequence, "seq_dim", batch_dim=0)
ReverseV2 = with_attributes("ReverseV2", _reversed, "axis", checks={"axis": whole_numbers})
Roll = with_attributes("Roll", roll, "shifts", dims=None)
SpaceToBatch = with_attributes(
    "SpaceToBatch", lambda input_x, block_size, paddings: space_to_batch_nd(
        input_x, [block_size] * 2, paddings), "block_size", "paddings")
SpaceToBatchND = with_attributes("SpaceToBatchND", _space_to_batch, "block_shape", "paddings")
TensorToTuple = primitive("TensorToTuple", _elements)
TransposeView = primitive("TransposeView", transpose)
Tril = with_attributes("Tril", tril, diagonal=0, checks={"diagonal": whole_number})
Triu = with_attributes("Triu", triu, diagonal=0, checks={"diagonal": whole_number})


@op
def _select_view(input: Tensor, dim: int, index: int) -> Tensor:
    """The elements at one position of a dimension, which goes; a view."""
    return wrap(input._raw.select(dim, index))


@op
def _transpose_view(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged; a view."""
    return wrap(input._raw.transpose(dim0, dim1))


@op
def _copy_with_slice(x: Tensor, y: Tensor) -> Tensor:
    """Write `y` into `x`, which may be a view."""
    assign(x, y)
    return x


CopyWithSlice = primitive("CopyWithSlice", _copy_with_slice)
SelectView = primitive("SelectView", _select_view)
TransposeExtView = primitive("TransposeExtView", _transpose_view)

