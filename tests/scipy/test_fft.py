"""Cosine transforms against SciPy's."""

import numpy as np
import pytest
import scipy.fft

import lamella as ms
from lamella import Tensor
from lamella.scipy import fft

RNG = np.random.default_rng(4)
X = RNG.standard_normal((3, 5, 4))


@pytest.mark.parametrize("kind, near", [
    ("float64", 1e-12), ("float32", 1e-5), ("float16", 2e-2), ("int32", 1e-5)])
@pytest.mark.parametrize("name", ["dct", "idct", "dctn", "idctn"])
def test_as_scipy(name, kind, near):
    x = (X * 3).astype(kind)
    found = getattr(fft, name)(Tensor(x))
    wanted = getattr(scipy.fft, name)(x.astype(np.float64), norm="ortho")
    assert found.dtype is (ms.float64 if kind == "float64" else ms.float32)
    np.testing.assert_allclose(found.asnumpy(), wanted, atol=near * np.abs(wanted).max())


@pytest.mark.parametrize("name", ["dct", "idct"])
@pytest.mark.parametrize("length, axis", [(None, 0), (None, -2), (3, 1), (7, -1), (1, 0)])
def test_a_length_along_an_axis(name, length, axis):
    found = getattr(fft, name)(Tensor(X), 2, length, axis, "ortho")
    wanted = getattr(scipy.fft, name)(X, 2, length, axis, "ortho")
    np.testing.assert_allclose(found.asnumpy(), wanted, atol=1e-12)


@pytest.mark.parametrize("name", ["dctn", "idctn"])
@pytest.mark.parametrize("lengths, axes", [
    (None, (0, 2)), ((2, 6), None), ((2, 6), (1, 0)), ((4,), (-1,))])
def test_lengths_along_axes(name, lengths, axes):
    found = getattr(fft, name)(Tensor(X), 2, lengths, axes)
    wanted = getattr(scipy.fft, name)(X, 2, lengths, axes, "ortho")
    np.testing.assert_allclose(found.asnumpy(), wanted, atol=1e-12)


@pytest.mark.parametrize("name", ["dct", "idct"])
def test_complex_numbers_by_their_parts(name):
    x = X + 1j * X[::-1]
    found = getattr(fft, name)(Tensor(x)).asnumpy()
    wanted = getattr(scipy.fft, name)
    np.testing.assert_allclose(found, wanted(x.real, norm="ortho") + 1j * wanted(
        x.imag, norm="ortho"), atol=1e-12)


@pytest.mark.parametrize("call, error, words", [
    (lambda: fft.dct(Tensor(X), 3), ValueError, "only type 2 is there, but got 3"),
    (lambda: fft.idct(Tensor(X), norm="forward"), ValueError, "'norm' must be None or 'ortho'"),
    (lambda: fft.dct(Tensor(X), n=0), ValueError, "must be 1 or more, but got 0"),
    (lambda: fft.dct(Tensor(1.0)), ValueError, "'x' must have one dimension or more"),
    (lambda: fft.dctn(Tensor(X), s=(2, 2), axes=(0,)), ValueError, "must have one length, but got"),
    (lambda: fft.dct([1.0]), TypeError, "'x' must be a Tensor"),
    (lambda: fft.dct(Tensor(X), axis=3), ValueError, "axis"),
])
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
