"""Casts between float32 and bfloat16 by the kernel that recorded graphs have for them."""

from __future__ import annotations

import torch

__all__ = ["narrow", "wide"]


def wide(x: torch.Tensor) -> torch.Tensor:
    """A tensor in float32; itself if it is that."""
    return x if x.dtype is torch.float32 else torch.ops.aten._to_copy.default(
        x, dtype=torch.float32)


def narrow(x: torch.Tensor) -> torch.Tensor:
    """A tensor of float32 in bfloat16."""
    return torch.ops.aten._to_copy.default(x, dtype=torch.bfloat16)
