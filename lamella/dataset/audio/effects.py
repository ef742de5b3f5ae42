"""Effects: gain, fades, masks, distortion, quantization."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..checks import integer, number
from ..inputs import check_input
from ..transforms.operation import Streams, Values
from .enums import BorderType, FadeShape, GainType
from .filters import filtered
from .operation import AudioOperation


class Gain(AudioOperation):
    """Amplifies or attenuates a sound.

    Args:
        gain_db: in decibels.
    """

    def __init__(self, gain_db: float = 1.0):
        self.gain_db = gain_db

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        return signal * 10 ** (self.gain_db / 20)


class Vol(AudioOperation):
    """Amplifies or attenuates a sound, and clips it to [-1, 1].

    Args:
        gain: the gain.
        gain_type: its unit.
    """

    def __init__(self, gain: float, gain_type: GainType = GainType.AMPLITUDE):
        self.gain_type = gain_type
        low = None if gain_type is GainType.DB else 0
        self.gain = number(self, "gain", gain, low, above=gain_type is GainType.POWER)

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        factor = {GainType.AMPLITUDE: lambda: self.gain, GainType.DB: lambda: 10 ** (
            self.gain / 20), GainType.POWER: lambda: math.sqrt(self.gain)}[self.gain_type]()
        return np.clip(signal * factor, -1, 1)


class DCShift(AudioOperation):
    """Adds a constant to a sound (a DC offset).

    Args:
        shift: the constant, in [-2, 2].
        limiter_gain: what limits peaks; default: none.
    """

    def __init__(self, shift: float, limiter_gain: float | None = None):
        self.shift = shift
        self.limiter_gain = shift if limiter_gain is None else limiter_gain

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        limit = 1 - (abs(self.shift) - self.limiter_gain)
        shift, gain = self.shift, self.limiter_gain
        if gain == shift or shift == 0:
            return np.clip(signal + shift, -1, 1)
        room = max(abs(1 - limit), 1e-12)
        if shift > 0:
            over = signal > limit
            peaks = np.minimum((signal - limit) * gain / room + limit + shift, limit)
        else:
            over = signal < -limit
            peaks = np.maximum((signal + limit) * gain / room + limit + shift, -limit)
        return np.where(over, peaks, np.clip(signal + shift, -1, 1))


class Contrast(AudioOperation):
    """Raises the perceived loudness by distortion, as SoX's effect "contrast".

    Args:
        enhancement_amount: how much, in [0, 100].
    """

    def __init__(self, enhancement_amount: float = 75.0):
        self.enhancement_amount = enhancement_amount

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        turned = signal * (math.pi / 2)
        return np.sin(turned + self.enhancement_amount / 750.0 * np.sin(turned * 4))


class Overdrive(AudioOperation):
    """Non-linear distortion, as SoX's effect "overdrive".

    Args:
        gain: how much, in [0, 100] decibels.
        color: how many even harmonics there are, in [0, 100].
    """

    def __init__(self, gain: float = 20.0, color: float = 20.0):
        self.gain = gain
        self.color = color

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        pushed = signal * 10 ** (self.gain / 20) + self.color / 200
        pushed = np.where(pushed < -1, -2 / 3, np.where(pushed > 1, 2 / 3,
                                                        pushed - pushed ** 3 / 3))
        smooth = filtered(pushed, [1.0, -0.995], [1.0, -1.0], False)
        return np.clip(signal * 0.5 + smooth * 0.75, -1, 1)


class Fade(AudioOperation):
    """Fades the beginning in and the end out.

    Args:
        fade_in_len, fade_out_len: over how many samples.
        fade_shape: the shape of the fades.

    Returns:
        float64 for float64, else float32; the sound as it is where both lengths are 0.
    """

    def __init__(self, fade_in_len: int = 0, fade_out_len: int = 0,
                 fade_shape: FadeShape = FadeShape.LINEAR):
        self.fade_in_len = fade_in_len
        self.fade_out_len = fade_out_len
        self.fade_shape = fade_shape

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The faded sound."""
        out = super().transform(value)
        return out if self.fade_in_len or self.fade_out_len else value

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        length = signal.shape[-1]
        if self.fade_in_len > length or self.fade_out_len > length:
            raise RuntimeError(f"Fade: the lengths must be at most the sound's, {length}, but are "
                               f"{self.fade_in_len} and {self.fade_out_len}.")
        shape = np.ones(length)
        shape[:self.fade_in_len] *= self._curve(np.linspace(0, 1, self.fade_in_len))
        # a fade of one sample is the beginning of its curve: silence, and here the whole sound
        shape[length - self.fade_out_len:] *= self._curve(1 - np.linspace(0, 1, self.fade_out_len))
        return signal * shape

    def _curve(self, ramp: np.ndarray) -> np.ndarray:
        if self.fade_shape is FadeShape.EXPONENTIAL:
            return 2 ** (ramp - 1) * ramp
        if self.fade_shape is FadeShape.LOGARITHMIC:
            return np.log10(ramp + 0.1) + 1
        if self.fade_shape is FadeShape.QUARTER_SINE:
            return np.sin(ramp * math.pi / 2)
        if self.fade_shape is FadeShape.HALF_SINE:
            return np.sin(ramp * math.pi - math.pi / 2) / 2 + 0.5
        return ramp


