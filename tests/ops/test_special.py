"""Derivatives of special functions that have no closed form, beside integrals and sums."""

import numpy as np
import pytest
from scipy import integrate
from scipy import special as sp

import lamella as ms
from lamella import Tensor, ops

GRAD = ms.grad


def wide(values):
    return Tensor(np.asarray(values, np.float64))


def igamma_by_a(a, x):
    """By the rule for quotients, of the integral of ``t^(a-1) e^-t`` over the gamma function."""
    # t = u^(1/a) has no pole at 0
    inner = integrate.quad(lambda u: np.log(u) * np.exp(-u ** (1 / a)), 0, x**a, epsabs=1e-13)[0]
    return inner / a**2 / sp.gamma(a) - sp.digamma(a) * sp.gammainc(a, x)


@pytest.mark.parametrize("function, sign", [(ops.igamma, 1), (ops.igammac, -1)])
def test_gradients_of_incomplete_gamma_functions(function, sign):
    a, x = np.array([[0.4], [2.5], [0.9]]), np.array([0.3, 2.0, 5.0, 9.0])
    by_a, by_x = GRAD(lambda a, x: function(a, x).sum(), (0, 1))(wide(a), wide(x))
    each = np.vectorize(igamma_by_a)(a, x)
    np.testing.assert_allclose(by_a.asnumpy(), sign * each.sum(1, keepdims=True), rtol=1e-6)
    density = x ** (a - 1) * np.exp(-x) / sp.gamma(a)
    np.testing.assert_allclose(by_x.asnumpy(), sign * density.sum(0), rtol=1e-6)


@pytest.mark.parametrize("a", [2e-4, 5e-4, 1e-2])
def test_the_gradient_of_igamma_close_to_zero(a):
    """P(a, x) is 1 - a E1(x) there: steps must stay above 0."""
    found = GRAD(lambda a: ops.igamma(a, wide(0.5)))(wide(a)).asnumpy()
    np.testing.assert_allclose(found, -sp.exp1(0.5), rtol=3 * a + 1e-3)


def test_gradients_of_zeta():
    x, q = np.array([[4.0], [5.5]]), np.array([0.5, 1.0, 3.0])
    by_x, by_q = GRAD(lambda x, q: ops.zeta(x, q).sum(), (0, 1))(wide(x), wide(q))
    terms = np.arange(20000)[:, None, None] + q
    each = -(np.log(terms) * terms**-x).sum(0)
    np.testing.assert_allclose(by_x.asnumpy(), each.sum(1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(by_q.asnumpy(), (-x * sp.zeta(x + 1, q)).sum(0), rtol=1e-6)


@pytest.mark.parametrize("above", [1e-4, 1.5e-3, 0.02])
def test_the_gradient_of_zeta_close_to_its_pole(above):
    """zeta(x) is ``1 / (x - 1)`` and a constant there: steps must not reach the pole."""
    found = GRAD(lambda x: ops.zeta(x, wide(1.0)))(wide(1 + above)).asnumpy()
    np.testing.assert_allclose(found, -above**-2 + 0.0728, rtol=1e-4)


def test_gradients_of_gradients_of_zeta_by_the_second():
    """Those by `q` go through zeta of one more."""
    second = GRAD(GRAD(lambda q: ops.zeta(wide(2.5), q)))(wide(0.7)).asnumpy()
    np.testing.assert_allclose(second, 2.5 * 3.5 * sp.zeta(4.5, 0.7), rtol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_what_is_small_in_the_tail_of_igammac(kind):
    """Near 1e-13 and below, of which 1 - igamma(a, x) keeps no digit; derivatives, too."""
    a, x = np.array([1.0, 5.0, 0.5], kind), np.array([30.0, 60.0, 80.0], kind)
    close = 1e-4 if kind is np.float32 else 1e-6
    found = ops.igammac(Tensor(a), Tensor(x))
    np.testing.assert_allclose(found.asnumpy(), sp.gammaincc(a, x), rtol=close)
    wide_a, wide_x, step = a.astype(np.float64), x.astype(np.float64), 1e-5
    in_a = sp.gammaincc(wide_a + step, wide_x) - sp.gammaincc(wide_a - step, wide_x)
    in_x = sp.gammaincc(wide_a, wide_x + step) - sp.gammaincc(wide_a, wide_x - step)
    by_a, by_x = GRAD(lambda a, x: ops.igammac(a, x).sum(), (0, 1))(Tensor(a), Tensor(x))
    np.testing.assert_allclose(by_a.asnumpy(), in_a / (2 * step), rtol=close)
    np.testing.assert_allclose(by_x.asnumpy(), in_x / (2 * step), rtol=close)


def test_infinite_and_unknown_arguments_of_igamma():
    a = np.array([2.0, 2.0, np.nan, np.inf, np.nan], np.float32)
    x = np.array([np.inf, np.nan, 2.0, 2.0, np.nan], np.float32)
    np.testing.assert_array_equal(ops.igamma(Tensor(a), Tensor(x)).asnumpy(),
                                  [1, np.nan, np.nan, 0, np.nan])
    np.testing.assert_array_equal(ops.igammac(Tensor(a), Tensor(x)).asnumpy(),
                                  [0, np.nan, np.nan, 1, np.nan])


@pytest.mark.parametrize("p", [1, 2, 4])
def test_the_multivariate_gamma_function(p):
    x = np.array([2.0, 3.5])
    np.testing.assert_allclose(ops.mvlgamma(wide(x), p).asnumpy(),
                               [sp.multigammaln(v, p) for v in x], rtol=1e-9)


@pytest.mark.parametrize("p", [0, -1])
def test_dimensions_below_1(p):
    with pytest.raises(ValueError, match="'p' must be 1 or more"):
        ops.mvlgamma(wide([2.0]), p)


@pytest.mark.parametrize("given, error, text", [
    ((1.0, 1.0, [1.0]), ValueError, "'x' must have the shape"),
    ((1.0, [1.0], 1.0), ValueError, "'b' must have the shape")])
def test_betainc_takes_one_shape(given, error, text):
    with pytest.raises(error, match=text):
        ops.Betainc()(*map(wide, given))


def test_betainc_takes_one_type():
    a = wide([0.5])
    for given in ((a, a, a.float()), (a, a.float(), a)):
        with pytest.raises(TypeError, match="type must be same"):
            ops.Betainc()(*given)
    with pytest.raises(TypeError):
        ops.Betainc()(*[a.half()] * 3)
    found = ops.Betainc()(*[wide([0.5]).float()] * 3)
    assert found.dtype is ms.float32
    np.testing.assert_allclose(found.asnumpy(), [0.5], rtol=1e-6)
