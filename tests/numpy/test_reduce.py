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
def test_cumsum_as_booleans_tells_which_sums_are_not_zero(axis):
    x = np.random.default_rng(0).integers(-1, 2, (4, 5)).astype(np.int32)
    found = mnp.cumsum(ms.Tensor(x), axis, ms.bool_)
    assert found.dtype == ms.bool_
    np.testing.assert_array_equal(found.asnumpy(), np.cumsum(x, axis) != 0)


@pytest.mark.parametrize("x, dtype, found", [
    (np.array([100, 100, 7], np.int8), None, np.int32),
    (np.array([2**30, 2**30, 2**30], np.int32), np.float32, np.float32)], ids=["narrow", "floats"])
def test_cumprod_multiplies_integers_in_the_type_of_its_result(x, dtype, found):
    products = mnp.cumprod(ms.Tensor(x), dtype=dtype).asnumpy()
    assert products.dtype == found
    np.testing.assert_array_equal(products, np.cumprod(x, dtype=dtype))


@pytest.mark.parametrize("name", ["array", "ones_like", "empty_like", "zeros_like", "sum"])
def test_nested_lists_of_different_lengths_are_a_value_error(name):
    with pytest.raises(ValueError, match="inhomogeneous"):
        getattr(mnp, name)([[1, 2, 3], [4, 5]])


def test_where_of_python_leaves_out_elements() -> None:
    x = ms.Tensor([[1.0, 5.0], [2.0, 3.0]])
    assert mnp.amax(x, initial=0, where=False).item() == 0
    assert mnp.amin(x, axis=0, initial=9, where=[True, False]).tolist() == [1.0, 9.0]
    with pytest.raises(ValueError, match="initial"):
        mnp.amax(x, where=[True, False])


def test_norm_counts_imaginary_parts() -> None:
    assert mnp.norm(ms.Tensor([3 + 4j, 0j])).item() == 5.0
