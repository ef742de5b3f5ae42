"""Unsigned integers of 16, 32 and 64 bits, against NumPy."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

KINDS = ("uint16", "uint32", "uint64")
MOST = {kind: int(np.iinfo(kind).max) for kind in KINDS}


def _pair(kind):
    return (np.array([0, 1, 7, 300, MOST[kind], MOST[kind] - 1], kind),
            np.array([3, 5, 2, 300, 1, MOST[kind]], kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum",
                                  "floor_divide", "remainder", "fmod", "less", "greater_equal",
                                  "equal", "logical_and", "bitwise_xor"])
def test_two_tensors(kind, name):
    x, y = _pair(kind)
    got = getattr(ops, name)(Tensor(x), Tensor(y)).asnumpy()
    want = getattr(np, name)(x, y)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["amax", "amin", "argmax", "argmin", "sum", "prod", "sort",
                                  "cumsum", "square", "negative", "invert", "nonzero"])
def test_one_tensor(kind, name):
    x = _pair(kind)[0]
    got = {"cumsum": lambda t: ops.cumsum(t, 0), "sort": lambda t: ops.sort(t)[0],
           "nonzero": lambda t: ops.nonzero(t)[:, 0]}.get(name, getattr(ops, name))(Tensor(x))
    function = getattr(np, name)
    want = function(x, dtype=kind) if name in ("sum", "prod", "cumsum") else function(x)
    want = want[0] if name == "nonzero" else want
    np.testing.assert_array_equal(got.asnumpy(), want)
    if name not in ("argmax", "argmin", "nonzero"):
        assert got.asnumpy().dtype == kind


@pytest.mark.parametrize("kind", KINDS)
def test_changed_in_place(kind):
    x = Tensor(np.array([1, 2, 3], kind))
    assert x.add_(Tensor(np.array([MOST[kind], 1, 1], kind))) is x
    np.testing.assert_array_equal(x.asnumpy(), np.array([0, 3, 4], kind))
    x[x > 3] = 9
    x[Tensor([0])] = 5
    np.testing.assert_array_equal(x.asnumpy(), np.array([5, 3, 9], kind))
    weight = ms.Parameter(Tensor(np.array([[1, 2], [3, 4]], kind)), name="weight")
    ops.scatter_add(weight, Tensor([1], ms.int32), Tensor(np.array([[1, 1]], kind)))
    np.testing.assert_array_equal(weight.asnumpy(), np.array([[1, 2], [4, 5]], kind))


def test_numbers_that_int64_cannot_hold_are_refused_where_they_would_be_wrong():
    with pytest.raises(TypeError, match="convert them to float64 first"):
        ops.gcd(Tensor(np.array([2**63 + 2], "uint64")), Tensor(np.array([2], "uint64")))


def test_compiled():
    @ms.jit
    def step(x, y):
        return (x + y) // 2, x < y

    x, y = Tensor(np.array([5, 65535], "uint16")), Tensor(np.array([7, 2], "uint16"))
    for _ in range(3):
        total, less = step(x, y)
        np.testing.assert_array_equal(total.asnumpy(), np.array([6, 0], "uint16"))
        np.testing.assert_array_equal(less.asnumpy(), [True, False])


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_out_of_range_in_an_assignment_is_explained(kind):
    x = Tensor(np.zeros((3, 2), kind))
    with pytest.raises(ValueError, match="For 'Tensor.__setitem__', index 4 is out of bounds"):
        x[Tensor([0, 4])] = Tensor(np.ones((2, 2), kind))


def test_extremes_of_segments_of_64_bits():
    x, most = Tensor(np.array([[2**64 - 1, 2], [1, 3]], np.uint64)), 2**64 - 1
    ids = Tensor([0, 0], ms.int32)
    assert ops.unsorted_segment_max(x, ids, 2).asnumpy().tolist() == [[most, 3], [0, 0]]
    assert ops.unsorted_segment_min(x, ids, 2).asnumpy().tolist() == [[1, 2], [most, most]]


ENDS = [0, 1, 2, 3, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]


@pytest.mark.parametrize("name, function", [
    ("floor_divide", np.floor_divide), ("floor_mod", np.remainder), ("fmod", np.fmod),
    ("truncate_div", np.floor_divide), ("truncate_mod", np.fmod), ("less", np.less),
    ("less_equal", np.less_equal), ("greater", np.greater), ("maximum", np.maximum),
    ("minimum", np.minimum), ("multiply", np.multiply), ("subtract", np.subtract)])
def test_pairs_around_the_half_of_the_range(name, function):
    x, y = (np.array(side, "uint64").ravel() for side in np.meshgrid(
        np.array(ENDS, "uint64"), np.array(ENDS[1:], "uint64")))
    found = getattr(ops, name)(Tensor(x), Tensor(y)).asnumpy()
    wanted = function(x, y)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["tensor_scatter_{}", "scatter_{}", "scatter_nd_{}"])
@pytest.mark.parametrize("how, function", [("max", np.maximum), ("min", np.minimum),
                                           ("add", np.add), ("sub", np.subtract),
                                           ("mul", np.multiply), ("div", None)])
def test_updates_around_the_half_of_the_range(name, how, function):
    x = np.array([2**63 + 5, 3, 2**63 + 9, 7], "uint64")
    updates = np.array([7, 2**63 + 1, 2**63 + 2], "uint64")
    target = Tensor(x) if "tensor" in name else ms.Parameter(Tensor(x), name="x")
    places = Tensor([0, 1, 2] if name == "scatter_{}" else [[0], [1], [2]], ms.int32)

    def update():
        return getattr(ops, name.format(how))(target, places, Tensor(updates))

    if function is None:
        with pytest.raises(TypeError, match="convert them to float64 first"):
            update()
    else:
        wanted = [*function(x[:3], updates), x[3]]
        assert update().tolist() == wanted
        assert target.tolist() == ([*x] if "tensor" in name else wanted)
