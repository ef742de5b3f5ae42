"""Smooth activations beside their formulas: values, both derivatives, options and their limits."""

import math

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

X = np.array([-30.0, -3.5, -1.1, -0.3, 0.2, 0.9, 2.7, 25.0])
SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
ERF = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x, beta=1.0, threshold=20):
    return np.where(beta * x > threshold, x, np.log1p(np.exp(beta * x)) / beta)


CASES = {
    "elu": (ops.elu, lambda x: np.where(x > 0, x, np.expm1(x))),
    "elu of 0.7": (lambda x: ops.elu(x, 0.7), lambda x: np.where(x > 0, x, 0.7 * np.expm1(x))),
    "selu": (ops.selu, lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(x))),
    "celu": (ops.celu, lambda x: np.where(x > 0, x, np.expm1(x))),
    "celu of 0.5": (lambda x: ops.celu(x, 0.5),
                    lambda x: np.where(x > 0, x, 0.5 * np.expm1(x / 0.5))),
    "gelu": (ops.gelu, lambda x: x * (1 + ERF(x / 2 ** 0.5)) / 2),
    "gelu by tanh": (lambda x: ops.gelu(x, "tanh"), lambda x: x / 2 * (
        1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x ** 3)))),
    "fast_gelu": (ops.fast_gelu, lambda x: x * sigmoid(1.702 * x)),
    "silu": (ops.silu, lambda x: x * sigmoid(x)),
    "sigmoid": (ops.sigmoid, sigmoid),
    "tanh": (ops.tanh, np.tanh),
    "softplus": (ops.softplus, softplus),
    "softplus of 3": (lambda x: ops.softplus(x, 3, 8), lambda x: softplus(x, 3, 8)),
    "softsign": (ops.softsign, lambda x: x / (1 + abs(x))),
    "tanhshrink": (ops.tanhshrink, lambda x: x - np.tanh(x)),
    "mish": (ops.mish, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "logsigmoid": (ops.logsigmoid, lambda x: np.minimum(x, 0) - np.log1p(np.exp(-abs(x)))),
}


