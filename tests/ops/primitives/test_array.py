"""Primitives of shapes, joins and splits: their attributes at the limits, blocks of space by loops.
"""

import itertools

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

X = np.arange(2 * 3 * 4).reshape(2, 3, 4)
T = Tensor(X)


def same(found, wanted):
    np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_joined_and_taken_apart(axis):
    same(ops.Concat(axis)((T, T)), np.concatenate([X, X], axis))
    same(ops.Stack(axis)((T, T + 1)), np.stack([X, X + 1], axis))
    parts = ops.Unstack(axis, X.shape[axis])(T)
    assert len(parts) == X.shape[axis] == len(ops.Unstack(axis)(T))
    for i, part in enumerate(parts):
        same(part, np.take(X, i, axis))
    for count in (X.shape[axis] - 1, X.shape[axis] + 1):
        with pytest.raises(ValueError, match="'num' must be the length"):
            ops.Unstack(axis, count)(T)
    for one, other in zip(ops.Split(axis, X.shape[axis])(T), np.split(X, X.shape[axis], axis),
                          strict=True):
        same(one, other)
    with pytest.raises(ValueError, match="a multiple of 'output_num'"):
        ops.Split(axis, 5)(T)


@pytest.mark.parametrize("sizes, wanted", [([1, 3], [1, 3]), ((-1, 1), [3, 1]), ([2, -1, 1],
                                                                             [2, 1, 1])], ids=str)
def test_pieces_of_given_lengths(sizes, wanted):
    for axis in (2, -1):
        found = ops.SplitV(sizes, axis, len(sizes))(T)
        for one, other in zip(found, np.split(X, np.cumsum(wanted)[:-1], 2), strict=True):
            same(one, other)


@pytest.mark.parametrize("make, kind", [
    (lambda: ops.SplitV([1, 2], 0, 3), ValueError), (lambda: ops.SplitV([-1, -1, 1], 0, 3),
                                                     ValueError),
    (lambda: ops.SplitV("12", 0, 2), TypeError), (lambda: ops.Split(0, 0), ValueError),
    (lambda: ops.Split(0, -1), ValueError), (lambda: ops.Split(3, 1)(T), ValueError),
    (lambda: ops.SplitV([1, 1], 3, 2)(T), ValueError), (lambda: ops.Concat(0.5), TypeError),
    (lambda: ops.Stack(0.5), TypeError), (lambda: ops.Unstack(0.5), TypeError),
    (lambda: ops.ParallelConcat()((T[:1], T)), ValueError),
    (lambda: ops.ParallelConcat()((T, T[:1])), ValueError),
    (lambda: ops.InvertPermutation()((0, 2)), ValueError),
    (lambda: ops.InvertPermutation()((0, 0)), ValueError),
    (lambda: ops.InvertPermutation()((1, 2)), ValueError),
    (lambda: ops.InvertPermutation()(Tensor([0])), ValueError),
    (lambda: ops.TensorToScalar()(T), ValueError),
    (lambda: ops.TensorToScalar()(ops.zeros(0)), ValueError),
    (lambda: ops.DiagPart()(Tensor(1.0)), ValueError), (lambda: ops.DiagPart()(T), ValueError),
    (lambda: ops.DiagPart()(ops.ones((2, 3))), ValueError),
    (lambda: ops.DiagPart()(ops.ones((2, 3, 3, 2))), ValueError)], ids=range(22))
def test_refused(make, kind):
    with pytest.raises(kind, match="^For |must be"):
        make()


def test_numbers_and_permutations():
    for value in (2.5, 3, True):
        for x in (Tensor(value), Tensor([[value]])):
            found = ops.TensorToScalar()(x)
            assert found == value and type(found) is type(value)
    assert ops.TensorToTuple()(Tensor([1, 2])) == (1, 2)
    for order in itertools.permutations(range(4)):
        assert ops.InvertPermutation()(order) == tuple(np.argsort(order).tolist())
    same(ops.ParallelConcat()((T[:1], T[1:])), X)
    same(ops.DiagPart()(Tensor(np.arange(36).reshape(2, 3, 2, 3))),
         np.arange(36).reshape(6, 6).diagonal().reshape(2, 3))
    same(ops.DiagPart()(Tensor(np.arange(9).reshape(3, 3))), [0, 4, 8])
    same(ops.Expand()(Tensor([[1.0], [2.0]]), Tensor([2, 3])), [[1] * 3, [2] * 3])
    copies = ops.IdentityN()((T, T[0]))
    copies[0][0] = 9
    same(T, X)
    same(copies[1], X[0])


def test_views_share_their_memory():
    base = Tensor(X.copy())
    ops.CopyWithSlice()(ops.SelectView()(base, 1, -1), ops.zeros((2, 4), ms.int64))
    wanted = X.copy()
    wanted[:, -1] = 0
    same(base, wanted)
    same(ops.TransposeExtView()(base, 0, -1), wanted.swapaxes(0, -1))


def in_blocks(x, block, pads):
    """Where each element of a padded image goes: to the batch of its place in its block."""
    padded = np.pad(x, ((0, 0), (0, 0), *pads))
    n, c, h, w = padded.shape
    out = np.zeros((n * block[0] * block[1], c, h // block[0], w // block[1]), x.dtype)
    for b, _, i, j in np.ndindex(n, 1, h, w):
        place = (i % block[0] * block[1] + j % block[1]) * n + b
        out[place, :, i // block[0], j // block[1]] = padded[b, :, i, j]
    return out


IMAGES = np.arange(2 * 3 * 3 * 4).reshape(2, 3, 3, 4)


@pytest.mark.parametrize("block, pads", [
    ((2, 2), ((1, 0), (0, 2))), ((3, 2), ((0, 0), (1, 1))), ((1, 4), ((2, 1), (0, 0)))])
def test_blocks_of_space_in_the_batch(block, pads):
    wanted = in_blocks(IMAGES, block, pads)
    x, turned = Tensor(IMAGES), Tensor(wanted)
    lists = [list(pair) for pair in pads]
    same(ops.space_to_batch_nd(x, block, lists), wanted)
    same(ops.SpaceToBatchND(list(block), lists)(x), wanted)
    same(ops.batch_to_space_nd(turned, block, lists), IMAGES)
    same(ops.BatchToSpaceND(list(block), lists)(turned), IMAGES)
    for given in ((list(block), lists), (Tensor(block), Tensor(lists)),
                  ([1, *block], [[0, 0], *lists])):
        same(ops.BatchToSpaceNDV2()(turned, *given), IMAGES)


def test_blocks_of_one_length():
    wanted = in_blocks(IMAGES, (2, 2), ((1, 0), (0, 0)))
    same(ops.SpaceToBatch(2, [[1, 0], [0, 0]])(Tensor(IMAGES)), wanted)
    same(ops.BatchToSpace(2, [[1, 0], [0, 0]])(Tensor(wanted)), IMAGES)
    same(ops.space_to_batch_nd(Tensor(IMAGES), 2, [[1, 0], [0, 0]]), wanted)
    same(ops.batch_to_space_nd(Tensor(wanted), 2, [[1, 0], [0, 0]]), IMAGES)


@pytest.mark.parametrize("axis", [(), 1, (0,), -3])
def test_squeezed(axis):
    x = ops.ones((1, 1, 2))
    wanted = np.ones((1, 1, 2)).squeeze(None if axis == () else axis)
    assert ops.Squeeze(axis)(x).shape == wanted.shape
