"""Type promotion: brings the operands of a binary operator to one type."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..core.dtype import is_inexact, promote_types
from .construction import NUMBERS, as_raw

# what a binary operator takes as its other side, beside Tensors
OPERANDS = (*NUMBERS, np.generic, np.ndarray, list, tuple, torch.SymInt, torch.SymFloat)
LEAST, MOST = -2**63, 2**63 - 1  # the integers that a kernel takes as a number


def promote(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two raw tensors, both in the type that an operation on them computes in."""
    common = promote_types(a.dtype, b.dtype)
    return a.to(common), b.to(common)


def promote_factors(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As `promote`, for products and quotients: there a tensor of rank 0 yields to the other.

    MindSpore 2.10 promotes these two as PyTorch does, and everything else by the types alone. There
    are no complex numbers of 16-bit floats.
    """
    if (a.dim() == 0) is not (b.dim() == 0) and torch.result_type(a, b) is not torch.complex32:
        return a, b
    return promote(a, b)


def _only_numbers(value: Any) -> bool:
    """Whether a list or tuple, of any depth, holds Python's numbers alone."""
    return all(_only_numbers(part) if isinstance(part, (list, tuple)) else
               type(part) in (int, float, bool, complex) for part in value)


def operand(value: Any, like: torch.Tensor) -> Any:
    """What a kernel gets for the other side of a binary operator: a raw tensor or a number."""
    if isinstance(value, NUMBERS):
        if type(value) is complex and like.dtype is torch.float16:
            return torch.tensor(value, dtype=torch.complex64, device=like.device)  # no half of it
        if type(value) is int and not LEAST <= value <= MOST and is_inexact(like.dtype):
            return float(value)
        return value
    raw = getattr(value, "_raw", None)
    if raw is not None:
        return raw
    if isinstance(value, np.generic):
        return operand(value.item(), like)
    if isinstance(value, (list, tuple)):
        raw = as_raw(value).to(like.device)
        if not _only_numbers(value):
            return raw
        one = True if raw.dtype is torch.bool else (
            1j if raw.is_complex() else 1.0 if raw.is_floating_point() else 1)
        return raw.to(torch.result_type(like, one))  # Python's numbers yield, in a list, too
    if isinstance(value, np.ndarray):
        return as_raw(value).to(like.device)
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        return value
    return NotImplemented
