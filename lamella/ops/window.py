"""Window functions of signals, and the short-time Fourier transform."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..core import context
from ..core.dtype import to_raw
from ..core.errors import op
from ..tensors.tensor import Tensor, wrap

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window",
           "stft"]


def _length(name: str, window_length: Any) -> int:
    if isinstance(window_length, Tensor) and window_length.size == 1:
        window_length = window_length.item()
    if not isinstance(window_length, int) or isinstance(window_length, bool):
        raise TypeError(f"For '{name}', 'window_length' must be a non-negative integer, "
                        f"but got {type(window_length)}")
    if window_length < 0:
        raise ValueError(f"For '{name}', 'window_length' must be a non-negative integer, "
                         f"but got {window_length}")
    return window_length


def _made(name: str, kernel: Any, window_length: Any, periodic: Any, dtype: Any, default: Any,
          *more: float) -> Tensor:
    """A window by PyTorch, computed in float64."""
    length = _length(name, window_length)
    if not isinstance(periodic, bool):
        raise TypeError(f"For '{name}', 'periodic' must be a bool, but got {type(periodic)}.")
    kind = default if dtype is None else to_raw(dtype, name)
    if not kind.is_floating_point:
        raise TypeError(f"For '{name}', 'dtype' must be floating point dtypes, but got {dtype}.")
    found = kernel(length, periodic, *more, dtype=torch.float64, device=context.current_device())
    return wrap(found.to(kind))


@op
def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """The window (1 - cos(2 pi n / N)) / 2.

    Args:
        window_length: the number of elements.
        periodic: whether N is that number, so that copies of it join; else one less.
        dtype: the floating type; default float64.

    Returns:
        Tensor (window_length,).

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if `window_length` is below 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hann_window(5, False))
        [0.  0.5 1.  0.5 0. ]
    """
    return _made("hann_window", torch.hann_window, window_length, periodic, dtype, torch.float64)


@op
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54,
                   beta: float = 0.46, *, dtype: Any = None) -> Tensor:
    """The window alpha - beta cos(2 pi n / N); default type float32, else as `hann_window`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hamming_window(4))
        [0.08 0.54 1.   0.54]
    """
    return _made("hamming_window", torch.hamming_window, window_length, periodic, dtype,
                 torch.float32, alpha, beta)


@op
def bartlett_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """The triangle 1 - |2 n / N - 1|; default type float32, else as `hann_window`.

    Args:
        window_length: int, or Tensor of one element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.bartlett_window(ms.Tensor(5)))
        [0.  0.4 0.8 0.8 0.4]
    """
    return _made("bartlett_window", torch.bartlett_window, window_length, periodic, dtype,
                 torch.float32)


@op
def blackman_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """The window 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N); default type float32, else as
    `hann_window`.

    Args:
        window_length: int, or Tensor of one element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.blackman_window(3, False).round(decimals=6).abs())
        [0. 1. 0.]
    """
    return _made("blackman_window", torch.blackman_window, window_length, periodic, dtype,
                 torch.float32)


@op
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *,
                  dtype: Any = None) -> Tensor:
    """The window of Kaiser, I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta); else as `hann_window`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.kaiser_window(5, False).round(decimals=6))
        [5.30000e-05 2.15673e-01 1.00000e+00 2.15673e-01 5.30000e-05]
    """
    return _made("kaiser_window", torch.kaiser_window, window_length, periodic, dtype,
                 torch.float64, beta)


@op
def stft(x: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
         window: Tensor | None = None, center: bool = True, pad_mode: str = "REFLECT",
         normalized: bool = False, onesided: bool | None = None,
         return_complex: bool | None = None) -> Tensor:
    """The short-time Fourier transform: of a window that moves along a signal.

    Args:
        x: shape (L,) or (N, L).
        n_fft: the length that is transformed at a time.
        hop_length: how far the window moves; default: a quarter of `n_fft`.
        win_length: the window's length; default: `n_fft`.
        window: the window, shape (win_length,); default: ones. A shorter one stands in the middle,
            with zeros around it.
        center: whether the signal is padded, so that the window begins at its beginning.
        pad_mode: how: ``"CONSTANT"``, ``"REFLECT"`` or ``"SYMMETRIC"``.
        normalized: whether to divide by sqrt(n_fft).
        onesided: whether to leave out what is known by symmetry; default: for real signals.
        return_complex: whether the result is complex, else its last dimension has real and
            imaginary part; default: for complex signals.

    Returns:
        Tensor (N, frequencies, positions), or (N, frequencies, positions, 2).

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if a size doesn't fit the signal.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.stft(ms.ops.ones((2, 7192)), 64, 16).shape
        (2, 33, 450, 2)
    """
    raw = x._raw
    if raw.dim() not in (1, 2):
        raise TypeError(f"For 'stft', 'x' must have 1 or 2 dimensions, but got shape {x.shape}.")
    for name, flag in (("center", center), ("normalized", normalized)):
        if not isinstance(flag, bool):
            raise TypeError(f"For 'stft', '{name}' must be a bool, but got {flag!r}.")
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    for name, size in (("n_fft", n_fft), ("hop_length", hop), ("win_length", width)):
        if not isinstance(size, int) or isinstance(size, bool):
            raise TypeError(f"For 'stft', '{name}' must be an int, but got {size!r}.")
        if size < 1 or size > n_fft and name == "win_length":
            raise ValueError(f"For 'stft', '{name}' must be at least 1, and 'win_length' at most "
                             f"'n_fft', but got {size}.")
    seen = raw.new_ones(width, dtype=torch.float32) if window is None else window._raw
    if seen.shape != (width,):
        raise ValueError(f"For 'stft', 'window' must have shape {(width,)}, "
                         f"but got {tuple(seen.shape)}.")
    is_complex = raw.is_complex() or seen.is_complex()
    left = (n_fft - width) // 2
    seen = torch.nn.functional.pad(seen, (left, n_fft - width - left))
    if center:
        raw = _padded(raw, n_fft // 2, pad_mode)
    if raw.shape[-1] < n_fft:
        raise ValueError(f"For 'stft', the signal must have at least 'n_fft' elements, {n_fft}, "
                         f"but it has {raw.shape[-1]}.")
    frames = raw.unfold(-1, n_fft, hop) * seen
    if is_complex and onesided:
        raise ValueError("For 'stft', 'onesided' must be False for complex signals and windows.")
    half = not is_complex if onesided is None else onesided
    found = (torch.fft.rfft if half else torch.fft.fft)(frames).transpose(-1, -2)
    if normalized:
        found = found / math.sqrt(n_fft)
    if is_complex if return_complex is None else return_complex:
        return wrap(found)
    return wrap(torch.view_as_real(found))


def _padded(raw: torch.Tensor, width: int, mode: str) -> torch.Tensor:
    if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise ValueError(f"For 'stft', 'pad_mode' must be 'CONSTANT', 'REFLECT' or 'SYMMETRIC', "
                         f"but got {mode!r}.")
    if mode == "CONSTANT":
        return torch.nn.functional.pad(raw, (width, width))
    skip = int(mode == "REFLECT")  # whether the element at the border isn't repeated
    if raw.shape[-1] < width + skip:
        raise ValueError(f"For 'stft', the signal must have at least {width + skip} elements for "
                         f"'pad_mode' {mode!r}, but it has {raw.shape[-1]}.")
    length = raw.shape[-1]
    before = raw[..., skip:width + skip].flip(-1)
    after = raw[..., length - width - skip:length - skip].flip(-1)
    return torch.cat((before, raw, after), -1)
