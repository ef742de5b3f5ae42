"""Products over axes of every kind, beside NumPy, and the norms of what is left."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(7)
A, B = RNG.normal(size=(2, 3, 4, 5)), RNG.normal(size=(2, 5, 4, 6))
V = RNG.normal(size=(2, 5))


def close(found, wanted, **tolerance):
    np.testing.assert_allclose(found.asnumpy(), wanted, **{"rtol": 1e-6, "atol": 1e-9, **tolerance})
    assert found.shape == np.shape(wanted)


@pytest.mark.parametrize("a, b, axes, wanted", [
    (A, B, (3, 1), "bijk,bkml->bijml"), (A, B, (-1, -3), "bijk,bkml->bijml"),
    (A, B, (2, 2), "bijk,bljm->biklm"), (A, B, 2, "bijk,bmjl->bikml"), (A, B, [2, -2],
                                                                       "bijk,bmjl->bikml"),
    (V, V, (1, 1), None), (V, V, 1, None), (V, V, None, None),
    (A[:, 0, 0], B, (1, 1), "bk,bkml->bml"), (A, B[:, :, 0], None, "bijk,bkl->bijl"),
    (A[:, 0], B[..., 0], None, "bjk,bkm->bjm"), (A, V, None, "bijk,bk->bij")])
def test_batches(a, b, axes, wanted):
    found = ops.batch_dot(Tensor(a), Tensor(b), axes)
    close(found, (a * b).sum(1, keepdims=True) if wanted is None else np.einsum(wanted, a, b))


@pytest.mark.parametrize("a, b, axes", [
    (A, B, 4), (A, B, -5), (A, B, (0, 1)), (A, B, (1, 0)), (A, B, (-4, 1)), (A, B, (1, 1)),
    (A, B[:1], (3, 1)), (V[0], B, 1), (A, V[0], 1)])
def test_batches_that_do_not_fit(a, b, axes):
    with pytest.raises(ValueError, match="For 'batch_dot'"):
        ops.batch_dot(Tensor(a), Tensor(b), axes)


@pytest.mark.parametrize("axes", [(3, 1), ((3, 2), (1, 2)), ([0, -1], [0, 1]), (-1, -3)], ids=str)
def test_pairs_of_axes(axes):
    close(ops.tensor_dot(Tensor(A), Tensor(B), axes), np.tensordot(A, B, axes))
    close(ops.tensordot(Tensor(A), Tensor(B), axes), np.tensordot(A, B, axes))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_numbers_of_axes(count):
    x, y = A[0], np.moveaxis(A[0], (1, 2), (0, 1)) if count == 2 else A[0].transpose(2, 0, 1)
    close(ops.tensor_dot(Tensor(x), Tensor(y), count), np.tensordot(x, y, count))
    if count == 2:
        close(ops.tensordot(Tensor(x), Tensor(y)), np.tensordot(x, y, 2))


def test_vectors_and_matrices():
    for a, b in ((A, B[0, :, 0]), (A, V[0]), (V[0], V[1]), (A, B[0])):
        b = b.swapaxes(0, 1) if b.ndim == 3 else b
        close(ops.dot(Tensor(a), Tensor(b)), np.dot(a, b))
    for a, b in ((A, V), (V[0], V[1]), (A[0], A[1, 0])):
        close(ops.inner(Tensor(a), Tensor(b)), np.inner(a, b))
    whole = ops.outer(Tensor([1, 2], ms.int32), Tensor([0.5, 3]))
    assert whole.tolist() == [[0.5, 3], [1, 6]] and whole.dtype is ms.float32
    close(ops.mv(Tensor(A[0, 0]), Tensor(V[0])), A[0, 0] @ V[0])
    for matrix, vector in ((A[0], V[0]), (A[0, 0], V), (V[0], V[0])):
        with pytest.raises((ValueError, RuntimeError)):
            ops.mv(Tensor(matrix), Tensor(vector))
    close(ops.bmm(Tensor(A), Tensor(A.swapaxes(2, 3).copy())), A @ A.swapaxes(2, 3))
    for array in (B[0, :, 0], B[0, :, 0].tolist()):
        found = ops.matmul(Tensor(A, ms.float32), Tensor(array, ms.float32) if isinstance(
            array, list) else array.astype("f4"))
        close(found, A @ B[0, :, 0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_products_summed_along_an_axis(axis):
    x = A[0] + 1j * A[1]
    close(ops.vecdot(Tensor(x), Tensor(x[::-1].copy()), axis=axis), (x.conj() * x[::-1]).sum(axis))
    whole = RNG.integers(0, 9, (3, 4))
    for kind in (np.int32, np.uint16, np.uint64, np.int64):
        found = ops.vecdot(Tensor(whole.astype(kind)), Tensor(whole.astype(kind)), axis=axis)
        np.testing.assert_array_equal(found.asnumpy(), (whole * whole).sum(axis))
        assert found.asnumpy().dtype == (kind if kind in (np.uint16, np.uint64) else np.int64)


@pytest.mark.parametrize("axis", [None, -65530, 0, 2, -1])
def test_cross_products(axis):
    """By default along the first axis of length 3."""
    x, y = RNG.normal(size=(2, 3, 5, 3))
    along = 0 if axis in (None, -65530) else axis
    close(ops.cross(Tensor(x), Tensor(y), axis), np.cross(x, y, along, along, along))
    found = ops.cross(Tensor(x[:, :2]), Tensor(y[:1, :2] * 0 + 1), 2)
    close(found, np.cross(x[:, :2], np.ones((3, 2, 3))))
    close(ops.cross(Tensor(x[:2]), Tensor(y[:2]), None), np.cross(x[:2], y[:2]))


def test_means_of_picked_rows():
    x = RNG.normal(size=(4, 2, 3))
    picks, ids = [3, 0, 3, 1], [0, 0, 2, 2]
    found = ops.sparse_segment_mean(Tensor(x), Tensor(picks), Tensor(ids))
    close(found, [x[[3, 0]].mean(0), np.zeros((2, 3)), x[[3, 1]].mean(0)])
    none = Tensor(np.zeros(0, np.int32))
    assert ops.sparse_segment_mean(Tensor(x), none, none).shape == (0, 2, 3)
    for wrong in (([0, 1], [0]), ([0, 1], [-1, 0])):
        with pytest.raises(ValueError, match="'segment_ids' must be 0 or more"):
            ops.sparse_segment_mean(Tensor(x), *map(Tensor, wrong))


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("order, axis", [
    (None, None), (None, 1), (None, (0, 2)), (2, 1), (1, 0), (3, -1), (np.inf, 1), (-np.inf, 2),
    (0, 1), ("fro", (0, 1)), ("nuc", (1, 2)), (2, (0, 1)), (-2, (1, 2)), (1, (0, 2)),
    (-1, (0, 2)), (np.inf, (2, 0)), (-np.inf, (0, 1))], ids=str)
def test_norms(order, axis, kept):
    x = A[0]
    wanted = np.linalg.norm(x, order, axis, kept)
    close(ops.norm(Tensor(x), order, axis, kept), wanted)
    if isinstance(axis, tuple) and order is not None:
        close(ops.matrix_norm(Tensor(x), order, axis, kept), wanted)
    if not isinstance(axis, tuple) and order is not None:
        close(ops.vector_norm(Tensor(x), order, axis, kept), wanted)


@pytest.mark.parametrize("call, kind", [
    (lambda x: ops.norm(x, 3, (0, 1)), ValueError), (lambda x: ops.norm(x, "max", (0, 1)),
                                                     ValueError),
    (lambda x: ops.matrix_norm(x, 3), ValueError), (lambda x: ops.matrix_norm(x, 0), ValueError),
    (lambda x: ops.norm(x, "nuc", 0), TypeError), (lambda x: ops.vector_norm(x, "fro"), ValueError),
    (lambda x: ops.pdist(x[0], 2), TypeError), (lambda x: ops.pdist(x[0], -1.0), ValueError),
    (lambda x: ops.pdist(x), ValueError), (lambda x: ops.pdist(x[0, 0]), ValueError)])
def test_norms_that_are_none(call, kind):
    with pytest.raises(kind, match="For '(norm|matrix_norm|vector_norm|pdist)'"):
        call(Tensor(A[0]))


def test_no_rows_and_narrow_ones_have_distances():
    assert ops.pdist(ops.zeros((0, 3))).shape == (0,) and ops.pdist(ops.zeros((1, 3))).shape == (0,)
    close(ops.pdist(Tensor(A[0, 0]), 0.0), [5.0] * 6)
    half = ops.pdist(Tensor(A[0, 0], ms.float16))
    assert half.dtype is ms.float16
    i, j = np.triu_indices(4, 1)
    close(half, np.linalg.norm(A[0, 0, i] - A[0, 0, j], axis=1), rtol=1e-2)
    close(ops.dist(Tensor(A), 0.5, 3), (abs(A - 0.5) ** 3).sum() ** (1 / 3))


@pytest.mark.parametrize("kind", [tuple, list])
def test_operands_of_an_equation_may_be_one_list(kind):
    for equation, given in (("ij,kj->ik", (A[0, 0], B[0, :, 0, :5])), ("ij->j", (A[0, 0],))):
        operands = kind(map(Tensor, given))
        close(ops.einsum(equation, operands), np.einsum(equation, *given))
        close(ops.einsum(equation, *operands), np.einsum(equation, *given))
