"""Spectra of sounds, and sounds from spectra, by PyTorch's transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from ..arguments import checked_call
from ..checks import integer
from .enums import (
    BorderType,
    MelType,
    NormType,
    ScaleType,
    WindowType,
)
from .operation import AudioOperation

LEAST_WEIGHT = 1e-11  # of the windows at a sample, that their sum is divided by


def window_of(kind: WindowType, length: int) -> torch.Tensor:
    """A window, periodic."""
    make = {WindowType.HANN: torch.hann_window, WindowType.HAMMING: torch.hamming_window,
            WindowType.BLACKMAN: torch.blackman_window, WindowType.BARTLETT: torch.bartlett_window,
            WindowType.KAISER: torch.kaiser_window}[kind]
    return make(length)


@checked_call("functions.melscale_fbanks")
def melscale_fbanks(n_freqs: int, f_min: float, f_max: float, n_mels: int, sample_rate: int,
                    norm: NormType = NormType.NONE, mel_type: MelType = MelType.HTK) -> np.ndarray:
    """Filters of the mel scale, of shape (n_freqs, n_mels).

    Args:
        n_freqs: how many frequencies a spectrum has.
        f_min, f_max: between which frequencies.
        n_mels: how many filters.
        sample_rate: in hertz.
        norm: how they are scaled.
        mel_type: which mel scale.
    """
    return mel_filters(n_freqs, f_min, f_max, n_mels, sample_rate, norm, mel_type)


def mel_filters(n_freqs: int, f_min: float, f_max: float, n_mels: int, sample_rate: int,
                norm: NormType, mel_type: MelType) -> np.ndarray:
    """`melscale_fbanks`, whose frequencies may begin below 0, as those of `MelScale` may."""
    def mel(hertz: float) -> float:
        if mel_type is MelType.HTK:
            return 2595 * math.log10(1 + hertz / 700)
        return hertz / (200 / 3) if hertz < 1000 else 15 + math.log(hertz / 1000) / (
            math.log(6.4) / 27)

    points = np.linspace(mel(f_min), mel(f_max), n_mels + 2)
    if mel_type is MelType.HTK:
        hertz = 700 * (10 ** (points / 2595) - 1)
    else:
        hertz = np.where(points < 15, points * (200 / 3),
                         1000 * np.exp(math.log(6.4) / 27 * (points - 15)))
    banks = _triangles(np.linspace(0, sample_rate // 2, n_freqs), hertz)
    if norm is NormType.SLANEY:
        banks *= 2 / (hertz[2:] - hertz[:-2])
    return banks.astype(np.float32)


@checked_call("functions.linear_fbanks")
def linear_fbanks(n_freqs: int, f_min: float, f_max: float, n_filter: int,
                  sample_rate: int) -> np.ndarray:
    """Filters of equal width, of shape (n_freqs, n_filter); arguments as of `melscale_fbanks`."""
    return _triangles(np.linspace(0, sample_rate // 2, n_freqs),
                      np.linspace(f_min, f_max, n_filter + 2)).astype(np.float32)


def _triangles(frequencies: np.ndarray, points: np.ndarray) -> np.ndarray:
    slopes = points[None, :] - frequencies[:, None]
    widths = np.diff(points)
    return np.maximum(0, np.minimum(-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]))


class Spectrogram(AudioOperation):
    """The spectrum of each frame, (..., frequency, time).

    Args:
        n_fft: the number of samples in a transform.
        win_length: how many of them the window has; default: all.
        hop_length: the distance between frames; default: half the window.
        pad: zeros before and after the sound.
        window: the window.
        power: 1: magnitudes, 2: powers, 0: complex numbers as pairs of real ones.
        normalized: whether it is divided by the window's size.
        center: whether frames are centred at their times.
        pad_mode: how the ends are padded.
        onesided: whether only half of the symmetric spectrum is given.

    Examples:
        >>> import numpy as np
        >>> from lamella.dataset import audio
        >>> audio.Spectrogram(n_fft=16)(np.zeros((1, 64), np.float32)).shape
        (1, 9, 9)
    """

    def __init__(self, n_fft: int = 400, win_length: int | None = None,
                 hop_length: int | None = None, pad: int = 0,
                 window: WindowType = WindowType.HANN, power: float = 2.0,
                 normalized: bool = False, center: bool = True,
                 pad_mode: BorderType = BorderType.REFLECT, onesided: bool = True):
        self.n_fft = n_fft
        self.win_length = win_length or n_fft
        self.hop_length = integer(self, "hop_length", hop_length or self.win_length // 2, 1)
        self.pad = pad
        self.window = window
        self.power = power
        self.normalized, self.center, self.onesided = normalized, center, onesided
        self.pad_mode = pad_mode

    def complex(self, signal: np.ndarray) -> torch.Tensor:
        """The spectrum as complex numbers."""
        raw = torch.from_numpy(np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(self.pad,) * 2]))
        flat = raw.reshape(-1, raw.shape[-1])
        if self.center:
            room = [(0, 0), (self.n_fft // 2,) * 2]
            flat = torch.from_numpy(np.pad(
                flat.numpy(), room, self.pad_mode.value))  # type: ignore[arg-type]
        if flat.shape[-1] < self.n_fft:
            raise RuntimeError(f"{type(self).__name__}: n_fft should be more than 0 and less than "
                               f"{flat.shape[-1]}, but got n_fft: {self.n_fft}. The sound has "
                               f"{signal.shape[-1]} samples.")
        window = window_of(self.window, self.win_length).to(flat.dtype)
        out = torch.stft(flat, self.n_fft, self.hop_length, self.win_length, window, center=False,
                         onesided=self.onesided, return_complex=True)
        if self.normalized:
            out = out / window.pow(2).sum().sqrt()
        return out.reshape(*signal.shape[:-1], *out.shape[-2:])

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        found = self.complex(signal)
        if self.power == 0:
            return torch.view_as_real(found).numpy()
        magnitude = found.abs()
        return (magnitude if self.power == 1 else magnitude.pow(self.power)).numpy()


class MelScale(AudioOperation):
    """A spectrum (..., frequency, time) on the mel scale.

    Args:
        n_mels: how many filters.
        sample_rate: in hertz.
        f_min, f_max: between which frequencies; default: up to half the rate.
        n_stft: how many frequencies the spectrum has.
        norm: how filters are scaled.
        mel_type: which mel scale.
    """

    _rank = 2

    def __init__(self, n_mels: int = 128, sample_rate: int = 16000, f_min: float = 0.0,
                 f_max: float | None = None, n_stft: int = 201,
                 norm: NormType = NormType.NONE, mel_type: MelType = MelType.HTK):
        top = float(sample_rate // 2) if f_max is None else f_max
        if f_min >= top:
            raise ValueError("MelScale: sample_rate // 2 should be greater than f_min when f_max "
                             f"is set to None. For '{type(self).__name__}', they are {top} and "
                             f"{f_min}.")
        self.n_mels, self.n_stft = n_mels, n_stft
        self._banks = mel_filters(n_stft, f_min, top, n_mels, sample_rate, norm, mel_type)

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        if signal.shape[-2] != self.n_stft:
            raise RuntimeError("MelScale: invalid parameter, 'n_stft' should be equal to 'freq', "
                               f"but got: n_stft {self.n_stft} while freq {signal.shape[-2]}.")
        return np.swapaxes(np.swapaxes(signal, -1, -2) @ self._banks, -1, -2)


class MelSpectrogram(AudioOperation):
    """`Spectrogram`, then `MelScale`; arguments as theirs."""

    def __init__(self, sample_rate: int = 16000, n_fft: int = 400, win_length: int | None = None,
                 hop_length: int | None = None, f_min: float = 0.0, f_max: float | None = None,
                 pad: int = 0, n_mels: int = 128, window: WindowType = WindowType.HANN,
                 power: float = 2.0, normalized: bool = False, center: bool = True,
                 pad_mode: BorderType = BorderType.REFLECT, onesided: bool = True,
                 norm: NormType = NormType.NONE, mel_scale: MelType = MelType.HTK):
        self._spectrum = Spectrogram(n_fft, win_length, hop_length, pad, window, power, normalized,
                                     center, pad_mode, onesided)
        self._scale = MelScale(n_mels, sample_rate, f_min, f_max, n_fft // 2 + 1, norm, mel_scale)

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        of = self._spectrum
        if of.center and of.n_fft // 2 >= signal.shape[-1] + 2 * of.pad and (
                of.pad_mode is BorderType.REFLECT):
            raise RuntimeError("MelSpectrogram: Padding size should be less than the corresponding "
                               "input dimension.")
        return self._scale._changed(of._changed(signal))


class AmplitudeToDB(AudioOperation):
    """Converts magnitudes or powers to decibels.

    Args:
        stype: which of the two.
        ref_value: the reference, which is 0 decibels.
        amin: the smallest value.
        top_db: the maximum distance from the largest value.
    """

    _rank = 2

    def __init__(self, stype: ScaleType = ScaleType.POWER, ref_value: float = 1.0,
                 amin: float = 1e-10, top_db: float = 80.0):
        self.stype = stype
        self.ref_value = ref_value
        self.amin = amin
        self.top_db = top_db

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        factor = 10.0 if self.stype is ScaleType.POWER else 20.0
        out = factor * np.log10(np.maximum(signal, self.amin))
        out = out - factor * math.log10(max(self.amin, self.ref_value))
        axes = tuple(range(max(0, out.ndim - 3), out.ndim))
        return np.maximum(out, out.max(axes, keepdims=True) - self.top_db)


class DBToAmplitude(AudioOperation):
    """Converts decibels to magnitudes or powers.

    Args:
        ref: the value of 0 decibels.
        power: 1: powers; 0.5: magnitudes.
    """

    def __init__(self, ref: float, power: float):
        self.ref, self.power = ref, power

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        return self.ref * (10 ** (0.1 * signal)) ** self.power


class _Complex(AudioOperation):
    """The base of operations on complex numbers given as pairs, (..., 2)."""

    def _pair(self, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if value.ndim < 2 or value.shape[-1] != 2:
            raise RuntimeError(f"{type(self).__name__}: the input must have the shape <..., 2>, "
                               f"but has {list(value.shape)}.")
        return value[..., 0], value[..., 1]


class Angle(_Complex):
    """The angles of complex numbers (..., 2)."""

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        real, imaginary = self._pair(signal)
        return np.arctan2(imaginary, real)


class ComplexNorm(_Complex):
    """The magnitudes of complex numbers (..., 2), to a power.

    Args:
        power: the power.
    """

    def __init__(self, power: float = 1.0):
        self.power = power

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        real, imaginary = self._pair(signal)
        return (real * real + imaginary * imaginary) ** (0.5 * self.power)


class Magphase(_Complex):
    """The magnitudes of complex numbers (..., 2), to a power, and their angles.

    Args:
        power: the power.
    """

    def __init__(self, power: float = 1.0):
        self.power = power

    def run(self, values: tuple[Any, ...], streams: Any) -> tuple[Any, ...]:
        """Both."""
        wide = values[0].dtype if values[0].dtype == np.float64 else np.float32
        real, imaginary = self._pair(values[0].astype(wide))
        size = (real * real + imaginary * imaginary) ** (0.5 * self.power)
        return size.astype(wide), np.arctan2(imaginary, real).astype(wide)


class SpectralCentroid(AudioOperation):
    """The centroid of each frame's spectrum in hertz, (..., 1, time).

    Args:
        sample_rate: in hertz.
        n_fft, win_length, hop_length, pad, window: as for `Spectrogram`.
    """

    def __init__(self, sample_rate: int, n_fft: int = 400, win_length: int | None = None,
                 hop_length: int | None = None, pad: int = 0,
                 window: WindowType = WindowType.HANN):
        self.sample_rate = integer(self, "sample_rate", sample_rate, 1)
        self._spectrum = Spectrogram(n_fft, win_length, hop_length, pad, window, 1.0)

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        found = self._spectrum._changed(signal)
        hertz = np.linspace(0, self.sample_rate // 2, found.shape[-2])[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            return ((hertz * found).sum(-2) / found.sum(-2))[..., None, :]


class InverseSpectrogram(AudioOperation):
    """Reconstructs a sound from a complex spectrum (..., frequency, time, 2).

    Args:
        length: the number of samples; default: that of all frames.
        n_fft, win_length, hop_length, pad, window, normalized, center, pad_mode, onesided: as for
            `Spectrogram`.
    """

    _rank = 3

    def __init__(self, length: int | None = None, n_fft: int = 400, win_length: int | None = None,
                 hop_length: int | None = None, pad: int = 0,
                 window: WindowType = WindowType.HANN, normalized: bool = False,
                 center: bool = True, pad_mode: BorderType = BorderType.REFLECT,
                 onesided: bool = True):
        self.length = length
        self._of = Spectrogram(n_fft, win_length, hop_length, pad, window, 1.0, normalized, center,
                               pad_mode, onesided)

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        of, raw = self._of, torch.view_as_complex(torch.from_numpy(np.ascontiguousarray(signal)))
        if of.onesided and raw.shape[-2] != of.n_fft // 2 + 1:
            raise RuntimeError("GriffinLim: the frequency of the input should equal to n_fft / 2 + "
                               f"1. For 'InverseSpectrogram', they are {raw.shape[-2]} and "
                               f"{of.n_fft // 2 + 1}.")
        window = window_of(of.window, of.win_length).to(raw.real.dtype)
        if of.normalized:
            raw = raw * window.pow(2).sum().sqrt()
        flat = raw.reshape(-1, *raw.shape[-2:])
        length = None if self.length is None else self.length + 2 * of.pad
        out = _sound_of(flat, of, window, length)
        out = out[:, of.pad:out.shape[-1] - of.pad] if of.pad else out
        return out.reshape(*signal.shape[:-3], -1).numpy()


def _sound_of(spectra: torch.Tensor, of: Spectrogram, window: torch.Tensor, length: int | None
              ) -> torch.Tensor:
    """The sounds of complex spectra (sounds, frequency, time), by adding up overlapping frames.

    `torch.istft` refuses windows that are 0 where a sound begins or ends; here such samples stay
    what the frames add up to. Without a `length` a sound has a step less than frames.
    """
    size = of.n_fft
    spectra = spectra.transpose(1, 2)
    frames = torch.fft.irfft(spectra, size) if of.onesided else torch.fft.ifft(spectra, size).real
    left = (size - len(window)) // 2
    if len(window) < size:
        window = F.pad(window, (left, size - len(window) - left))
    whole = size + (frames.shape[1] - 1) * of.hop_length

    def added(frames: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.unfold_backward(
            frames, [len(frames), whole], 1, size, of.hop_length)

    weight = added((window * window).expand(1, *frames.shape[1:]))
    sound = added(frames * window).div_(weight.masked_fill_(weight <= LEAST_WEIGHT, 1))
    start = size // 2 if of.center else 0
    end = start + length if length is not None else whole - size + start
    return sound[:, start:end] if end <= whole else F.pad(sound[:, start:], (0, end - whole))
