"""Arithmetic, division and functions of several tensors against NumPy and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import lamella as ms
from lamella import Tensor, ops
from lamella.tensors.kernels import complex_sign
from tests.contracts import check_op

RNG = np.random.default_rng(1)
A = RNG.standard_normal((2, 3)).astype(np.float32)
B = RNG.standard_normal((3,)).astype(np.float32)
P = (np.abs(A) + 0.5).astype(np.float32)
K = np.array([[7, -7, 0], [5, 3, -2]], np.int32)
J = np.array([3, -2, 4], np.int32)

BINARY = [
    (ops.add, np.add, (A, B)), (ops.sub, np.subtract, (A, B)), (ops.mul, np.multiply, (A, B)),
    (ops.div, np.divide, (A, B)), (ops.true_divide, np.divide, (A, B)),
    (ops.pow, np.power, (P, B)), (ops.maximum, np.maximum, (A, B)),
    (ops.minimum, np.minimum, (A, B)), (ops.fmax, np.fmax, (A, B)), (ops.fmin, np.fmin, (A, B)),
    (ops.hypot, np.hypot, (A, B)), (ops.copysign, np.copysign, (A, B)),
    (ops.logaddexp, np.logaddexp, (A, B)), (ops.logaddexp2, np.logaddexp2, (A, B)),
    (ops.atan2, np.arctan2, (A, B)), (ops.remainder, np.remainder, (A, B)),
    (ops.fmod, np.fmod, (A, B)), (ops.xdivy, lambda a, b: a / b, (A, P)),
    (ops.xlogy, lambda a, b: a * np.log(b), (A, P)),
    (ops.floor_divide, np.floor_divide, (A, B)),
    (ops.truncate_div, lambda a, b: np.trunc(a / b), (A, B)),
    (ops.truncate_mod, np.fmod, (A, B)),
]
UNARY = [
    (ops.neg, np.negative, A), (ops.abs, np.abs, A), (ops.square, np.square, A),
    (ops.sqrt, np.sqrt, P), (ops.rsqrt, lambda a: 1 / np.sqrt(a), P),
    (ops.reciprocal, np.reciprocal, P), (ops.sign, np.sign, A), (ops.inv, np.reciprocal, P),
    (ops.positive, np.positive, A),
]


@pytest.mark.parametrize(("function", "reference", "args"), BINARY,
                         ids=lambda v: getattr(v, "__name__", ""))
def test_binary(function, reference, args):
    check_op(function, reference, args)


@pytest.mark.parametrize(("function", "reference", "a"), UNARY,
                         ids=lambda v: getattr(v, "__name__", ""))
def test_unary(function, reference, a):
    check_op(function, reference, (a,))


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
@pytest.mark.parametrize("length", [1, 3, 16, 19])
def test_signs_of_complex_infinities_do_not_depend_on_where_they_are(kind, length):
    special = np.array([np.inf, complex(0, -np.inf), 3 + 4j, 0, complex(np.inf, np.inf)], kind)
    values = np.resize(special, length)
    with np.errstate(invalid="ignore"):
        wanted = np.where(values == 0, 0, (values.real / np.abs(values)) + 1j * 0)
        wanted.imag = np.where(values == 0, 0, values.imag / np.abs(values))
    np.testing.assert_allclose(ops.sign(Tensor(values)).asnumpy(), wanted, rtol=1e-6)


def test_gradients_of_complex_signs_are_pytorchs():
    values = torch.randn(7, dtype=torch.complex128, generator=torch.Generator().manual_seed(0))
    values[3] = 0
    values.requires_grad_()
    by = torch.randn(7, dtype=torch.complex128, generator=torch.Generator().manual_seed(1))
    found, wanted = (torch.autograd.grad(f(values), values, by)[0]
                     for f in (complex_sign, torch.sgn))
    torch.testing.assert_close(found, wanted)


WHOLE = [ops.add, ops.sub, ops.mul, ops.floor_divide, ops.remainder, ops.fmod, ops.maximum,
         ops.minimum, ops.gcd, ops.lcm]


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_integers_stay_whole(function):
    reference = getattr(np, function.__name__, np.subtract if function is ops.sub else np.multiply)
    check_op(function, reference, (K, J))


@settings(max_examples=60)
@given(st.integers(-50, 50), st.integers(-50, 50).filter(bool))
def test_division_puts_numbers_together_again(a, b):
    x, y = Tensor(np.int64(a)), Tensor(np.int64(b))
    assert int(ops.floor_divide(x, y) * y + ops.remainder(x, y)) == a
    assert int(ops.truncate_div(x, y) * y + ops.truncate_mod(x, y)) == a
    assert int(ops.remainder(x, y)) == a % b
    assert int(x // y) == a // b


@pytest.mark.parametrize(("a", "b", "dtype"), [
    (np.float16(1), np.float32([1]), "Float32"), (np.int32(1), np.float16([1]), "Float16"),
    (np.int64(1), np.int32([1]), "Int64"), (np.uint8(1), np.int8([1]), "Int16"),
    (True, np.int32([1]), "Int32"), (2.5, np.int32([1]), "Float32"),
    (2, np.float16([1]), "Float16"), (2.5, np.array([True]), "Float32"),
])
def test_promotion(a, b, dtype):
    a = Tensor(a) if isinstance(a, np.generic) else a
    for function in (ops.add, ops.sub, ops.maximum):
        assert str(function(a, Tensor(b)).dtype) == dtype, function.__name__
        assert str(function(Tensor(b), a).dtype) == dtype, function.__name__


def test_booleans_count_in_differences():
    mask = Tensor([True, False])
    assert (1 - mask).tolist() == [0, 1]
    assert (mask - 2.5).tolist() == [-1.5, -2.5]
    assert ops.sub(Tensor([3, 4]), True).tolist() == [2, 3]
    assert ops.subtract(mask, mask).tolist() == [0, 0]


def test_floor_division_has_gradient_zero():
    x = Tensor([7.0, -3.0])
    assert ms.grad(lambda t: (t // 2 + 9 // t).sum())(x).tolist() == [0, 0]
    assert ms.grad(lambda t: ops.floor_div(t, 2.0).sum())(x).tolist() == [0, 0]


def test_numbers_on_both_sides():
    assert float(ops.add(2.0, 3.0)) == 5.0
    assert float(ops.pow(2.0, 3.0)) == 8.0


def test_in_place_methods():
    x = Tensor([4.0, -6.0])
    same = x
    x.add_(Tensor([1.0, 1.0]), alpha=2).mul_(2.0).sub_(1).div_(Tensor(2.0))
    assert same.tolist() == [5.5, -4.5]
    assert x.remainder_(2.0).tolist() == [1.5, 1.5]
    assert x.floor_divide_(1.0).tolist() == [1.0, 1.0]
    assert x.sign_() is x


def test_methods():
    x, y = Tensor([4.0, 6.0]), Tensor([1.0, 2.0])
    assert x.add(y, alpha=2).tolist() == [6.0, 10.0]
    assert x.sub(y, alpha=2).tolist() == [2.0, 2.0]
    assert x.div(Tensor([3.0, 4.0]), rounding_mode="floor").tolist() == [1.0, 1.0]
    assert x.float_power(2).dtype is ms.float64
    assert x.remainder(divisor=4.0).tolist() == [0.0, 2.0]


def test_combinations():
    c = RNG.standard_normal((2, 3)).astype(np.float32)
    check_op(ops.addcmul, lambda a, b, d, value: a + value * b * d, (A, P, c, 0.5))
    check_op(ops.addcdiv, lambda a, b, d, value: a + value * b / d, (A, c, P, 0.5))
    check_op(ops.lerp, lambda a, b, w: a + w * (b - a), (A, c, 0.25), (A, c, P))
    check_op(lambda *t: ops.addn(list(t)), lambda *t: sum(t), (A, c, P))
    check_op(ops.ldexp, lambda a, b: a * 2.0 ** b, (A, J.astype(np.float32)), check_dtype=False)
    assert ops.heaviside(Tensor([-1.0, 0.0, 2.0]), Tensor(0.5)).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: ops.add(Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0])), ValueError,
     r"For 'add'.*Tensor\[2\].*Tensor\[3\]"),
    (lambda: ops.add("a", Tensor([1.0])), TypeError, "For 'add'.*'input' must be.*'a'"),
    (lambda: ops.mul(Tensor([1.0]), None), TypeError, "For 'mul'.*'other' must be.*None"),
    (lambda: ops.sqrt(1.0), TypeError, "For 'sqrt'.*'x' must be a Tensor, but got float"),
    (lambda: ops.div(Tensor([1.0]), 2, rounding_mode="up"), ValueError, "'rounding_mode'.*'up'"),
    (lambda: ops.neg(Tensor([True])), TypeError, "For 'neg'.*Bool"),
    (lambda: ops.gcd(Tensor([1.0]), Tensor([2.0])), TypeError, "For 'gcd'"),
    (lambda: ops.addn([]), ValueError, "For 'addn'.*empty"),
    (lambda: ops.addn(Tensor([1.0])), TypeError, "For 'addn', 'x' must be a tuple or list"),
    (lambda: ops.addn([Tensor([1.0]), Tensor([1.0, 2.0])]), ValueError, r"\(1,\), \(2,\)"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


FACTORS = [2, -1, 0, Tensor(3), Tensor(-2, ms.int8)]


@pytest.mark.parametrize("sign, name", [(1, "add"), (-1, "sub"), (-1, "subtract")])
@pytest.mark.parametrize("alpha", FACTORS)
@pytest.mark.parametrize("kind", [ms.int32, ms.float32, ms.float16])
def test_scaled_sums(sign, name, alpha, kind):
    x, y = Tensor([5, -7], kind), Tensor([2, 3], kind)
    factor = alpha.item() if isinstance(alpha, Tensor) else alpha
    found = getattr(x, name)(y, alpha=alpha)
    assert found.dtype is kind
    assert found.tolist() == [5 + sign * factor * 2, -7 + sign * factor * 3]
    assert getattr(x, name)(y).tolist() == [5 + sign * 2, -7 + sign * 3]


@pytest.mark.parametrize("kind, alpha, fits", [
    (ms.int32, 0.5, False), (ms.float32, 0.5, True), (ms.int32, True, False),
    (ms.float32, False, False), (ms.bool_, True, True), (ms.bool_, False, True),
    (ms.complex64, 0.5, True), (ms.float32, "2", False), (ms.float32, None, False),
    (ms.float32, Tensor([2.0, 3.0]), False)])
def test_factors_of_sums(kind, alpha, fits):
    x = ops.ones(2, kind)
    if fits:
        assert x.add(x, alpha=alpha).dtype is kind
    else:
        with pytest.raises(TypeError):
            x.add(x, alpha=alpha)
