"""Products of few rows with a matrix of int8 whose groups have scales (`int8_rows.cpp`)."""

from __future__ import annotations

import pathlib

import torch

from .extension import Extension

extension = Extension("lamella_int8_rows", pathlib.Path(__file__).with_name("int8_rows.cpp"),
                      for_this_processor=True)
MOST = 8  # rows; with more, converting the matrix takes less than multiplying with it
STEP = 32  # a group has a multiple of so many numbers
TYPES = (torch.float32, torch.bfloat16)


def by_torch(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, bias: torch.Tensor | None
             ) -> torch.Tensor:
    """x (rows, K) times the transpose of `weight` (N, K) in int8, with scales (N, groups)."""
    columns, width = weight.shape
    wide = weight.to(torch.float32).view(columns, scales.shape[1], -1) * scales.unsqueeze(2)
    return torch.nn.functional.linear(x, wide.view(columns, width).to(x.dtype), bias)


def by_rows(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, bias: torch.Tensor | None
            ) -> torch.Tensor:
    """As `by_torch`, but sums are rounded once. The extension must be there."""
    return torch.ops.lamella.int8_rows.default(x, weight, scales, bias)


def fits(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor) -> bool:
    """Whether `by_rows` takes these, and it is there; else it is built in the background."""
    if (x.dtype not in TYPES or not x.is_cpu or not x.numel() or x.shape[0] > MOST
            or not x.is_contiguous() or weight.shape[1] % (scales.shape[1] * STEP)):
        return False
    return extension.obtain() is not None
