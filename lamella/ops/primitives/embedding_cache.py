"""Primitive classes of embedding caches: a small table holds the rows that are in use."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..assign import assign
from ..primitive import primitive

__all__ = ["DynamicAssign", "PadAndShift", "UpdateCache"]


@op
def _update(input_x: Tensor, indices: Tensor, updates: Tensor, max_num: Any) -> Tensor:
    """Store rows at the indices from 0 to `max_num` - 1, and leave out the others."""
    rows, limit = indices._raw.reshape(-1), min(int(max_num), input_x.shape[0])
    kept = (rows >= 0) & (rows < limit)
    new = updates._raw.reshape(len(rows), *input_x.shape[1:])[kept]
    assign(input_x, wrap(input_x._raw.index_put((rows[kept].long(),), new.to(input_x._raw.dtype))))
    return wrap(torch.zeros(1, dtype=indices._raw.dtype))


@op
def _pad_and_shift(input_x: Tensor, cum_sum_arr: Tensor, shift_idx: int) -> Tensor:
    """-1 everywhere, and the first elements of `input_x` between two of the limits."""
    limits = cum_sum_arr._raw.tolist()
    if not 0 <= shift_idx < len(limits) - 1:
        raise ValueError(f"For 'PadAndShift', 'shift_idx' must be in [0, {len(limits) - 1}), but "
                         f"got {shift_idx}.")
    begin, end = limits[shift_idx:shift_idx + 2]
    out = torch.full((limits[-1],), -1, dtype=input_x._raw.dtype, device=input_x._raw.device)
    out[begin:end] = input_x._raw[:end - begin]
    return wrap(out)


@op
def _assign_any(ref: Tensor, value: Tensor) -> Tensor:
    """Store a value of any shape in a Parameter."""
    if ref.shape == value.shape:
        return assign(ref, value)
    ref.set_data(wrap(value._raw.to(ref._raw.dtype)), slice_shape=True)  # type: ignore
    return ref


DynamicAssign = primitive("DynamicAssign", _assign_any)
PadAndShift = primitive("PadAndShift", _pad_and_shift)
UpdateCache = primitive("UpdateCache", _update)
