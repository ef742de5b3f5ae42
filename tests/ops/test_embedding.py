"""Rows of tables, one-hot codes and the best classes beside loops, for all options."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  (its usual name)

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.embedding import _selected

TABLE = np.array([[3.0, 4.0], [0.3, -0.4], [-6.0, 8.0], [1.0, 2.0], [5.0, 12.0]])
ROWS = np.array([[2, 0, 2], [4, 3, 2]])


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("padding", [None, 2, -1, -3, 0])
@pytest.mark.parametrize("by_count", [False, True])
def test_rows_and_their_gradients(kind, padding, by_count):
    factors = np.arange(1.0, 13).reshape(2, 3, 2)

    def loss(table):
        found = ops.embedding(Tensor(ROWS.astype(kind)), table, padding, None, 2.0, by_count)
        return (found * Tensor(factors)).sum(), found

    (_, found), gradient = ms.value_and_grad(loss, has_aux=True)(Tensor(TABLE))
    np.testing.assert_array_equal(found.asnumpy(), TABLE[ROWS])
    want = np.zeros_like(TABLE)
    for place in np.ndindex(ROWS.shape):
        want[ROWS[place]] += factors[place] / ((ROWS == ROWS[place]).sum() if by_count else 1)
    if padding is not None:
        want[padding] = 0
    np.testing.assert_allclose(gradient.asnumpy(), want)


@pytest.mark.parametrize("padding", [None, 2, -1, 0])
def test_rows_by_indices(padding):
    table = torch.from_numpy(TABLE).requires_grad_()
    found = _selected(table, torch.from_numpy(ROWS), padding)
    np.testing.assert_array_equal(found.detach(), TABLE[ROWS])
    found.sum().backward()
    want = np.bincount(ROWS.ravel(), minlength=5)
    if padding is not None:
        want[padding] = 0
    np.testing.assert_array_equal(table.grad, np.stack([want, want], 1))
    for row in (-1, 5):
        with pytest.raises(IndexError):
            _selected(table, torch.tensor([0, row]), padding)


@pytest.mark.parametrize("norm", [1.0, 2.0, 3.0])
def test_longer_rows_are_shortened_in_the_table(norm):
    table = Tensor(TABLE)
    found = ops.embedding(Tensor(ROWS), table, None, 6.0, norm).asnumpy()
    lengths = (abs(TABLE) ** norm).sum(1) ** (1 / norm)
    want = np.where((lengths > 6) & np.isin(np.arange(5), ROWS), 6 / lengths, 1)[:, None] * TABLE
    np.testing.assert_allclose(table.asnumpy(), want, rtol=1e-6)
    np.testing.assert_allclose(found, want[ROWS], rtol=1e-6)
    np.testing.assert_array_equal(table.asnumpy()[1], TABLE[1])


@pytest.mark.parametrize("limit", [5.0, 4.0])  # the length of the first row, and below
def test_shortened_rows_are_those_of_pytorch(limit):
    given = np.array([[3.0, 4.0], [1e-7, 0.0], [30.0, 40.0]])
    table, theirs = Tensor(given), torch.tensor(given)
    F.embedding(torch.tensor([0, 1, 2]), theirs, max_norm=limit)
    ops.embedding(Tensor([0, 1, 2]), table, None, limit)
    np.testing.assert_allclose(table.asnumpy(), theirs.numpy(), rtol=1e-12)


@pytest.mark.parametrize("row", [-1, 5])
def test_rows_that_are_not_there(row):
    with pytest.raises(RuntimeError, match=rf"must be in \[0, 5\), but got \[{row}\]"):
        ops.embedding(Tensor([0, row, 4]), Tensor(TABLE))
    for padding in (5, -6):
        with pytest.raises(ValueError, match=r"'padding_idx' must be in \[-5, 5\)"):
            ops.embedding(Tensor([0]), Tensor(TABLE), padding)
    for padding in (4, -5):
        ops.embedding(Tensor([0]), Tensor(TABLE), padding)


def codes(indices, depth, on, off, axis):
    out = np.full((*indices.shape, depth), off)
    for place in np.ndindex(indices.shape):
        if 0 <= indices[place] < depth:
            out[(*place, indices[place])] = on
    return np.moveaxis(out, -1, axis)


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
@pytest.mark.parametrize("indices", [ROWS, np.array([[4, 7, -1], [0, 5, 1]])])
@pytest.mark.parametrize("on, off, kind", [
    (1, 0, ms.int64), (3, -2, ms.int64), (2.5, 0, ms.float32), (1, 0.5, ms.float32),
    (Tensor(7, ms.int8), Tensor(3, ms.int8), ms.int8),
    (Tensor([2.0], ms.float64), Tensor([1.0], ms.float64), ms.float64),
    (Tensor(2.5), 1, ms.float32), (2, Tensor(0.5), ms.float32)])
def test_codes(axis, indices, on, off, kind):
    for whole in (ms.int64, ms.int32, ms.int8):
        found = ops.one_hot(Tensor(indices, whole), 5, on, off, axis)
        assert found.dtype is kind
        want = codes(indices, 5, *(v.asnumpy().item() if isinstance(v, Tensor) else float(v)
                                   for v in (on, off)), axis)
        np.testing.assert_array_equal(found.asnumpy(), want)


@pytest.mark.parametrize("kind", [ms.int8, ms.uint8, ms.int16, ms.int64])
@pytest.mark.parametrize("on", [1, Tensor(1.0)])
@pytest.mark.parametrize("compiled", [False, True])
def test_more_classes_than_the_type_of_indices_can_count(kind, on, compiled):
    call = lambda x: ops.one_hot(x, 300, on, on * 0)  # noqa: E731
    found = (ms.jit(call) if compiled else call)(Tensor([5, 100], kind))
    np.testing.assert_array_equal(found.asnumpy(), np.eye(300)[[5, 100]])


def test_codes_of_one_index_and_of_no_class():
    assert ops.one_hot(Tensor(2), 3).tolist() == ops.one_hot(Tensor(2), 3, axis=0).tolist() == [
        0, 0, 1]
    assert ops.one_hot(Tensor([0, 1]), 0).shape == (2, 0)
    assert ops.one_hot(Tensor([1]), Tensor(2)).tolist() == [[0, 1]]
    for axis in (-2, 2):
        with pytest.raises(ValueError, match=r"'axis' must be in \[-1, 1\]"):
            ops.one_hot(Tensor([0]), 3, axis=axis)
    with pytest.raises(ValueError, match="'depth' must be 0 or more"):
        ops.one_hot(Tensor([0]), -1)
    with pytest.raises(TypeError, match="must hold integers"):
        ops.one_hot(Tensor([0.0]), 3)


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
def test_the_best_classes(k):
    scores = np.array([[5, 3, 3, 1], [2, 2, 2, 2], [1, 4, 3, 2], [4, 3, 2, 1], [1, 2, 3, 4]])
    targets = np.array([1, 3, 0, 4, -1])  # the last two are no classes
    found = ops.intopk(Tensor(scores, ms.float32), Tensor(targets, ms.int32), k)
    want = [0 <= t < 4 and (row > row[t]).sum() < k for row, t in zip(scores, targets, strict=True)]
    assert found.tolist() == want
    nan = Tensor([[np.nan, 1.0, 2.0]], ms.float32)
    assert ops.intopk(nan, Tensor([0]), k).tolist() == [False]
    assert ops.intopk(Tensor([[1.0]]), Tensor([1]), k).tolist() == [False]  # a single class


@pytest.mark.parametrize("scores, targets", [((2, 3), (3,)), ((2, 3), (2, 1)), ((6,), (6,)),
                                             ((2, 3, 1), (2,))])
def test_shapes_of_the_best_classes(scores, targets):
    with pytest.raises(ValueError, match="must have the shapes"):
        ops.intopk(ops.ones(scores), ops.zeros(targets, ms.int32), 1)
