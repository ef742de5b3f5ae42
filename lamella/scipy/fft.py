"""Discrete cosine transforms of type II and their inverses, orthonormal, as MindSpore has them.

Computed by fast Fourier transforms of the mirrored sequence (Ahmed, Natarajan and Rao, 1974).
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ..core.dtype import is_inexact
from ..core.errors import op
from ..core.require import of_type
from ..ops.arguments import as_ints, axis_in
from ..tensors.tensor import Tensor, wrap

__all__ = ["dct", "dctn", "idct", "idctn"]


def _checked(where: str, x: Any, kind: Any, norm: Any) -> torch.Tensor:
    of_type(x, Tensor, "x", where)
    if kind != 2:
        raise ValueError(f"For '{where}', only type 2 is there, but got {kind!r}.")
    if norm not in (None, "ortho"):
        raise ValueError(f"For '{where}', 'norm' must be None or 'ortho', which mean the same, "
                         f"but got {norm!r}.")
    raw = x._raw
    if raw.dtype in (torch.float16, torch.bfloat16):
        return raw.float()
    return raw if is_inexact(raw.dtype) else raw.float()


def _fitted(raw: torch.Tensor, length: int, axis: int) -> torch.Tensor:
    """Cut, or filled up with 0, to a length along an axis."""
    if length < 1:
        raise ValueError(f"the length of a transform must be 1 or more, but got {length}.")
    if length <= raw.shape[axis]:
        return raw.narrow(axis, 0, length)
    zeros = raw.new_zeros((*raw.shape[:axis], length - raw.shape[axis], *raw.shape[axis + 1:]))
    return torch.cat((raw, zeros), axis)


def _weights(raw: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The turns of half a step that mirroring costs, and the scale that makes rows orthonormal."""
    count = raw.shape[-1]
    kind = torch.float64 if raw.dtype in (torch.float64, torch.complex128) else torch.float32
    number = torch.arange(count, dtype=torch.float64, device=raw.device)
    angle = -math.pi * number / (2 * count)
    turns = torch.polar(torch.ones_like(angle), angle)
    scale = torch.full_like(angle, math.sqrt(1 / (2 * count)))
    scale = torch.where(number == 0, math.sqrt(1 / (4 * count)), scale)
    return turns.to(torch.complex128 if kind is torch.float64 else torch.complex64), scale.to(kind)


def _forward(raw: torch.Tensor) -> torch.Tensor:
    if raw.is_complex():
        return torch.complex(_forward(raw.real), _forward(raw.imag))
    turns, scale = _weights(raw)
    mirrored = torch.cat((raw, raw.flip(-1)), -1)
    return (torch.fft.fft(mirrored)[..., :raw.shape[-1]] * turns).real * scale


def _backward(raw: torch.Tensor) -> torch.Tensor:
    if raw.is_complex():
        return torch.complex(_backward(raw.real), _backward(raw.imag))
    count = raw.shape[-1]
    turns, scale = _weights(raw)
    waves = torch.fft.ifft(raw * 2 * scale * turns.conj(), 2 * count) * (2 * count)
    return waves[..., :count].real


def _along(where: str, transform: Any, x: Any, kind: Any, lengths: Any, axes: Any, norm: Any
           ) -> Tensor:
    raw = _checked(where, x, kind, norm)
    if raw.dim() == 0:
        raise ValueError(f"For '{where}', 'x' must have one dimension or more.")
    for number, axis in enumerate(axes):
        at = axis_in(axis, raw.dim(), where)
        if lengths is not None:
            raw = _fitted(raw, lengths[number], at)
        raw = transform(raw.movedim(at, -1)).movedim(-1, at)
    return wrap(raw)


def _axes(x: Any, s: Any, axes: Any, where: str) -> tuple[Any, Any]:
    lengths = None if s is None else as_ints(s, where, "s")
    if axes is None:
        count = getattr(x, "ndim", 0)
        chosen = tuple(range(count)) if lengths is None else tuple(range(-len(lengths), 0))
    else:
        chosen = as_ints(axes, where, "axes")
    if lengths is not None and len(lengths) != len(chosen):
        raise ValueError(f"For '{where}', 's' and 'axes' must have one length, but got {s} and "
                         f"{axes}.")
    return lengths, chosen


@op
def dct(x: Tensor, type: int = 2, n: int | None = None, axis: int = -1,
        norm: str | None = None) -> Tensor:
    """The discrete cosine transform of type II, orthonormal.

    Args:
        x: any shape with an axis.
        type: 2.
        n: the length to cut or fill up to with 0; default: as it is.
        axis: the axis to transform.
        norm: None or ``"ortho"``, which mean the same, as in MindSpore.

    Raises:
        ValueError: if `type` or `norm` is another, or there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.scipy.fft.dct(ms.Tensor([1.0, 1.0, 1.0, 1.0])))
        [2. 0. 0. 0.]
    """
    return _along("dct", _forward, x, type, None if n is None else (n,), (axis,), norm)


@op
def idct(x: Tensor, type: int = 2, n: int | None = None, axis: int = -1,
         norm: str | None = None) -> Tensor:
    """The inverse of `dct`; arguments as there.

    Examples:
        >>> import lamella as ms
        >>> print(ms.scipy.fft.idct(ms.Tensor([2.0, 0.0, 0.0, 0.0])))
        [1. 1. 1. 1.]
    """
    return _along("idct", _backward, x, type, None if n is None else (n,), (axis,), norm)


@op
def dctn(x: Tensor, type: int = 2, s: Any = None, axes: Any = None,
         norm: str | None = None) -> Tensor:
    """As `dct` along several axes; default: all.

    Args:
        x: any shape.
        type: 2.
        s: the lengths to cut or fill up to with 0.
        axes: the axes to transform; default: all, or the last ones if `s` is given.
        norm: None or ``"ortho"``, which mean the same.
    """
    return _along("dctn", _forward, x, type, *_axes(x, s, axes, "dctn"), norm)


@op
def idctn(x: Tensor, type: int = 2, s: Any = None, axes: Any = None,
          norm: str | None = None) -> Tensor:
    """The inverse of `dctn`; arguments as there."""
    return _along("idctn", _backward, x, type, *_axes(x, s, axes, "idctn"), norm)
