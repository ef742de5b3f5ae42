"""Discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .. import context
from ..dtype import to_raw
from ..errors import op
from ..tensor import Tensor, wrap

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft",
           "ifft2", "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2",
           "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]


def _axes(dim: Any) -> Any:
    return dim if dim is None or isinstance(dim, int) else tuple(dim)


def _wide(input: Tensor) -> torch.Tensor:
    raw = input._raw  # PyTorch transforms no half precision on a CPU
    return raw.float() if raw.dtype in (torch.float16, torch.bfloat16) else raw


def _run(kernel: Callable[..., torch.Tensor], input: Tensor, *args: Any) -> Tensor:
    raw = _wide(input)
    if raw.numel():
        return wrap(kernel(raw, *args))
    # PyTorch's transforms fail on no data; zeros of the shape that they find
    return wrap(torch.zeros_like(kernel(raw.to("meta"), *args), device=raw.device))


def _kind(dtype: Any) -> torch.dtype:
    return torch.float32 if dtype is None else to_raw(dtype, "fftfreq")


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
    return _run(torch.fft.fft, input, n, dim, norm)


@op
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`.

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
        >>> print(ms.ops.ifft(ms.Tensor([3.0, -1.0])))
        [1.-0.j 2.-0.j]
    """
    return _run(torch.fft.ifft, input, n, dim, norm)


@op
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """`fft` of real numbers: the half of it that says all.

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
        >>> print(ms.ops.rfft(ms.Tensor([1.0, 2.0])))
        [ 3.+0.j -1.+0.j]
    """
    return _run(torch.fft.rfft, input, n, dim, norm)


@op
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`.

    Args:
        input: any shape.
        n: the length to cut or pad the axis to before.
        dim: the axis.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            length.

    Returns:
        real Tensor

    Raises:
        ValueError: if there is no such axis or `n` is not positive.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.irfft(ms.Tensor([3 + 0j, -1 + 0j])))
        [1. 2.]
    """
    return _run(torch.fft.irfft, input, n, dim, norm)


@op
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform, real, of numbers of which the half of a Hermitian-symmetric row is given.

    Args:
        input: any shape.
        n: the length to cut or pad the axis to before.
        dim: the axis.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            length.

    Returns:
        real Tensor

    Raises:
        ValueError: if there is no such axis or `n` is not positive.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hfft(ms.Tensor([1 + 0j, 2 + 0j])))
        [ 3. -1.]
    """
    return _run(torch.fft.hfft, input, n, dim, norm)


@op
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`.

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
        >>> print(ms.ops.ihfft(ms.Tensor([3.0, -1.0])))
        [1.-0.j 2.-0.j]
    """
    return _run(torch.fft.ihfft, input, n, dim, norm)


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
    return _run(torch.fft.fft2, input, s, tuple(dim), norm)


@op
def ifft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `fft2`.

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
        >>> print(ms.ops.ifft2(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[ 2.5+0.j -0.5+0.j]
         [-1. +0.j  0. +0.j]]
    """
    return _run(torch.fft.ifft2, input, s, tuple(dim), norm)


@op
def rfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft2` of real numbers: the half of it that says all.

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
        >>> print(ms.ops.rfft2(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[10.+0.j -2.+0.j]
         [-4.+0.j  0.+0.j]]
    """
    return _run(torch.fft.rfft2, input, s, tuple(dim), norm)


@op
def irfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `rfft2`.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Returns:
        real Tensor

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.irfft2(ms.Tensor([[1 + 0j, 2 + 0j], [3 + 0j, 4 + 0j]])))
        [[ 2.5 -0.5]
         [-1.   0. ]]
    """
    return _run(torch.fft.irfft2, input, s, tuple(dim), norm)


@op
def hfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfft` along the last of two axes, after `fft` along the others.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Returns:
        real Tensor

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hfft2(ms.Tensor([[1 + 0j, 2 + 0j], [3 + 0j, 4 + 0j]])))
        [[10. -2.]
         [-4.  0.]]
    """
    return _run(torch.fft.hfft2, input, s, tuple(dim), norm)


@op
def ihfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `hfft2`.

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
        >>> print(ms.ops.ihfft2(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[ 2.5-0.j -0.5-0.j]
         [-1. +0.j  0. +0.j]]
    """
    return _run(torch.fft.ihfft2, input, s, tuple(dim), norm)


@op
def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along several axes.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes; default: the last ones that `s` has lengths for, or all.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Returns:
        complex Tensor

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fftn(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[10.+0.j -2.+0.j]
         [-4.+0.j  0.+0.j]]
    """
    return _run(torch.fft.fftn, input, s, _axes(dim), norm)


@op
def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes; default: the last ones that `s` has lengths for, or all.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Returns:
        complex Tensor

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ifftn(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[ 2.5+0.j -0.5+0.j]
         [-1. +0.j  0. +0.j]]
    """
    return _run(torch.fft.ifftn, input, s, _axes(dim), norm)


@op
def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`fftn` of real numbers: the half of it that says all.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes; default: the last ones that `s` has lengths for, or all.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Returns:
        complex Tensor

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.rfftn(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[10.+0.j -2.+0.j]
         [-4.+0.j  0.+0.j]]
    """
    return _run(torch.fft.rfftn, input, s, _axes(dim), norm)


@op
def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes; default: the last ones that `s` has lengths for, or all.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Returns:
        real Tensor

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.irfftn(ms.Tensor([[1 + 0j, 2 + 0j], [3 + 0j, 4 + 0j]])))
        [[ 2.5 -0.5]
         [-1.   0. ]]
    """
    return _run(torch.fft.irfftn, input, s, _axes(dim), norm)


@op
def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`hfft` along the last of several axes, after `fft` along the others.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes; default: the last ones that `s` has lengths for, or all.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Returns:
        real Tensor

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hfftn(ms.Tensor([[1 + 0j, 2 + 0j], [3 + 0j, 4 + 0j]])))
        [[10. -2.]
         [-4.  0.]]
    """
    return _run(torch.fft.hfftn, input, s, _axes(dim), norm)


@op
def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`.

    Args:
        input: any shape.
        s: the lengths to cut or pad the axes to before.
        dim: the axes; default: the last ones that `s` has lengths for, or all.
        norm: ``"backward"`` (default), ``"ortho"`` or ``"forward"``: where to divide by the
            lengths.

    Returns:
        complex Tensor

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ihfftn(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[ 2.5-0.j -0.5-0.j]
         [-1. +0.j  0. +0.j]]
    """
    return _run(torch.fft.ihfftn, input, s, _axes(dim), norm)


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
    return wrap(torch.fft.fftshift(input._raw, _axes(dim)))


@op
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`.

    Args:
        input: any shape.
        dim: the axes; default: all.

    Returns:
        Tensor of the shape of `input`

    Raises:
        ValueError: if there are no such axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ifftshift(ms.Tensor([-2, -1, 0, 1, 2])))
        [ 0  1  2 -2 -1]
    """
    return wrap(torch.fft.ifftshift(input._raw, _axes(dim)))


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
    return wrap(torch.fft.fftfreq(n, d, dtype=_kind(dtype), device=context.current_device()))


@op
def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Tensor:
    """The frequencies that the elements of `rfft` stand for.

    Args:
        n: the length of the transform.
        d: the time between samples.
        dtype: the type; default: float32.

    Returns:
        Tensor of shape (n // 2 + 1,)

    Raises:
        ValueError: if `n` is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.rfftfreq(4))
        [0.   0.25 0.5 ]
    """
    return wrap(torch.fft.rfftfreq(n, d, dtype=_kind(dtype), device=context.current_device()))
