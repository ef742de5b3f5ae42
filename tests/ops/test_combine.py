"""Functions of several tensors: factors of any kind, types, zeros and infinities."""

import numpy as np
import pytest
import scipy.special as sp

import lamella as ms
from lamella import Tensor, ops

A = np.array([[1.5, -2.0, 0.0], [4.0, 0.5, -1.0]], np.float32)
B = np.array([3.0, -4.0, 0.25], np.float32)
C = np.array([[2.0], [-0.5]], np.float32)


@pytest.mark.parametrize("value", [1, 0.5, -2, Tensor(0.5), Tensor([[-3.0], [2.0]])], ids=repr)
def test_sums_with_products_and_quotients(value):
    factor = value.asnumpy() if isinstance(value, Tensor) else value
    given = Tensor(A), Tensor(B), Tensor(C), value
    np.testing.assert_allclose(ops.addcmul(*given).asnumpy(), A + factor * B * C, rtol=1e-6)
    np.testing.assert_allclose(ops.addcdiv(*given).asnumpy(), A + factor * B / C, rtol=1e-6)


@pytest.mark.parametrize("value", [1, 3, -2, 2.9, Tensor(3), Tensor([[2], [-5]])], ids=repr)
def test_quotients_of_whole_numbers_are_cut_off(value):
    a, b, c = np.array([1, 2, 3]), np.array([7, -7, 5]), np.array([[2], [-3]])
    factor = value.asnumpy() if isinstance(value, Tensor) else int(value)
    found = ops.addcdiv(Tensor(a), Tensor(b), Tensor(c), value)
    np.testing.assert_array_equal(found.asnumpy(), a + np.trunc(b * factor / c).astype(int))
    assert found.dtype is ms.int64


def test_without_a_value_the_factor_is_one():
    x = Tensor([2.0]), Tensor([6.0]), Tensor([4.0])
    assert ops.addcmul(*x).tolist() == [26.0] and ops.addcdiv(*x).tolist() == [3.5]
    whole = [t.int() for t in x]
    assert ops.addcdiv(*whole).tolist() == [3]


def test_weights_of_interpolation():
    for weight in (0.0, 1.0, 0.25, 1.5, Tensor([0.5, 0.0, 1.0]), Tensor([[0.25], [2.0]])):
        w = weight.asnumpy() if isinstance(weight, Tensor) else weight
        found = ops.lerp(Tensor(A), Tensor(B), weight)
        np.testing.assert_allclose(found.asnumpy(), A + w * (B - A), rtol=1e-6)
    assert ops.lerp(Tensor(A), Tensor(B), Tensor(0.5, ms.float64)).dtype is ms.float32
    with pytest.raises(TypeError, match="'weight' must be real"):
        ops.lerp(Tensor(A), Tensor(B), Tensor(0.5j))
    found = ops.lerp(Tensor([0j, 1j]), Tensor([2 + 0j, 0j]), Tensor([0.5 + 0j, 1j]))
    np.testing.assert_allclose(found.asnumpy(), [1, 1j + 1j * -1j])


@pytest.mark.parametrize("count", [1, 2, 5])
def test_sums_of_several(count):
    parts = [np.float32([k, 2 * k, -k]) for k in range(1, count + 1)]
    for kind in (tuple, list):
        assert ops.addn(kind(map(Tensor, parts))).tolist() == sum(parts).tolist()
    mixed = ops.addn([Tensor([1, 2]), Tensor([0.5, 1.5]), Tensor([3, 4])])
    assert mixed.dtype is ms.float32 and mixed.tolist() == [4.5, 7.5]


KINDS = [ms.float16, ms.bfloat16, ms.float32, ms.float64, ms.int32, ms.uint8]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", [-1, -0.0, 2.0, "same", "float32", "bfloat16", "int32"])
def test_signs_are_taken_over(kind, other):
    x = Tensor([1, 2, 0], kind)
    if not isinstance(other, str):
        found, signs = ops.copysign(x, other), [np.signbit(other)] * 3
    else:
        of = kind if other == "same" else getattr(ms, other)
        least = 0 if of is ms.uint8 else -5
        found, signs = ops.copysign(x, Tensor([least, 5, least], of)), [least < 0, False, least < 0]
    wanted = np.where(signs, [-1.0, -2, -0.0], [1.0, 2, 0])
    np.testing.assert_array_equal(found.astype(ms.float64).asnumpy(), wanted)
    np.testing.assert_array_equal(np.signbit(found.astype(ms.float64).asnumpy()), signs)
    if kind in (ms.float16, ms.float32, ms.float64):
        assert found.dtype is kind
    elif kind in (ms.int32, ms.uint8):
        assert found.dtype is ms.float32


