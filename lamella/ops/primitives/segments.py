"""Primitive classes of sorted rows, and of reductions by segments."""

from __future__ import annotations

from typing import Any

import torch

from ...core import dtype as mstype
from ...core.dtype import to_raw
from ...core.errors import op
from ...core.primitive import primitive
from ...tensors.tensor import Tensor, wrap
from .attributed import Attributed

__all__ = ["LowerBound", "NthElement", "SegmentMax", "SegmentMean", "SegmentMin", "SegmentProd",
           "SegmentSum", "UpperBound"]


@op
def _reduced(input_x: Tensor, segment_ids: Tensor, how: str) -> Tensor:
    """The slices that have one number, combined; for one that is left out 0, or 1 of products."""
    raw, positions = input_x._raw, segment_ids._raw.long()
    if positions.dim() != 1 or positions.shape[0] != raw.shape[0]:
        raise ValueError(f"For 'Segment{how}', 'segment_ids' must have one number for each of the "
                         f"{raw.shape[0]} slices, but got shape {segment_ids.shape}.")
    if positions.numel() and bool((positions[1:] < positions[:-1]).any() | (positions[0] < 0)):
        raise ValueError(f"For 'Segment{how}', 'segment_ids' must ascend from 0 or more, "
                         f"but got {segment_ids}.")
    count = int(positions[-1]) + 1 if positions.numel() else 0
    kinds = {"Sum": "sum", "Mean": "mean", "Max": "amax", "Min": "amin", "Prod": "prod"}
    start = raw.new_full((count, *raw.shape[1:]), 1 if how == "Prod" else 0)
    index = positions.reshape(-1, *[1] * (raw.dim() - 1)).expand(raw.shape)
    return wrap(start.scatter_reduce(0, index, raw, kinds[how], include_self=False))


def _segment(how: str) -> Any:
    def combine(input_x: Tensor, segment_ids: Tensor) -> Tensor:
        return _reduced(input_x, segment_ids, how)

    combine.__name__ = f"segment_{how.lower()}"
    return primitive(f"Segment{how}", combine)


SegmentMax = _segment("Max")
SegmentMean = _segment("Mean")
SegmentMin = _segment("Min")
SegmentProd = _segment("Prod")
SegmentSum = _segment("Sum")


class _Bound(Attributed):
    """Where values would be inserted into sorted rows.

    Args:
        out_type: int32 or int64.

    Inputs:
        - **sorted_x** - Tensor (rows, N), each row ascending.
        - **values** - Tensor (rows, M).
    """

    right = False

    def __init__(self, out_type: Any = mstype.int32):
        super().__init__(out_type=out_type)
        if out_type not in (mstype.int32, mstype.int64):
            raise TypeError(f"For '{self.name}', 'out_type' must be int32 or int64, "
                            f"but got {out_type}.")

    def __call__(self, sorted_x: Tensor, values: Tensor) -> Tensor:
        rows, wanted = sorted_x._raw, values._raw
        if rows.dim() != 2 or wanted.dim() != 2 or rows.shape[0] != wanted.shape[0]:
            raise ValueError(f"For '{self.name}', both inputs must have 2 dimensions and as many "
                             f"rows, but got shapes {sorted_x.shape} and {values.shape}.")
        found = torch.searchsorted(rows.contiguous(), wanted.contiguous(), right=self.right)
        return wrap(found.to(to_raw(self.out_type)))


class LowerBound(_Bound):
    __doc__ = f"{_Bound.__doc__}\n    Equal elements come after."


class UpperBound(_Bound):
    __doc__ = f"{_Bound.__doc__}\n    Equal elements come before."
    right = True


class NthElement(Attributed):
    """The n-th of the last dimension's elements in order.

    Args:
        reverse: whether they descend.

    Inputs:
        - **input** - Tensor (..., N).
        - **n** - int or Tensor, counted from 0.

    Raises:
        ValueError: if there is no such element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.NthElement()(ms.Tensor([[1.0, 3.0, 2.0]]), 1))
        [2.]
    """

    def __init__(self, reverse: bool = False):
        super().__init__(reverse=reverse)

    def __call__(self, input: Tensor, n: Any) -> Tensor:
        return _nth_least(input, int(n), bool(self.reverse))


@op
def _nth_least(input: Tensor, n: int, reverse: bool) -> Tensor:
    raw = input._raw
    length = raw.shape[-1] if raw.dim() else 0
    if not 0 <= n < length:
        raise ValueError(f"For 'NthElement', 'n' must be in [0, {length}), but got {n}.")
    return wrap(raw.kthvalue(length - n if reverse else n + 1, -1).values)
