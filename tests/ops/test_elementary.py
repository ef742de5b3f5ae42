"""Exponentials, rounding, trigonometry and special functions against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import lamella as ms
from lamella import Tensor, ops
from tests.contracts import check_op

RNG = np.random.default_rng(2)
X = RNG.standard_normal((2, 3)).astype(np.float32)
U = RNG.uniform(-0.9, 0.9, (2, 3)).astype(np.float32)
P = RNG.uniform(0.3, 3, (2, 3)).astype(np.float32)

FUNCTIONS = [
    (ops.exp, np.exp, X), (ops.expm1, np.expm1, X), (ops.exp2, np.exp2, X), (ops.log, np.log, P),
    (ops.log1p, np.log1p, P), (ops.log2, np.log2, P), (ops.log10, np.log10, P),
    (ops.logit, sp.logit, np.abs(U) * 0.9 + 0.05), (ops.sin, np.sin, X), (ops.cos, np.cos, X),
    (ops.tan, np.tan, U), (ops.asin, np.arcsin, U), (ops.acos, np.arccos, U),
    (ops.arcsin, np.arcsin, U), (ops.atan, np.arctan, X), (ops.sinh, np.sinh, X),
    (ops.cosh, np.cosh, X), (ops.asinh, np.arcsinh, X), (ops.acosh, np.arccosh, P + 1),
    (ops.atanh, np.arctanh, U), (ops.sinc, np.sinc, P), (ops.deg2rad, np.deg2rad, X),
    (ops.rad2deg, np.rad2deg, X), (ops.erf, sp.erf, X), (ops.erfc, sp.erfc, X),
    (ops.erfinv, sp.erfinv, U), (ops.lgamma, sp.gammaln, P), (ops.digamma, sp.digamma, P),
    (ops.i0, sp.i0, X), (ops.bessel_i0, sp.i0, X), (ops.bessel_i0e, sp.i0e, P),
    (ops.bessel_i1, sp.i1, P), (ops.bessel_i1e, sp.i1e, P), (ops.bessel_j0, sp.j0, P),
    (ops.bessel_j1, sp.j1, P), (ops.bessel_y0, sp.y0, P), (ops.bessel_y1, sp.y1, P),
    (ops.bessel_k0, sp.k0, P), (ops.bessel_k0e, sp.k0e, P), (ops.bessel_k1, sp.k1, P),
    (ops.bessel_k1e, sp.k1e, P),
]


@pytest.mark.parametrize(("function", "reference", "x"), FUNCTIONS,
                         ids=lambda v: getattr(v, "__name__", ""))
def test_function(function, reference, x):
    check_op(function, reference, (x.astype(np.float32),), rtol=1e-4, atol=1e-5)


TRANSFORMED = [(f, x) for f, _, x in FUNCTIONS] + [(f, X * 3) for f in (
    ops.relu, ops.relu6, ops.elu, ops.selu, ops.celu, ops.gelu, ops.fast_gelu, ops.silu,
    ops.hardswish, ops.hardsigmoid, ops.hardshrink, ops.softshrink, ops.hardtanh, ops.leaky_relu,
    ops.logsigmoid, ops.softsign, ops.softplus, ops.tanhshrink, ops.sigmoid, ops.tanh, ops.square,
    ops.abs, ops.neg, ops.softmax, ops.log_softmax, ops.cumsum)] + [
    (f, P) for f in (ops.sqrt, ops.rsqrt, ops.reciprocal)]


@pytest.mark.parametrize(("function", "x"), TRANSFORMED, ids=lambda v: getattr(v, "__name__", ""))
def test_batches_and_forward_derivatives(function, x):
    """Both by one example after the other, and by the gradient in a random direction."""
    def call(value):
        return function(value, -1) if function is ops.cumsum else function(value)

    def weighted(value):
        return (call(value) * weight).sum()

    x, direction = Tensor(x.astype(np.float64)), Tensor(RNG.standard_normal((2, 3)))
    weight = Tensor(RNG.standard_normal(3))
    slopes = [ms.grad(weighted)(row) for row in x]
    np.testing.assert_allclose(ops.vmap(call)(x).asnumpy(), call(x).asnumpy(), rtol=1e-10)
    np.testing.assert_allclose(ops.vmap(ms.grad(weighted))(x).asnumpy(),
                               np.stack([slope.asnumpy() for slope in slopes]), rtol=1e-10)
    for row, along, slope in zip(x, direction, slopes, strict=True):
        moved = ms.jvp(weighted, row, along)[1].asnumpy()
        np.testing.assert_allclose(moved, (slope * along).sum().asnumpy(), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("function", [f for f, _, _ in FUNCTIONS if f is not ops.logit],
                         ids=lambda f: f.__name__)
def test_integers_become_float32(function):
    assert function(Tensor([1, 1])).dtype is ms.float32


@pytest.mark.parametrize(("function", "reference"), [
    (ops.ceil, np.ceil), (ops.floor, np.floor), (ops.trunc, np.trunc), (ops.round, np.rint),
    (ops.frac, lambda a: a - np.trunc(a))])
def test_rounding(function, reference):
    x = np.array([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.4], np.float32)
    check_op(function, reference, (x,), grad=False)
    whole = function(Tensor([1, -2]))
    assert whole.dtype is ms.int64


def test_round_to_decimals():
    assert ops.round(Tensor([1.26, -1.24]), decimals=1).asnumpy().tolist() == pytest.approx(
        [1.3, -1.2])
    assert Tensor([126.0]).round(-1).tolist() == [130.0]


def test_special_functions_of_two_arguments():
    a = np.array([0.5, 1.5, 4.0], np.float32)
    x = np.array([1.0, 0.4, 5.0], np.float32)
    check_op(ops.igamma, sp.gammainc, (a, x), order=1, rtol=1e-5)
    check_op(ops.igammac, sp.gammaincc, (a, x), order=1, rtol=1e-5)
    check_op(ops.zeta, sp.zeta, (a + 1.5, x + 1), grad=(1,), rtol=1e-5)
    check_op(ops.polygamma, sp.polygamma, (2, x), check_dtype=False, rtol=1e-4)
    check_op(ops.mvlgamma, lambda v, p: np.array([sp.multigammaln(e, p) for e in v]), (a + 2, 3),
             check_dtype=False, rtol=1e-4)


def test_bessel_functions_keep_half_precision():
    assert ops.bessel_j0(Tensor(np.float16([1.0]))).dtype is ms.float16


def test_nan_to_num_and_eps():
    x = Tensor([float("nan"), float("inf"), -float("inf")])
    assert ops.nan_to_num(x, 1.0, 2.0, 3.0).tolist() == [1.0, 2.0, 3.0]
    assert ops.nan_to_num(x).asnumpy()[1] == np.finfo(np.float32).max
    assert ops.eps(Tensor(np.float16([3.0]))).asnumpy()[0] == np.finfo(np.float16).eps


def test_logit_clamps():
    assert ops.logit(Tensor([0.0, 1.0]), 0.25).asnumpy() == pytest.approx(sp.logit([0.25, 0.75]))


def test_in_place_methods():
    x = Tensor([0.0, 1.0])
    assert x.exp_() is x
    assert x.asnumpy() == pytest.approx([1.0, np.e])
    assert x.log_().asnumpy() == pytest.approx([0.0, 1.0], abs=1e-6)
    assert Tensor([1.7]).floor_().tolist() == [1.0]
    assert Tensor([0.0]).erfinv_().tolist() == [0.0]


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: ops.sin(1.0), TypeError, "For 'sin', the argument 'input' must be a Tensor"),
    (lambda: ops.mvlgamma(Tensor([3.0]), 0), ValueError, "For 'mvlgamma', 'p' must be 1 or more"),
    (lambda: ops.polygamma(1.5, Tensor([3.0])), TypeError, "'n' must be an int, but got 1.5"),
    (lambda: ops.igamma(Tensor([3.0, 1.0]), Tensor([1.0, 2.0, 3.0])), ValueError, "For 'igamma'"),
    (lambda: ops.sin(Tensor([1.0]), 2), TypeError,
     r"For 'sin', sin\(\) takes 1 positional argument but 2 were given"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("kind", [ms.bool_, ms.uint8, ms.int32, ms.int64])
@pytest.mark.parametrize("name", ["ceil", "floor", "trunc", "round", "frac"])
def test_what_is_whole_stays_as_it_is(name, kind):
    x = Tensor([1, 0], kind)
    found = getattr(ops, name)(x)
    assert found.tolist() == ([0, 0] if name == "frac" else x.tolist())
    assert found.dtype is (ms.int64 if name == "frac" and kind is ms.bool_ else kind)
    found[0] = 0  # a value of its own
    assert x.tolist()[0] == 1


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_decimals(decimals):
    x = np.array([1234.5678, -0.0449, 55.5, -149.9999])
    wanted = np.round(x, decimals)
    for found in (ops.round(Tensor(x), decimals=decimals), Tensor(x).round(decimals)):
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-12)
    np.testing.assert_array_equal(Tensor(x).round().asnumpy(), np.round(x))


@pytest.mark.parametrize("given, wanted", [
    ({}, (0.0, "max", "min")), ({"nan": 5.0}, (5.0, "max", "min")),
    ({"posinf": 5.0}, (0.0, 5.0, "min")), ({"neginf": 5.0}, (0.0, "max", 5.0))])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_what_takes_the_place_of_nan_and_infinities(kind, given, wanted):
    x = np.array([np.nan, np.inf, -np.inf, 1.5], kind)
    info = np.finfo(kind)
    values = [getattr(info, w) if isinstance(w, str) else w for w in wanted]
    np.testing.assert_array_equal(ops.nan_to_num(Tensor(x), **given).asnumpy(), [*values, 1.5])


def test_logits_outside_of_their_range():
    assert np.isnan(ops.logit(Tensor([-0.1, 1.1])).asnumpy()).all()
    assert ops.logit(Tensor([0.0, 1.0])).tolist() == [-np.inf, np.inf]
    x = np.array([0.05, 0.1, 0.5, 0.95])
    np.testing.assert_allclose(ops.logit(Tensor(x), 0.1).asnumpy(), sp.logit(x.clip(0.1, 0.9)))


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_distances_to_the_next_number(kind):
    digits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[kind]
    found = ops.eps(Tensor([[3.0, 1e-4]], getattr(ms, kind)))
    assert found.shape == (1, 2) and found.dtype is getattr(ms, kind)
    assert found.astype(ms.float64).tolist() == [[2.0 ** -digits] * 2]
    if kind == "bfloat16":
        assert ops.exp2(Tensor([3.0], ms.bfloat16)).dtype is ms.float32
