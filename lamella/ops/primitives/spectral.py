"""Primitive classes of windows and Fourier transforms."""

from __future__ import annotations

from typing import Any

import torch

from ...core import dtype as mstype
from ...core.dtype import Type
from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..window import bartlett_window, blackman_window, hamming_window, stft
from .attributed import Attributed
from .attributes import with_attributes

__all__ = ["BartlettWindow", "BlackmanWindow", "FFTWithSize", "HammingWindow", "STFT"]


def _window(name: str, function: Any, **attributes: Any) -> Any:
    return with_attributes(name, function, **attributes)


BartlettWindow = _window("BartlettWindow", bartlett_window, periodic=True,
                         dtype=mstype.float32)
BlackmanWindow = _window("BlackmanWindow", blackman_window, periodic=True,
                         dtype=mstype.float32)


def _hamming(length: Tensor, periodic: bool, alpha: float, beta: float, dtype: Type) -> Tensor:
    """As `hamming_window`, of a length in a Tensor."""
    return hamming_window(int(length), periodic, alpha, beta, dtype=dtype)


HammingWindow = _window("HammingWindow", _hamming, periodic=True, alpha=0.54, beta=0.46,
                        dtype=mstype.float32)


class STFT(Attributed):
    """The Fourier transform of what is seen through a window that moves, without padding.

    Args: as `ops.stft`; each must be given.

    Inputs:
        - **x** - Tensor (L,) or (N, L).
        - **window** - Tensor (win_length,).
    """

    def __init__(self, n_fft: int, hop_length: int, win_length: int, normalized: bool,
                 onesided: bool, return_complex: bool):
        super().__init__(n_fft=n_fft, hop_length=hop_length, win_length=win_length,
                         normalized=normalized, onesided=onesided, return_complex=return_complex)

    def __call__(self, x: Tensor, window: Tensor) -> Tensor:
        return stft(x, self.n_fft, self.hop_length, self.win_length, window, False,
                    normalized=self.normalized, onesided=self.onesided,
                    return_complex=self.return_complex)


class FFTWithSize(Attributed):
    """The Fourier transform over the last 1 to 3 dimensions, forward or back.

    Args:
        signal_ndim: over how many dimensions.
        inverse: whether back.
        real: whether the signal (the result, going back) is real.
        norm: ``"backward"``, ``"forward"`` or ``"ortho"``: which direction is divided by the
            number of elements, or both by its root.
        onesided: whether the transform of a real signal leaves out what is known by symmetry.
        signal_sizes: the real signal's lengths, going back; default: even ones.

    Inputs:
        - **x** - Tensor, complex unless it is a real signal.

    Raises:
        ValueError: if an attribute is out of range, or the input has too few dimensions.
        TypeError: if the input's type doesn't fit.

    Examples:
        >>> import lamella as ms
        >>> signal = ms.Tensor([2.0, 1.0, 2.0])
        >>> print(ms.ops.FFTWithSize(1, False, True)(signal).shape)
        (2,)
    """

    def __init__(self, signal_ndim: int, inverse: bool, real: bool, norm: str = "backward",
                 onesided: bool = True, signal_sizes: Any = ()):
        super().__init__(signal_ndim=signal_ndim, inverse=inverse, real=real, norm=norm,
                         onesided=onesided, signal_sizes=signal_sizes)
        if signal_ndim not in (1, 2, 3):
            raise ValueError(f"For 'FFTWithSize', 'signal_ndim' must be 1, 2 or 3, "
                             f"but got {signal_ndim!r}.")
        if norm not in ("backward", "forward", "ortho"):
            raise ValueError(f"For 'FFTWithSize', 'norm' must be 'backward', 'forward' or 'ortho', "
                             f"but got {norm!r}.")
        if signal_sizes and len(signal_sizes) != signal_ndim:
            raise ValueError(f"For 'FFTWithSize', 'signal_sizes' must have {signal_ndim} lengths, "
                             f"but got {signal_sizes}.")

    def __call__(self, x: Tensor) -> Tensor:
        return _transformed(x, self)


@op
def _transformed(x: Tensor, how: FFTWithSize) -> Tensor:
    raw = x._raw
    if raw.dim() < how.signal_ndim:
        raise ValueError(f"For 'FFTWithSize', the input must have at least {how.signal_ndim} "
                         f"dimensions, but got shape {x.shape}.")
    forward_of_real = how.real and not how.inverse
    if raw.is_complex() == forward_of_real:
        raise TypeError(f"For 'FFTWithSize', the input must be "
                        f"{'real' if forward_of_real else 'complex'}, but got {x.dtype}.")
    dims = tuple(range(-how.signal_ndim, 0))
    if how.real and how.inverse and how.onesided and not how.signal_sizes and raw.shape[-1] == 1:
        raise ValueError("For 'FFTWithSize', the last dimension of the input cannot be 1 for a "
                         "onesided inverse without 'signal_sizes', which would have no elements.")
    if not how.real:
        kernel = torch.fft.ifftn if how.inverse else torch.fft.fftn
        return wrap(kernel(raw, dim=dims, norm=how.norm))
    if not how.inverse:
        raw = raw if raw.is_floating_point() else raw.float()
        kernel = torch.fft.rfftn if how.onesided else torch.fft.fftn
        return wrap(kernel(raw, dim=dims, norm=how.norm))
    if how.onesided:
        return wrap(torch.fft.irfftn(raw, how.signal_sizes or None, dim=dims, norm=how.norm))
    return wrap(torch.fft.ifftn(raw, dim=dims, norm=how.norm).real)
