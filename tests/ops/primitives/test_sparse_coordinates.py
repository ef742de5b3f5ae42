"""Primitives on sparse tensors, given by places and values, against dense arrays."""

import numpy as np
import pytest

from lamella import Tensor
from lamella.ops.primitives.sparse_coordinates import SparseSplit

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("axis, count", [(0, 1), (0, 3), (1, 2), (1, 4)])
def test_parts_of_a_sparse_tensor_are_those_of_the_array(axis, count):
    array = np.where(RNG.random((5, 7)) < 0.6, RNG.standard_normal((5, 7)), 0).astype(np.float32)
    places = np.argwhere(array)
    found = SparseSplit(count)(Tensor(axis), Tensor(places), Tensor(array[tuple(places.T)]),
                               Tensor(np.array(array.shape)))
    for at, values, shape, want in zip(*found, np.array_split(array, count, axis), strict=True):
        dense = np.zeros(tuple(shape.tolist()), np.float32)
        dense[tuple(at.asnumpy().T)] = values.asnumpy()
        np.testing.assert_array_equal(dense, want)
