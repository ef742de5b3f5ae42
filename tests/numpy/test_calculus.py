"""Differences of sampled functions beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import numpy as mnp


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_diff_with_parts_before_and_behind(axis, n):
    random = np.random.default_rng(0)
    x = random.normal(size=(3, 4, 5)).astype(np.float32)
    parts = [random.normal(size=[2 if i == axis % 3 else k for i, k in enumerate(x.shape)])
             .astype(np.float32), 3.0, np.float32([7.0])]
    for part in parts[:2]:
        wanted = np.diff(x, n, axis, part, part)
        given = ms.Tensor(part) if isinstance(part, np.ndarray) else part
        found = mnp.diff(ms.Tensor(x), n, axis, given, given)
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
    one = mnp.diff(ms.Tensor(x), n, axis, prepend=ms.Tensor(parts[2]))
    np.testing.assert_allclose(one.asnumpy(), np.diff(x, n, axis, prepend=7.0), rtol=1e-5,
                               atol=1e-6)


def test_a_part_of_another_shape_is_an_error():
    with pytest.raises((ValueError, RuntimeError), match="For '"):
        mnp.diff(ms.ops.zeros((3, 4)), prepend=ms.ops.zeros((2, 2)))
