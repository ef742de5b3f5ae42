"""Discrete Fourier transforms along one axis, their frequencies and shifts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..core.context import current_device
from ..core.docstrings import documented_like
from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .arguments import kind_or

__all__ = [
    "fft", "fftfreq", "fftshift", "hfft", "ifft", "ifftshift", "ihfft", "irfft", "rfft", "rfftfreq",
]


def axes_of(dim: Any) -> Any:
    """Axes as PyTorch takes them: None for all, an int or a tuple."""
    return dim if dim is None or isinstance(dim, int) else tuple(dim)


def _wide(input: Tensor) -> torch.Tensor:
    raw = input._raw  # PyTorch transforms no half precision on a CPU
    return raw.float() if raw.dtype in (torch.float16, torch.bfloat16) else raw


def transform(kernel: Callable[..., torch.Tensor], input: Tensor, *args: Any) -> Tensor:
    """One of PyTorch's transforms of a Tensor, whatever its type and size."""
    raw = _wide(input)
    name = kernel.__name__.removeprefix("fft_")
    if raw.is_complex() and name.startswith(("rfft", "ihfft")):
        raise TypeError(f"For '{name}', 'input' must be real, but got a Tensor of {input.dtype}.")
    if raw.numel():
        return wrap(kernel(raw, *args))
    # PyTorch's transforms fail on no data; zeros of the shape that they find
    return wrap(torch.zeros_like(kernel(raw.to("meta"), *args), device=raw.device))


@op
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along an axis.

    Args:
        input: any shape.
        n: the length to cut or pad the axis to before.
        dim: the axis.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            length.

    Returns:
        complex Tensor

    Raises:
        ValueError: if there is no such axis or `n` is not positive.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fft(ms.Tensor([1.0, 2.0])))
        [ 3.+0.j -1.+0.j]
    """
    return transform(torch.fft.fft, input, n, dim, norm)


@documented_like(fft)
@op
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ifft(ms.Tensor([3.0, -1.0])))
        [1.-0.j 2.-0.j]
    """
    return transform(torch.fft.ifft, input, n, dim, norm)


@documented_like(fft)
@op
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """`fft` of real numbers: the half of it that says all.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.rfft(ms.Tensor([1.0, 2.0])))
        [ 3.+0.j -1.+0.j]
    """
    return transform(torch.fft.rfft, input, n, dim, norm)


@documented_like(fft)
@op
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`.

    Returns:
        real Tensor

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.irfft(ms.Tensor([3 + 0j, -1 + 0j])))
        [1. 2.]
    """
    return transform(torch.fft.irfft, input, n, dim, norm)


@documented_like(irfft)
@op
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform, real, of numbers of which the half of a Hermitian-symmetric row is given.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hfft(ms.Tensor([1 + 0j, 2 + 0j])))
        [ 3. -1.]
    """
    return transform(torch.fft.hfft, input, n, dim, norm)


@documented_like(fft)
@op
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ihfft(ms.Tensor([3.0, -1.0])))
        [1.-0.j 2.-0.j]
    """
    return transform(torch.fft.ihfft, input, n, dim, norm)


@op
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The halves of axes exchanged, so that frequency 0 is in the middle.

    Args:
        input: any shape.
        dim: the axes; default: all.

    Returns:
        Tensor of the shape of `input`

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fftshift(ms.Tensor([0, 1, 2, -2, -1])))
        [-2 -1  0  1  2]
    """
    return wrap(torch.fft.fftshift(input._raw, axes_of(dim)))


@documented_like(fftshift)
@op
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ifftshift(ms.Tensor([-2, -1, 0, 1, 2])))
        [ 0  1  2 -2 -1]
    """
    return wrap(torch.fft.ifftshift(input._raw, axes_of(dim)))


@op
def fftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Tensor:
    """The frequencies that the elements of `fft` stand for.

    Args:
        n: the length of the transform.
        d: the time between samples.
        dtype: the type; default: float32.

    Returns:
        Tensor of shape (n,)

    Raises:
        ValueError: if `n` is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fftfreq(4))
        [ 0.    0.25 -0.5  -0.25]
    """
    return wrap(torch.fft.fftfreq(n, d, dtype=kind_or(dtype, torch.float32, "fftfreq"),
                                  device=current_device()))


@documented_like(fftfreq)
@op
def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Tensor:
    """The frequencies that the elements of `rfft` stand for.

    Returns:
        Tensor of shape (n // 2 + 1,)

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.rfftfreq(4))
        [0.   0.25 0.5 ]
    """
    return wrap(torch.fft.rfftfreq(n, d, dtype=kind_or(dtype, torch.float32, "rfftfreq"),
                                   device=current_device()))
