"""Systems of equations, eigenvalues and traces with each option, beside NumPy and SciPy."""

import numpy as np
import pytest
import scipy.linalg as sl

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives import factorizations

RNG = np.random.default_rng(4)
A = RNG.normal(size=(2, 3, 3)) + 1j * RNG.normal(size=(2, 3, 3)) + 3 * np.eye(3)
B = RNG.normal(size=(2, 3, 4)) + 1j * RNG.normal(size=(2, 3, 4))


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
def test_triangular_systems(trans, lower, unit):
    found = factorizations.SolveTriangular()(Tensor(A), Tensor(B), trans, lower, unit)
    vectors = factorizations.SolveTriangular()(Tensor(A), Tensor(B[..., 0]), trans, lower, unit)
    assert vectors.shape == (2, 3)
    for i in range(2):
        wanted = sl.solve_triangular(A[i], B[i], trans, lower, unit)
        close(found[i], wanted)
        close(vectors[i], wanted[:, 0])
    for wrong in (B[:1], B[0], B[:, :, None]):
        with pytest.raises(ValueError, match="SolveTriangular"):
            factorizations.SolveTriangular()(Tensor(A), Tensor(wrong))
    with pytest.raises(ValueError, match="last two dimensions"):
        factorizations.SolveTriangular()(Tensor(A[0, 0]), Tensor(B))
    for trans in (3, -1):
        with pytest.raises(ValueError, match="'trans' must be one of"):
            factorizations.SolveTriangular()(Tensor(A), Tensor(B), trans)


@pytest.mark.parametrize("lower", [False, True])
def test_eigenvalues_of_a_triangle(lower):
    triangle = np.tril(A, -1) if lower else np.triu(A, 1)
    whole = triangle + triangle.conj().swapaxes(1, 2) + np.einsum(
        "bii,ij->bij", A.real, np.eye(3))
    real = A - 1j * A.imag * np.eye(3)
    values, vectors = factorizations.Eigh(True, lower)(Tensor(real))
    close(values, np.linalg.eigvalsh(whole))
    close(Tensor(whole) @ vectors, vectors.asnumpy() * np.linalg.eigvalsh(whole)[:, None])
    close(factorizations.Eigh(False, lower)(Tensor(real)), np.linalg.eigvalsh(whole))
    for vectors in (True, False):
        found = factorizations.SelfAdjointEig(vectors)(Tensor(whole))
        close(found[0], np.linalg.eigvalsh(whole))
        assert found[1].shape == ((2, 3, 3) if vectors else (0,))


def test_three_diagonals():
    above, main, below = RNG.normal(size=(3, 2, 4))
    rhs = RNG.normal(size=(2, 4, 3))
    diagonals = np.stack([above, main + 4, below], 1)
    matrices = [np.diag(m + 4) + np.diag(a[:-1], 1) + np.diag(b[1:], -1)
                for a, m, b in zip(above, main, below, strict=True)]
    close(factorizations.TridiagonalSolve()(Tensor(diagonals), Tensor(rhs)),
          np.linalg.solve(matrices, rhs))


@pytest.mark.parametrize("driver", [None, "gelsd", 0, 1, 2, 3])
def test_nearest_solutions(driver):
    a, b = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2))
    wanted = np.linalg.lstsq(a, b, rcond=None)
    found = factorizations.LstsqV2()(Tensor(a), Tensor(b), driver)
    close(found[0], wanted[0])
    vector = factorizations.LstsqV2()(Tensor(a), Tensor(b[:, 0]), driver)
    close(vector[0], wanted[0][:, 0])


@pytest.mark.parametrize("mode", ["valid", "same", "full"])
@pytest.mark.parametrize("n, m", [(7, 3), (3, 7), (6, 4), (4, 6), (5, 5), (5, 1), (1, 4)])
def test_correlations(mode, n, m):
    a, v = RNG.normal(size=n) + 1j * RNG.normal(size=n), RNG.normal(size=m) + 1j * RNG.normal(
        size=m)
    close(factorizations.Correlate(mode)(Tensor(a), Tensor(v)), np.correlate(a, v, mode))
    whole = [RNG.integers(-5, 5, size) for size in (n, m)]
    for kind, result in ((ms.int64, ms.float64), (ms.int32, ms.float32)):
        found = factorizations.Correlate(mode)(*(Tensor(x, kind) for x in whole))
        close(found, np.correlate(*whole, mode))
        assert found.dtype is result


@pytest.mark.parametrize("offset", [-2, 0, 1])
@pytest.mark.parametrize("axes", [(1, 0), (0, 2), (-1, 1)])
def test_traces_and_their_gradients(axes, offset):
    x = RNG.normal(size=(2, 3, 4))
    close(factorizations.TraceV2()(Tensor(x), offset, *axes), x.trace(offset, *axes))
    dout = RNG.normal(size=x.trace(offset, *axes).shape)
    found = factorizations.TraceV2Grad()(Tensor(dout), x.shape, offset, *axes)
    wanted = np.zeros_like(x)
    view = np.moveaxis(wanted, axes, (0, 1))
    for i in range(view.shape[0]):
        if 0 <= i + offset < view.shape[1]:
            view[i, i + offset] = dout
    close(found, wanted)
    small = factorizations.TraceV2()(Tensor([[100, 0], [0, 100]], ms.int8))
    assert small == 200 and small.dtype is ms.int64
    typed = factorizations.TraceV2()(Tensor([[1.5, 0], [0, 1.5]]), 0, 1, 0, ms.int32)
    assert typed == 2 and typed.dtype is ms.int32


def test_gradients_of_triangles():
    lower, upper = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(2, 3, 3))
    found = factorizations.LuUnpackGrad(True, True)(Tensor(lower), Tensor(upper), Tensor(
        np.zeros((2, 5, 3))))
    close(found[0], np.tril(lower, -1))
    close(found[1], np.pad(np.triu(upper), ((0, 0), (0, 2), (0, 0))))
    lower, upper = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 5))
    found = factorizations.LuUnpackGrad(True, True)(Tensor(lower), Tensor(upper), Tensor(
        np.zeros((3, 5))))
    close(found[0], np.pad(np.tril(lower, -1), ((0, 0), (0, 2))))
    close(found[1], np.triu(upper))
    close(factorizations.TraceGrad()(Tensor(2.0, ms.float64), Tensor([3, 4])), 2 * np.eye(3, 4))
