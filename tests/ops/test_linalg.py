"""Products of matrices and linear algebra against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl

import lamella as ms
from lamella import Tensor, ops
from tests.contracts import check_op

RNG = np.random.default_rng(4)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


M, N, V, W = normal(2, 3), normal(3, 4), normal(3), normal(4)
BATCH, BATCH2 = normal(2, 2, 3), normal(2, 3, 4)
SQUARE = (normal(2, 3, 3) + 3 * np.eye(3)).astype(np.float32)
POSITIVE = (SQUARE @ SQUARE.swapaxes(-1, -2) + np.eye(3)).astype(np.float32)


def test_products():
    check_op(ops.matmul, np.matmul, (M, N), (BATCH, BATCH2), (V, N), (M, V), (V, V), (BATCH, N))
    check_op(ops.mm, np.matmul, (M, N))
    check_op(ops.bmm, np.matmul, (BATCH, BATCH2))
    check_op(ops.mv, np.matmul, (M, V))
    check_op(ops.dot, np.dot, (M, N), (BATCH, BATCH2), (V, V))
    check_op(ops.inner, np.inner, (M, normal(5, 3)), (V, V))
    check_op(ops.outer, np.outer, (V, W))
    check_op(ops.kron, np.kron, (M, N))
    check_op(lambda a, b: ops.kron(a.T, b), lambda a, b: np.kron(a.T, b), (M, V), (M, BATCH))
    check_op(ops.tensordot, np.tensordot, (BATCH, BATCH, [[0, 2], [0, 2]]), (M, N, 1))
    check_op(ops.cross, np.cross, (V, normal(3)), (BATCH, normal(2, 2, 3), 2))
    check_op(ops.vecdot, lambda a, b: (a * b).sum(-1), (M, normal(2, 3)))
    assert ops.vecdot(Tensor([1, 2]), Tensor([3, 4])).dtype is ms.int64


def test_sums_with_products():
    c = normal(2, 4)
    check_op(lambda *a: ops.addmm(*a, beta=0.5, alpha=2.0),
             lambda x, a, b: 0.5 * x + 2 * a @ b, (c, M, N), (W, M, N))
    check_op(ops.baddbmm, lambda x, a, b: x + a @ b, (c, BATCH, BATCH2), (c, M, N))
    check_op(ops.addbmm, lambda x, a, b: x + (a @ b).sum(0), (c, BATCH, BATCH2))
    check_op(ops.addmv, lambda x, a, v: x + a @ v, (normal(2), M, V))
    check_op(ops.addr, lambda x, u, v: x + np.outer(u, v), (N, V, W))


def test_tensor_products():
    check_op(lambda a, b: ops.einsum("bij,bjk->bik", a, b), np.matmul, (BATCH, BATCH2))
    check_op(lambda a, b: ops.einsum(a, [0, 1], b, [1, 2], [0, 2]), np.matmul, (M, N))
    check_op(lambda a, b: ops.Einsum("ij,jk->ik")((a, b)), np.matmul, (M, N))
    check_op(lambda a, b: ops.tensor_dot(a, b, 1), np.matmul, (M, N))
    check_op(lambda a, b: ops.tensor_dot(a, b, ((2, 0), (1, 0))),
             lambda a, b: np.tensordot(a, b, ((2, 0), (1, 0))), (BATCH, BATCH2))
    check_op(lambda a, b: ops.tensor_dot(a, b, (1, 0)), np.matmul, (M, N))
    check_op(ops.batch_dot, np.matmul, (BATCH, BATCH2))
    check_op(lambda a, b: ops.batch_dot(a, b, 2), lambda a, b: a @ b.swapaxes(1, 2),
             (BATCH, normal(2, 5, 3)))
    assert ops.batch_dot(Tensor(M), Tensor(M)).shape == (2, 1)
    four = ops.batch_dot(Tensor(normal(2, 2, 4)), Tensor(normal(2, 5, 4, 5)), 2)
    assert four.shape == (2, 2, 5, 5)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_primitives_transpose(left, right):
    def turned(a, flag):
        return np.ascontiguousarray(a.swapaxes(-1, -2)) if flag else a
    check_op(ops.MatMul(left, right), lambda a, b: turned(a, left) @ turned(b, right),
             (turned(M, left), turned(N, right)))
    check_op(ops.BatchMatMul(left, right), lambda a, b: turned(a, left) @ turned(b, right),
             (turned(BATCH, left), turned(BATCH2, right)))


def test_determinants_and_inverses():
    check_op(ops.det, np.linalg.det, (SQUARE,), rtol=1e-4)
    check_op(ops.slogdet, np.linalg.slogdet, (SQUARE,), rtol=1e-4)
    check_op(ops.logdet, lambda a: np.linalg.slogdet(a)[1], (POSITIVE,), rtol=1e-4)
    check_op(ops.inverse, np.linalg.inv, (SQUARE,), rtol=1e-3, atol=1e-4)
    check_op(ops.pinv, np.linalg.pinv, (M,), rtol=1e-3, atol=1e-4, order=1)
    check_op(ops.trace, np.trace, (M,))
    check_op(ops.cond, lambda a, p=None: np.linalg.cond(a, p), (SQUARE[0],), (SQUARE[0], 1),
             rtol=1e-3, order=1)
    check_op(lambda a: ops.matrix_power(a, 3), lambda a: np.linalg.matrix_power(a, 3), (SQUARE,),
             rtol=1e-4)
    check_op(ops.matrix_exp, lambda a: np.stack([sl.expm(x) for x in a]), (SQUARE * 0.1,),
             rtol=1e-4)
    for kind in (ms.float16, ms.bfloat16):
        found = ops.matrix_exp(Tensor(SQUARE * 0.1, kind))
        assert found.dtype is kind
        np.testing.assert_allclose(found.float().asnumpy(), [sl.expm(x) for x in SQUARE * 0.1],
                                   atol=0.02)
    logarithm = ops.MatrixLogarithm()(Tensor(SQUARE.astype(np.complex64)))
    want = np.stack([sl.logm(np.float64(x)) for x in SQUARE])
    np.testing.assert_allclose(logarithm.asnumpy(), want,
                               rtol=1e-3, atol=1e-4)


def test_decompositions():
    x = Tensor(BATCH)
    s, u, v = ops.svd(x)
    np.testing.assert_allclose((u.asnumpy() * s.asnumpy()[:, None]) @ v.asnumpy().swapaxes(1, 2),
                               BATCH, atol=1e-5)
    assert ops.svd(x, True)[2].shape == (2, 3, 3)
    check_op(lambda a: ops.svd(a, compute_uv=False), lambda a: np.linalg.svd(a)[1], (BATCH,))
    for mode, shape in (("reduced", (3, 2)), ("complete", (3, 3))):
        q, r = ops.qr(Tensor(M.T.copy()), mode)
        assert q.shape == shape
        np.testing.assert_allclose(q.asnumpy() @ r.asnumpy(), M.T, atol=1e-5)
    values, vectors = ops.eig(Tensor(SQUARE))
    np.testing.assert_allclose(SQUARE @ vectors.asnumpy(),
                               vectors.asnumpy() * values.asnumpy()[:, None], atol=1e-4)
    np.testing.assert_allclose(np.sort_complex(ops.eigvals(Tensor(SQUARE[0])).asnumpy()),
                               np.sort_complex(np.linalg.eigvals(SQUARE[0])), atol=1e-4)
    packed, tau = ops.geqrf(Tensor(SQUARE[0]))
    q = ops.orgqr(packed, tau)
    np.testing.assert_allclose(q.asnumpy() @ np.triu(packed.asnumpy()), SQUARE[0], atol=1e-5)
    np.testing.assert_allclose(ops.ormqr(packed, tau, Tensor(N), True, True).asnumpy(),
                               q.asnumpy().T @ N, atol=1e-5)


def test_cholesky():
    check_op(ops.cholesky, np.linalg.cholesky, (POSITIVE,), rtol=1e-4, atol=1e-5, grad=False)
    factor = ops.cholesky(Tensor(POSITIVE[0]))
    upper = ops.cholesky(Tensor(POSITIVE[0]), True)
    np.testing.assert_allclose(upper.asnumpy(), factor.asnumpy().T, atol=1e-5)
    np.testing.assert_allclose(ops.cholesky_inverse(factor).asnumpy() @ POSITIVE[0], np.eye(3),
                               atol=1e-3)
    np.testing.assert_allclose(POSITIVE[0] @ ops.cholesky_solve(Tensor(N), factor).asnumpy(), N,
                               atol=1e-3)


def test_solutions():
    b = normal(2, 3, 2)
    check_op(ops.matrix_solve, np.linalg.solve, (SQUARE, b), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        SQUARE.swapaxes(1, 2) @ ops.MatrixSolve(True)(Tensor(SQUARE), Tensor(b)).asnumpy(), b,
        atol=1e-4)
    lower = np.tril(SQUARE[0])
    for adjoint in (False, True):
        solved = ops.MatrixTriangularSolve(adjoint=adjoint)(Tensor(lower), Tensor(N)).asnumpy()
        np.testing.assert_allclose((lower.T if adjoint else lower) @ solved, N, atol=1e-4)
    tall = normal(5, 3)
    rhs = normal(5, 2)
    want = np.linalg.lstsq(tall, rhs, rcond=None)[0]
    for solve in (ops.lstsq, ops.Lstsq(), ops.MatrixSolveLs()):
        np.testing.assert_allclose(solve(Tensor(tall), Tensor(rhs)).asnumpy(), want, atol=1e-4)
    lu, pivots = sl.lu_factor(SQUARE[0])
    at = Tensor(lu), Tensor((pivots + 1).astype(np.int32))
    np.testing.assert_allclose(SQUARE[0] @ ops.lu_solve(Tensor(N), *at).asnumpy(), N, atol=1e-4)
    p, low, up = ops.lu_unpack(*at)
    np.testing.assert_allclose(p.asnumpy() @ low.asnumpy() @ up.asnumpy(), SQUARE[0], atol=1e-5)
    assert ops.lu_unpack(*at, unpack_data=False)[1] is None
    x, _ = Tensor(N).triangular_solve(Tensor(np.triu(SQUARE[0])))
    np.testing.assert_allclose(np.triu(SQUARE[0]) @ x.asnumpy(), N, atol=1e-4)


def test_other_forms():
    check_op(ops.vander, np.vander, (V,), (V, 2), check_dtype=False)
    np.testing.assert_array_equal(ops.adjoint(Tensor(BATCH)).asnumpy(), BATCH.swapaxes(1, 2))
    assert Tensor([[1, 2], [3, 4]]).trace(1).tolist() == 2
    band = ops.TridiagonalMatMul()(*(Tensor(np.float32([d])) for d in (
        [1, 2, 0], [4, 5, 6], [0, 7, 8])), Tensor(np.eye(3, dtype=np.float32)))
    assert band.tolist() == [[4, 1, 0], [7, 5, 2], [0, 8, 6]]
    means = ops.sparse_segment_mean(Tensor([[0.0], [2.0], [4.0]]), Tensor([0, 1, 2, 0]),
                                    Tensor([0, 0, 2, 2]))
    assert means.tolist() == [[1.0], [0.0], [2.0]]


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: ops.matmul(Tensor(M), Tensor(M)), ValueError,
     "For 'matmul', a 2 by 3 and a 2 by 3 matrix can't be multiplied"),
    (lambda: ops.matmul(Tensor(M), Tensor(N.astype(np.float16))), TypeError, "For 'matmul'"),
    (lambda: ops.MatMul()(Tensor(BATCH), Tensor(BATCH2)), ValueError, "must be matrices"),
    (lambda: ops.BatchMatMul()(Tensor(V), Tensor(N)), ValueError, "2 dimensions or more"),
    (lambda: ops.inverse(Tensor(M)), ValueError, "For 'inverse'.*square"),
    (lambda: ops.inverse(Tensor(np.zeros((2, 2), np.float32))), RuntimeError, "singular"),
    (lambda: ops.cholesky(Tensor(-POSITIVE[0])), RuntimeError, "positive-definite"),
    (lambda: ops.qr(Tensor(M), "half"), ValueError, "'mode' must be.*'half'"),
    (lambda: ops.trace(Tensor(V)), ValueError, r"must be a matrix.*\(3,\)"),
    (lambda: ops.matrix_power(Tensor(SQUARE), 0.5), TypeError, "'n' must be an int, but got 0.5"),
    (lambda: ops.batch_dot(Tensor(BATCH), Tensor(N)), ValueError, "For 'batch_dot'"),
    (lambda: ops.batch_dot(Tensor(BATCH), Tensor(BATCH), 0), ValueError, "the batch axis 0"),
    (lambda: ops.cross(Tensor(M), Tensor(M), 0), ValueError, "For 'cross'"),
    (lambda: ops.MatrixLogarithm()(Tensor(SQUARE)), TypeError, "type of .Tensor.Complex"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


def wide(*shape, imaginary=False):
    rng = np.random.default_rng(sum(shape))
    real = rng.standard_normal(shape)
    return real + 1j * rng.standard_normal(shape) if imaginary else real


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
def test_condition_numbers(p):
    x = wide(2, 3, 3)
    np.testing.assert_allclose(ops.cond(Tensor(x), p).asnumpy(), np.linalg.cond(x, p))
    whole = ops.cond(Tensor([[2, 0], [0, 8]]), p)
    assert whole.dtype is ms.float32
    np.testing.assert_allclose(whole.asnumpy(), np.linalg.cond([[2, 0], [0, 8]], p), rtol=1e-6)


@pytest.mark.parametrize("n", [-2, -1, 0, 1, 5])
def test_powers_of_matrices(n):
    x = wide(2, 3, 3)
    for power in (n, np.int64(n), Tensor(n)):
        np.testing.assert_allclose(ops.matrix_power(Tensor(x), power).asnumpy(),
                                   np.linalg.matrix_power(x, n), atol=1e-9)


@pytest.mark.parametrize("n", [2**63, -2**63])
def test_powers_beyond_64_bits(n):
    one = Tensor([[1.0]])
    assert ops.matrix_power(one, n - 1 if n > 0 else n + 1).tolist() == [[1]]
    with pytest.raises(ValueError, match="'n' must fit in 64 bits"):
        ops.matrix_power(one, n)


@pytest.mark.parametrize("imaginary", [False, True])
def test_conjugate_transposes_in_solutions(imaginary):
    x, b = wide(2, 3, 3, imaginary=imaginary), wide(2, 3, 4, imaginary=imaginary)
    turned = x.conj().swapaxes(1, 2)
    np.testing.assert_array_equal(ops.adjoint(Tensor(x)).asnumpy(), turned)
    for adjoint, matrix in ((False, x), (True, turned)):
        found = ops.matrix_solve(Tensor(x), Tensor(b), adjoint).asnumpy()
        np.testing.assert_allclose(found, np.linalg.solve(matrix, b), atol=1e-9)
    with pytest.raises(TypeError, match="'adjoint'"):
        ops.matrix_solve(Tensor(x), Tensor(b), 1)
    with pytest.raises(ValueError, match="must be invertible"):
        ops.matrix_solve(Tensor(0 * x), Tensor(b))
    with pytest.raises(ValueError, match="2 dimensions or more"):
        ops.adjoint(Tensor(x[0, 0]))


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("ones", [True, False])
def test_triangular_solutions(upper, transpose, ones):
    x, b = wide(3, 3), wide(3, 2)
    matrix = np.triu(x) if upper else np.tril(x)
    if ones:
        np.fill_diagonal(matrix, 1)
    found, same = Tensor(b).triangular_solve(Tensor(x), upper, transpose, ones)
    np.testing.assert_allclose((matrix.T if transpose else matrix) @ found.asnumpy(), b,
                               atol=1e-9)
    np.testing.assert_array_equal(same.asnumpy(), x)


def test_small_singular_values_count_as_0():
    x = np.diag([4.0, 1.0, 0.1])
    for given, inverse in (({}, [0.25, 1, 10]), ({"atol": 0.5}, [0.25, 1, 0]),
                           ({"rtol": 0.5}, [0.25, 0, 0]), ({"atol": 0.05}, [0.25, 1, 10]),
                           ({"rtol": Tensor(0.1, ms.float64)}, [0.25, 1, 0]),
                           ({"atol": 2.0, "rtol": 0.1}, [0.25, 0, 0])):
        for hermitian in (False, True):
            found = ops.pinv(Tensor(x), **given, hermitian=hermitian)
            np.testing.assert_allclose(found.asnumpy(), np.diag(inverse), atol=1e-9)


def test_nearest_solutions():
    a, b = wide(5, 3), wide(5)
    want = np.linalg.lstsq(a, b, rcond=None)[0]
    np.testing.assert_allclose(ops.lstsq(Tensor(a), Tensor(b)).asnumpy(), want[:, None])
    flat = np.outer([1.0, 2, 3], [1.0, 1])  # of all solutions the shortest
    found = ops.lstsq(Tensor(flat), Tensor([[1.0], [2], [3]], ms.float64))
    np.testing.assert_allclose(found.asnumpy(), [[0.5], [0.5]], atol=1e-9)


@pytest.mark.parametrize("offset, axes", [(0, (0, 1)), (1, (1, 2)), (-1, (2, 0)), (2, (-1, 1))])
@pytest.mark.parametrize("kind, result", [
    (ms.int8, ms.int64), (ms.bool_, ms.bool_), (ms.float16, ms.float16), (ms.uint8, ms.int64)])
def test_sums_of_diagonals(offset, axes, kind, result):
    x = np.arange(60).reshape(3, 4, 5) % 3
    found = Tensor(x).astype(kind).trace(offset, *axes)
    assert found.dtype is result
    want = np.trace(x.astype(bool) if kind is ms.bool_ else x, offset, *axes)
    np.testing.assert_array_equal(found.asnumpy(), want.astype(found.asnumpy().dtype))
    assert Tensor(x).astype(kind).trace(offset, *axes, ms.float64).dtype is ms.float64
    flat = Tensor(x[0], ms.int8)
    assert ops.trace(flat).dtype is ms.int8 and ops.trace(flat) == np.trace(x[0])


@pytest.mark.parametrize("count", [None, 0, 1, 2, 6])
def test_columns_of_powers(count):
    x = [2, -1, 3, 0]
    assert ops.vander(Tensor(x), count).tolist() == np.vander(x, count).tolist()
    for wrong in ((Tensor([x]), 2), (Tensor(x), -1), (Tensor(2), None)):
        with pytest.raises(ValueError, match="'x' must be a vector"):
            ops.vander(*wrong)


def test_derivatives_of_determinants():
    x = wide(2, 3, 3)
    inverse = np.linalg.inv(x)
    moved = wide(2, 3, 3)
    rates = (inverse * moved.swapaxes(1, 2)).sum((1, 2))  # of the logarithms
    value, found = ms.jvp(ops.det, Tensor(x), Tensor(moved))
    np.testing.assert_allclose(value.asnumpy(), np.linalg.det(x))
    np.testing.assert_allclose(found.asnumpy(), np.linalg.det(x) * rates)
    (sign, value), (_, found) = ms.jvp(ops.slogdet, Tensor(x), Tensor(moved))
    for own, want in zip((sign, value), np.linalg.slogdet(x), strict=True):
        np.testing.assert_allclose(own.asnumpy(), want)
    np.testing.assert_allclose(found.asnumpy(), rates)
