"""Gradients of piecewise functions of three pieces, in one pass, and on the tape (`kinks.cpp`)."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import torch
from torch._C import _len_torch_function_stack  # type: ignore[attr-defined]

from ..core.state import is_plain_run
from .extension import Extension

extension = Extension("lamella_kinks", pathlib.Path(__file__).with_name("kinks.cpp"),
                      for_this_processor=True)

LARGE = 2**15  # elements for which memory counts, and not what a call costs

# the derivative below a lower bound, there, between (times x, and what is added), at an upper
# bound, above it, and of NaN
Slopes = tuple[float, float, float, float, float, float, float]


def taped(raw: torch.Tensor, kernel: Callable[[torch.Tensor], torch.Tensor], low: float,
          high: float, slopes: Slopes) -> torch.Tensor | None:
    """What `kernel` gives, with this derivative on the tape; None where that can't be.

    The extension is built when that is first asked.
    """
    if (raw.dtype is not torch.float32 or type(raw) is not torch.Tensor or not raw.is_cpu
            or not raw.is_contiguous() or not is_plain_run()
            or _len_torch_function_stack()):  # what watches functions sees the kernel
        return None
    module = extension.obtain()
    if module is None:
        return None
    return module.kinked(raw, kernel(raw.detach()), low, high, slopes)


def suits(gradient: torch.Tensor, x: torch.Tensor) -> bool:
    """Whether `backward` may be called. The extension is built when that is first asked."""
    if x.dtype is not torch.float32 or x.numel() < LARGE or not x.is_cpu:
        return False
    if not is_plain_run() or type(x) is not torch.Tensor or not x.is_contiguous() or (
            gradient.dtype is not x.dtype):
        return False
    return extension.obtain() is not None


def backward(gradient: torch.Tensor, x: torch.Tensor, low: float, high: float, slopes: Slopes
             ) -> torch.Tensor:
    """The gradient times the derivative at x."""
    return torch.ops.lamella.kinks_backward.default(gradient, x, low, high, slopes)
