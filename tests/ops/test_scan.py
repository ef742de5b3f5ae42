"""Running sums, products and extremes, differences and integrals along each axis."""

import numpy as np
import pytest
from scipy.integrate import trapezoid

import lamella as ms
from lamella import Tensor, ops

X = np.random.default_rng(4).normal(size=(3, 4, 5))
T = Tensor(X)


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6, atol=1e-9)
    assert found.shape == np.shape(wanted)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_running_numbers(axis):
    for given in (axis, Tensor(axis)):
        close(ops.cumsum(T, given), X.cumsum(axis))
        close(ops.cumprod(T, given), X.cumprod(axis))
        close(ops.logcumsumexp(T, given), np.logaddexp.accumulate(X, axis))
        for function, running, kind in ((ops.cummax, np.maximum, ms.int64),
                                        (ops.cummin, np.minimum, ms.int32)):
            values, places = function(T, given)
            wanted = running.accumulate(X, axis)
            close(values, wanted)
            close(Tensor(np.take_along_axis(X, places.asnumpy().astype(np.int64), axis)), wanted)
            assert places.dtype is kind
    close(T.cumsum(axis), X.cumsum(axis))
    close(T.cumsum(dim=axis), X.cumsum(axis))


def test_types_of_running_sums():
    small = Tensor([100, 100], ms.int8)
    assert ops.cumsum(small, 0).dtype is ms.int8 and ops.cumsum(small, 0, ms.int64)[1] == 200
    assert small.cumsum().tolist() == [100, 200] and small.cumsum().dtype is ms.int32
    for kind in (ms.bool_, ms.int16, ms.uint8):
        assert Tensor([1, 1], kind).cumsum(0).dtype is ms.int32
    assert Tensor([1, 1]).cumsum(0).dtype is ms.int64
    assert Tensor([1.0, 1.0]).cumsum(0, ms.float64).dtype is ms.float64
    close(T.cumsum(), X.ravel().cumsum())
    assert ops.cumprod(Tensor([1, 2], ms.int32), 0).dtype is ms.int64
    assert ops.cumprod(Tensor([1, 2], ms.int32), 0, ms.float16).dtype is ms.float16
    found = ops.cumprod(Tensor([1.0, 2.0]), 0, ms.complex64)
    assert found.tolist() == [1, 2] and found.dtype is ms.complex64


@pytest.mark.parametrize("count", [1, 3, 64, 65])
def test_gradients_of_products_of_examples(count):
    """Multiplied one by one up to a number of factors, and by the kernel beyond."""
    x = np.random.default_rng(0).uniform(0.9, 1.1, (2, count))
    products = x.cumprod(1)
    wanted = products[:, ::-1].cumsum(1)[:, ::-1] / x
    if count <= 64:
        close(ops.vmap(ms.grad(lambda row: ops.cumprod(row, 0).sum()))(Tensor(x)), wanted)
    close(ms.grad(lambda rows: ops.cumprod(rows, 1).sum())(Tensor(x)), wanted)
    close(ops.vmap(lambda row: ops.cumprod(row, 0))(Tensor(x)), products)


def test_gradients_of_extremes_of_examples():
    x = np.array([[1.0, 3.0, 2.0], [5.0, 4.0, 6.0]])
    found = ops.vmap(ms.grad(lambda row: ops.cummax(row, 0)[0].sum()))(Tensor(x))
    assert found.tolist() == [[1, 2, 0], [2, 0, 1]]
    found = ops.vmap(ms.grad(lambda row: ops.cummin(row, 0)[0].sum()))(Tensor(x))
    assert found.tolist() == [[3, 0, 0], [1, 2, 0]]


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, -1, 1])
def test_differences(n, axis):
    close(ops.diff(T, n, axis), np.diff(X, n, axis))
    before, after = np.take(X, [0, 1], axis) + 1, np.take(X, [2], axis) * 2
    close(ops.diff(T, n, axis, Tensor(before), Tensor(after)), np.diff(
        X, n, axis, before, after))
    close(ops.diff(T, n, axis, append=Tensor(after)), np.diff(X, n, axis, append=after))
    with pytest.raises(ValueError, match="For 'diff'"):
        ops.diff(T, -1, axis)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_integrals(axis):
    close(ops.trapz(T, dim=axis), trapezoid(X, axis=axis))
    close(ops.trapz(T, dx=0.3, dim=axis), trapezoid(X, dx=0.3, axis=axis))
    points = np.cumsum(np.random.default_rng(1).random(X.shape), axis)
    close(ops.trapz(T, Tensor(points), dim=axis), trapezoid(X, points, axis=axis))
    whole = ops.trapz(Tensor([1, 2, 4]), Tensor([0, 1, 3]))
    assert whole == 7.5
    assert ops.trapz(Tensor([1.0, 3.0], ms.bfloat16)) == 2


@pytest.mark.parametrize("function", [ops.cumsum, ops.cumprod, ops.cummax, ops.cummin,
                                      ops.logcumsumexp])
def test_axes_that_are_not_there(function):
    for axis in (3, -4):
        with pytest.raises(ValueError, match=f"For '{function.__name__}'"):
            function(T, axis)
