"""A sound at another sample rate."""

from __future__ import annotations

import math

import numpy as np
import torch

from ..checks import number
from .enums import ResampleMethod
from .operation import AudioOperation

_DENSE = 4096  # with fewer taps than these, a convolution with all filters at each place is faster


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
        self.orig_freq = orig_freq
        self.new_freq = new_freq
        self.resample_method = resample_method
        self.width = lowpass_filter_width
        self.rolloff = rolloff
        self.beta = 14.769656459379492 if beta is None else number(self, "beta", beta)

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        if self.orig_freq == self.new_freq:
            return signal
        common = math.gcd(int(self.orig_freq), int(self.new_freq))
        old, new = int(self.orig_freq) // common, int(self.new_freq) // common
        base = min(old, new) * self.rolloff
        width = math.ceil(self.width * old / base)
        length = math.ceil(new * signal.shape[-1] / old)
        flat = torch.from_numpy(signal).reshape(-1, signal.shape[-1])
        flat = torch.nn.functional.pad(flat, (width, width + old))
        # the result at j is a filter at j * old / new, of which there are `new` different ones
        phases = torch.arange(min(new, length))
        starts, dense = phases * old // new, new * old < _DENSE
        taps = torch.arange(-width, width + old) if dense else (
            starts[:, None] + torch.arange(-width, width + 2))
        time = (taps.double() / old - phases[:, None].double() / new) * base
        filters = (self._filter(time) * base / old).to(flat.dtype)
        out = flat.new_empty((len(flat), length))
        if dense:
            found = torch.nn.functional.conv1d(flat[:, None], filters[:, None], stride=old)
            out.copy_(found.transpose(1, 2).flatten(1)[:, :length])
        else:
            places = torch.arange(length)
            which = places % new
            first, filters = places // new * old + starts[which], filters[which]
            for row, windows in zip(out, flat.unfold(-1, filters.shape[1], 1), strict=True):
                torch.sum(windows[first] * filters, -1, out=row)
        return out.reshape(*signal.shape[:-1], length).numpy()

    def _filter(self, time: torch.Tensor) -> torch.Tensor:
        """The windowed sinc at these times, in zeros of the sinc."""
        time = time.clamp(-self.width, self.width)
        if self.resample_method is ResampleMethod.SINC_INTERPOLATION:
            window = torch.cos(time * math.pi / self.width / 2) ** 2
        else:
            inside = torch.sqrt(1 - (time / self.width) ** 2)
            window = torch.i0(self.beta * inside) / torch.i0(torch.tensor(self.beta))
        return torch.sinc(time) * window
