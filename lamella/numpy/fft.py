"""Fourier transforms: `mindspore.numpy.fft`, which is `ops`'s with ``axis`` and ``axes``."""

from .. import ops
from ..faces import face

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft",
           "ifft2", "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2",
           "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

_ONE = "a:input, n=None, axis:dim=-1, norm=None"
_TWO = "a:input, s=None, axes:dim=(-2, -1), norm=None"
_SEVERAL = "a:input, s=None, axes:dim=None, norm=None"

fftshift = face(ops.fftshift, "x:input, axes:dim=None")
ifftshift = face(ops.ifftshift, "x:input, axes:dim=None")
fft = face(ops.fft, _ONE)
ifft = face(ops.ifft, _ONE)
rfft = face(ops.rfft, _ONE)
irfft = face(ops.irfft, _ONE)
hfft = face(ops.hfft, _ONE)
ihfft = face(ops.ihfft, _ONE)
fft2 = face(ops.fft2, _TWO)
ifft2 = face(ops.ifft2, _TWO)
rfft2 = face(ops.rfft2, _TWO)
irfft2 = face(ops.irfft2, _TWO)
hfft2 = face(ops.hfft2, _TWO)
ihfft2 = face(ops.ihfft2, _TWO)
fftn = face(ops.fftn, _SEVERAL)
ifftn = face(ops.ifftn, _SEVERAL)
rfftn = face(ops.rfftn, _SEVERAL)
irfftn = face(ops.irfftn, _SEVERAL)
hfftn = face(ops.hfftn, _SEVERAL)
ihfftn = face(ops.ihfftn, _SEVERAL)
fftfreq, rfftfreq = ops.fftfreq, ops.rfftfreq
