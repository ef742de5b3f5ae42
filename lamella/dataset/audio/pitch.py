"""Pitch and tempo of sounds, and sounds reconstructed from magnitude spectra."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from ..checks import integer
from ..transforms.operation import Streams, Values
from .enums import MelType, NormType, WindowType
from .operation import AudioOperation
from .resampling import Resample
from .spectra import InverseSpectrogram, Spectrogram, melscale_fbanks


def vocoded(spectrum: torch.Tensor, rate: float) -> torch.Tensor:
    """A complex spectrum (..., frequency, time) at another tempo (Flanagan and Golden 1966).

    From frame to frame the phase grows by what it grew by in the input, up to whole turns: which
    advance is expected makes no difference.
    """
    count = spectrum.shape[-1]
    steps = torch.arange(0, count, rate, dtype=spectrum.real.dtype)
    share, place = steps % 1.0, steps.long()
    more = torch.nn.functional.pad(spectrum, (0, 2))
    now, following = more[..., place], more[..., place + 1]
    phase = following.angle() - now.angle()
    phase = torch.cat([spectrum[..., :1].angle(), phase[..., :-1]], -1).cumsum(-1)
    return torch.polar(share * following.abs() + (1 - share) * now.abs(), phase)


class _Stretched(AudioOperation):
    """The base of operations on complex spectra (..., frequency, time, 2)."""

    _rank = 3

    def _in_tempo(self, signal: np.ndarray, rate: float, frequencies: int) -> np.ndarray:
        name = type(self).__name__
        if signal.shape[-1] != 2:
            raise RuntimeError(f"{name}: the input must have the shape <..., freq, time, 2>, but "
                               f"has {list(signal.shape)}.")
        if signal.shape[-3] != frequencies:
            raise RuntimeError(f"{name}: the input must have {frequencies} frequencies, but has "
                               f"{signal.shape[-3]}.")
        raw = torch.view_as_complex(torch.from_numpy(np.ascontiguousarray(signal)))
        return torch.view_as_real(vocoded(raw, rate)).numpy()


class PhaseVocoder(_Stretched):
    """Changes the tempo of a spectrum and keeps the pitch.

    Args:
        rate: the speed-up factor.
        phase_advance: the expected phase advance of each frequency per frame, (frequency, 1).
    """

    def __init__(self, rate: float, phase_advance: np.ndarray):
        self.rate = rate
        if not isinstance(phase_advance, np.ndarray):
            raise TypeError(f"For 'PhaseVocoder', 'phase_advance' must be an array, but got "
                            f"{type(phase_advance).__name__}.")
        if phase_advance.ndim != 2 or phase_advance.shape[1] != 1:
            raise ValueError(f"For 'PhaseVocoder', 'phase_advance' must have the shape (freq, 1), "
                             f"but has {phase_advance.shape}.")
        self.phase_advance = phase_advance

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        return self._in_tempo(signal, self.rate, len(self.phase_advance))


class TimeStretch(_Stretched):
    """Changes the tempo of a spectrum and keeps the pitch.

    Args:
        hop_length: the distance between frames; default: `n_freq` - 1.
        n_freq: the number of frequencies.
        fixed_rate: the speed-up factor; default: 1.
    """

    def __init__(self, hop_length: int | None = None, n_freq: int = 201,
                 fixed_rate: float | None = None):
        self.n_freq = n_freq
        self.hop_length = n_freq - 1 if hop_length is None else hop_length
        self.fixed_rate = 1 if fixed_rate is None else fixed_rate

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        if self.fixed_rate == 1:  # MindSpore joins all dimensions before these
            return signal.reshape(-1, *signal.shape[-3:])
        return self._in_tempo(signal, self.fixed_rate, self.n_freq)


class PitchShift(AudioOperation):
    """Changes the pitch of a sound and keeps its duration.

    Args:
        sample_rate: in hertz.
        n_steps: by how many steps.
        bins_per_octave: how many steps an octave has.
        n_fft: how many samples are transformed at once.
        win_length: how many of them the window has; default: all.
        hop_length: the distance between frames; default: a quarter of the window.
        window: the window.
    """

    def __init__(self, sample_rate: int, n_steps: int, bins_per_octave: int = 12, n_fft: int = 512,
                 win_length: int | None = None, hop_length: int | None = None,
                 window: WindowType = WindowType.HANN):
        self.sample_rate = integer(self, "sample_rate", sample_rate, 1)
        self.n_steps = n_steps
        self.bins_per_octave = bins_per_octave
        width = win_length or n_fft
        hop = max(1, width // 4) if hop_length is None else hop_length
        self._spectrum = Spectrogram(n_fft, win_length, hop, window=window, power=0)

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        of, length = self._spectrum, signal.shape[-1]
        rate = 2.0 ** (-self.n_steps / self.bins_per_octave)
        spectrum = vocoded(of.complex(signal), rate)
        back = InverseSpectrogram(round(length / rate), of.n_fft, of.win_length, of.hop_length,
                                  window=of.window)
        stretched = back._changed(torch.view_as_real(spectrum).numpy())
        found = Resample(int(self.sample_rate / rate), self.sample_rate)._changed(stretched)
        room = [(0, 0)] * (signal.ndim - 1) + [(0, max(0, length - found.shape[-1]))]
        return np.pad(found[..., :length], room)


class DetectPitchFrequency(AudioOperation):
    """The pitch of each frame in hertz, by autocorrelation and a median filter.

    Args:
        sample_rate: in hertz.
        frame_time: the length of a frame, in seconds.
        win_length: over how many frames the median is taken.
        freq_low, freq_high: between which frequencies.
    """

    _single = True

    def __init__(self, sample_rate: int, frame_time: float = 0.01, win_length: int = 30,
                 freq_low: float = 85, freq_high: float = 3400):
        self.sample_rate = sample_rate
        self.frame_time = frame_time
        self.win_length = win_length
        self.freq_low = freq_low
        self.freq_high = freq_high

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        sound = torch.from_numpy(signal.reshape(-1, signal.shape[-1]))
        lags = math.ceil(self.sample_rate / self.freq_low)
        size = math.ceil(self.sample_rate * self.frame_time)
        count = math.ceil(sound.shape[-1] / size)
        sound = torch.nn.functional.pad(sound, (0, lags + count * size - sound.shape[-1]))
        found = []
        for lag in range(1, lags + 1):
            frame, later = (part.unfold(-1, size, size)[:, :count]
                            for part in (sound[:, :-lag], sound[:, lag:]))
            # the frame's own energy is the same for every lag
            found.append((frame * later).sum(-1) / (1e-9 + later.pow(2).sum(-1)))
        likeness = torch.stack(found, -1)  # (channels, frames, lags)
        least = math.ceil(self.sample_rate / self.freq_high)
        if least >= lags // 2:
            raise RuntimeError("DetectPitchFrequency: 'freq_high' must be more than twice "
                               "'freq_low'.")
        best = likeness[..., least:].max(-1)
        half = likeness[..., least:lags // 2].max(-1)  # an octave higher, if nearly as good
        lag = torch.where(half.values > 0.99 * best.values, half.indices, best.indices) + least + 1
        before = lag[:, :1].expand(-1, (self.win_length - 1) // 2)
        lag = torch.cat([before, lag], -1)
        if lag.shape[-1] < self.win_length:
            raise RuntimeError(f"DetectPitchFrequency: the sound has {count} frames, too few "
                               f"for a 'win_length' of {self.win_length}.")
        middle = lag.unfold(-1, self.win_length, 1).median(-1).values
        pitch = self.sample_rate / (1e-9 + middle.float())
        return pitch.reshape(*signal.shape[:-1], -1).numpy()


class GriffinLim(AudioOperation):
    """Reconstructs a sound from magnitudes (..., frequency, time) by estimating the phases.

    Griffin and Lim 1984; with momentum Perraudin et al. 2013.

    Args:
        n_fft, win_length, hop_length: as for `Spectrogram`.
        n_iter: the number of iterations.
        window_type: the window.
        power: the exponent of the input's magnitudes.
        momentum: of the iteration.
        length: the number of samples; default: that of all frames.
        rand_init: whether phases are random at first; else 0.
    """

    _rank, draws = 2, True

    def __init__(self, n_fft: int = 400, n_iter: int = 32, win_length: int | None = None,
                 hop_length: int | None = None, window_type: WindowType = WindowType.HANN,
                 power: float = 2.0, momentum: float = 0.99, length: int | None = None,
                 rand_init: bool = True):
        self.n_iter = n_iter
        self.power = power
        self.momentum = momentum
        if momentum >= 1:
            raise RuntimeError(f"GriffinLim: momentum equal to or greater than 1 can be unstable, "
                               f"but got: {momentum:f}")
        self.length = length or None
        self.rand_init = rand_init
        self._spectrum = Spectrogram(n_fft, win_length or None, hop_length or None,
                                     window=window_type, power=0)

    def run(self, values: Values, streams: Streams) -> Values:
        """The sounds."""
        self._stream = streams.of(self)
        return super().run(values, streams)

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        of, shape = self._spectrum, signal.shape
        if shape[-2] != of.n_fft // 2 + 1:
            raise RuntimeError(f"GriffinLim: the frequency of the input should equal to n_fft / 2 "
                               f"+ 1, {of.n_fft // 2 + 1}, but got {shape[-2]}.")
        whole_sound, asked = (InverseSpectrogram(length, of.n_fft, of.win_length, of.hop_length,
                                                 window=of.window)
                              for length in (None, self.length))
        size = torch.from_numpy(signal.reshape(-1, *shape[-2:])).pow(1 / self.power)
        turned = torch.ones_like(size)
        if self.rand_init:
            draws = [self._stream.float64(0, 2 * math.pi) for _ in range(size.numel())]
            turned = torch.tensor(draws, dtype=size.dtype).reshape(size.shape)
        phases = torch.polar(torch.ones_like(size), turned if self.rand_init else turned * 0)
        keeping, last = self.momentum / (1 + self.momentum), torch.zeros_like(phases)

        for _ in range(self.n_iter):
            sound = whole_sound._changed(torch.view_as_real(size * phases).numpy())
            rebuilt = of.complex(sound)
            phases = rebuilt + (rebuilt - last) * keeping
            phases, last = phases / (phases.abs() + 1e-16), rebuilt
        sound = asked._changed(torch.view_as_real(size * phases).numpy())
        return sound.reshape(*shape[:-2], -1)


class InverseMelScale(AudioOperation):
    """A spectrum (..., frequency, time) whose mel scale is what comes in, found step by step.

    Args:
        n_stft: how many frequencies.
        n_mels: how many filters.
        sample_rate: in hertz.
        f_min, f_max: between which frequencies; default: up to half the rate.
        max_iter: how many steps at most.
        tolerance_loss: the loss at which it ends.
        tolerance_change: the change of the loss at which it ends.
        sgdargs: ``sgd_lr`` and ``sgd_momentum`` of the steps.
        norm: how filters are scaled.
        mel_type: which mel scale.
    """

    _rank, draws = 2, True

    def __init__(self, n_stft: int, n_mels: int = 128, sample_rate: int = 16000,
                 f_min: float = 0.0, f_max: float | None = None, max_iter: int = 100000,
                 tolerance_loss: float = 1e-5, tolerance_change: float = 1e-8,
                 sgdargs: dict[str, float] | None = None, norm: NormType = NormType.NONE,
                 mel_type: MelType = MelType.HTK):
        self.n_stft = n_stft
        self.n_mels = n_mels
        top = sample_rate // 2 if f_max is None else f_max
        if f_min >= top:  # where `f_max` isn't given
            raise ValueError("MelScale: sample_rate // 2 should be greater than f_min when f_max "
                             f"is set to None. For 'InverseMelScale', they are {top} and {f_min}.")
        self.max_iter = max_iter
        self.tolerance_loss = tolerance_loss
        self.tolerance_change = tolerance_change
        if sgdargs is not None and not isinstance(sgdargs, dict):
            raise TypeError(f"For 'InverseMelScale', 'sgdargs' must be a dict, but got "
                            f"{sgdargs!r}.")
        self.sgdargs: dict[str, Any] = {"sgd_lr": 0.1, "sgd_momentum": 0.9, **(sgdargs or {})}
        self._filters = melscale_fbanks(n_stft, f_min, top, n_mels, sample_rate, norm, mel_type)

    def run(self, values: Values, streams: Streams) -> Values:
        """The spectra."""
        self._stream = streams.of(self)
        return super().run(values, streams)

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        shape = signal.shape
        if shape[-2] != self.n_mels:
            raise RuntimeError("InverseMelScale: n_mels must be equal to the penultimate dimension "
                               f"of input. They are {self.n_mels} and {shape[-2]}.")
        wanted = torch.from_numpy(signal.reshape(-1, *shape[-2:])).transpose(-1, -2)
        filters = torch.from_numpy(self._filters.astype(signal.dtype))
        draws = [self._stream.float64(0, 1) for _ in range(wanted[..., 0].numel() * self.n_stft)]
        found = torch.tensor(draws, dtype=wanted.dtype).reshape(*wanted.shape[:2], self.n_stft)
        speed, last = torch.zeros_like(found), math.inf
        for _ in range(self.max_iter):
            error = wanted - found @ filters
            loss = float(error.pow(2).mean((0, 1)).sum())
            change = error @ filters.T * (-2 / (error.shape[0] * error.shape[1]))
            speed = self.sgdargs["sgd_momentum"] * speed + change
            found = (found - self.sgdargs["sgd_lr"] * speed).clamp(min=0)
            if loss < self.tolerance_loss or abs(last - loss) < self.tolerance_change:
                break
            last = loss
        return found.transpose(-1, -2).reshape(*shape[:-2], self.n_stft, shape[-1]).numpy()
