"""Reductions and cumulative sums beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import numpy as mnp


@pytest.mark.parametrize("name", ["mean", "amax", "amin", "std", "var", "nanmean", "nansum",
                                  "nanmax", "nanmin", "average"])
def test_an_axis_that_comes_twice_is_a_value_error(name):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    function = getattr(mnp, name)
    with pytest.raises(ValueError):
        getattr(np, name)(x, (0, -2))
    with pytest.raises(ValueError, match=f"For '(mean|{name})'"):
        function(ms.Tensor(x), (0, -2))
    np.testing.assert_allclose(function(ms.Tensor(x), (0, 1)).asnumpy(),
                               getattr(np, name)(x, (0, 1)), rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_cumsum_of_bools_tells_whether_any_was_true(axis):
    x = np.random.default_rng(0).integers(-1, 2, (4, 5)).astype(np.int32)
    found = mnp.cumsum(ms.Tensor(x), axis, ms.bool_)
    assert found.dtype == ms.bool_
    np.testing.assert_array_equal(found.asnumpy(), np.cumsum(x, axis, bool))


@pytest.mark.parametrize("name", ["array", "ones_like", "empty_like", "zeros_like", "sum"])
def test_nested_lists_of_different_lengths_are_a_value_error(name):
    with pytest.raises(ValueError, match="inhomogeneous"):
        getattr(mnp, name)([[1, 2, 3], [4, 5]])
