"""Comparisons, logic and bits against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamella as ms
from lamella import Tensor, ops

A = np.array([[1.0, 2.0, np.nan], [np.inf, 0.0, -1.0]], np.float32)
B = np.array([1.0, 3.0, np.nan], np.float32)
COMPARISONS = [(ops.equal, np.equal), (ops.not_equal, np.not_equal), (ops.less, np.less),
               (ops.less_equal, np.less_equal), (ops.greater, np.greater),
               (ops.greater_equal, np.greater_equal), (ops.logical_and, np.logical_and),
               (ops.logical_or, np.logical_or), (ops.logical_xor, np.logical_xor)]
TESTS = [(ops.isnan, np.isnan), (ops.isinf, np.isinf), (ops.isfinite, np.isfinite),
         (ops.isposinf, np.isposinf), (ops.isneginf, np.isneginf), (ops.isreal, np.isreal),
         (ops.logical_not, np.logical_not), (ops.signbit, np.signbit)]


@pytest.mark.parametrize(("function", "reference"), COMPARISONS, ids=lambda f: f.__name__)
def test_comparison(function, reference):
    for b in (B, np.float32(1.0), B.astype(np.float64), np.array([1, 0, 2], np.int32)):
        got = function(Tensor(A), Tensor(b))
        assert got.dtype is ms.bool_
        np.testing.assert_array_equal(got.asnumpy(), reference(A, b))
    np.testing.assert_array_equal(function(Tensor(A), 1).asnumpy(), reference(A, 1))
    np.testing.assert_array_equal(function(1, Tensor(A)).asnumpy(), reference(1, A))


@pytest.mark.parametrize(("function", "reference"), TESTS, ids=lambda f: f.__name__)
def test_elements(function, reference):
    np.testing.assert_array_equal(function(Tensor(A)).asnumpy(), reference(A))


def test_aliases_and_methods():
    x = Tensor([1.0, 2.0])
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        np.testing.assert_array_equal(getattr(ops, name)(x, 1.0).asnumpy(),
                                      getattr(x, name)(1.0).asnumpy())
    assert x.allclose(Tensor([1.0, 2.0])) is True
    assert x.isclose(x2=Tensor([1.0, 2.5])).tolist() == [True, False]
    assert x.is_floating_point() and not x.is_complex() and x.is_signed()


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose(equal_nan):
    b = np.array([1.00001, 2.1, np.nan], np.float32)
    np.testing.assert_array_equal(
        ops.isclose(Tensor(A[0]), Tensor(b), 1e-4, 0.0, equal_nan).asnumpy(),
        np.isclose(A[0], b, 1e-4, 0.0, equal_nan))
    assert ops.approximate_equal(Tensor([1.0]), Tensor([1.5]), 0.5).tolist() == [False]
    for kind, low, high in ((ms.uint8, 1, 2), (ms.int8, -100, 100)):
        for tolerance in (0.5, 2, 60, 300):
            found = ops.approximate_equal(Tensor([low, high], kind), Tensor([high, low], kind),
                                          tolerance)
            assert found.tolist() == [high - low < tolerance] * 2


@settings(max_examples=50)
@given(st.integers(-2**31, 2**31 - 1), st.integers(-2**31, 2**31 - 1))
def test_bits(a, b):
    x, y = Tensor(np.int32(a)), Tensor(np.int32(b))
    assert int(ops.bitwise_and(x, y)) == a & b
    assert int(ops.bitwise_or(x, y)) == a | b
    assert int(ops.bitwise_xor(x, y)) == a ^ b
    assert int(ops.invert(x)) == ~a
    assert int(ops.population_count(x)) == bin(a & 0xFFFFFFFF).count("1")
    assert int(ops.bitwise_right_shift(x, 3)) == a >> 3


def test_shifts_keep_types():
    x = Tensor(np.int16([1, -8]))
    assert ops.bitwise_left_shift(x, 2).dtype is ms.int16
    assert x.bitwise_right_shift(1).tolist() == [0, -4]
    assert ops.LeftShift()(x, x.abs()).shape == (2,)


def test_complex_parts():
    z = np.array([3 + 4j, -1j], np.complex64)
    for function, reference in ((ops.real, np.real), (ops.imag, np.imag), (ops.conj, np.conj),
                                (ops.angle, np.angle), (ops.abs, np.abs)):
        np.testing.assert_allclose(function(Tensor(z)).asnumpy(), reference(z), rtol=1e-6)
    assert ops.imag(Tensor([2.0])).tolist() == [0.0]
    assert ops.view_as_real(Tensor(z)).tolist() == [[3.0, 4.0], [0.0, -1.0]]
    np.testing.assert_allclose(ops.polar(Tensor([2.0]), Tensor([np.pi / 2])).asnumpy(), [2j],
                               atol=1e-6)
    np.testing.assert_allclose(ops.Complex()(Tensor([1.0]), Tensor([2.0])).asnumpy(), [1 + 2j])


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: ops.less(Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0])), ValueError, "For 'less'"),
    (lambda: ops.equal(Tensor([1.0]), "x"), TypeError, "For 'equal'.*'other' must be.*'x'"),
    (lambda: ops.bitwise_and(Tensor([1.0]), Tensor([2.0])), TypeError, "For 'bitwise_and'"),
    (lambda: ops.isnan(1.0), TypeError, "For 'isnan', the argument 'input'"),
    (lambda: ops.view_as_real(Tensor([1.0])), TypeError, "must be complex, but got Float32"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_the_primitive_s_tolerances():
    x = Tensor(np.float32([0.0, 1.0, 1.0]))
    y = Tensor(np.float32([2e-8, 1.0 + 4e-6, 1.0 + 4e-5]))
    assert ops.IsClose()(x, y).tolist() == np.isclose(x.asnumpy(), y.asnumpy()).tolist()
    assert ops.IsClose()(x, y).tolist() == [False, True, False]


@pytest.mark.parametrize("other, given, wanted", [
    (1.0, {}, [1, 1, 0, 0]), (1.0, {"rtol": 1e-3}, [1, 1, 1, 0]),
    (1.0, {"atol": 1e-3, "rtol": 0.0}, [1, 1, 1, 0]),
    (1.0, {"rtol": 0.0, "atol": 0.0}, [1, 0, 0, 0]),
    (1.0, {"rtol": 0.2}, [1, 1, 1, 1])])
def test_tolerances(other, given, wanted):
    x = np.array([1.0, 1.000001, 1.0005, 1.125])
    want = [bool(w) for w in wanted]
    assert ops.isclose(Tensor(x), Tensor(other, ms.float64), **given).tolist() == want
    assert Tensor(x).allclose(Tensor(x * 0 + other), **given) is all(want)
    for count in range(1, 5):
        found = Tensor(x[:count]).allclose(Tensor(np.full(count, other)), **given)
        assert found is all(want[:count])


def test_the_relative_tolerance_is_of_the_second():
    x, y = Tensor([10.0, 8.0]), Tensor([8.0, 10.0])
    assert ops.isclose(x, y, 0.21, 0.0).tolist() == [False, True]
    assert not x.allclose(y, 0.21, 0.0) and x.allclose(y, 0.26, 0.0)


@pytest.mark.parametrize("equal_nan", [False, True])
def test_nan_is_close_to_nan_if_asked_for(equal_nan):
    x = Tensor([np.nan, np.nan, np.inf, np.inf])
    y = Tensor([np.nan, 1.0, np.inf, -np.inf])
    assert ops.isclose(x, y, equal_nan=equal_nan).tolist() == [equal_nan, False, True, False]
    assert x[:1].allclose(y[:1], equal_nan=equal_nan) is equal_nan
    assert not ops.isclose(x, y)[0] and not x[:1].allclose(y[:1])


def test_a_difference_of_the_tolerance_itself_counts():
    x = Tensor([1.0, 1.0, 1.0, -1.0])
    y = Tensor([1.25, 0.75, 1.125, 1.0])
    assert ops.approximate_equal(x, y, 0.25).tolist() == [False, False, True, False]
    assert ops.approximate_equal(x, y, 0.375).tolist() == [True, True, True, False]
    near = Tensor([0.0, 0.0]), Tensor([9e-6, 1.1e-5])
    assert ops.approximate_equal(*near).tolist() == [True, False]
    assert near[0].approximate_equal(near[1]).tolist() == [True, False]