def test_brain_floats_keep_their_type_beside_brain_floats_only():
    x = Tensor([1.0], ms.bfloat16)
    assert ops.copysign(x, x).dtype is ms.bfloat16
    for other in (x.astype(ms.float32), x.astype(ms.float16), -1, -1.0):
        assert ops.copysign(x, other).dtype is ms.float32


def test_powers_of_two():
    for kind in (ms.uint8, ms.int32, ms.float32):
        x = Tensor([4, 12], kind)
        for power in (-1, 0, 3, Tensor([-2.0, 1.0])):
            p = power.asnumpy() if isinstance(power, Tensor) else power
            np.testing.assert_array_equal(ops.ldexp(x, power).asnumpy(),
                                          np.array([4, 12]) * 2.0 ** p)


def test_logarithms_times_zero():
    x, y = np.array([0.0, 2.0, 0.0, 3.0]), np.array([0.0, 0.5, np.inf, 4.0])
    np.testing.assert_allclose(ops.xlogy(Tensor(x), Tensor(y)).asnumpy(), sp.xlogy(x, y))
    z = np.array([1j, 0.5 + 1j, 0, 4 - 2j])
    found = ops.xlogy(Tensor(x + 0j), Tensor(z)).asnumpy()
    np.testing.assert_allclose(found, np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, z))))


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("number", [2, 0.5])
def test_numbers_beside_half_precision_widen_it(number, left):
    x = Tensor([2.0, 3.0], ms.float16)
    found = ops.xlogy(number, x) if left else ops.xlogy(x, number)
    wanted = sp.xlogy(number, [2.0, 3.0]) if left else sp.xlogy([2.0, 3.0], number)
    assert found.dtype is ms.float32
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-3)
    assert ops.xlogy(x, x).dtype is ms.float16


@pytest.mark.parametrize("function, base", [(ops.logaddexp, np.e), (ops.logaddexp2, 2.0)])
def test_second_derivatives_of_sums_of_numbers_far_apart(function, base):
    x = np.array([0.0, 0.0, 0.0, 0.0, -200.0, 0.0, 0.0], np.float32)
    y = np.array([0.0, 3.0, -3.0, 200.0, 0.0, np.inf, -np.inf], np.float32)
    part = 1 / (1 + base ** (y.astype(np.float64) - x))
    one = Tensor(np.ones_like(x))
    _, slope = ms.jvp(function, (Tensor(x), Tensor(y)), (one, one * 0))
    np.testing.assert_allclose(slope.asnumpy(), part, rtol=1e-5, atol=1e-30)
    first = ms.grad(lambda x, y: function(x, y).sum())
    second = ms.grad(lambda x: first(x, Tensor(y)).sum())(Tensor(x))
    np.testing.assert_allclose(second.asnumpy(), part * (1 - part) * np.log(base), rtol=1e-5,
                               atol=1e-30)


@pytest.mark.parametrize("name", ["hypot", "logaddexp", "logaddexp2", "nextafter"])
def test_whole_numbers_are_computed_in_float32(name):
    reference = getattr(np, name)
    x, y = np.array([3, 5, 0]), np.array([4, -12, 2])
    found = getattr(ops, name)(Tensor(x), Tensor(y))
    assert found.dtype is ms.float32
    np.testing.assert_allclose(found.asnumpy(), reference(np.float32(x), np.float32(y)), rtol=1e-6)
    small = getattr(ops, name)(Tensor([3, 4], ms.uint8), -1)
    np.testing.assert_allclose(small.asnumpy(), reference(np.float32([3, 4]), np.float32(-1)),
                               rtol=1e-6)


def test_values_at_the_step():
    found = ops.heaviside(Tensor([[-1.0, 0.0], [0.0, 3.0]]), Tensor([0.25, -2.0]))
    assert found.tolist() == [[0.0, -2.0], [0.25, 1.0]]
