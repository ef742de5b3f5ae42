"""Rows combined at positions, each way beside NumPy, and positions that there aren't."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops

RNG = np.random.default_rng(2)
X = RNG.integers(1, 9, (3, 4, 2))
WAYS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
        "div": None}
# of one to three numbers; each with a position that comes twice
PLACES = {1: [[2], [0], [2]], 2: [[2, 3], [0, 1], [2, 3]], 3: [[2, 3, 1], [0, 1, 0], [2, 3, 1]]}


def combined(how, x, places, updates):
    out = x.copy()
    if how == "div":
        by = np.ones_like(out)
        np.multiply.at(by, tuple(places.T), updates)
        return np.trunc(out / by).astype(x.dtype) if x.dtype.kind == "i" else out / by
    WAYS[how].at(out, tuple(places.T), updates)
    return out


@pytest.mark.parametrize("kind", [np.int32, np.float32])
@pytest.mark.parametrize("k", PLACES)
@pytest.mark.parametrize("how", WAYS)
def test_ways(how, k, kind):
    x, places = (X * (-1) ** X).astype(kind), np.array(PLACES[k])
    updates = RNG.integers(1, 4, (3, *X.shape[k:])).astype(kind)
    wanted = combined(how, x, places, updates)
    given = Tensor(places), Tensor(updates)
    found = getattr(ops, f"tensor_scatter_{how}")(Tensor(x), *given)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5)
    kept = Parameter(Tensor(x), name="x")
    getattr(ops, f"scatter_nd_{how}")(kept, *given)
    np.testing.assert_allclose(kept.asnumpy(), wanted, rtol=1e-5)
    if k == 1:
        kept = Parameter(Tensor(x), name="x")
        getattr(ops, f"scatter_{how}")(kept, Tensor(places[:, 0]), given[1])
        np.testing.assert_allclose(kept.asnumpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("k", PLACES)
def test_rows_replaced_and_put_among_zeros(k):
    places = np.array(PLACES[k][:2])
    updates = RNG.integers(1, 4, (2, *X.shape[k:]))
    wanted, among = X.copy(), np.zeros_like(X)
    wanted[tuple(places.T)] = among[tuple(places.T)] = updates
    given = Tensor(places), Tensor(updates)
    for found in (ops.tensor_scatter_update(Tensor(X), *given),
                  ops.scatter_nd_update(Tensor(X), *given)):
        np.testing.assert_array_equal(found.asnumpy(), wanted)
    np.testing.assert_array_equal(ops.scatter_nd(*given, X.shape).asnumpy(), among)
    twice = Tensor(PLACES[k]), Tensor(np.concatenate([updates, updates[:1]]))
    among[tuple(places.T)] = updates * np.array([2, 1]).reshape(2, *[1] * (3 - k))
    np.testing.assert_array_equal(ops.scatter_nd(*twice, Tensor(list(X.shape))).asnumpy(), among)
    if k == 1:
        found = ops.scatter_update(Tensor(X), Tensor(places[:, 0]), given[1])
        np.testing.assert_array_equal(found.asnumpy(), wanted)


def test_numbers_of_rows_in_two_dimensions():
    updates = RNG.integers(1, 4, (2, 2, 4, 2))
    wanted = X.copy()
    np.add.at(wanted, np.array([[0, 2], [2, 2]]), updates)
    found = ops.scatter_add(Tensor(X), Tensor([[0, 2], [2, 2]]), Tensor(updates))
    np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("how", ["update", *WAYS])
@pytest.mark.parametrize("places, shape, kind", [
    ([[0, 0, 0, 0]], (1,), ValueError), (0, (4, 2), ValueError), ([[0]], (4, 2), ValueError),
    ([[0]], (1, 4), ValueError), ([[0], [1]], (1, 4, 2), ValueError),
    (np.zeros((1, 0), np.int64), (1, 3, 4, 2), ValueError), ([[3]], (1, 4, 2), Exception),
    ([[0, 4]], (1, 2), Exception)])
def test_positions_and_updates_that_do_not_fit(how, places, shape, kind):
    with pytest.raises(kind, match="For '|out of|index"):
        getattr(ops, f"tensor_scatter_{how}")(Tensor(X), Tensor(places), ops.ones(shape, ms.int64))


@pytest.mark.parametrize("divisor", [2, -2, 0])
def test_whole_quotients(divisor):
    """Cut towards 0; by 0 the least number."""
    x = np.array([7, -7], np.int32)
    found = ops.tensor_scatter_div(Tensor(x), Tensor([[0], [1]]), Tensor([divisor] * 2, ms.int32))
    wanted = np.trunc(x / divisor) if divisor else [np.iinfo(np.int32).min] * 2
    np.testing.assert_array_equal(found.asnumpy(), wanted)
