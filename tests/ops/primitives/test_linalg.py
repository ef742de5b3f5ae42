"""Matrix Primitives with each of their attributes, beside NumPy and SciPy."""

import numpy as np
import pytest
import scipy.linalg as sl

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(9)
A, B = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 4))
BATCH, BATCH2 = RNG.normal(size=(5, 2, 3)), RNG.normal(size=(5, 3, 4))
SQUARE = RNG.normal(size=(2, 3, 3)) + 1j * RNG.normal(size=(2, 3, 3)) + 3 * np.eye(3)
RHS = RNG.normal(size=(2, 3, 2)) + 1j * RNG.normal(size=(2, 3, 2))


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_products_of_turned_matrices(first, second):
    for make, a, b in ((ops.MatMul, A, B), (ops.BatchMatMul, BATCH, BATCH2)):
        found = make(first, second)(Tensor(a.swapaxes(-1, -2).copy() if first else a),
                                    Tensor(b.swapaxes(-1, -2).copy() if second else b))
        close(found, a @ b)


@pytest.mark.parametrize("call", [
    lambda: ops.MatMul()(Tensor(A[0]), Tensor(B)), lambda: ops.MatMul()(Tensor(A), Tensor(B[:, 0])),
    lambda: ops.MatMul()(Tensor(BATCH), Tensor(B)), lambda: ops.MatMul()(Tensor(A), Tensor(BATCH2)),
    lambda: ops.BatchMatMul()(Tensor(A[0]), Tensor(B)),
    lambda: ops.BatchMatMul()(Tensor(A), Tensor(B[:, 0]))])
def test_products_of_other_ranks(call):
    with pytest.raises(ValueError, match="For '(Batch)?MatMul'"):
        call()


@pytest.mark.parametrize("adjoint", [False, True])
def test_inverses_and_solutions(adjoint):
    close(ops.MatrixInverse(adjoint)(Tensor(SQUARE)), np.linalg.inv(
        SQUARE.conj().swapaxes(1, 2) if adjoint else SQUARE))
    for lower in (False, True):
        triangle = (np.tril if lower else np.triu)(SQUARE)
        found = ops.MatrixTriangularSolve(lower, adjoint)(Tensor(SQUARE), Tensor(RHS))
        close(found, np.linalg.solve(triangle.conj().swapaxes(1, 2) if adjoint else triangle, RHS))


@pytest.mark.parametrize("weight", [0.0, 0.5, Tensor(0.5, ms.float64)])
def test_least_squares(weight):
    a, b = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2))
    number = float(weight)
    close(ops.MatrixSolveLs()(Tensor(a), Tensor(b), weight),
          np.linalg.solve(a.T @ a + number * np.eye(3), a.T @ b))
    plain = np.linalg.lstsq(a, b, rcond=None)[0]
    close(ops.MatrixSolveLs(False)(Tensor(a), Tensor(b), weight), plain)
    close(ops.Lstsq()(Tensor(a), Tensor(b)), plain)


@pytest.mark.parametrize("full", [False, True])
def test_decompositions(full):
    x = RNG.normal(size=(5, 3))
    q, r = ops.Qr(full)(Tensor(x))
    assert (q.shape, r.shape) == (((5, 5), (5, 3)) if full else ((5, 3), (3, 3)))
    close(q @ r, x)
    s, u, v = ops.Svd(full)(Tensor(x))
    assert (u.shape, v.shape) == ((5, 5) if full else (5, 3), (3, 3))
    close(s, np.linalg.svd(x, compute_uv=False))
    close(u[:, :3] * s @ v.T, x)
    s, none, other = ops.Svd(full, False)(Tensor(x))
    close(s, np.linalg.svd(x, compute_uv=False))
    assert none.tolist() == other.tolist() == [0]


def test_eigenvalues_with_and_without_vectors():
    values, vectors = ops.Eig(True)(Tensor(SQUARE))
    close(Tensor(SQUARE) @ vectors, vectors.asnumpy() * values.asnumpy()[:, None])
    alone, none = ops.Eig()(Tensor(SQUARE))
    close(alone, values.asnumpy())
    assert none.shape == () and none == 0


def test_logarithms_of_matrices():
    close(ops.MatrixLogarithm()(Tensor(SQUARE)), np.stack([sl.logm(x) for x in SQUARE]))
    with pytest.raises(TypeError, match="Complex64"):
        ops.MatrixLogarithm()(Tensor(SQUARE.real))


def test_conjugates_with_another_order():
    close(ops.ConjugateTranspose()(Tensor(SQUARE), (2, 0, 1)), SQUARE.conj().transpose(2, 0, 1))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_distances_of_rows(p):
    i, j = np.triu_indices(3, 1)
    close(ops.Pdist(p)(Tensor(B)), (abs(B[i] - B[j]) ** p).sum(1) ** (1 / p))
    other = RNG.normal(size=(2, 4))
    close(ops.Cdist(p)(Tensor(B), Tensor(other)), (abs(B[:, None] - other) ** p).sum(2) ** (1 / p))


def test_products_with_three_diagonals():
    above, main, below = RNG.normal(size=(3, 2, 1, 4))
    rhs = RNG.normal(size=(2, 4, 3))
    matrices = np.stack([np.diag(m[0]) + np.diag(a[0, :-1], 1) + np.diag(b[0, 1:], -1)
                         for a, m, b in zip(above, main, below, strict=True)])
    close(ops.TridiagonalMatMul()(*map(Tensor, (above, main, below, rhs))), matrices @ rhs)


@pytest.mark.parametrize("p, axis, most", [(1, 0, 1.5), (2, 1, 0.5), (3, -1, 1.0)])
def test_slices_no_longer_than_a_norm(p, axis, most):
    over = 1 - axis % 2
    length = (abs(B) ** p).sum(over, keepdims=True) ** (1 / p)
    found = ops.Renorm(p, axis, most)(Tensor(B))
    np.testing.assert_allclose(found.asnumpy(), B * np.minimum(most / length, 1), rtol=1e-5)
