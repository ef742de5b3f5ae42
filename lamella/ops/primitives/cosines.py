"""Primitive classes of cosine transforms of type II, and of their inverses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..primitive import primitive

__all__ = ["DCT", "DCTN", "FFTOrtho", "IDCT", "IDCTN"]


def _scales(n: int, like: torch.Tensor) -> torch.Tensor:
    """What makes the transform orthonormal, from sums of ``2 x cos``."""
    scales = torch.full((n,), math.sqrt(1 / (2 * n)), dtype=like.dtype, device=like.device)
    scales[0] = math.sqrt(1 / (4 * n))
    return scales


def _turn(n: int, like: torch.Tensor) -> torch.Tensor:
    """The rotation by a quarter of a step that makes Fourier's waves cosines."""
    angles = torch.arange(n, dtype=like.dtype, device=like.device) * (math.pi / (2 * n))
    return torch.polar(torch.ones_like(angles), angles)


def _cosines(x: torch.Tensor) -> torch.Tensor:
    """The orthonormal transform along the last axis, by one Fourier transform of the same length.

    The even elements come first, then the odd ones backwards: J. Makhoul, "A fast cosine transform
    in one and two dimensions", IEEE Trans. ASSP 28 (1980).
    """
    n = x.shape[-1]
    waves = torch.fft.fft(torch.cat([x[..., ::2], x[..., 1::2].flip(-1)], -1))
    return 2 * (waves * _turn(n, x).conj()).real * _scales(n, x)


def _from_cosines(x: torch.Tensor) -> torch.Tensor:
    """The inverse of `_cosines`."""
    n = x.shape[-1]
    sums = x / _scales(n, x)
    mirrored = torch.cat([torch.zeros_like(sums[..., :1]), sums[..., 1:].flip(-1)], -1)
    row = torch.fft.ifft(torch.complex(sums, -mirrored) * _turn(n, x) / 2).real
    half = (n + 1) // 2
    even, odd = row[..., :half], row[..., half:].flip(-1)
    odd = torch.nn.functional.pad(odd, (0, half - n // 2))  # as many as the even ones
    return torch.stack([even, odd], -1).flatten(-2)[..., :n]


def _resized(raw: torch.Tensor, size: int, axis: int) -> torch.Tensor:
    """Cut off, or filled up with zeros, at the end of an axis."""
    raw = raw.narrow(axis, 0, min(size, raw.shape[axis])).movedim(axis, -1)
    return torch.nn.functional.pad(raw, (0, size - raw.shape[-1])).movedim(-1, axis)


def _along(name: str, kernel: Callable[[torch.Tensor], torch.Tensor], x: Tensor, type: int,
           sizes: Sequence[int] | None, axes: Sequence[int], norm: str | None) -> Tensor:
    if type != 2:
        raise ValueError(f"For '{name}', 'type' must be 2, but got {type}.")
    if norm not in (None, "ortho"):
        raise ValueError(f"For '{name}', 'norm' must be None or \"ortho\", but got {norm!r}.")
    if sizes is not None and len(sizes) != len(axes):
        raise ValueError(f"For '{name}', there must be as many sizes as axes, but got "
                         f"{tuple(sizes)} for the axes {tuple(axes)}.")
    raw = x._raw
    if raw.dtype not in (torch.float32, torch.float64, torch.complex64, torch.complex128):
        raw = raw.float()
    for i, axis in enumerate(axes):
        if not -raw.dim() <= axis < raw.dim():
            raise ValueError(f"For '{name}', an axis must be in [-{raw.dim()}, {raw.dim()}), but "
                             f"got {axis}.")
        size = raw.shape[axis] if sizes is None else sizes[i]
        if size < 1:
            raise ValueError(f"For '{name}', the size of an axis must be positive, but got "
                             f"{size} for the axis {axis}.")
        raw = _resized(raw, size, axis).movedim(axis, -1)
        raw = torch.complex(kernel(raw.real), kernel(raw.imag)) if raw.is_complex() else kernel(raw)
        raw = raw.movedim(-1, axis)
    return wrap(raw)


def _over_axes(name: str, kernel: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Tensor]:
    def transform(x: Tensor, type: int = 2, s: Any = None, axes: Any = None,
                  norm: str | None = None) -> Tensor:
        if axes is None:
            axes = range(-(x.ndim if s is None else len(s)), 0)
        return _along(name, kernel, x, type, s, axes, norm)
    return op(transform, name)


def _over_axis(name: str, kernel: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Tensor]:
    def transform(x: Tensor, type: int = 2, n: int | None = None, axis: int = -1,
                  norm: str | None = None) -> Tensor:
        return _along(name, kernel, x, type, None if n is None else (n,), (axis,), norm)
    return op(transform, name)


@op
def _orthonormal(input: Tensor, axes: Any = None, forward: bool = True) -> Tensor:
    """Sums of ``2 x cos`` along the axes, scaled to an orthonormal transform; or back to them."""
    raw = input._raw
    for axis in axes or ():
        scales = _scales(raw.shape[axis], raw.real)
        along = raw.movedim(axis, -1)
        raw = (along * scales if forward else along / scales).movedim(-1, axis)
    return wrap(raw)


DCT = primitive("DCT", _over_axis("DCT", _cosines))
DCTN = primitive("DCTN", _over_axes("DCTN", _cosines))
IDCT = primitive("IDCT", _over_axis("IDCT", _from_cosines))
IDCTN = primitive("IDCTN", _over_axes("IDCTN", _from_cosines))
FFTOrtho = primitive("FFTOrtho", _orthonormal)
