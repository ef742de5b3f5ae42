"""Kernels of 16 bits on a CPU, computed in float32.

Where the processor has no arithmetic of a type, PyTorch's convolutions and matrix products of it
are plain loops, which take 5 to 180 times as long as float32's. In float32 the sums are more
exact, too, and are rounded once. So are those of float16, and of bfloat16 where oneDNN has no
kernels of it (a processor with AVX2 only). Gradients follow, since conversions are recorded like
any operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..core.dtype import is_inexact

__all__ = ["in_float32"]


def _slow_types() -> frozenset[torch.dtype]:
    asked: Any = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    has_kernels = asked is not None and torch.backends.mkldnn.is_available() and asked()
    return frozenset((torch.float16, *([] if has_kernels else [torch.bfloat16])))


SLOW = _slow_types()  # whose kernels are plain loops


def in_float32(kernel: Callable[..., torch.Tensor], rows: int = 0, factor: int = 0,
               integers: Callable[..., torch.Tensor] | None = None, forward: bool = False,
               lowered: bool = True) -> Callable[..., torch.Tensor]:
    """A kernel of raw tensors that computes what is all of one slow type on a CPU in float32.

    Args:
        kernel: its first argument is a tensor; further ones may be.
        rows: with fewer rows of the first factor PyTorch's own kernel is used: it reads the
            second one as it is, which then takes most of the time. Not if a
            gradient of bfloat16 is wanted, which is slow.
        factor: which argument is the first factor.
        integers: computes the same of integers, for devices where the kernel doesn't.
        forward: whether PyTorch's own kernel of bfloat16 is fast, but not its gradient.
        lowered: whether autocast computes it in the type of low precision.
    """
    lowers = lowered and torch.bfloat16 in SLOW  # else products needn't ask, which takes .3 us

    def is_own(given: tuple[Any, ...], kind: torch.dtype) -> bool:
        if not _are_all(given, kind):
            return True
        few = rows > 0 and _has_few(given[factor], rows)
        if kind is torch.bfloat16:
            return (few or forward) and not _wants_gradient(given)
        return few

    def called(*given: Any, **options: Any) -> torch.Tensor:
        if lowers and torch.is_autocast_enabled("cpu") and _are_lowered(given):
            low = torch.get_autocast_dtype("cpu")
            with torch.autocast("cpu", enabled=False):
                return called(*[v.to(low) if isinstance(v, torch.Tensor) and v.is_floating_point()
                                else v for v in given], **options)
        kind = given[0].dtype
        if kind not in SLOW or is_own(given, kind):
            try:
                return kernel(*given, **options)
            except RuntimeError:
                if integers is None or given[0].is_cpu or is_inexact(kind):
                    raise
                return integers(*given)
        return kernel(*[v.float() if isinstance(v, torch.Tensor) and v.dtype is kind else v
                        for v in given], **options).to(kind)

    return called


def _are_all(given: tuple[Any, ...], kind: torch.dtype) -> bool:
    """Whether all tensors among the arguments but masks are of a type, and on a CPU."""
    return all([v.is_cpu and v.dtype in (kind, torch.bool) for v in given
                if isinstance(v, torch.Tensor)])


def _are_lowered(given: tuple[Any, ...]) -> bool:
    """Whether autocast, which is on, would convert tensors on a CPU to a slow type."""
    return torch.get_autocast_dtype("cpu") in SLOW and all([
        v.is_cpu and v.dtype in (torch.float32, torch.float16, torch.bfloat16, torch.bool)
        for v in given if isinstance(v, torch.Tensor)])


def _has_few(matrix: torch.Tensor, rows: int) -> bool:
    return matrix.dim() == 0 or matrix.numel() < rows * matrix.shape[-1]


def _wants_gradient(given: tuple[Any, ...]) -> bool:
    """Whether the tape will record a kernel."""
    return torch.is_grad_enabled() and any([
        v.requires_grad for v in given if isinstance(v, torch.Tensor)])
