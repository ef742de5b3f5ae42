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


@pytest.mark.parametrize("name", NAMES)
def test_halves_are_computed_in_float32(name):
    x = np.random.default_rng(3).standard_normal((3, 4))
    for kind in (ms.float16, ms.bfloat16):
        given = Tensor(x, kind)
        got, want = getattr(ops, name)(given), getattr(sf, name)(given.float().asnumpy())
        assert got.dtype is (ms.float32 if np.isrealobj(want) else ms.complex64)
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("base", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n, dim", [(None, 0), (5, -2), (3, 1), (9, 2)])
def test_lengths_axes_and_norms(base, n, dim, norm):
    x = X if base in REAL_IN else Z
    got = getattr(ops, base)(Tensor(x), n, dim, norm).asnumpy()
    np.testing.assert_allclose(got, getattr(sf, base)(x, n, dim, norm), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("s, dim", [((3, 5), (0, 1)), ((5, 3), (2, 0)), (None, (1, 2)),
                                    ((7, 2), (-3, -1))])
@pytest.mark.parametrize("base", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_lengths_along_two_and_several_axes(base, s, dim):
    x = X if base in REAL_IN else Z
    for name in (base + "2", base + "n"):
        for norm in (None, "ortho"):
            got = getattr(ops, name)(Tensor(x), s, list(dim), norm).asnumpy()
            want = getattr(sf, name)(x, s, dim, norm)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    if s is not None:  # of the last axes
        np.testing.assert_allclose(getattr(ops, base + "n")(Tensor(x), s).asnumpy(),
                                   getattr(sf, base + "n")(x, s), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_no_data_has_a_transform_of_its_shape(name):
    x = (X if name in REAL_IN else Z)[:, :0]
    plain = not name.endswith(("2", "n"))
    found = getattr(ops, name)(Tensor(x)) if plain else getattr(ops, name)(Tensor(x), (3, 4))
    assert found.shape[0] == 2 and found.shape[1] == (0 if plain else 3)
    want = getattr(sf, name)(X[0] if name in REAL_IN else Z[0], *[] if plain else [(3, 4)])
    assert found.shape[2] == want.shape[-1]
    assert found.dtype is (ms.float32 if np.isrealobj(want) else ms.complex64)
    assert not found.asnumpy().any()


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("d", [None, 0.25, 3])
def test_frequencies(n, d):
    given = (n,) if d is None else (n, d)
    for name in ("fftfreq", "rfftfreq"):
        got, want = getattr(ops, name)(*given), getattr(np.fft, name)(*given)
        assert got.dtype is ms.float32
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)
        got = getattr(ops, name)(*given, dtype=ms.float64)
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-14)


@pytest.mark.parametrize("dim", [None, 0, -1, 1, (1,), [0, -1], (2, 1)])
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts_along_axes(name, dim):
    x = np.arange(105).reshape(3, 5, 7)
    given = tuple(dim) if isinstance(dim, list) else dim
    np.testing.assert_array_equal(getattr(ops, name)(Tensor(x), dim).asnumpy(),
                                  getattr(np.fft, name)(x, given))
