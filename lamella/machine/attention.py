"""Attention and its gradient, by heads (`attention.cpp`) and as PyTorch computes it."""

from __future__ import annotations

import pathlib

import torch

from .extension import Extension

extension = Extension("lamella_attention", pathlib.Path(__file__).with_name("attention.cpp"),
                      for_this_processor=True)
Tensors = tuple[torch.Tensor, ...]


def by_torch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool, scale: float
             ) -> Tensors:
    """The result and the logarithms of sums, of (B, heads, length, width)."""
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(
        q, k, v, 0.0, is_causal, scale=scale)


def by_torch_backward(gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
                      out: torch.Tensor, sums: torch.Tensor, is_causal: bool, scale: float
                      ) -> Tensors:
    """The gradients by query, key and value."""
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(
        gradient, q, k, v, out, sums, 0.0, is_causal, scale=scale)


def by_heads(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool, scale: float
             ) -> Tensors:
    """As `by_torch`. The extension must be there."""
    return torch.ops.lamella.attention.default(q, k, v, is_causal, scale)


def by_heads_backward(gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
                      out: torch.Tensor, sums: torch.Tensor, is_causal: bool, scale: float
                      ) -> Tensors:
    """As `by_torch_backward`. The extension must be there."""
    return torch.ops.lamella.attention_backward.default(gradient, q, k, v, out, sums, is_causal,
                                                        scale)