@pytest.mark.parametrize("case", CASES)
def test_values_and_derivatives(case):
    call, formula = CASES[case]
    x, step = Tensor(X), 1e-5
    value, slope = ms.jvp(call, x, ops.ones_like(x))
    gradient = ms.grad(lambda x: call(x).sum())
    np.testing.assert_allclose(call(x).asnumpy(), formula(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(value.asnumpy(), formula(X), rtol=1e-12, atol=1e-12)
    want = (formula(X + step) - formula(X - step)) / (2 * step)
    np.testing.assert_allclose(gradient(x).asnumpy(), want, atol=1e-6)
    np.testing.assert_allclose(slope.asnumpy(), want, atol=1e-6)
    want = (gradient(x + step) - gradient(x - step)).asnumpy() / (2 * step)
    second = ms.grad(lambda x: gradient(x).sum())(x)
    np.testing.assert_allclose(second.asnumpy(), want, atol=1e-6)
    forward = ms.jvp(gradient, x, ops.ones_like(x))[1]
    np.testing.assert_allclose(forward.asnumpy(), want, atol=1e-6)


def test_the_derivative_of_selu_at_0_is_that_of_the_right_side():
    zero = Tensor([0.0, -0.0])
    np.testing.assert_allclose(ms.grad(lambda x: ops.selu(x).sum())(zero).asnumpy(), SCALE)
    np.testing.assert_allclose(ms.jvp(ops.selu, zero, ops.ones_like(zero))[1].asnumpy(), SCALE)


def test_numbers_that_are_not_floating():
    whole = Tensor([-2, 0, 3], ms.int32)
    assert ops.selu(whole).tolist() == [0, 0, 3] and ops.selu(whole).dtype is ms.int32
    for call, formula in ((ops.sigmoid, sigmoid), (ops.tanh, np.tanh)):
        found = call(whole)
        assert found.dtype is ms.float32
        np.testing.assert_allclose(found.asnumpy(), formula(np.array([-2, 0, 3])), rtol=1e-6)
    z = np.array([0.5 + 1j, -1 + 0.25j])
    np.testing.assert_allclose(ops.logsigmoid(Tensor(z)).asnumpy(), np.log(sigmoid(z)))


def test_in_place():
    x = Tensor(X)
    for call, formula in ((ops.inplace_sigmoid, sigmoid), (Tensor.sigmoid_, sigmoid),
                          (Tensor.tanh_, np.tanh)):
        y = x.copy()
        assert call(y) is y
        np.testing.assert_allclose(y.asnumpy(), formula(X), rtol=1e-12)


DATA = np.random.default_rng(8).standard_normal((2, 4, 6))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_gates_halve_an_axis(axis, kind):
    a, b = np.split(DATA.astype(kind), 2, axis)
    tolerance = {np.float64: 1e-12, np.float32: 1e-6, np.float16: 2e-3}[kind]
    for call, gated in ((ops.glu, a * sigmoid(b)), (ops.swiglu, a * sigmoid(a) * b)):
        found = call(Tensor(DATA.astype(kind)), axis)
        np.testing.assert_allclose(found.asnumpy(), gated, rtol=tolerance, atol=tolerance)
        assert found.asnumpy().dtype == kind


def test_a_narrow_gate_is_rounded_before_the_product():
    for kind in (ms.float16, ms.bfloat16):
        x = Tensor(np.random.default_rng(9).standard_normal((50, 8)), kind)
        a, b = x[:, :4], x[:, 4:]
        assert (ops.glu(x) == a * ops.sigmoid(b)).all()


@pytest.mark.parametrize("call", [ops.glu, ops.swiglu])
def test_an_odd_length_has_no_halves(call):
    for length in (1, 3):
        with pytest.raises(ValueError, match="must be even"):
            call(ops.ones((2, length)))
    assert call(ops.ones((3, 4)), -1).shape == (3, 2)
    with pytest.raises(ValueError, match="must be even"):
        call(ops.ones((3, 4)), 0)


def softmax(x, axes):
    powers = np.exp(x - x.max())
    return powers / powers.sum(axes, keepdims=True)


@pytest.mark.parametrize("axis", [0, 1, -1, -3, (1,), (0, 2), (-1, 1), (0, 1, 2)])
def test_softmax_over_axes(axis):
    x = Tensor(DATA)
    np.testing.assert_allclose(ops.softmax(x, axis).asnumpy(), softmax(DATA, axis), rtol=1e-12)
    factors = np.arange(48.0).reshape(2, 4, 6)
    found = ms.grad(lambda x: (ops.softmax(x, axis) * Tensor(factors)).sum())(x)
    p = softmax(DATA, axis)
    np.testing.assert_allclose(found.asnumpy(), p * (factors - (p * factors).sum(
        axis, keepdims=True)), rtol=1e-10)
    if axis in (0, 1, -1, -3, (1,)):
        np.testing.assert_allclose(ops.softmin(x, axis).asnumpy(), softmax(-DATA, axis))
        np.testing.assert_allclose(ops.log_softmax(x, axis).asnumpy(), np.log(p), rtol=1e-12)


def test_softmax_of_several_axes_does_not_overflow():
    found = ops.softmax(Tensor([[1000.0, 1000.0], [1000.0, -1000.0]]), (0, 1))
    np.testing.assert_allclose(found.asnumpy(), [[1 / 3, 1 / 3], [1 / 3, 0]], rtol=1e-6)


@pytest.mark.parametrize("call", [ops.log_softmax, lambda x: ops.softmax(x).log(),
                                  lambda x: ops.Softmax((0, 1))(x).log()])
def test_more_elements_than_float16_can_count(call):
    found = call(ops.zeros((1, 70000), ms.float16))
    assert found.dtype is ms.float16
    np.testing.assert_allclose(found.asnumpy(), np.full((1, 70000), -np.log(70000)), rtol=2e-3)


@pytest.mark.parametrize("call", [ops.softmax, ops.softmin, ops.log_softmax])
@pytest.mark.parametrize("axis", [True, 1.0, "0", None, ()])
def test_axes_are_ints(call, axis):
    with pytest.raises(TypeError, match="'axis'"):
        call(Tensor(DATA), axis)


@pytest.mark.parametrize("call", [ops.softmax, ops.softmin])
def test_softmax_in_another_type(call):
    found = call(Tensor([1, 3], ms.int32), dtype=ms.float64)
    sign = 1 if call is ops.softmax else -1
    assert found.dtype is ms.float64
    np.testing.assert_allclose(found.asnumpy(), softmax(sign * np.array([1.0, 3.0]), 0))
    assert Tensor([1.0, 3.0], ms.float16).softmax(0, ms.float32).dtype is ms.float32


@pytest.mark.parametrize("arguments, error", [
    (("none",), None), (("tanh",), None), (("erf",), ValueError), (("",), ValueError),
    ((None,), TypeError), ((1,), TypeError)])
def test_words_of_gelu(arguments, error):
    if error is None:
        ops.gelu(Tensor(X), *arguments)
    else:
        with pytest.raises(error, match="'approximate' must be"):
            ops.gelu(Tensor(X), *arguments)


def test_celu_without_scale():
    for zero in (0, 0.0):
        with pytest.raises(ValueError, match="'alpha' must not be 0"):
            ops.celu(Tensor(X), zero)
    np.testing.assert_allclose(ops.celu(Tensor([-1.0, 2.0]), 1e-3).asnumpy(), [-1e-3, 2])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_draws_of_classes(axis):
    logits = Tensor(DATA[0])

    def draw(tau, hard=False):
        ms.set_seed(5)
        return ops.gumbel_softmax(logits, tau, hard, axis).asnumpy()

    soft, warm, hard = draw(1.0), draw(2.0), draw(1.0, True)
    np.testing.assert_allclose(soft.sum(axis), 1)
    noise, halves = np.log(soft), 2 * np.log(warm)  # the same noise, up to a constant
    np.testing.assert_allclose(noise - noise.max(axis, keepdims=True),
                               halves - halves.max(axis, keepdims=True), atol=1e-9)
    np.testing.assert_array_equal(hard.round(12), soft == soft.max(axis, keepdims=True))


def test_draws_of_float16_are_those_of_float32_rounded_once():
    logits, found = np.linspace(-3, 3, 40).reshape(2, 20), []
    for kind in (ms.float16, ms.float32):
        ms.set_seed(5)
        found.append(ops.gumbel_softmax(Tensor(np.float16(logits), kind), 0.7))
    assert found[0].dtype is ms.float16
    np.testing.assert_array_equal(found[0].asnumpy(), found[1].half().asnumpy())


def test_drawn_classes_have_their_probabilities():
    ms.set_seed(7)
    logits = np.log(np.array([0.1, 0.6, 0.3]))
    drawn = ops.gumbel_softmax(Tensor(np.tile(logits, (4000, 1))), 0.5, True).asnumpy()
    np.testing.assert_allclose(drawn.mean(0), [0.1, 0.6, 0.3], atol=0.03)


@pytest.mark.parametrize("logits, options, error", [
    (Tensor(X), {"tau": 1e-3}, None), (Tensor(X), {"tau": 0.0}, ValueError),
    (Tensor(X), {"tau": -1.0}, ValueError), (Tensor(X), {"hard": 0}, TypeError),
    (Tensor([1, 2]), {}, TypeError)])
def test_limits_of_draws(logits, options, error):
    if error is None:
        assert ops.gumbel_softmax(logits, **options).shape == logits.shape
    else:
        with pytest.raises(error, match="For 'gumbel_softmax'"):
            ops.gumbel_softmax(logits, **options)
