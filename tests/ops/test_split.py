"""Tensors as pieces, beside NumPy and PyTorch, with numbers at their limits."""

import numpy as np
import pytest
import torch

from lamella import Tensor, ops

X = np.arange(2 * 3 * 5).reshape(2, 3, 5)
T = Tensor(X)


def same(found, wanted):
    assert isinstance(found, tuple) and len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), np.asarray(other))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pieces_of_a_length(axis, size):
    wanted = torch.from_numpy(X).split(size, axis)
    for found in (ops.split(T, size, axis), T.split(size, axis), T.split(size, dim=axis),
                  T.split(split_size=size, dim=axis)):
        same(found, wanted)
    wanted = torch.from_numpy(X).chunk(size, axis)
    for found in (ops.chunk(T, size, axis), T.chunk(size, axis), T.chunk(size, dim=axis)):
        same(found, wanted)
    same(ops.tensor_split(T, size, axis), np.array_split(X, size, axis))


@pytest.mark.parametrize("axis, sizes", [(2, (1, 4)), (-1, [0, 2, 3]), (1, (3,)), (0, [2, 0])])
def test_pieces_of_lengths(axis, sizes):
    same(ops.split(T, sizes, axis), np.split(X, np.cumsum(sizes)[:-1], axis))


@pytest.mark.parametrize("cuts", [(1,), [1, 3], (0, 9), (-1,), 2, ()], ids=str)
def test_cuts(cuts):
    given = list(cuts) if isinstance(cuts, tuple) else cuts
    for axis in (0, 1, -1):
        same(ops.tensor_split(T, cuts, axis), np.array_split(X, given, axis))
    same(ops.hsplit(T, cuts), np.array_split(X, given, 1))
    same(ops.vsplit(T, cuts), np.array_split(X, given, 0))
    same(ops.dsplit(T, cuts), np.array_split(X, given, 2))
    same(ops.hsplit(T[0, 0], cuts), np.array_split(X[0, 0], given, 0))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_parts_without_a_dimension(axis):
    wanted = torch.from_numpy(X).unbind(axis)
    for found in (ops.unstack(T, axis), ops.unbind(T, axis), T.unbind(axis)):
        same(found, wanted)


@pytest.mark.parametrize("call", [
    lambda: ops.split(T, (2, 2), 2), lambda: ops.split(T, (3, 3), 2), lambda: ops.split(T, (6, -1),
                                                                                      2),
    lambda: ops.split(T, 1, 3), lambda: ops.split(T, 1, -4), lambda: ops.chunk(T, 0),
    lambda: ops.chunk(T, -1), lambda: ops.chunk(T, 1, 3), lambda: ops.unbind(T, 3),
    lambda: ops.unstack(T, -4), lambda: ops.tensor_split(T, 0), lambda: ops.tensor_split(T, -1),
    lambda: ops.tensor_split(T, 1, 3), lambda: ops.vsplit(T, 0), lambda: ops.dsplit(T[0], 1)])
def test_refused(call):
    with pytest.raises(ValueError, match="^For '"):
        call()
