"""Primitive classes that pick elements: by index, mask and slice, and by their order."""

from __future__ import annotations

from typing import Any

import torch

from ...core import dtype as mstype
from ...tensors.tensor import Tensor, wrap
from ..arguments import as_int, as_ints, indices_of, raw_of
from ..composite import prim_attr_register
from ..creation import cast
from ..gather import gather, gather_d, gather_nd
from ..primitive import Primitive, primitive
from ..select import masked_fill, masked_scatter, masked_select, nonzero, select
from ..slicing import slice, strided_slice  # noqa: A004
from ..sorting import bucketize, searchsorted, sort, top_k, unique, unique_consecutive
from ..sorting import unique_with_pad as _unique_with_pad
from .attributes import with_attributes

__all__ = [
    "Bucketize", "Gather", "GatherD", "GatherNd", "GatherV2", "ListDiff", "MaskedFill",
    "MaskedScatter", "MaskedSelect", "NonZero", "SearchSorted", "Select", "Slice", "Sort",
    "StridedSlice", "TopK", "Unique", "UniqueConsecutive", "UniqueWithPad", "UnravelIndex",
]



def _bucketized(input: Tensor, *, boundaries: Any) -> Tensor:
    return bucketize(input, boundaries, right=True)


def _found(sorted_sequence: Tensor, values: Tensor, sorter: Tensor | None = None, *, dtype: Any,
           right: bool) -> Tensor:
    return searchsorted(sorted_sequence, values, out_int32=dtype is mstype.int32, right=right,
                        sorter=sorter)


def _consecutive(input: Tensor, *, return_inverse: bool, return_counts: bool, dim: Any) -> Any:
    """Always three tensors, as MindSpore's kernel gives: what isn't asked for is a 0."""
    found = unique_consecutive(input, return_inverse, return_counts, dim)
    rest = list(found[1:]) if isinstance(found, tuple) else []
    none = wrap(torch.zeros((), dtype=torch.int64, device=input._raw.device))
    return (found[0] if rest else found, rest.pop(0) if return_inverse else none,
            rest.pop(0) if return_counts else none)


GatherD = primitive("GatherD", gather_d)
GatherNd = primitive("GatherNd", gather_nd)
MaskedFill = primitive("MaskedFill", masked_fill)
MaskedScatter = primitive("MaskedScatter", masked_scatter)
MaskedSelect = primitive("MaskedSelect", masked_select)
NonZero = primitive("NonZero", nonzero)
Select = primitive("Select", select)
Slice = primitive("Slice", slice)
Bucketize = with_attributes("Bucketize", _bucketized, "boundaries")
SearchSorted = with_attributes("SearchSorted", _found, dtype=mstype.int64, right=False)
Unique = primitive("Unique", unique)
UniqueConsecutive = with_attributes("UniqueConsecutive", _consecutive, return_inverse=False,
                                    return_counts=False, dim=None)
UniqueWithPad = primitive("UniqueWithPad", _unique_with_pad)


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
    """`ops.gather` with the batch dimensions as an attribute.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Gather()(ms.Tensor([1.0, 2.0, 3.0]), ms.Tensor([2, 0]), 0))
        [3. 1.]
    """

    @prim_attr_register
    def __init__(self, batch_dims: int = 0):
        as_int(batch_dims, "Gather", "batch_dims")

    def __call__(self, input_params: Tensor, input_indices: Tensor, axis: Any) -> Tensor:
        return gather(input_params, input_indices, axis, self.batch_dims)


GatherV2 = Gather


class TopK(Primitive):
    """`ops.top_k`: the largest elements along the last dimension and their indices, int32.

    Examples:
        >>> import lamella as ms
        >>> values, indices = ms.ops.TopK()(ms.Tensor([3.0, 5.0, 4.0]), 2)
        >>> print(values, indices)
        [5. 4.] [1 2]
    """

    @prim_attr_register
    def __init__(self, sorted: bool = True):
        pass

    def __call__(self, input_x: Tensor, k: Any) -> tuple[Tensor, Tensor]:
        return top_k(input_x, k, self.sorted)


class Sort(Primitive):
    """`ops.sort` with axis and direction as attributes.

    Examples:
        >>> import lamella as ms
        >>> values, indices = ms.ops.Sort(descending=True)(ms.Tensor([3.0, 5.0, 4.0]))
        >>> print(values, indices)
        [5. 4. 3.] [1 2 0]
    """

    @prim_attr_register
    def __init__(self, axis: int = -1, descending: bool = False):
        as_int(axis, "Sort")

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return sort(x, self.axis, self.descending)


class UnravelIndex(Primitive):
    """The coordinates of indices into a flattened tensor: (k, n) for n indices.

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
        raw = indices_of(indices, "UnravelIndex")
        return wrap(torch.stack(torch.unravel_index(raw, as_ints(dims, "UnravelIndex", "dims")))
                    .to(indices._raw.dtype))


class ListDiff(Primitive):
    """The elements of one tensor that another does not have, and where they are.

    Examples:
        >>> import lamella as ms
        >>> out, positions = ms.ops.ListDiff()(ms.Tensor([1, 2, 3]), ms.Tensor([2]))
        >>> print(out, positions)
        [1 3] [0 2]
    """

    @prim_attr_register
    def __init__(self, out_idx: Any = mstype.int32):
        pass

    def __call__(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        known = torch.isin(raw_of(x, "ListDiff", "x"), raw_of(y, "ListDiff", "y"))
        positions = (~known).nonzero()[:, 0]
        return wrap(x._raw[positions]), cast(wrap(positions), self.out_idx)

