"""Factors of matrices multiplied together again, real and complex, and solutions from them."""

import numpy as np
import pytest
import scipy.linalg as sl

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(17)


def matrices(*shape, imaginary=False):
    real = RNG.standard_normal(shape)
    return real + 1j * RNG.standard_normal(shape) if imaginary else real


def turned(x):
    return x.conj().swapaxes(-1, -2)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 4, 3)])
@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize("full", [False, True])
def test_singular_values(shape, imaginary, full):
    x = matrices(*shape, imaginary=imaginary)
    s, u, v = (t.asnumpy() for t in ops.svd(Tensor(x), full))
    least, kind = min(shape[-2:]), x.dtype
    sides = shape[-2:] if full else (least, least)
    assert u.shape == (*shape[:-1], sides[0]) and v.shape == (*shape[:-2], shape[-1], sides[1])
    assert s.dtype == u.dtype == v.dtype == kind
    np.testing.assert_allclose((u[..., :least] * s[..., None, :]) @ turned(v[..., :least]), x,
                               atol=1e-12)
    want = np.linalg.svd(x, compute_uv=False)
    np.testing.assert_allclose(s, want, atol=1e-12)
    alone = ops.svd(Tensor(x), full, False).asnumpy()
    assert alone.dtype == kind
    np.testing.assert_allclose(alone, want, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 4, 3)])
@pytest.mark.parametrize("imaginary", [False, True])
def test_orthonormal_factors(shape, imaginary):
    x = matrices(*shape, imaginary=imaginary)
    rows, least = shape[-2], min(shape[-2:])
    for mode, columns in (("reduced", least), ("complete", rows)):
        for q, r in (ops.qr(Tensor(x), mode), Tensor(x).qr(mode == "reduced")):
            assert q.shape == (*shape[:-1], columns)
            q, r = q.asnumpy(), r.asnumpy()
            np.testing.assert_allclose(q @ r, x, atol=1e-12)
            np.testing.assert_allclose(turned(q) @ q, np.broadcast_to(
                np.eye(columns), (*shape[:-2], columns, columns)), atol=1e-12)
    empty, r = ops.qr(Tensor(x), "r")
    assert empty.shape == (0,)
    np.testing.assert_allclose(r.asnumpy(), ops.qr(Tensor(x))[1].asnumpy())
    for word in ("raw", "Reduced", ""):
        with pytest.raises(ValueError, match="'mode' must be"):
            ops.qr(Tensor(x), word)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("imaginary", [False, True])
def test_products_with_what_geqrf_packs(left, transpose, imaginary):
    x = matrices(5, 3, imaginary=imaginary)
    other = matrices(*((5, 2) if left else (2, 5)), imaginary=imaginary)
    packed, tau = ops.geqrf(Tensor(x))
    q = ops.qr(Tensor(x), "complete")[0].asnumpy()
    np.testing.assert_allclose(ops.orgqr(packed, tau).asnumpy(), q[:, :3], atol=1e-12)
    np.testing.assert_allclose(np.triu(packed.asnumpy())[:3], turned(q[:, :3]) @ x, atol=1e-12)
    q = turned(q) if transpose else q
    want = q @ other if left else other @ q
    found = ops.ormqr(packed, tau, Tensor(other), left, transpose)
    np.testing.assert_allclose(found.asnumpy(), want, atol=1e-12)
    found = packed.ormqr(tau, Tensor(other), left, transpose)
    np.testing.assert_allclose(found.asnumpy(), want, atol=1e-12)


@pytest.mark.parametrize("kind, fits", [
    (ms.float32, True), (ms.float64, True), (ms.complex64, True), (ms.complex128, True),
    (ms.float16, False), (ms.bfloat16, False), (ms.int32, False), (ms.int64, False),
    (ms.bool_, False)])
def test_types_with_eigenvalues(kind, fits):
    x = Tensor([[2, 1], [0, 3]]).astype(kind)
    for call in (ops.eigvals, ops.eig):
        if fits:
            found = call(x)
            values = found if call is ops.eigvals else found[0]
            assert values.is_complex() and sorted(values.asnumpy().real.tolist()) == [2, 3]
        else:
            with pytest.raises(TypeError, match=f"For '{call.__name__}'.*32 bits"):
                call(x)


def test_eigenvectors():
    x = matrices(2, 3, 3)
    values, vectors = (t.asnumpy() for t in ops.eig(Tensor(x)))
    np.testing.assert_allclose(x @ vectors, vectors * values[:, None], atol=1e-12)
    np.testing.assert_allclose(ops.eigvals(Tensor(x)).asnumpy(), values, atol=1e-12)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("imaginary", [False, True])
def test_triangular_factors_of_positive_matrices(upper, imaginary):
    root = matrices(2, 3, 3, imaginary=imaginary)
    x = root @ turned(root) + np.eye(3)
    factor = ops.cholesky(Tensor(x), upper)
    f = factor.asnumpy()
    np.testing.assert_array_equal(f, np.triu(f) if upper else np.tril(f))
    np.testing.assert_allclose(turned(f) @ f if upper else f @ turned(f), x, atol=1e-12)
    b = matrices(2, 3, 4, imaginary=imaginary)
    solved = ops.cholesky_solve(Tensor(b), factor, upper).asnumpy()
    np.testing.assert_allclose(x @ solved, b, atol=1e-10)
    inverse = ops.cholesky_inverse(factor[0], upper).asnumpy()
    np.testing.assert_allclose(inverse @ x[0], np.eye(3), atol=1e-10)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
def test_packed_triangular_factors(shape):
    x = matrices(*shape)
    packed, pivots = sl.lapack.dgetrf(x)[:2]
    at = Tensor(packed), Tensor(pivots + 1, ms.int64)
    p, low, up = ops.lu_unpack(*at)
    np.testing.assert_allclose((p @ low @ up).asnumpy(), x, atol=1e-12)
    least = min(shape)
    assert low.shape == (shape[0], least) and up.shape == (least, shape[1])
    for data in (False, True):
        for permutation in (False, True):
            found = ops.lu_unpack(*at, data, permutation)
            assert [t is not None for t in found] == [permutation, data, data]
    if shape == (4, 4):
        b = matrices(4, 2)
        np.testing.assert_allclose(x @ ops.lu_solve(Tensor(b), *at).asnumpy(), b, atol=1e-10)


@pytest.mark.parametrize("factors, pivots, fits", [
    ((3, 5), (3,), True), ((5, 3), (3,), True), ((2, 3, 5), (2, 3), True), ((3, 5), (5,), False),
    ((3, 5), (2,), False), ((2, 3, 5), (3,), False), ((2, 3, 5), (1, 3), False), ((3,), (), False),
    ((3, 5), (1, 3), False)])
def test_shapes_of_pivots(factors, pivots, fits):
    call = ops.ones(factors), ops.ones(pivots, ms.int32)
    if fits:
        assert ops.lu_unpack(*call)[2].shape[-1] == factors[-1]
    else:
        with pytest.raises(ValueError, match="'LU_pivots' of factors"):
            ops.lu_unpack(*call)
