"""Indices that a kernel takes as they are, and those that it refuses, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

X = np.arange(20, dtype=np.float32).reshape(4, 5)
INDICES = {"in range": [0, 3, 2], "negative": [0, -1, 2], "unsigned": np.array([3, 0, 1], np.uint8)}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "compiled"])
def test_gathering(name, run):
    index = np.array(INDICES[name])
    rows, elements = Tensor(index), Tensor(np.tile(index[:, None], (1, 5)))
    for found, wanted in (
            (run(lambda x: ops.gather(x, rows, 0))(Tensor(X)), X[index]),
            (run(lambda x: ops.index_select(x, 0, rows))(Tensor(X)), X[index]),
            (run(lambda x: ops.gather_elements(x, 0, elements))(Tensor(X)), X[index])):
        np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("index", [[0, 3], [0, -1], [1, 7], [-9, 2]])
@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "compiled"])
def test_scattering(index, reduction, run):
    at, updates = np.tile(np.array(index)[:, None], (1, 5)), -np.ones((2, 5), np.float32)
    wanted = X.copy()
    for row in index:
        if -4 <= row < 4:  # others are left out
            wanted[row] = -1 if reduction == "none" else wanted[row] - 1
    function = lambda x, u: ops.tensor_scatter_elements(x, Tensor(at), u, 0, reduction)  # noqa: E731
    found = run(function)(Tensor(X), Tensor(updates))
    np.testing.assert_array_equal(found.asnumpy(), wanted)
    by_x, by_updates = run(ms.grad(lambda x, u: function(x, u).sum(), (0, 1)))(
        Tensor(X), Tensor(updates))
    valid = [row % 4 for row in index if -4 <= row < 4]
    kept = np.ones_like(X)
    if reduction == "none":
        kept[valid] = 0
    np.testing.assert_array_equal(by_x.asnumpy(), kept)
    np.testing.assert_array_equal(by_updates.asnumpy()[:, 0], [-4 <= row < 4 for row in index])


@pytest.mark.parametrize("on, off, dtype", [
    (1, 0, np.int64), (1.0, 0.0, np.float32), (2, 0.5, np.float32), (True, False, np.int64)])
@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
def test_one_hot(on, off, dtype, axis):
    for index in ([[0, 2], [1, 1]], [[0, 3], [-1, 1]]):
        found = ops.one_hot(Tensor(index), 3, on, off, axis).asnumpy()
        hits = np.array(index)[..., None] == np.arange(3)
        wanted = np.moveaxis(np.where(hits, on, off), -1, axis)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == dtype
    assert ops.one_hot(Tensor([0, 1]), 0).shape == (2, 0)


def test_orders_of_dimensions():
    x = ops.ones((2, 3, 4))
    assert ops.transpose(x, (-1, 0, 1)).shape == (4, 2, 3)
    for wrong in ((0, 1), (0, 0, 1), (0, 1, 3)):
        with pytest.raises(ValueError, match="'dims'"):
            ops.transpose(x, wrong)
