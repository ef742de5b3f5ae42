"""Phaser, flanger and dither, as in SoX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..checks import integer
from ..transforms.operation import Streams, Values
from .enums import DensityFunction, Interpolation, Modulation
from .operation import AudioOperation


def _wave(kind: Modulation, size: int, low: float, high: float, phase: float) -> np.ndarray:
    """One period of a wave between `low` and `high`, beginning at `phase`."""
    place = (np.arange(size) + int(phase / math.pi / 2 * size + 0.5)) % size
    if kind is Modulation.SINUSOIDAL:
        wave = (np.sin(place / size * 2 * math.pi) + 1) / 2
    else:
        ramp, part = place * 2.0 / size, 4 * place // size
        wave = np.select([part == 0, part == 3], [ramp + 0.5, ramp - 1.5], 1.5 - ramp)
    return wave * (high - low) + low


def _rate(operation: Any, value: Any) -> int:
    if integer(operation, "sample_rate", value, -(2**31)) == 0:
        raise ValueError(f"Input sample_rate is not within the required interval of [-2147483648, "
                         f"0) and (0, 2147483647]. For '{type(operation).__name__}', 'sample_rate' "
                         f"must not be 0.")
    return value


class Phaser(AudioOperation):
    """Adds an echo with a modulated delay and feedback.

    Args:
        sample_rate: in hertz.
        gain_in: the gain of the input, in [0, 1].
        gain_out: the gain of the output.
        delay_ms: the maximum delay in milliseconds, at most 5.
        decay: of the echo, at most 0.99.
        mod_speed: the modulation frequency in hertz, in [0.1, 2].
        sinusoidal: modulation by a sine, else by a triangle wave.
    """

    def __init__(self, sample_rate: int, gain_in: float = 0.4, gain_out: float = 0.74,
                 delay_ms: float = 3.0, decay: float = 0.4, mod_speed: float = 0.5,
                 sinusoidal: bool = True):
        self.sample_rate = _rate(self, sample_rate)
        self.gain_in = gain_in
        self.gain_out = gain_out
        self.delay_ms = delay_ms
        self.decay = decay
        self.mod_speed = mod_speed
        self.sinusoidal = sinusoidal

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        longest = int(self.delay_ms * 0.001 * self.sample_rate + 0.5)
        if longest < 1:
            raise RuntimeError("Phaser: 'delay_ms' is shorter than a sample.")
        kind = Modulation.SINUSOIDAL if self.sinusoidal else Modulation.TRIANGULAR
        swing = np.floor(_wave(kind, int(self.sample_rate / self.mod_speed + 0.5), 1.0, longest,
                               math.pi / 2) + 0.5).astype(int).tolist()
        sound = signal.reshape(-1, signal.shape[-1]).T * self.gain_in  # (time, channels)
        echo, out = np.zeros((longest, sound.shape[1]), sound.dtype), np.empty_like(sound)
        for time, now in enumerate(sound):
            old = echo[(time + swing[time % len(swing)]) % longest]
            out[time] = mixed = now + old
            echo[(time + 1) % longest] = mixed * self.decay
        return np.clip(out * self.gain_out, -1, 1).T.reshape(signal.shape)


class Flanger(AudioOperation):
    """Adds a copy with a modulated delay; of sounds (..., channel, time).

    Args:
        sample_rate: in hertz.
        delay: the minimum delay in milliseconds, at most 30.
        depth: the modulation depth in milliseconds, at most 10.
        regen: how much is fed back, in percent, in [-95, 95].
        width: the gain of the copy, in percent.
        speed: the modulation frequency in hertz, in [0.1, 10].
        phase: the phase shift between channels, in percent of a period.
        modulation: the modulating wave.
        interpolation: between samples.
    """

    _rank = 2
    _keeps = True

    def __init__(self, sample_rate: int, delay: float = 0.0, depth: float = 2.0,
                 regen: float = 0.0, width: float = 71.0, speed: float = 0.5, phase: float = 25.0,
                 modulation: Modulation = Modulation.SINUSOIDAL,
                 interpolation: Interpolation = Interpolation.LINEAR):
        self.sample_rate = _rate(self, sample_rate)
        self.delay = delay
        self.depth = depth
        self.regen = regen
        self.width = width
        self.speed = speed
        self.phase = phase
        self.modulation = modulation
        self.interpolation = interpolation

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        channels, length = signal.shape[-2:]
        if channels > 4:
            raise RuntimeError("Flanger: the channel of input tensor does not match the "
                               "requirement of operator. Expecting tensor with channel less than "
                               f"or equal to 4. But got channel: {channels}")
        feedback, copy = self.regen / 100, self.width / 100
        gain = 1 / (1 + copy)
        copy = copy / (1 + copy) * (1 - abs(feedback))
        low = math.floor(self.delay / 1000 * self.sample_rate + 0.5)
        size = int((self.delay + self.depth) / 1000 * self.sample_rate + 0.5) + 2
        period = int(self.sample_rate / self.speed)
        swing = _wave(self.modulation, period, low, size - 2.0,
                      3 * math.pi / 2).astype(np.float32)
        shift = (np.arange(channels) * period * (self.phase / 100) + 0.5).astype(int)
        sound = np.moveaxis(signal.reshape(-1, channels, length), -1, 0)  # (time, batch, channels)
        kept, last = np.zeros((size, *sound.shape[1:]), sound.dtype), np.zeros_like(sound[0])
        out, each = np.empty_like(sound), np.arange(channels)
        for time, now in enumerate(sound):
            place = -(time + 1) % size
            kept[place] = now + last * feedback
            delay = swing[(time + shift) % period]
            behind = delay.astype(int)
            share = (delay - behind).astype(sound.dtype)
            first, second = (kept[(place + behind + i) % size, :, each].T for i in (0, 1))
            if self.interpolation is Interpolation.LINEAR:
                last = first + (second - first) * share
            else:
                third = kept[(place + behind + 2) % size, :, each].T - first
                second = second - first
                bend, slope = third * 0.5 - second, second * 2 - third * 0.5
                last = first + (bend * share + slope) * share
            out[time] = now * gain + last * copy
        return np.clip(np.moveaxis(out, 0, -1), -1, 1).reshape(signal.shape)


class Dither(AudioOperation):
    """Adds noise before quantization to 16 bits, which decorrelates the error from the sound.

    Args:
        density_function: the noise: triangular, rectangular or Gaussian. The last two are made of
            the sound's own samples, drawn at random.
        noise_shaping: whether the error of a sample is added to the next one.
    """

    draws = True

    def __init__(self, density_function: DensityFunction = DensityFunction.TPDF,
                 noise_shaping: bool = False):
        self.density_function = density_function
        self.noise_shaping = noise_shaping

    def run(self, values: Values, streams: Streams) -> Values:
        """The dithered sounds."""
        self._stream = streams.of(self)
        return super().run(values, streams)

    def _drawn(self, sound: np.ndarray) -> Any:
        channel = self._stream.integer(0, sound.shape[0] - 1) if sound.shape[0] > 1 else 0
        time = self._stream.integer(0, sound.shape[1] - 1) if sound.shape[1] > 1 else 0
        return sound[channel, time]

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        sound = signal.reshape(-1, signal.shape[-1])
        scaled = sound * sound.dtype.type(2**15 - 2)
        if self.density_function is DensityFunction.TPDF:
            noise = np.bartlett(sound.shape[1] + 1)[:-1].astype(sound.dtype)
        elif self.density_function is DensityFunction.RPDF:
            noise = self._drawn(sound) - sound.dtype.type(0.5)
        else:
            noise = sum(self._drawn(sound) for _ in range(7))
        steps = np.sign(scaled + noise) * np.floor(np.abs(scaled + noise) + 0.5)
        out = steps / sound.dtype.type(2**15)
        if self.noise_shaping:
            error = out - sound
            out[:, 1:] += error[:, :-1]
        return out.reshape(signal.shape)
