"""Elementwise Primitives where a number is 0, infinite or complex, and bits of comparisons."""

import numpy as np
import pytest
from scipy import special

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(1)


def wide(*values):
    return Tensor(np.array(values, np.float64))


def test_quotients_and_products_by_0():
    x, y = wide(1, 0, np.inf, np.nan, 6), wide(0, 0, 0, 0, 4)
    assert ops.DivNoNan()(x, y).tolist() == [0, 0, 0, 0, 1.5]
    assert ops.MulNoNan()(x, y).tolist() == [0, 0, 0, 0, 24]
    by_x, by_y = ms.grad(lambda x, y: ops.MulNoNan()(x, y).sum(), (0, 1))(x, y)
    assert by_x.tolist() == [0, 0, 0, 0, 4]
    np.testing.assert_array_equal(by_y.asnumpy(), [1, 0, np.inf, np.nan, 6])
    by_x, by_y = ms.grad(lambda x, y: ops.DivNoNan()(x, y).sum(), (0, 1))(wide(3, 6), wide(0, 4))
    assert by_x.tolist() == [0, 0.25] and by_y.tolist() == [0, -0.375]
    # of operands that broadcast
    row, column = wide(1, 2, 3), wide([2], [0])
    by_row, by_column = ms.grad(lambda x, y: ops.MulNoNan()(x, y).sum(), (0, 1))(row, column)
    assert by_row.tolist() == [2, 2, 2] and by_column.tolist() == [[6], [6]]
    twice = ms.grad(lambda y: ms.grad(lambda x: (ops.MulNoNan()(x, y) * x).sum())(row).sum())
    assert twice(wide(2, 0, 1)).tolist() == [2, 4, 6]


def test_squares_of_differences():
    assert ops.SquaredDifference()(wide(1, 5), 3).tolist() == [4, 4]
    assert ops.SquaredDifference()(Tensor([1, 5]), Tensor([3, 3])).tolist() == [4, 4]
    found = ops.SquaredDifference()(Tensor([1 + 2j]), Tensor([3 - 1j]))
    np.testing.assert_allclose(found.asnumpy(), [13], rtol=1e-6)


@pytest.mark.parametrize("kind", [ms.int32, ms.float32, ms.float16])
def test_how_many_are_equal(kind):
    found = ops.EqualCount()(Tensor([[1, 2], [3, 4]], kind), Tensor([[1, 0], [3, 4]], kind))
    assert found.tolist() == [3] and found.dtype is kind


@pytest.mark.parametrize("value, status", [(1.0, 0), (np.inf, 1), (-np.inf, 1), (np.nan, 1)])
def test_whether_all_is_finite(value, status):
    found = ops.FloatStatus()(wide(2.0, value, 0.0))
    assert found.tolist() == [status] and found.dtype is ms.float32


@pytest.mark.parametrize("eps", [-1.0, 0.0, 0.1])
def test_the_inverse_of_the_sigmoid(eps):
    """Clamped from an `eps` of 0 on."""
    x = np.array([0.0, 0.05, 0.5, 0.95, 1.0])
    found = ops.Logit(eps)(Tensor(x)).asnumpy()
    np.testing.assert_allclose(found, special.logit(x.clip(eps, 1 - eps) if eps >= 0 else x),
                               rtol=1e-6)
    outside = ops.Logit(eps)(wide(-0.5, 1.5)).asnumpy()
    wanted = special.logit(np.array([-0.5, 1.5]).clip(eps, 1 - eps)) if eps >= 0 else [np.nan] * 2
    np.testing.assert_allclose(outside, wanted, rtol=1e-6)


@pytest.mark.parametrize("shape", [(8,), (2, 16), (2, 3, 8)])
def test_bits_of_comparisons(shape):
    x = RNG.integers(0, 4, shape).astype(np.float32)
    found = ops.CompareAndBitpack()(Tensor(x), Tensor(1.0))
    np.testing.assert_array_equal(found.asnumpy(), np.packbits(x > 1, -1))
    assert found.dtype is ms.uint8
    for wrong in (Tensor(x)[..., :7], Tensor(1.0), ops.ones((8, 9))):
        with pytest.raises(ValueError, match="multiple of 8"):
            ops.CompareAndBitpack()(wrong, Tensor(1.0))


def test_remainders_and_rounding():
    x, y = np.array([7.5, -7.5, 7.5, -7.5]), np.array([2.0, 2.0, -2.0, -2.0])
    np.testing.assert_allclose(ops.Mod()(Tensor(x), Tensor(y)).asnumpy(), np.fmod(x, y))
    whole = np.array([7, -7, 7, -7])
    np.testing.assert_array_equal(
        ops.Mod()(Tensor(whole), Tensor([2, 2, -2, -2])).asnumpy(), np.fmod(whole, [2, 2, -2, -2]))
    for decimals in (-1, 0, 2):
        values = np.array([12.345, 0.5, 1.5, -25.0])
        np.testing.assert_allclose(ops.Round()(Tensor(values), decimals).asnumpy(),
                                   np.round(values, decimals), rtol=1e-9)
    assert ops.Rint()(wide(0.5, 1.5, -2.5)).tolist() == [0, 2, -2]
    parts = ops.Complex()(wide(3.0), wide(-4.0))
    assert parts.tolist() == [3 - 4j] and ops.ComplexAbs()(parts).tolist() == [5]
