"""Discrete Fourier transforms along two or more axes at once."""

from __future__ import annotations

from typing import Any

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..tensors.tensor import Tensor
from .fourier import axes_of, transform

__all__ = [
    "fft2", "fftn", "hfft2", "hfftn", "ifft2", "ifftn", "ihfft2", "ihfftn", "irfft2", "irfftn",
    "rfft2", "rfftn",
]


@op
def fft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along two axes.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Returns:
        complex Tensor

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fft2(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[10.+0.j -2.+0.j]
         [-4.+0.j  0.+0.j]]
    """
    return transform(torch.fft.fft2, input, s, tuple(dim), norm)


@documented_like(fft2)
@op
def ifft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `fft2`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ifft2(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[ 2.5+0.j -0.5+0.j]
         [-1. +0.j  0. +0.j]]
    """
    return transform(torch.fft.ifft2, input, s, tuple(dim), norm)


@documented_like(fft2)
@op
def rfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft2` of real numbers: the half of it that says all.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.rfft2(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[10.+0.j -2.+0.j]
         [-4.+0.j  0.+0.j]]
    """
    return transform(torch.fft.rfft2, input, s, tuple(dim), norm)


@documented_like(fft2)
@op
def irfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `rfft2`.

    Returns:
        real Tensor

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.irfft2(ms.Tensor([[1 + 0j, 2 + 0j], [3 + 0j, 4 + 0j]])))
        [[ 2.5 -0.5]
         [-1.   0. ]]
    """
    return transform(torch.fft.irfft2, input, s, tuple(dim), norm)


@documented_like(irfft2)
@op
def hfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfft` along the last of two axes, after `fft` along the others.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hfft2(ms.Tensor([[1 + 0j, 2 + 0j], [3 + 0j, 4 + 0j]])))
        [[10. -2.]
         [-4.  0.]]
    """
    return transform(torch.fft.hfft2, input, s, tuple(dim), norm)


@documented_like(fft2)
@op
def ihfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `hfft2`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ihfft2(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[ 2.5-0.j -0.5-0.j]
         [-1. +0.j  0. +0.j]]
    """
    return transform(torch.fft.ihfft2, input, s, tuple(dim), norm)


@documented_like(fft2)
@op
def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along several axes.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes; default: the last ones that `s` has lengths for, or all.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fftn(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[10.+0.j -2.+0.j]
         [-4.+0.j  0.+0.j]]
    """
    return transform(torch.fft.fftn, input, s, axes_of(dim), norm)


@documented_like(fftn)
@op
def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ifftn(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[ 2.5+0.j -0.5+0.j]
         [-1. +0.j  0. +0.j]]
    """
    return transform(torch.fft.ifftn, input, s, axes_of(dim), norm)


@documented_like(fftn)
@op
def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`fftn` of real numbers: the half of it that says all.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.rfftn(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[10.+0.j -2.+0.j]
         [-4.+0.j  0.+0.j]]
    """
    return transform(torch.fft.rfftn, input, s, axes_of(dim), norm)


@documented_like(fftn)
@op
def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`.

    Returns:
        real Tensor

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.irfftn(ms.Tensor([[1 + 0j, 2 + 0j], [3 + 0j, 4 + 0j]])))
        [[ 2.5 -0.5]
         [-1.   0. ]]
    """
    return transform(torch.fft.irfftn, input, s, axes_of(dim), norm)


@documented_like(irfftn)
@op
def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`hfft` along the last of several axes, after `fft` along the others.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hfftn(ms.Tensor([[1 + 0j, 2 + 0j], [3 + 0j, 4 + 0j]])))
        [[10. -2.]
         [-4.  0.]]
    """
    return transform(torch.fft.hfftn, input, s, axes_of(dim), norm)


@documented_like(fftn)
@op
def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ihfftn(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[ 2.5-0.j -0.5-0.j]
         [-1. +0.j  0. +0.j]]
    """
    return transform(torch.fft.ihfftn, input, s, axes_of(dim), norm)
