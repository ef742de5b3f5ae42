"""Primitive classes of Fourier and cosine transforms, over the functions of `ops`."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from .. import fourier, fourier_axes
from ..primitive import Primitive, primitive

__all__ = [
    "FFT", "FFT2", "FFTFreq", "FFTN", "FFTShapeCopy", "FFTShift", "HFFT", "HFFT2",
    "HFFTN", "IFFT", "IFFT2", "IFFTN", "IFFTShift", "IHFFT", "IHFFT2", "IHFFTN", "IRFFT", "IRFFT2",
    "IRFFTDouble", "IRFFTN", "RFFT", "RFFT2", "RFFTFreq", "RFFTN",
]


def _faces(module: Any, names: str) -> list[type[Primitive]]:
    return [primitive(name, getattr(module, name.lower())) for name in names.split()]


FFT, IFFT, RFFT, IRFFT, HFFT, IHFFT, FFTShift, IFFTShift, FFTFreq, RFFTFreq = _faces(
    fourier, "FFT IFFT RFFT IRFFT HFFT IHFFT FFTShift IFFTShift FFTFreq RFFTFreq")
FFT2, IFFT2, RFFT2, IRFFT2, HFFT2, IHFFT2 = _faces(
    fourier_axes, "FFT2 IFFT2 RFFT2 IRFFT2 HFFT2 IHFFT2")
FFTN, IFFTN, RFFTN, IRFFTN, HFFTN, IHFFTN = _faces(
    fourier_axes, "FFTN IFFTN RFFTN IRFFTN HFFTN IHFFTN")


@op
def _shape_copy(dout: Tensor, shape: Any) -> Tensor:
    """A Tensor cut off, or filled up with zeros, to a shape."""
    sizes = tuple(shape.tolist() if isinstance(shape, Tensor) else shape)
    raw = dout._raw
    amounts = [n for old, new in zip(reversed(raw.shape), reversed(sizes), strict=True)
               for n in (0, new - old)]
    return wrap(torch.nn.functional.pad(raw, amounts))


@op
def _doubled(input: Tensor, n: int, dim: int = -1) -> Tensor:
    """The frequencies that a real row of `n` numbers has twice, doubled: `irfft`'s gradient."""
    raw = input._raw
    along = torch.ones(raw.shape[dim], dtype=raw.real.dtype, device=raw.device)
    along[1:(n + 1) // 2] = 2
    return wrap((raw.movedim(dim, -1) * along).movedim(-1, dim))


FFTShapeCopy = primitive("FFTShapeCopy", _shape_copy)
IRFFTDouble = primitive("IRFFTDouble", _doubled)
