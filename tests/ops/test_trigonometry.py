"""Functions of angles where formulas of their own take the place of kernels."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops


def sinc_slopes(x, order):
    """A derivative of sin(pi x) / (pi x): the integral of (pi t)^order cos^(order)(pi x t)."""
    places, weights = np.polynomial.legendre.leggauss(60)
    places, weights = (places + 1) / 2, weights / 2
    waves = np.cos(np.pi * x[:, None] * places + order * np.pi / 2)
    return (waves * (np.pi * places) ** order * weights).sum(1)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_derivatives_of_sinc_on_both_sides_of_where_the_series_ends(order):
    x = np.array([0.0, 0.004, 0.02, 0.0315, 0.0318, -0.0318, 0.0319, 0.4])
    slope = ops.sinc
    for _ in range(order):
        slope = ms.grad(lambda x, inner=slope: inner(x).sum())
    np.testing.assert_allclose(slope(Tensor(x)).asnumpy(), sinc_slopes(x, order), rtol=1e-8,
                               atol=1e-9)
