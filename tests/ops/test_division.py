"""Division beside NumPy and Python's own integers: signs, zeros, limits of types."""

import math

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

WHOLE = [12, -18, 0, 7, -1, 100]
PARTS = [8, 27, 5, 0, -3, -75]
KINDS = [ms.int8, ms.int16, ms.int32, ms.int64]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name, reference", [("gcd", math.gcd), ("lcm", math.lcm)])
def test_divisors_and_multiples(name, reference, kind):
    wanted = [reference(a, b) for a, b in zip(WHOLE, PARTS, strict=True)]
    wanted = np.array(wanted).astype(str(kind).lower())
    for given, other in ((WHOLE, PARTS), (PARTS, WHOLE)):
        found = getattr(ops, name)(Tensor(given, kind), Tensor(other, kind))
        assert found.dtype is kind
        np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_divisors_of_the_least_numbers_and_of_large_ones(name):
    function = getattr(ops, name)
    least = Tensor([-128, -128], ms.int8)
    assert function(least, Tensor([6, 0], ms.int8)).tolist()[0] == {"gcd": 2, "lcm": -128}[name]
    large = Tensor(np.array([2**63 - 1, 6], np.uint64))
    if name == "gcd":
        assert function(large, Tensor(np.array([7, 4], np.uint64))).tolist() == [7, 2]
    for given in ((np.array([2**63, 6], np.uint64), np.array([1, 1], np.uint64)),
                  (np.array([1, 1], np.uint64), np.array([6, 2**63], np.uint64))):
        with pytest.raises(TypeError, match="2\\*\\*63 and above"):
            function(*map(Tensor, given))
    for other in (1.0, Tensor([True])):
        with pytest.raises(TypeError, match=f"For '{name}', the tensors must hold integers"):
            function(Tensor([other]) if isinstance(other, float) else other, other)


X = np.array([7.5, -7.5, 6.0, -6.0, 0.0, 2.25], np.float32)
Y = np.array([2.0, 2.0, -4.0, -4.0, 3.0, -0.5], np.float32)


@pytest.mark.parametrize("mode, reference", [
    (None, np.divide), ("floor", np.floor_divide), ("trunc", lambda a, b: np.trunc(a / b))])
@pytest.mark.parametrize("kind", [np.float32, np.int32, np.int8])
def test_rounding_modes(mode, reference, kind):
    x, y = X.astype(kind), np.where(Y == -0.5, -1, Y).astype(kind)
    wanted = reference(x, y)
    found = ops.div(Tensor(x), Tensor(y), rounding_mode=mode)
    assert found.dtype == (ms.float32 if mode is None else Tensor(x).dtype)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)
    np.testing.assert_array_equal(Tensor(x).divide(Tensor(y), rounding_mode=mode).asnumpy(),
                                  found.asnumpy())


@pytest.mark.parametrize("mode, reference", [
    (None, np.divide), ("floor", np.floor_divide), ("trunc", lambda a, b: np.trunc(a / b))])
def test_division_in_place(mode, reference):
    for other in (Tensor(Y), 4.0, -1.5):
        x = Tensor(X)
        value = other.asnumpy() if isinstance(other, Tensor) else other
        assert x.div_(other, rounding_mode=mode) is x
        np.testing.assert_allclose(x.asnumpy(), reference(X, value), rtol=1e-6)
    x = Tensor(X)
    assert x.remainder_(Tensor(Y)) is x
    np.testing.assert_allclose(x.asnumpy(), np.remainder(X, Y))
    x = Tensor(X)
    assert x.floor_divide_(Tensor(Y)) is x
    np.testing.assert_allclose(x.asnumpy(), np.floor_divide(X, Y))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name, wanted", [
    ("floor_divide", [-4, 2, -2, 3]), ("truncate_div", [-3, 2, -2, 3]),
    ("tensor_div", [-3, 2, -2, 3]), ("remainder", [1, -1, 0, 0]), ("floor_mod", [1, -1, 0, 0]),
    ("fmod", [-1, -1, 0, 0]), ("truncate_mod", [-1, -1, 0, 0])])
def test_signs_of_whole_quotients(name, wanted, kind):
    x, y = Tensor([-7, -5, 6, -9], kind), Tensor([2, -2, -3, -3], kind)
    found = getattr(ops, name)(x, y)
    assert found.dtype is kind and found.tolist() == wanted


@pytest.mark.parametrize("kind", [ms.float32, ms.float64, ms.complex64])
def test_quotients_in_their_own_type_have_fractions(kind):
    found = ops.tensor_div(Tensor([7, -7], kind), Tensor([2, 4], kind))
    assert found.dtype is kind and found.tolist() == [3.5, -1.75]


@pytest.mark.parametrize("x, other, kind", [
    (Tensor([7, -7], ms.float16), Tensor(2.5), ms.float16),
    (Tensor([7, -7]), Tensor(2.5), ms.float32),
    (Tensor([7, -7], ms.float16), Tensor([2.5]), ms.float32),
    (Tensor([7, -7], ms.int32), Tensor(3), ms.int32), (Tensor([7], ms.int32), 2.5, ms.float32),
    (Tensor([7, -7], ms.int32), Tensor([3]), ms.int64),
    (Tensor(7), Tensor([3, 2], ms.int32), ms.int64),
    (7, Tensor([3, 2], ms.int8), ms.int8)], ids=repr)
def test_a_divisor_of_rank_0_has_no_say_in_the_type(x, other, kind):
    found = ops.fmod(x, other)
    a, b = (v.asnumpy() if isinstance(v, Tensor) else v for v in (x, other))
    assert found.dtype is kind
    np.testing.assert_allclose(found.asnumpy(), np.fmod(a, b))


def test_numbers_on_the_left():
    x = Tensor([2, -4], ms.int32)
    assert ops.fmod(7, x).tolist() == [1, 3]
    assert ops.remainder(7, x).tolist() == [1, -1]
    assert ops.floor_divide(7, x).tolist() == [3, -2]
    assert ops.truncate_mod(-7, x).tolist() == [-1, -3]
    assert ops.true_divide(7, x).tolist() == [3.5, -1.75]
    assert ops.xdivy(1, x).tolist() == [0.5, -0.25]


@pytest.mark.parametrize("y", [0.0, np.nan, np.inf, -2.0])
def test_nothing_over_anything_is_nothing_and_has_no_slope(y):
    x, other = Tensor([0.0, 3.0]), Tensor([y, 2.0])
    assert ops.xdivy(x, other).tolist() == [0.0, 1.5]
    by_x, by_y = ms.grad(lambda a, b: ops.xdivy(a, b).sum(), (0, 1))(x, other)
    assert by_x.tolist()[1] == 0.5 and by_y.tolist() == [0.0, -0.75]
    assert not np.isnan(by_x.asnumpy()).any()
