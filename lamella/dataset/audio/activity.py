"""Detection of the beginning of speech, as SoX's effect "vad"."""

from __future__ import annotations

import math

import numpy as np

from ..checks import number
from .operation import AudioOperation


class Vad(AudioOperation):
    """Cuts off silence and quiet noise before speech.

    Twenty times a second the power of the cepstrum is measured, less an estimate of the
    noise. Where its running mean reaches a level, speech was found; earlier measurements tell where
    it began. Without speech the end is left, as long as what is searched.

    Args:
        sample_rate: in hertz.
        trigger_level: the level that counts as speech.
        trigger_time: seconds over which the mean runs, so that short bursts don't count.
        search_time: seconds before it in which quieter sounds still belong to speech.
        allowed_gap: seconds that may lie between such sounds.
        pre_trigger_time: seconds to keep before all that.
        boot_time: seconds for the first estimate of the noise.
        noise_up_time, noise_down_time: seconds in which the estimate follows more, and less, noise.
        noise_reduction_amount: how much of the estimate is taken off.
        measure_freq: measurements a second.
        measure_duration: seconds of a measurement; default: twice the time between two.
        measure_smooth_time: seconds over which spectra are smoothed.
        hp_filter_freq, lp_filter_freq: the frequencies that are looked at, in hertz.
        hp_lifter_freq, lp_lifter_freq: the same of the cepstrum.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.
        RuntimeError: if a sound is called on in which no frequency is looked at.

    Examples:
        >>> import numpy as np
        >>> Vad(600)(np.zeros(1000)).shape
        (660,)
    """

    def __init__(self, sample_rate: int, trigger_level: float = 7.0, trigger_time: float = 0.25,
                 search_time: float = 1.0, allowed_gap: float = 0.25, pre_trigger_time: float = 0.0,
                 boot_time: float = 0.35, noise_up_time: float = 0.1, noise_down_time: float = 0.01,
                 noise_reduction_amount: float = 1.35, measure_freq: float = 20.0,
                 measure_duration: float | None = None, measure_smooth_time: float = 0.4,
                 hp_filter_freq: float = 50.0, lp_filter_freq: float = 6000.0,
                 hp_lifter_freq: float = 150.0, lp_lifter_freq: float = 2000.0):
        self.sample_rate = sample_rate
        self.trigger_level = trigger_level
        self.trigger_time = trigger_time
        self.search_time = search_time
        self.allowed_gap = allowed_gap
        self.pre_trigger_time = pre_trigger_time
        self.boot_time = boot_time
        self.noise_up_time = noise_up_time
        self.noise_down_time = noise_down_time
        self.noise_reduction_amount = noise_reduction_amount
        self.measure_freq = measure_freq
        self.measure_duration = number(self, "measure_duration", measure_duration or
                                       2 / measure_freq, 0)
        self.measure_smooth_time = measure_smooth_time
        self.hp_filter_freq = hp_filter_freq
        self.lp_filter_freq = lp_filter_freq
        self.hp_lifter_freq = hp_lifter_freq
        self.lp_lifter_freq = lp_lifter_freq

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        channels = signal.reshape(-1, signal.shape[-1])
        length, period = self._samples(self.measure_duration), self._samples(1 / self.measure_freq)
        count = max(1, math.ceil(self.search_time * self.measure_freq))
        meter = _Meter(self, len(channels), length)
        slow = _share_kept(self.trigger_time, self.measure_freq)
        means = np.zeros(len(channels))
        measures = np.zeros((len(channels), count))  # the last ones, the latest first
        before = self._samples(self.pre_trigger_time) + length
        for position in range(length, channels.shape[1], period):
            found = meter.measure(channels[:, position - length:position])
            measures = np.concatenate([found[:, None], measures[:, :-1]], 1)
            means = means * slow + found * (1 - slow)
            loud = np.flatnonzero(means >= self.trigger_level)
            if len(loud):  # channels before the first loud one weren't asked yet
                back = max(self._measures_back(row) for row in measures[loud[0]:])
                return signal[..., max(0, position - back * period - before):]
        return signal[..., max(0, channels.shape[1] - count * period - before):]

    def _samples(self, seconds: float) -> int:
        return int(seconds * self.sample_rate + 0.5)

    def _measures_back(self, measures: np.ndarray) -> int:
        """How many measurements ago speech began."""
        gap = int(self.allowed_gap * self.measure_freq + 0.5)
        last_loud = quiet = len(measures)
        for ago, level in enumerate(measures):
            if level >= self.trigger_level and ago <= last_loud + gap:
                last_loud = quiet = ago
            elif level == 0 and last_loud >= quiet:
                quiet = ago
        return min(len(measures) - 1, quiet)


class _Meter:
    """Measures the activity in each channel, frame by frame, and estimates the noise."""

    def __init__(self, vad: Vad, channels: int, length: int):
        self.size = max(16, 1 << (length - 1).bit_length())  # of the transform
        rate, middle = vad.sample_rate, self.size // 2
        self.low = max(int(vad.hp_filter_freq / rate * self.size + 0.5), 1)
        self.high = min(int(vad.lp_filter_freq / rate * self.size + 0.5), middle)
        self.first = math.ceil(rate * 0.5 / vad.lp_lifter_freq)
        self.last = min(math.floor(rate * 0.5 / vad.hp_lifter_freq), self.size // 4)
        if self.high <= self.low or self.last <= self.first:
            raise RuntimeError(f"Vad: with a sample rate of {rate} no frequency lies between the "
                               f"filters' or the lifters' frequencies.")
        self.window = _hann(length)
        self.cepstrum_window = _hann(self.high - self.low)
        self.spectrum = np.zeros((channels, self.high - self.low))
        self.noise = np.zeros_like(self.spectrum)
        self.reduction = vad.noise_reduction_amount
        freq = vad.measure_freq
        self.smooth = _share_kept(vad.measure_smooth_time, freq)
        self.up = _share_kept(vad.noise_up_time, freq)
        self.down = _share_kept(vad.noise_down_time, freq)
        self.measured, self.boot = 0, max(0, int(vad.boot_time * freq - 0.5))

    def measure(self, frame: np.ndarray) -> np.ndarray:
        """The activity in the next frame of each channel."""
        booting = self.measured <= self.boot
        kept = self.measured / (1 + self.measured) if booting else self.smooth
        self.measured += 1
        found = np.abs(np.fft.rfft(frame * self.window, self.size)[:, self.low:self.high])
        self.spectrum = self.spectrum * kept + found * (1 - kept)
        power = self.spectrum**2
        share = 0.0 if booting else np.where(power > self.noise, self.up, self.down)
        self.noise = self.noise * share + power * (1 - share)
        clear = np.sqrt(np.maximum(0, power - self.reduction * self.noise))
        whole = np.zeros((len(clear), self.size // 2))
        whole[:, self.low:self.high] = clear * self.cepstrum_window
        cepstrum = np.abs(np.fft.rfft(whole)[:, self.first:self.last]) ** 2
        with np.errstate(divide="ignore"):  # of silence: minus infinity
            return np.maximum(0, 21 + np.log(cepstrum.mean(1)))


def _hann(length: int) -> np.ndarray:
    """A window whose square sums up to about 1.5."""
    return 2 / math.sqrt(length) * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length))


def _share_kept(seconds: float, rate: float) -> float:
    """What a running mean over so many seconds keeps of the old with each new value."""
    return math.exp(-1 / (seconds * rate)) if seconds else 0.0


__all__ = ["Vad"]
