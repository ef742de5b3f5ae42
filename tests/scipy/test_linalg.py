"""Shapes of linear algebra: batches of matrices, and what is said of those that don't fit."""

import numpy as np
import pytest
import scipy.linalg

from lamella import Tensor, ops
from lamella.scipy import linalg

RNG = np.random.default_rng(6)
BATCH = RNG.standard_normal((2, 3, 3)) + 3 * np.eye(3)
WIDE, CUBE, ONE = ops.ones((2, 3)), ops.ones((2, 2, 2)), ops.ones(2)
SQUARE = "'a' should be a square matrix, but got shape \\(2, 3\\)"
RANK = "the dimension of 'a' should be 2, but got 3"


@pytest.mark.parametrize("call, text", [
    *((call, text) for name in ("inv", "det", "cholesky", "eigh", "eigvalsh", "lu_factor",
                                "cho_factor")
      for call, text in ((lambda name=name: getattr(linalg, name)(WIDE), SQUARE),
                         (lambda name=name: getattr(linalg, name)(CUBE), RANK))),
    (lambda: linalg.solve(WIDE, ONE), SQUARE), (lambda: linalg.solve(CUBE, ONE), RANK),
    (lambda: linalg.solve(WIDE, ops.ones(3)), SQUARE),
    (lambda: linalg.lu(CUBE), RANK), (lambda: linalg.lu(ONE), "'a' should be 2, but got 1"),
    (lambda: linalg.lu_solve((WIDE, ONE), ONE), "'lu_matrix' should be a square matrix"),
    (lambda: linalg.solve_triangular(WIDE, ONE), "'a' must be square matrices, but got shape"),
    (lambda: linalg.solve_triangular(ONE, ONE), "'a' must be square matrices, but got shape"),
    (lambda: linalg.solve_triangular(CUBE, ops.ones((2, 3))), "'b' must have as many rows as 'a'"),
    (lambda: linalg.solve_triangular(CUBE, ops.ones((2, 3, 2))), "'b' must have as many rows as"),
    (lambda: linalg.block_diag(ONE, CUBE), "For 'block_diag', the inputs must have at most 2 dim"),
    (lambda: linalg.lstsq(ONE, ONE), "'A' must have 2 dimensions or more and 'B' as many or one"),
    (lambda: linalg.lstsq(CUBE, ONE), "'A' must have 2 dimensions or more and 'B' as many or one"),
], ids=range(27))
def test_shapes_that_do_not_fit(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 1), (2, 3, 4)])
def test_triangles_with_right_sides_of_their_own(shape, trans):
    right = RNG.standard_normal(shape)
    found = linalg.solve_triangular(Tensor(BATCH), Tensor(right), trans)
    wanted = [scipy.linalg.solve_triangular(a, b, trans) for a, b in zip(BATCH, right, strict=True)]
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-9)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4)])
def test_factors_with_right_sides_of_their_own(shape, lower):
    whole = BATCH @ BATCH.swapaxes(1, 2)
    factors = np.stack([scipy.linalg.cholesky(a, lower) for a in whole])
    right = RNG.standard_normal(shape)
    found = linalg.cho_solve((Tensor(factors), lower), Tensor(right))
    wanted = [np.linalg.solve(a, b) for a, b in zip(whole, right, strict=True)]
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-8)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", ["N", "T", "C", 1, 2])
def test_triangles_of_complex_numbers(trans, lower):
    a, b = BATCH[0] + 1j * BATCH[1], BATCH[1, :, :2] - 2j * BATCH[0, :, 1:]
    np.testing.assert_allclose(
        linalg.solve_triangular(Tensor(a), Tensor(b), trans, lower).asnumpy(),
        scipy.linalg.solve_triangular(a, b, trans, lower), rtol=1e-9)


@pytest.mark.parametrize("driver", ["gels", "gelsd", "gelss"])
@pytest.mark.parametrize("shapes", [((4, 2), (4,)), ((3, 4, 2), (3, 4)), ((3, 4, 2), (3, 4, 5)),
                                    ((2, 2), (2,)), ((3, 2, 4), (3, 2))])
def test_residuals_of_vectors_and_matrices(driver, shapes):
    a, b = (RNG.standard_normal(shape) for shape in shapes)
    solution, residuals, _, _ = linalg.lstsq(Tensor(a), Tensor(b), driver=driver)
    matrix = b if b.ndim == a.ndim else b[..., None]
    wanted = np.linalg.pinv(a) @ matrix
    rest = ((a @ wanted - matrix) ** 2).sum(-2)
    if b.ndim < a.ndim:
        wanted, rest = wanted[..., 0], rest[..., 0]
    np.testing.assert_allclose(solution.asnumpy(), wanted, rtol=1e-8)
    if residuals.size:
        np.testing.assert_allclose(residuals.asnumpy(), rest, rtol=1e-8)
    assert bool(residuals.size) == (a.shape[-2] > a.shape[-1])
