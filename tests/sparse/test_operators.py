"""Operators on sparse tensors beside the dense ones, and the ends of their arguments."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.sparse import COOTensor, CSRTensor, RowTensor

from ..limits import check_limits

A = np.float32([[0, 1, 0, 2], [3, 0, 0, 0], [0, 4, 5, 0]])
B = np.float32([[6, 0, 0, 1], [0, 0, 2, 0], [0, -4, 0, 0]])
WIDE = np.arange(8, dtype=np.float32).reshape(4, 2)
X, Y = Tensor(A).to_csr(), Tensor(B).to_csr()
P, Q = Tensor(A).to_coo(), Tensor(B).to_coo()


def same(got, want):
    got = got if isinstance(got, Tensor) else got.to_dense()
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)


def softmax(a):
    powers = np.where(a != 0, np.exp(a), 0)
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize(("call", "want"), [
    (lambda: ops.csr_add(X, Y, Tensor(2.0), Tensor(-3.0)), 2 * A - 3 * B),
    (lambda: ops.csr_reduce_sum(X, 0), A.sum(0, keepdims=True)),
    (lambda: ops.csr_reduce_sum(X, 1), A.sum(1, keepdims=True)),
    (lambda: ops.csr_reduce_sum(X, -1), A.sum(1, keepdims=True)),
    (lambda: ops.csr_softmax(X, ms.float32), softmax(A)),
    (lambda: ops.csr_mul(X, 2), A * 2), (lambda: ops.csr_mul(X, Tensor(2.0)), A * 2),
    (lambda: ops.csr_mul(X, Tensor(WIDE[:3, :1] + 1)), A * (WIDE[:3, :1] + 1)),
    (lambda: ops.csr_mul(X, Tensor(WIDE[:, 0])), A * WIDE[:, 0]),
    (lambda: ops.csr_mul(X, Tensor(B)), A * B), (lambda: ops.csr_div(X, 4), A / 4),
    (lambda: ops.csr_mul(X, Tensor([[3.0]])), A * 3),
    (lambda: ops.csr_div(X, Tensor(WIDE[:, 1:].T + 1)), A / (WIDE[:, 1] + 1)),
    (lambda: ops.csr_mm(X, Tensor(WIDE.T).to_csr(), trans_b=True), A @ WIDE),
    (lambda: ops.csr_mm(X, Y, trans_a=True), A.T @ B),
    (lambda: ops.csr_mm(X, Y, adjoint_b=True), A @ B.T),
    (lambda: X.mm(Tensor(WIDE)), A @ WIDE), (lambda: X.mv(Tensor(WIDE[:, :1])), A @ WIDE[:, :1]),
    (lambda: ops.coo_add(P, Q, Tensor(0.0)), A + B), (lambda: P - Tensor(B), A - B),
    (lambda: ops.coo_add(P, Q, Tensor(4.0)), np.where(np.abs(A + B) >= 4, A + B, 0)),
    (lambda: ops.coo_concat((P, Q)), np.concatenate([A, B])),
    (lambda: ops.coo_concat((P, Q, P), 1), np.concatenate([A, B, A], 1)),
    (lambda: ops.coo_concat((P, Q), -1), np.concatenate([A, B], -1)),
    (lambda: P + Tensor(B), A + B), (lambda: P + Q, A + B), (lambda: P - Q, A - B),
    (lambda: P * Tensor(B), A * B), (lambda: -P, -A), (lambda: (-Q).abs(), abs(B)),
], ids=range(30))
def test_like_dense(call, want):
    same(call(), want)


def test_adjoint_of_complex_matrices():
    a, b = A + 1j * B, B - 2j * A
    x, y = (Tensor(t.astype(np.complex64)).to_csr() for t in (a, b))
    same(ops.csr_mm(x, y, adjoint_a=True), a.conj().T @ b)
    same(ops.csr_mm(x, y, trans_a=True), a.T @ b)
    same(ops.csr_mm(x, y, adjoint_b=True), a @ b.conj().T)


def test_values_gathered_beside_wide_tensors():
    deep = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    starts, columns = X.indptr, X.indices
    rows = np.nonzero(A)
    got = ops.csr_gather(starts, columns, Tensor(deep), (3, 4, 2))
    np.testing.assert_array_equal(got.asnumpy(), deep[rows])
    got = ops.csr_gather(starts, columns, Tensor(deep[..., :1]), (3, 4, 2))
    np.testing.assert_array_equal(got.asnumpy(), np.repeat(deep[..., :1][rows], 2, 1))
    got = ops.csr_gather(starts, columns, Tensor(A[:1]), (3, 4))
    np.testing.assert_array_equal(got.asnumpy(), A[:1][0, rows[1]])


@pytest.mark.parametrize("adjoint", [(False, False), (True, False), (False, True), (True, True)])
def test_products_with_dense_matrices(adjoint):
    of, other = (A.T if adjoint[0] else A), WIDE if not adjoint[0] else WIDE[:3]
    product = ops.SparseTensorDenseMatmul(*adjoint)
    dense = Tensor(np.ascontiguousarray(other.T)) if adjoint[1] else Tensor(other)
    same(product(P.indices, P.values, (3, 4), dense), of @ other)
    with pytest.raises(ValueError, match="as many as the rows"):
        product(P.indices, P.values, (3, 4), Tensor(np.ones((5, 5), np.float32)))
    for places, shape, wrong in ((Tensor([[0, 0]]), (3, 3), ops.ones(3)),
                                 (Tensor([[0, 0]]), (3, 3), ops.ones((3, 3, 3))),
                                 (Tensor([[0, 0, 0]]), (3, 3, 3), ops.ones((3, 3)))):
        with pytest.raises(ValueError, match="as many as the rows"):
            product(places, ops.ones(1), shape, wrong)


@pytest.mark.parametrize("part", [((0, 0), (3, 4)), ((1, 1), (2, 2)), ((0, 2), (9, 9)),
                                  ((2, 0), (1, 1)), ((0, 3), (2, 1)), ((3, 0), (1, 2)),
                                  ((5, 1), (2, 2))])
def test_slices(part):
    (top, left), (height, width) = part
    want = A[top:top + height, left:left + width]
    places, values, shape = ops.SparseSlice()(
        P.indices.astype(ms.int64), P.values, *(Tensor(v, ms.int64) for v in ((3, 4), *part)))
    assert tuple(shape.tolist()) == want.shape
    got = np.zeros(want.shape, np.float32)
    got[tuple(places.asnumpy().T)] = values.asnumpy()
    np.testing.assert_array_equal(got, want)


ONE, TWO = Tensor([0]), Tensor([[0, 0]])
LIMITS = {
    "axis": (lambda a: ops.csr_reduce_sum(X, a), (-2, 1), (-3, 2)),
    "second matrix": (lambda s: ops.csr_add(X, Tensor(np.ones(s)).to_csr(), Tensor(1.0), Tensor(
        1.0)), ((3, 4),), ((4, 3), (3, 5))),
    "rows of a product": (lambda n: ops.csr_mm(X, Tensor(np.ones((n, 2))).to_csr()), (4,), (3, 5)),
    "rows of a dense product": (lambda n: X.mm(ops.ones((n, 2))), (4,), (3, 5)),
    "rank of a dense product": (lambda s: X.mm(ops.ones(s)), ((4, 1),), ((4,), (4, 1, 1))),
    "beside": (lambda s: ops.csr_mul(X, ops.ones(s)), ((4,), (3, 1), (1, 4), (3, 4), (1,)),
               ((3,), (4, 1), (2, 4), (1, 3, 4))),
    "joined": (lambda n: ops.coo_concat((P,) * n), (2, 3), (0, 1)),
    "joined along": (lambda a: ops.coo_concat((P, Q), a), (-2, 1), (-3, 2)),
    "lengths": (lambda n: COOTensor(TWO, ops.ones(1), (1, n)), (1, 2), (0, -1, 1.5)),
    "types of places": (lambda k: COOTensor(TWO.astype(k), ops.ones(1), (1, 1)),
                        (ms.int16, ms.int32, ms.int64), (ms.int8, ms.float32)),
    "rank of rows": (lambda n: CSRTensor(Tensor([0, 1]), ONE, ops.ones((1,) * (n - 1)), (1,) * n),
                     (2, 3), (1,)),
    "row tensor": (lambda s: RowTensor(ONE, ops.ones(s), (3, 4)), ((1, 4),),
                   ((1, 3), (2, 4), (4,), (1, 4, 1))),
    "row numbers": (lambda p: RowTensor(p, ops.ones((1, 4)), (3, 4)), (ONE,), (TWO, Tensor([0.0]))),
    "matrix": (lambda n: ops.dense_to_sparse_csr(ops.ones((2,) * n)), (2,), (1, 3)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    check_limits(*LIMITS[name])


def test_a_row_tensor_of_another():
    one = RowTensor(ONE, ops.ones((1, 4)), (3, 4))
    assert RowTensor(row_tensor=one).dense_shape == (3, 4)
    assert RowTensor(row_tensor=one).indices is one.indices
    for options in ({"indices": ONE}, {"values": one.values}, {"shape": (3, 4)}):
        with pytest.raises(TypeError, match="must be None"):
            RowTensor(row_tensor=one, **options)
    for other in (ONE, 3, "a"):
        with pytest.raises(TypeError, match="must be a RowTensor"):
            RowTensor(row_tensor=other)
