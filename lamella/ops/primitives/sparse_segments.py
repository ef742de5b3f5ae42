"""Primitive classes that add up chosen rows by segments."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..primitive import Primitive, primitive

__all__ = [
    "SparseSegmentMean", "SparseSegmentMeanGrad", "SparseSegmentMeanWithNumSegments",
    "SparseSegmentSqrtN", "SparseSegmentSqrtNGrad", "SparseSegmentSqrtNWithNumSegments",
    "SparseSegmentSum", "SparseSegmentSumWithNumSegments",
]

_POWERS = {"Sum": 0.0, "Mean": 1.0, "SqrtN": 0.5}  # of the count that a sum is divided by


def _rows(name: str, indices: Tensor, segment_ids: Tensor, length: int
          ) -> tuple[torch.Tensor, torch.Tensor]:
    at, ids = indices._raw.long(), segment_ids._raw.long()
    if at.dim() != 1 or at.shape != ids.shape:
        raise ValueError(f"For '{name}', 'indices' and 'segment_ids' must have one dimension and "
                         f"one length, but got shapes {indices.shape} and {segment_ids.shape}.")
    if bool((ids.diff() < 0).any()):
        raise ValueError(f"For '{name}', 'segment_ids' must ascend, but got {segment_ids}.")
    if bool(((at < 0) | (at >= length)).any()):
        raise ValueError(f"For '{name}', 'indices' must be in [0, {length}), but got {indices}.")
    return at, ids


def _divided(rows: torch.Tensor, ids: torch.Tensor, count: int, power: float) -> torch.Tensor:
    """Rows, each divided by a power of how many its segment has."""
    members = torch.bincount(ids, minlength=count).clamp(min=1).to(rows.dtype) ** power
    return rows / members[ids].reshape(-1, *[1] * (rows.dim() - 1))


def _over_segments(name: str, power: float) -> type[Primitive]:
    def total(x: Tensor, indices: Tensor, segment_ids: Tensor, num_segments: Any = None) -> Tensor:
        at, ids = _rows(name, indices, segment_ids, x.shape[0])
        last = int(ids[-1]) + 1 if len(ids) else 0
        count = last if num_segments is None else int(num_segments)
        if last > count:
            raise ValueError(f"For '{name}', 'num_segments' must be above each of 'segment_ids', "
                             f"but got {count} and {segment_ids}.")
        rows = _divided(x._raw[at], ids, count, power)
        return wrap(rows.new_zeros((count, *rows.shape[1:])).index_add(0, ids, rows))

    total.__name__ = "_total"
    return primitive(name, op(total, name))


def _gradient(name: str, power: float) -> type[Primitive]:
    def gradient(x: Tensor, indices: Tensor, segment_ids: Tensor, output_dim0: Any) -> Tensor:
        length = int(output_dim0)
        at, ids = _rows(name, indices, segment_ids, length)
        rows = _divided(x._raw[ids], ids, x.shape[0], power)
        return wrap(rows.new_zeros((length, *rows.shape[1:])).index_add(0, at, rows))

    gradient.__name__ = "_gradient"
    return primitive(name, op(gradient, name))


SparseSegmentSum, SparseSegmentMean, SparseSegmentSqrtN = (
    _over_segments(f"SparseSegment{kind}", power) for kind, power in _POWERS.items())
(SparseSegmentSumWithNumSegments, SparseSegmentMeanWithNumSegments,
 SparseSegmentSqrtNWithNumSegments) = (
    _over_segments(f"SparseSegment{kind}WithNumSegments", power)
    for kind, power in _POWERS.items())
SparseSegmentMeanGrad = _gradient("SparseSegmentMeanGrad", 1.0)
SparseSegmentSqrtNGrad = _gradient("SparseSegmentSqrtNGrad", 0.5)
