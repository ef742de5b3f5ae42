"""The raw operands of binary operators: their common type, and numbers among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..core.dtype import promote_types
from .construction import NUMBERS, as_raw


def promote(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two raw tensors, both in the type that an operation on them computes in."""
    common = promote_types(a.dtype, b.dtype)
    return a.to(common), b.to(common)


def promote_factors(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As `promote`, for products and quotients: there a tensor of rank 0 yields to the other.

    MindSpore 2.10 promotes these two as PyTorch does, and everything else by the types alone.
    """
    return (a, b) if (a.dim() == 0) is not (b.dim() == 0) else promote(a, b)


def operand(value: Any, like: torch.Tensor) -> Any:
    """What a kernel gets for the other side of a binary operator: a raw tensor or a number."""
    if isinstance(value, NUMBERS):
        if type(value) is complex and like.dtype is torch.float16:
            return torch.tensor(value, dtype=torch.complex64, device=like.device)  # no half of it
        return value
    raw = getattr(value, "_raw", None)
    if raw is not None:
        return raw
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (np.ndarray, list, tuple)):
        return as_raw(value).to(like.device)
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        return value
    return NotImplemented
