"""Evenly spaced numbers whose ends are numbers of a `vmap`'s examples, against NumPy."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

A, B = np.array([0.5, -1.0, 3.0], np.float32), np.array([2.0, 4.0, 3.0], np.float32)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_linspace_of_examples(count):
    found = ms.vmap(lambda a, b: ops.linspace(a, b, count))(Tensor(A), Tensor(B))
    np.testing.assert_allclose(found.asnumpy(), np.linspace(A, B, count).T, rtol=1e-6)
    one = ms.vmap(lambda a: ops.linspace(a, 4.0, count))(Tensor(A))
    np.testing.assert_allclose(one.asnumpy(), np.linspace(A, 4.0, count).T, rtol=1e-6)
    other = ms.vmap(lambda b: ops.linspace(-1, b, count))(Tensor(B))
    np.testing.assert_allclose(other.asnumpy(), np.linspace(-1, B, count).T, rtol=1e-6)
