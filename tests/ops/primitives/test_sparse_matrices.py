"""Sparse matrices of several Tensors, one and a batch, beside the dense ones in NumPy."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives import sparse_matrices as sparse

RNG = np.random.default_rng(8)


def drawn(*shape, share=0.5):
    values = RNG.normal(size=shape) + 1j * RNG.normal(size=shape)
    return np.where(RNG.random(shape) < share, values, 0).astype(np.complex64)


ONE, OTHER = drawn(3, 4), drawn(3, 4)
BATCH, OTHERS = drawn(2, 3, 4), drawn(2, 3, 4)
BATCH[1] = 0  # one of a batch may be empty
PAIRS = [(ONE, OTHER), (BATCH, OTHERS)]


def packed(x, kind=np.int64):
    """Its shape, how many there are before each matrix, before each row, the columns, the values.
    """
    whole = x.reshape(-1, *x.shape[-2:])
    held = [[np.flatnonzero(row) for row in each] for each in whole]
    rows = np.concatenate([np.cumsum([0, *map(len, each)]) for each in held])
    batches = np.cumsum([0, *(sum(map(len, each)) for each in held)])
    columns = np.concatenate([row for each in held for row in each])
    parts = [np.array(x.shape), batches, rows, columns]
    return [*(Tensor(part.astype(kind)) for part in parts), Tensor(x[x != 0])]


def same(found, x):
    for one, other in zip(found, packed(x), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("x", [ONE, BATCH], ids=["one", "batch"])
def test_forms(x, kind):
    parts = packed(x, kind)
    places = np.argwhere(x)
    index = ms.int32 if kind is np.int32 else ms.int64
    np.testing.assert_array_equal(sparse.CSRSparseMatrixToDense()(*parts).asnumpy(), x)
    at, values, shape = sparse.CSRSparseMatrixToSparseTensor()(*parts)
    np.testing.assert_array_equal(at.asnumpy(), places)
    np.testing.assert_array_equal(values.asnumpy(), x[x != 0])
    assert shape.tolist() == list(x.shape) and at.dtype is shape.dtype is index
    made = sparse.DenseToCSRSparseMatrix()(Tensor(x), Tensor(places.astype(kind)))
    again = sparse.SparseTensorToCSRSparseMatrix()(at, values, shape)
    for found in (made, again):
        same(found, x)
        assert all(part.dtype is index for part in found[:4])
    counts = sparse.SparseMatrixNNZ()(*parts)
    assert counts.tolist() == np.count_nonzero(x.reshape(-1, 12), 1).tolist()
    assert counts.dtype is ms.int32


@pytest.mark.parametrize("x, y", PAIRS, ids=["one", "batch"])
def test_sums(x, y):
    alpha, beta = (Tensor(np.complex64(number)) for number in (2, 3j))
    same(sparse.SparseMatrixAdd()(*packed(x), *packed(y), alpha, beta), 2 * x + 3j * y)
    with pytest.raises(ValueError, match="one shape"):
        sparse.SparseMatrixAdd()(*packed(x), *packed(y[..., :3]), alpha, beta)


@pytest.mark.parametrize("conjugate", [False, True])
@pytest.mark.parametrize("x", [ONE, BATCH], ids=["one", "batch"])
def test_rows_as_columns(x, conjugate):
    turned = x.conj().swapaxes(-1, -2) if conjugate else x.swapaxes(-1, -2)
    same(sparse.SparseMatrixTranspose(conjugate)(*packed(x)), turned)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("conjugate", [False, True])
@pytest.mark.parametrize("x, y", PAIRS, ids=["one", "batch"])
def test_products(x, y, conjugate, turned):
    """With a dense matrix, whose result may be turned, and with a sparse one."""
    wanted = x @ y.swapaxes(-1, -2)
    out = wanted.conj() if conjugate else wanted
    out = out.swapaxes(-1, -2) if turned else out
    found = sparse.SparseMatrixMatMul(transpose_x2=True, transpose_output=turned,
                                      conjugate_output=conjugate)(*packed(x), Tensor(y))
    np.testing.assert_allclose(found.asnumpy(), out, rtol=1e-4, atol=1e-5)
    other = sparse.SparseMatrixSparseMatMul(transpose_b=True)(*packed(x), *packed(y))
    dense = sparse.CSRSparseMatrixToDense()(*other)
    np.testing.assert_allclose(dense.asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    met = (x != 0).astype(int) @ (y != 0).swapaxes(-1, -2).astype(int)
    assert len(other[4]) == np.count_nonzero(met)


@pytest.mark.parametrize("x", [ONE.real, BATCH.real], ids=["one", "batch"])
def test_softmax_of_what_rows_hold(x):
    *parts, values = sparse.SparseMatrixSoftmax(ms.float64)(*packed(x))
    powers = np.where(x != 0, np.exp(x.astype(np.float64)), 0)
    shares = powers / np.maximum(powers.sum(-1, keepdims=True), 1e-30)
    np.testing.assert_allclose(values.asnumpy(), shares[x != 0], rtol=1e-6)
    assert values.dtype is ms.float64
    for one, other in zip(parts, packed(x), strict=False):
        assert one.tolist() == other.tolist()


def order_of(pattern):
    """The least degree first; of equal ones that with fewer neighbours at first, then the first."""
    joined = np.tril(pattern, -1) | np.tril(pattern, -1).T
    first, left, order = joined.sum(1), set(range(len(joined))), []
    while left:
        row = min(left, key=lambda r: (joined[r].sum(), first[r], r))
        order.append(row)
        left.remove(row)
        near = np.flatnonzero(joined[row])
        joined[np.ix_(near, near)] = True
        joined[row] = joined[:, row] = False
        np.fill_diagonal(joined, False)
    return order


@pytest.mark.parametrize("share", [0.1, 0.2, 0.4, 0.8])
def test_orders_of_elimination(share):
    batch = drawn(3, 9, 9, share=share)
    wanted = [order_of(x != 0) for x in batch]
    found = sparse.SparseMatrixOrderingAMD()(*packed(batch))
    assert found.tolist() == wanted and found.dtype is ms.int32
    assert sparse.SparseMatrixOrderingAMD()(*packed(batch[1])).tolist() == wanted[1]


@pytest.mark.parametrize("change, text", [
    ({0: [4]}, "2 or 3 lengths"), ({0: [1, 1, 3, 4]}, "2 or 3 lengths"),
    ({3: [[0, 1, 2]]}, "one dimension"), ({3: [0, 1]}, "one dimension"),
    ({2: [0, 1, 2]}, "4 row pointers"), ({2: [0, 1, 2, 3, 3]}, "4 row pointers"),
    ({2: [0, 1, 2, 2]}, "must ascend"), ({2: [0, 2, 1, 3]}, "must ascend"),
    ({3: [0, 1, 4]}, r"in \[0, 4\)"), ({3: [0, -1, 2]}, r"in \[0, 4\)")])
def test_parts_that_do_not_fit(change, text):
    parts = {0: [3, 4], 1: [0, 3], 2: [0, 1, 2, 3], 3: [0, 1, 3], 4: [1.0, 2.0, 3.0]}
    sparse.CSRSparseMatrixToDense()(*map(Tensor, parts.values()))
    with pytest.raises(ValueError, match=text):
        sparse.CSRSparseMatrixToDense()(*map(Tensor, (parts | change).values()))
