"""Discrete Fourier transforms against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft as sf

import lamella as ms
from lamella import Tensor, ops
from tests.contracts import check_op

RNG = np.random.default_rng(5)
X = RNG.standard_normal((2, 4, 6)).astype(np.float32)
Z = (X + 1j * RNG.standard_normal(X.shape)).astype(np.complex64)
REAL_IN = ("rfft", "rfft2", "rfftn", "ihfft", "ihfft2", "ihfftn")
NAMES = [p + base for base in ("fft", "fft2", "fftn") for p in ("", "i", "r", "ir", "h", "ih")]


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", NAMES)
def test_transform(name, norm):
    x = X if name in REAL_IN else Z
    got = getattr(ops, name)(Tensor(x), norm=norm)
    want = getattr(sf, name)(x, norm=norm)
    assert str(got.dtype) == ("Float32" if np.isrealobj(want) else "Complex64")
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-4)


def test_lengths_and_axes():
    np.testing.assert_allclose(ops.fft(Tensor(X), 5, 1).asnumpy(), np.fft.fft(X, 5, 1), atol=1e-4)
    np.testing.assert_allclose(ops.rfftn(Tensor(X), (3, 5), (0, 2)).asnumpy(),
                               np.fft.rfftn(X, (3, 5), (0, 2)), atol=1e-4)
    np.testing.assert_allclose(ops.irfft2(Tensor(Z), (3, 5)).asnumpy(),
                               np.fft.irfft2(Z, (3, 5)), atol=1e-5)
    assert ops.fft(Tensor([1, 2])).dtype is ms.complex64
    assert ops.rfft(Tensor(np.float16([1, 2]))).dtype is ms.complex64


def test_gradient():
    check_op(lambda x: ops.irfft(ops.rfft(x) * ops.rfft(x)), None, (X,))


def test_frequencies_and_shifts():
    np.testing.assert_allclose(ops.fftfreq(5, 0.5).asnumpy(), np.fft.fftfreq(5, 0.5), rtol=1e-6)
    np.testing.assert_allclose(ops.rfftfreq(6).asnumpy(), np.fft.rfftfreq(6), rtol=1e-6)
    assert ops.fftfreq(4, dtype=ms.float64).dtype is ms.float64
    np.testing.assert_array_equal(ops.fftshift(Tensor(X)).asnumpy(), np.fft.fftshift(X))
    np.testing.assert_array_equal(ops.ifftshift(Tensor(X), (0, 2)).asnumpy(),
                                  np.fft.ifftshift(X, (0, 2)))


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: ops.fft(Tensor(X), dim=4), ValueError, "For 'fft'.*4"),
    (lambda: ops.rfft(Tensor(Z)), TypeError, "For 'rfft', 'input' must be real.*Complex64"),
    (lambda: ops.ihfft2(Tensor(Z[:0])), TypeError, "For 'ihfft2', 'input' must be real"),
    (lambda: ops.fft([1.0]), TypeError, "For 'fft', the argument 'input' must be a Tensor"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()
