"""Kernels of float16 on a CPU, computed in float32.

Where the processor has no arithmetic of float16, PyTorch's convolutions and matrix products of it
are plain loops, which take 15 to 180 times as long as float32's. In float32 the sums are more
exact, too, and are rounded once. (Those of bfloat16 have fast kernels.) Gradients follow, since
conversions are recorded like any operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..core.dtype import is_inexact

__all__ = ["in_float32"]


def in_float32(kernel: Callable[..., torch.Tensor], rows: int = 0, factor: int = 0,
               integers: Callable[..., torch.Tensor] | None = None) -> Callable[..., torch.Tensor]:
    """A kernel of raw tensors that computes what is all of float16 on a CPU in float32.

    Args:
        kernel: its first argument is a tensor; further ones may be.
        rows: with fewer rows of the first factor PyTorch's own kernel is used: it reads the
            second one as it is, which then takes most of the time.
        factor: which argument is the first factor.
        integers: computes the same of integers, for devices where the kernel doesn't.
    """
    half = torch.float16

    def called(*given: Any, **options: Any) -> torch.Tensor:
        if given[0].dtype is not half or not _are_half(given) or rows and _has_few(given[factor],
                                                                                  rows):
            try:
                return kernel(*given, **options)
            except RuntimeError:
                if integers is None or given[0].is_cpu or is_inexact(given[0].dtype):
                    raise
                return integers(*given)
        return kernel(*[v.float() if isinstance(v, torch.Tensor) and v.dtype is half else v
                        for v in given], **options).to(half)

    return called


def _are_half(given: tuple[Any, ...]) -> bool:
    """Whether all tensors among the arguments but masks are of float16, and on a CPU."""
    return all([v.is_cpu and v.dtype in (torch.float16, torch.bool) for v in given
                if isinstance(v, torch.Tensor)])


def _has_few(matrix: torch.Tensor, rows: int) -> bool:
    return matrix.dim() == 0 or matrix.numel() < rows * matrix.shape[-1]
