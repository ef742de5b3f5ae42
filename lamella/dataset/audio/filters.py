"""Filters: difference equations of input and output, by SciPy.

The coefficients of the biquads are those of R. Bristow-Johnson's cookbook of audio equalizers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..checks import one_of
from ..errors import needs
from .operation import AudioOperation


def filtered(signal: np.ndarray, a: Any, b: Any, clamp: bool = True) -> np.ndarray:
    """Filters a signal along its last dimension.

    Args:
        signal: (..., time).
        a, b: coefficients of the output (feedback) and of the input (feedforward).
        clamp: whether the result is clipped to [-1, 1].
    """
    scipy_signal = needs("audio", "scipy.signal", "scipy")
    out = scipy_signal.lfilter(np.asarray(b, np.float64), np.asarray(a, np.float64), signal)
    return np.clip(out, -1, 1) if clamp else out


class LFilter(AudioOperation):
    """A filter given by its coefficients.

    Args:
        a_coeffs: of the output, the present sample first.
        b_coeffs: of the input.
        clamp: whether the result is clipped to [-1, 1].
    """

    def __init__(self, a_coeffs: Any, b_coeffs: Any, clamp: bool = True):
        if len(a_coeffs) != len(b_coeffs):
            raise ValueError("The size of a_coeffs should be the same as that of b_coeffs. For "
                             f"'{type(self).__name__}', they are {len(a_coeffs)} and "
                             f"{len(b_coeffs)}.")
        self.clamp = clamp
        self.a_coeffs, self.b_coeffs = a_coeffs, b_coeffs

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        return filtered(signal, self.a_coeffs, self.b_coeffs, self.clamp)


class Filtfilt(LFilter):
    """As `LFilter`, forward and then backward."""

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        forward = filtered(signal, self.a_coeffs, self.b_coeffs, False)
        back = filtered(forward[..., ::-1], self.a_coeffs, self.b_coeffs, False)[..., ::-1]
        return np.clip(back, -1, 1) if self.clamp else back


class _Biquad(AudioOperation):
    """The base of filters with six coefficients; `_set` takes b0, b1, b2, a0, a1, a2."""

    def _set(self, *coefficients: float) -> None:
        self._b, self._a = coefficients[:3], coefficients[3:]

    def _terms(self, sample_rate: int, frequency: float, q: float) -> tuple[float, float, float]:
        """What the cookbook calls w0, cos(w0) and alpha."""
        turn = 2 * math.pi * frequency / sample_rate
        return turn, math.cos(turn), math.sin(turn) / 2 / q

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        return filtered(signal, self._a, self._b)


class Biquad(_Biquad):
    """A filter with six coefficients.

    Args:
        b0, b1, b2: of the input.
        a0, a1, a2: of the output; a0 must not be 0.
    """

    def __init__(self, b0: float, b1: float, b2: float, a0: float, a1: float, a2: float):
        self._set(b0, b1, b2, a0, a1, a2)


class AllpassBiquad(_Biquad):
    """All-pass filter: changes phases and no magnitudes.

    Args:
        sample_rate, central_freq: in hertz.
        Q: the quality factor, in (0, 1].
    """

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707):  # noqa: N803
        _, cos, alpha = self._terms(sample_rate, central_freq, Q)
        self._set(1 - alpha, -2 * cos, 1 + alpha, 1 + alpha, -2 * cos, 1 - alpha)


class BandBiquad(_Biquad):
    """Two-pole band filter, as SoX's effect "band".

    Args:
        sample_rate, central_freq, Q: as for `AllpassBiquad`.
        noise: whether the sound has no pitch.
    """

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707,  # noqa: N803
                 noise: bool = False):
        turn, cos, _ = self._terms(sample_rate, central_freq, Q)
        width = central_freq / Q / sample_rate
        with np.errstate(all="ignore"):  # a rate far below the frequency gives no numbers
            a2 = np.exp(np.float64(-2 * math.pi * width))
            a1 = -4 * a2 / (1 + a2) * cos
            b0 = np.sqrt(1 - a1 * a1 / (4 * a2)) * (1 - a2)
            if noise:
                b0 *= np.sqrt(((1 + a2) * (1 + a2) - a1 * a1) * (1 - a2) / (1 + a2)) / b0
        self._set(b0, 0.0, 0.0, 1.0, a1, a2)


class BandpassBiquad(_Biquad):
    """Band-pass filter.

    Args:
        sample_rate, central_freq, Q: as for `AllpassBiquad`.
        const_skirt_gain: whether the peak gain is Q; else it is 1.
    """

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707,  # noqa: N803
                 const_skirt_gain: bool = False):
        turn, cos, alpha = self._terms(sample_rate, central_freq, Q)
        peak = math.sin(turn) / 2 if const_skirt_gain else alpha
        self._set(peak, 0.0, -peak, 1 + alpha, -2 * cos, 1 - alpha)


class BandrejectBiquad(_Biquad):
    """Band-reject filter.

    Args:
        sample_rate, central_freq, Q: as for `AllpassBiquad`.
    """

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707):  # noqa: N803
        _, cos, alpha = self._terms(sample_rate, central_freq, Q)
        self._set(1.0, -2 * cos, 1.0, 1 + alpha, -2 * cos, 1 - alpha)


class _Shelf(_Biquad):
    """The base of bass and treble."""

    _sign = 1

    def _shelve(self, sample_rate: int, gain: float, central_freq: float, q: float) -> None:
        _, cos, alpha = self._terms(sample_rate, central_freq, q)
        level, s = math.exp(gain / 40 * math.log(10)), self._sign
        root, low, high = 2 * math.sqrt(level) * alpha, level - 1, level + 1
        self._set(level * (high - s * low * cos + root), s * 2 * level * (low - s * high * cos),
                  level * (high - s * low * cos - root), high + s * low * cos + root,
                  -s * 2 * (low + s * high * cos), high + s * low * cos - root)


class BassBiquad(_Shelf):
    """Low-shelf filter: amplifies or attenuates the bass.

    Args:
        sample_rate: in hertz.
        gain: in decibels.
        central_freq, Q: as for `AllpassBiquad`.
    """

    def __init__(self, sample_rate: int, gain: float, central_freq: float = 100.0,
                 Q: float = 0.707):  # noqa: N803
        self._shelve(sample_rate, gain, central_freq, Q)


class TrebleBiquad(_Shelf):
    """High-shelf filter: amplifies or attenuates the treble.

    Args:
        sample_rate: in hertz.
        gain: in decibels.
        central_freq, Q: as for `AllpassBiquad`.
    """

    _sign = -1

    def __init__(self, sample_rate: int, gain: float, central_freq: float = 3000,
                 Q: float = 0.707):  # noqa: N803
        self._shelve(sample_rate, gain, central_freq, Q)


class EqualizerBiquad(_Biquad):
    """Peaking equalizer: amplifies or attenuates a band of frequencies.

    Args:
        sample_rate, center_freq: in hertz.
        gain: in decibels.
        Q: as for `AllpassBiquad`.
    """

    def __init__(self, sample_rate: int, center_freq: float, gain: float,
                 Q: float = 0.707):  # noqa: N803
        _, cos, alpha = self._terms(sample_rate, center_freq, Q)
        level = math.exp(gain / 40 * math.log(10))
        self._set(1 + alpha * level, -2 * cos, 1 - alpha * level, 1 + alpha / level, -2 * cos,
                  1 - alpha / level)


class HighpassBiquad(_Biquad):
    """High-pass filter.

    Args:
        sample_rate, cutoff_freq: in hertz.
        Q: as for `AllpassBiquad`.
    """

    _side = 1

    def __init__(self, sample_rate: int, cutoff_freq: float, Q: float = 0.707):  # noqa: N803
        _, cos, alpha = self._terms(sample_rate, cutoff_freq, Q)
        edge, s = (1 + self._side * cos) / 2, self._side
        self._set(edge, -s * 2 * edge, edge, 1 + alpha, -2 * cos, 1 - alpha)


class LowpassBiquad(HighpassBiquad):
    """Low-pass filter.

    Args:
        sample_rate, cutoff_freq: in hertz.
        Q: as for `AllpassBiquad`.
    """

    _side = -1


class DeemphBiquad(_Biquad):
    """De-emphasis of compact discs (IEC 60908).

    Args:
        sample_rate: 44100 or 48000.
    """

    def __init__(self, sample_rate: int):
        known = {44100: (5283, 0.4845, -9.477), 48000: (5356, 0.479, -9.62)}
        frequency, slope, gain = known[sample_rate]
        turn, level = 2 * math.pi * frequency / sample_rate, math.exp(gain / 40 * math.log(10))
        alpha = math.sin(turn) / 2 * math.sqrt((level + 1 / level) * (1 / slope - 1) + 2)
        cos, root, low, high = math.cos(turn), 2 * math.sqrt(level) * alpha, level - 1, level + 1
        self._set(level * (high + low * cos + root), -2 * level * (low + high * cos),
                  level * (high + low * cos - root), high - low * cos + root,
                  2 * (low - high * cos), high - low * cos - root)


class RiaaBiquad(_Biquad):
    """De-emphasis of vinyl records (RIAA).

    Args:
        sample_rate: 44100, 48000, 88200 or 96000.
    """

    def __init__(self, sample_rate: int):
        known = {44100: ([-0.2014898, 0.9233820], [0.7083149, 0.9924091]),
                 48000: ([-0.1766069, 0.9321590], [0.7396325, 0.9931330]),
                 88200: ([-0.1168735, 0.9648312], [0.8590646, 0.9964002]),
                 96000: ([-0.1141486, 0.9676817], [0.8699137, 0.9966946])}
        zeros, poles = known[one_of(sample_rate, known, "sample_rate", "RiaaBiquad")]
        b = [1.0, -(zeros[0] + zeros[1]), zeros[0] * zeros[1]]
        a = [1.0, -(poles[0] + poles[1]), poles[0] * poles[1]]
        turn = 2 * math.pi * 1000 / sample_rate  # the gain at 1 kHz is 1
        gain = abs(np.polyval(a, np.exp(1j * turn)) / np.polyval(b, np.exp(1j * turn)))
        self._set(*(float(gain * v) for v in b), *a)
