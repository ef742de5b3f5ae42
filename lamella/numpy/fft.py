"""Fourier transforms: `mindspore.numpy.fft`, which is `ops`'s with ``axis`` and ``axes``."""

from .. import ops
from ..core.adapters import adapted

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft",
           "ifft2", "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2",
           "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

_ONE = "a:input, n=None, axis:dim=-1, norm=None"
_TWO = "a:input, s=None, axes:dim=(-2, -1), norm=None"
_SEVERAL = "a:input, s=None, axes:dim=None, norm=None"

fftshift = adapted(ops.fftshift, "x:input, axes:dim=None")
ifftshift = adapted(ops.ifftshift, "x:input, axes:dim=None")
fft = adapted(ops.fft, _ONE)
ifft = adapted(ops.ifft, _ONE)
rfft = adapted(ops.rfft, _ONE)
irfft = adapted(ops.irfft, _ONE)
hfft = adapted(ops.hfft, _ONE)
ihfft = adapted(ops.ihfft, _ONE)
fft2 = adapted(ops.fft2, _TWO)
ifft2 = adapted(ops.ifft2, _TWO)
rfft2 = adapted(ops.rfft2, _TWO)
irfft2 = adapted(ops.irfft2, _TWO)
hfft2 = adapted(ops.hfft2, _TWO)
ihfft2 = adapted(ops.ihfft2, _TWO)
fftn = adapted(ops.fftn, _SEVERAL)
ifftn = adapted(ops.ifftn, _SEVERAL)
rfftn = adapted(ops.rfftn, _SEVERAL)
irfftn = adapted(ops.irfftn, _SEVERAL)
hfftn = adapted(ops.hfftn, _SEVERAL)
ihfftn = adapted(ops.ihfftn, _SEVERAL)
fftfreq, rfftfreq = ops.fftfreq, ops.rfftfreq
