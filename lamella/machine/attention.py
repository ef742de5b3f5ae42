"""The gradient of attention in bfloat16, by products of whole matrices (`attention.cpp`)."""

from __future__ import annotations

import pathlib
from typing import Any

import torch

from .extension import Extension

extension = Extension("lamella_attention", pathlib.Path(__file__).with_name("attention.cpp"),
                      for_this_processor=True)


def by_torch(*given: Any) -> Any:
    """The gradients by query, key and value, as PyTorch computes them.

    Args:
        given: the gradient of the result, query, key, value, the result, the logarithms of sums;
            whether the mask is causal, and the scale.
    """
    *tensors, is_causal, scale = given
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(
        *tensors, 0.0, is_causal, scale=scale)


def by_products(*given: Any) -> Any:
    """The same by products of whole matrices. The extension must be there."""
    return torch.ops.lamella.attention_backward.default(*given)
