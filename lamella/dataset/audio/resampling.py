"""A sound at another sample rate."""

from __future__ import annotations

import math

import numpy as np
import torch

from ..checks import choice, integer, number
from .enums import ResampleMethod
from .operation import AudioOperation


class Resample(AudioOperation):
    """Changes the sample rate, by a windowed sinc filter (Smith).

    Args:
        orig_freq, new_freq: the rates.
        resample_method: the window.
        lowpass_filter_width: how many zeros of the sinc are used.
        rolloff: the cut-off, as a share of half the rate.
        beta: of the Kaiser window.
    """

    def __init__(self, orig_freq: float = 16000, new_freq: float = 16000,
                 resample_method: ResampleMethod = ResampleMethod.SINC_INTERPOLATION,
                 lowpass_filter_width: int = 6, rolloff: float = 0.99, beta: float | None = None):
        self.orig_freq = number(self, "orig_freq", orig_freq, 0, above=True)
        self.new_freq = number(self, "new_freq", new_freq, 0, above=True)
        self.resample_method = choice(self, "resample_method", resample_method, ResampleMethod)
        self.width = integer(self, "lowpass_filter_width", lowpass_filter_width, 1)
        self.rolloff = number(self, "rolloff", rolloff, 0, 1, above=True)
        self.beta = 14.769656459379492 if beta is None else number(self, "beta", beta)

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        if self.orig_freq == self.new_freq:
            return signal
        common = math.gcd(int(self.orig_freq), int(self.new_freq))
        old, new = int(self.orig_freq) // common, int(self.new_freq) // common
        base = min(old, new) * self.rolloff
        width = math.ceil(self.width * old / base)
        place = torch.arange(-width, width + old, dtype=torch.float64)[None] / old
        time = (torch.arange(0, -new, -1, dtype=torch.float64)[:, None] / new + place) * base
        time = time.clamp(-self.width, self.width)
        if self.resample_method is ResampleMethod.SINC_INTERPOLATION:
            window = torch.cos(time * math.pi / self.width / 2) ** 2
        else:
            inside = torch.sqrt(1 - (time / self.width) ** 2)
            window = torch.i0(self.beta * inside) / torch.i0(torch.tensor(self.beta))
        turned = time * math.pi
        sinc = torch.where(turned == 0, torch.ones(()).double(), torch.sin(turned) / turned)
        kernel = (sinc * window * base / old)[:, None].to(torch.from_numpy(signal).dtype)
        flat = torch.from_numpy(signal).reshape(-1, 1, signal.shape[-1])
        out = torch.nn.functional.conv1d(torch.nn.functional.pad(flat, (width, width + old)),
                                         kernel, stride=old)
        out = out.transpose(1, 2).reshape(len(flat), -1)
        length = math.ceil(new * signal.shape[-1] / old)
        return out[:, :length].reshape(*signal.shape[:-1], -1).numpy()
