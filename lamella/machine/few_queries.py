"""Attention of a few queries to many keys (`few_queries.cpp`), and as PyTorch computes it."""

from __future__ import annotations

import pathlib

import torch

from .extension import Extension

extension = Extension("lamella_few_queries", pathlib.Path(__file__).with_name("few_queries.cpp"),
                      for_this_processor=True)
MOST = 8  # queries of a head; with more, products of blocks pay


def by_torch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None,
             scale: float) -> torch.Tensor:
    """softmax(Q Kᵀ scale + mask) V for (B, heads, length, width); `mask` has 4 dimensions."""
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(
        q, k, v, 0.0, False, attn_mask=mask, scale=scale)[0]


def by_queries(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None,
               scale: float) -> torch.Tensor:
    """As `by_torch`, of float32 and bfloat16. The extension must be there."""
    return torch.ops.lamella.few_queries_attention.default(q, k, v, mask, scale)
