"""Primitive classes that write into tensors and combine by segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...core.errors import op
from ...core.primitive import examples_of
from ...tensors.tensor import Tensor, wrap
from ..arguments import indices_of
from ..primitive import Primitive, primitive
from ..scatter import (
    index_add,
    index_fill,
    inplace_add,
    inplace_sub,
    inplace_update,
    tensor_scatter_elements,
    unsorted_segment_max,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sum,
)
from ..scatter_nd import (
    scatter_add,
    scatter_div,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd,
    scatter_nd_add,
    scatter_nd_div,
    scatter_nd_max,
    scatter_nd_min,
    scatter_nd_mul,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
    tensor_scatter_add,
    tensor_scatter_div,
    tensor_scatter_max,
    tensor_scatter_min,
    tensor_scatter_mul,
    tensor_scatter_sub,
    tensor_scatter_update,
)
from .attributed import Attributed
from .attributes import whole_number, with_attributes

__all__ = [
    "IndexAdd", "IndexFill", "IndexPut", "InplaceAdd", "InplaceIndexAdd", "InplaceSub",
    "InplaceUpdate", "InplaceUpdateV2", "ScatterAdd", "ScatterAddWithAxis", "ScatterDiv",
    "ScatterMax", "ScatterMin", "ScatterMul", "ScatterNd", "ScatterNdAdd", "ScatterNdDiv",
    "ScatterNdMax", "ScatterNdMin", "ScatterNdMul", "ScatterNdSub", "ScatterNdUpdate",
    "ScatterNonAliasingAdd", "ScatterSub", "ScatterUpdate", "TensorScatterAdd",
    "TensorScatterDiv", "TensorScatterElements", "TensorScatterMax", "TensorScatterMin",
    "TensorScatterMul", "TensorScatterSub", "TensorScatterUpdate", "UnsortedSegmentMax",
    "UnsortedSegmentMin", "UnsortedSegmentProd", "UnsortedSegmentSum",
]

ScatterNd = primitive("ScatterNd", scatter_nd)
ScatterNonAliasingAdd = primitive("ScatterNonAliasingAdd", scatter_nd_add)
TensorScatterAdd = primitive("TensorScatterAdd", tensor_scatter_add)
TensorScatterDiv = primitive("TensorScatterDiv", tensor_scatter_div)
TensorScatterMax = primitive("TensorScatterMax", tensor_scatter_max)
TensorScatterMin = primitive("TensorScatterMin", tensor_scatter_min)
TensorScatterMul = primitive("TensorScatterMul", tensor_scatter_mul)
TensorScatterSub = primitive("TensorScatterSub", tensor_scatter_sub)
TensorScatterUpdate = primitive("TensorScatterUpdate", tensor_scatter_update)
UnsortedSegmentMax = primitive("UnsortedSegmentMax", unsorted_segment_max)
UnsortedSegmentMin = primitive("UnsortedSegmentMin", unsorted_segment_min)
UnsortedSegmentProd = primitive("UnsortedSegmentProd", unsorted_segment_prod)
UnsortedSegmentSum = primitive("UnsortedSegmentSum", unsorted_segment_sum)
IndexFill = primitive("IndexFill", index_fill)


def _locking(name: str, function: Callable[..., Tensor], use: bool = False) -> type[Primitive]:
    """A class whose one attribute, `use_locking`, is accepted as MindSpore does."""

    class _Locking(Primitive):
        __doc__ = (f"The operator `ops.{function.__name__}` as an object.\n\n    Args:\n"
                   f"        use_locking: accepted as MindSpore does, without effect."
                   f"{examples_of(name, function)}")

        def __init__(self, use_locking: bool = use):
            super().__init__(name)
            self.add_prim_attr("use_locking", use_locking)

        def __call__(self, input_x: Any, indices: Tensor, updates: Tensor) -> Tensor:
            return function(input_x, indices, updates)

    _Locking.__name__ = _Locking.__qualname__ = name
    _Locking.__module__ = __name__
    return _Locking


ScatterUpdate = _locking("ScatterUpdate", scatter_update, True)
ScatterAdd = _locking("ScatterAdd", scatter_add)
ScatterSub = _locking("ScatterSub", scatter_sub)
ScatterMul = _locking("ScatterMul", scatter_mul)
ScatterDiv = _locking("ScatterDiv", scatter_div)
ScatterMax = _locking("ScatterMax", scatter_max)
ScatterMin = _locking("ScatterMin", scatter_min)
ScatterNdUpdate = _locking("ScatterNdUpdate", scatter_nd_update, True)
ScatterNdAdd = _locking("ScatterNdAdd", scatter_nd_add)
ScatterNdSub = _locking("ScatterNdSub", scatter_nd_sub)
ScatterNdMul = _locking("ScatterNdMul", scatter_nd_mul)
ScatterNdDiv = _locking("ScatterNdDiv", scatter_nd_div)
ScatterNdMax = _locking("ScatterNdMax", scatter_nd_max)
ScatterNdMin = _locking("ScatterNdMin", scatter_nd_min)


@op
def _index_put(x1: Tensor, x2: Tensor, indices: Any, accumulate: Any) -> Tensor:
    positions = tuple([i._raw if i._raw.dtype is torch.bool else indices_of(i, "IndexPut")
                       for i in indices])
    return wrap(x1._raw.index_put(positions, x2._raw, bool(accumulate)))


class InplaceIndexAdd(Attributed):
    """Adds slices to those of a Parameter at given indices; returns its new value.

    Args:
        axis: the dimension of the indices.

    Inputs:
        - **var** - Parameter or Tensor.
        - **indices** - Tensor (N,).
        - **updates** - Tensor of `var`'s shape, with N along `axis`.
    """

    def __init__(self, axis: int):
        super().__init__(axis=axis)

    def __call__(self, var: Any, indices: Tensor, updates: Tensor) -> Any:
        var._raw = var._raw.index_add(self.axis, indices._raw.long(), updates._raw)
        return wrap(var._raw)


def _added_along(data: Tensor, indices: Tensor, updates: Tensor, *, axis: int) -> Tensor:
    return tensor_scatter_elements(data, indices, updates, axis, "add")


def _updated(x: Tensor, indices: Any, v: Tensor) -> Tensor:
    return inplace_update(x, v, indices)


IndexAdd = with_attributes("IndexAdd", index_add, "axis", use_lock=True, check_index_bound=True)
IndexPut = with_attributes("IndexPut", _index_put, accumulate=0)
InplaceAdd = with_attributes("InplaceAdd", inplace_add, "indices")
InplaceSub = with_attributes("InplaceSub", inplace_sub, "indices")
InplaceUpdate = with_attributes("InplaceUpdate", inplace_update, "indices")
InplaceUpdateV2 = primitive("InplaceUpdateV2", _updated)
ScatterAddWithAxis = with_attributes("ScatterAddWithAxis", _added_along, axis=0,
                                     checks={"axis": whole_number})
TensorScatterElements = with_attributes("TensorScatterElements", tensor_scatter_elements, axis=0,
                                        reduction="none")