class MuLawEncoding(AudioOperation):
    """Encodes values in [-1, 1] as integers, by the mu law (ITU-T G.711).

    Args:
        quantization_channels: the number of quantization levels.
    """

    def __init__(self, quantization_channels: int = 256):
        self.quantization_channels = quantization_channels

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The encoded sound."""
        mu = self.quantization_channels - 1.0
        signal = value.astype(np.float32 if value.dtype != np.float64 else np.float64)
        out = np.sign(signal) * np.log1p(mu * np.abs(signal)) / math.log1p(mu)
        return ((out + 1) / 2 * mu + 0.5).astype(np.int32)


class MuLawDecoding(AudioOperation):
    """Decodes what `MuLawEncoding` encoded, to values in [-1, 1].

    Args:
        quantization_channels: the number of quantization levels.
    """

    def __init__(self, quantization_channels: int = 256):
        self.quantization_channels = quantization_channels

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        mu = self.quantization_channels - 1.0
        out = signal / mu * 2 - 1
        return np.sign(out) * (np.exp(np.abs(out) * math.log1p(mu)) - 1) / mu


class ComputeDeltas(AudioOperation):
    """Delta coefficients: the derivatives of spectra by time.

    Args:
        win_length: over how many frames, 3 or more.
        pad_mode: how the ends are padded.
    """

    _rank = 2

    def __init__(self, win_length: int = 5, pad_mode: BorderType = BorderType.EDGE):
        self.win_length = win_length
        self.pad_mode = pad_mode

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        reach = (self.win_length - 1) // 2
        room = [(0, 0)] * (signal.ndim - 1) + [(reach, reach)]
        padded = np.pad(signal, room, self.pad_mode.value)  # type: ignore[arg-type]
        weights = np.arange(-reach, reach + 1, dtype=np.float64)
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, -1)
        return windows @ weights / (reach * (reach + 1) * (2 * reach + 1) / 3)


class SlidingWindowCmn(AudioOperation):
    """Subtracts the mean of a sliding window from features (..., time, features).

    Args:
        cmn_window: the window's frames.
        min_cmn_window: the least number of frames at the beginning, if it isn't centred.
        center: whether a frame is in the middle of its window; else at its end.
        norm_vars: whether the standard deviation is normalized to 1, too.
    """

    _rank = 2

    def __init__(self, cmn_window: int = 600, min_cmn_window: int = 100, center: bool = False,
                 norm_vars: bool = False):
        self.cmn_window = integer(self, "cmn_window", cmn_window, 1)
        self.min_cmn_window = min_cmn_window
        self.center, self.norm_vars = center, norm_vars

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        frames = signal.shape[-2]
        out = np.empty(signal.shape, np.float64)
        for frame in range(frames):
            if self.center:
                start = frame - self.cmn_window // 2
                start, end = max(0, start), max(0, start) + self.cmn_window
            else:
                start = max(0, frame - self.cmn_window)
                end = max(frame + 1, self.min_cmn_window)
            if end > frames:
                start, end = max(0, start - (end - frames)), frames
            window = signal[..., start:end, :].astype(np.float64)
            out[..., frame, :] = signal[..., frame, :] - window.mean(-2)
            if self.norm_vars:
                out[..., frame, :] = 0 if end - start == 1 else out[
                    ..., frame, :] / np.sqrt(np.maximum(window.var(-2), 1e-20))
        return out


class _Masking(AudioOperation):
    """The base of random masks over a spectrum (..., frequency, time)."""

    draws, _rank, _axis, _length = True, 2, -1, ""
    _said = "", ""  # the argument and the dimension in an error

    def _set(self, iid_masks: bool, param: int, mask_start: int, mask_value: float) -> None:
        self.iid_masks = iid_masks
        self._param = param
        self.mask_start = mask_start
        self.mask_value = mask_value

    def run(self, values: Values, streams: Streams) -> Values:
        """The masked spectra."""
        generator, out = streams.of(self), []
        for value in values:
            check_input(self, value)
            size = value.shape[self._axis]
            if self._param > size:
                raise RuntimeError(f"{type(self).__name__}: invalid parameter, "
                                   f"'{self._said[0]}' should be less than or equal to the length "
                                   f"of {self._said[1]} dimension, but got: {self._param} and "
                                   f"{size}.")
            if not self.iid_masks and self.mask_start + self._param > size:
                raise RuntimeError(f"MaskAlongAxis: invalid parameter, the sum of 'mask_start' and "
                                   f"'mask_width' should be no more than the length of the masked "
                                   f"dimension; 'mask_start' should be less than the length of the "
                                   f"masked dimension, but got: {self.mask_start}, {self._param} "
                                   f"and {size}.")
            start, length = self.mask_start, self._param
            if self.iid_masks:
                length = generator.integer(0, self._param)
                start = generator.integer(0, size - length)
            changed = value.astype(value.dtype if value.dtype.kind == "f" else np.float32)
            np.moveaxis(changed, self._axis, -1)[..., start:start + length] = self.mask_value
            out.append(changed)
        return tuple(out)


class TimeMasking(_Masking):
    """Masks a range of time.

    Args:
        iid_masks: whether each row gets a mask of its own, with random position and length.
        time_mask_param: the maximum length; with `mask_start` the length.
        mask_start: where it begins, if not at random.
        mask_value: the value of masked elements.

    Examples:
        >>> import numpy as np
        >>> from lamella.dataset import audio
        >>> audio.TimeMasking(time_mask_param=2)(np.ones((1, 4, 6), np.float32)).shape
        (1, 4, 6)
    """

    _length = "time_mask_param"
    _said = "time_mask_param", "time"

    def __init__(self, iid_masks: bool = False, time_mask_param: int = 0, mask_start: int = 0,
                 mask_value: float = 0.0):
        self._set(iid_masks, time_mask_param, mask_start, mask_value)


class FrequencyMasking(_Masking):
    """Masks a range of frequencies.

    Args:
        iid_masks: whether each row gets a mask of its own, with random position and width.
        freq_mask_param: the maximum width; with `mask_start` the width.
        mask_start: where it begins, if not at random.
        mask_value: the value of masked elements.
    """

    _axis, _length = -2, "freq_mask_param"
    _said = "frequency_mask_param", "frequency"

    def __init__(self, iid_masks: bool = False, freq_mask_param: int = 0, mask_start: int = 0,
                 mask_value: float = 0.0):
        self._set(iid_masks, freq_mask_param, mask_start, mask_value)


class MaskAlongAxis(AudioOperation):
    """Masks a range of a spectrum (..., frequency, time).

    Args:
        mask_start, mask_width: the range.
        mask_value: the value of masked elements.
        axis: 1: frequency; 2: time.
    """

    _rank = 2

    def __init__(self, mask_start: int, mask_width: int, mask_value: float, axis: int):
        self.mask_start = mask_start
        self.mask_width = mask_width
        self.mask_value = mask_value
        self.axis = axis

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        out, part = signal.copy(), slice(self.mask_start, self.mask_start + self.mask_width)
        if self.mask_start + self.mask_width > signal.shape[self.axis - 3]:
            raise RuntimeError("MaskAlongAxis: invalid parameter, the sum of 'mask_start' and "
                               "'mask_width' should be no more than the length of the masked "
                               f"dimension, but got: 'mask_start' {self.mask_start}, 'mask_width' "
                               f"{self.mask_width} and length {signal.shape[self.axis - 3]}")
        if self.axis == 1:
            out[..., part, :] = self.mask_value
        else:
            out[..., part] = self.mask_value
        return out


class MaskAlongAxisIID(AudioOperation):
    """Masks a random range of the spectra (..., frequency, time) of each row.

    Args:
        mask_param: the maximum width.
        mask_value: the value of masked elements.
        axis: 1: frequency; 2: time.
    """

    draws = True

    def __init__(self, mask_param: int, mask_value: float, axis: int):
        kind = FrequencyMasking if axis == 1 else TimeMasking
        self._inside = kind(True, mask_param, 0, mask_value)
        self.mask_param, self.mask_value, self.axis = mask_param, mask_value, axis

    def inner(self) -> Any:
        """The operations that it runs."""
        return iter((self._inside,))

    def run(self, values: Values, streams: Streams) -> Values:
        """The masked spectra."""
        for value in values:
            check_input(self, value)
        return self._inside.run(values, streams)
