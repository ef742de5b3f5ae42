"""Evenly spaced numbers, also of the examples of a `vmap`, grids and triangles, against NumPy."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

A, B = np.array([0.5, -1.0, 3.0], np.float32), np.array([2.0, 4.0, 3.0], np.float32)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_linspace_of_examples(count):
    found = ms.vmap(lambda a, b: ops.linspace(a, b, count))(Tensor(A), Tensor(B))
    np.testing.assert_allclose(found.asnumpy(), np.linspace(A, B, count).T, rtol=1e-6)
    one = ms.vmap(lambda a: ops.linspace(a, 4.0, count))(Tensor(A))
    np.testing.assert_allclose(one.asnumpy(), np.linspace(A, 4.0, count).T, rtol=1e-6)
    other = ms.vmap(lambda b: ops.linspace(-1, b, count))(Tensor(B))
    np.testing.assert_allclose(other.asnumpy(), np.linspace(-1, B, count).T, rtol=1e-6)


@pytest.mark.parametrize("given, wanted, kind", [
    ((5,), range(5), ms.int64), ((2, 7), range(2, 7), ms.int64), ((2, 7, 2), range(2, 7, 2),
                                                                  ms.int64),
    ((7, 2, -2), range(7, 2, -2), ms.int64), ((0,), [], ms.int64), ((3, 3, 2), [], ms.int64),
    ((3, 3, -2), [], ms.int64), ((1.0,), [0], ms.float32), ((0, 1, 0.25), [0, 0.25, 0.5, 0.75],
                                                            ms.float32),
    ((0.5, 3), [0.5, 1.5, 2.5], ms.float32), ((Tensor(1), Tensor(4)), [1, 2, 3], ms.int64),
    ((0, 5, 2**40), [0], ms.int64), ((5, 0, -2**40), [5], ms.int64), ((0, 0, 2**40), [],
                                                                      ms.int64)], ids=str)
def test_numbers_up_to_an_end(given, wanted, kind):
    found = ops.arange(*given)
    assert found.tolist() == list(wanted) and found.dtype is kind
    assert ops.arange(*given, dtype=ms.float16).dtype is ms.float16
    if len(given) == 3:
        assert ops.range(*given).tolist() == list(wanted)


@pytest.mark.parametrize("call, kind", [
    (lambda: ops.arange(0, 5, 0), ValueError), (lambda: ops.arange(0, 5, -1), ValueError),
    (lambda: ops.arange(5, 0), ValueError), (lambda: ops.arange(5, 0, 1), ValueError),
    (lambda: ops.arange("5"), TypeError), (lambda: ops.arange(0, None, "1"), TypeError),
    (lambda: ops.range(0, 5, 1, 4), ValueError), (lambda: ops.linspace(0, 1, 0), ValueError),
    (lambda: ops.linspace(0, 1, 2.0), TypeError),
    (lambda: ops.linspace(Tensor(0.0), Tensor(1), 2), TypeError),
    (lambda: ops.logspace(0, 1, -1), ValueError), (lambda: ops.logspace(0, 1, 2, dtype=ms.int32),
                                                   TypeError),
    (lambda: ops.meshgrid(Tensor([1]), indexing="yx"), ValueError),
    (lambda: ops.meshgrid(1), TypeError), (lambda: ops.tril_indices(-1, 2), ValueError),
    (lambda: ops.triu_indices(2, -1), ValueError)], ids=range(16))
def test_numbers_that_do_not_fit(call, kind):
    with pytest.raises(kind, match="^For '"):
        call()


def test_as_many_as_may_be():
    assert ops.range(0, 5, 1, 5).tolist() == [0, 1, 2, 3, 4]
    assert ops.logspace(0, 1, 0).shape == (0,) and ops.linspace(3, 5, 1).tolist() == [3]


@pytest.mark.parametrize("start, end, kind", [
    (1, 2, ms.float32), (Tensor(1), Tensor(2), ms.float32),
    (1, Tensor(2.0, ms.float64), ms.float64), (Tensor(1.0, ms.float16), 2, ms.float16),
    (Tensor(1.0, ms.float64), Tensor(2.0, ms.float64), ms.float64)], ids=range(5))
def test_types_of_evenly_spaced_numbers(start, end, kind):
    found = ops.linspace(start, end, 5)
    assert found.dtype is kind and found.tolist() == [1, 1.25, 1.5, 1.75, 2]


@pytest.mark.parametrize("base", [2, 10])
@pytest.mark.parametrize("kind", [ms.float32, ms.float64])
def test_powers(base, kind):
    found = ops.logspace(-1, Tensor(2.0), 4, base, dtype=kind)
    assert found.dtype is kind
    np.testing.assert_allclose(found.asnumpy(), np.logspace(-1, 2, 4, base=base), rtol=1e-6)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_grids(indexing):
    sides = [np.arange(2), np.arange(3) + 5, np.arange(4) * 2]
    for count in (1, 2, 3):
        given = [Tensor(side) for side in sides[:count]]
        wanted = np.meshgrid(*sides[:count], indexing=indexing)
        for found in (ops.meshgrid(*given, indexing=indexing),
                      ops.meshgrid(tuple(given), indexing=indexing),
                      ops.meshgrid(given, indexing=indexing)):
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(one.asnumpy(), other)


@pytest.mark.parametrize("offset", [-2, 0, 1])
@pytest.mark.parametrize("shape", [(3, 4), (4, 2), (0, 3)])
def test_positions_of_triangles(shape, offset):
    for function, wanted in ((ops.tril_indices, np.tril_indices), (ops.triu_indices,
                                                                   np.triu_indices)):
        found = function(*shape, offset)
        np.testing.assert_array_equal(found.asnumpy(), wanted(shape[0], offset, shape[1]))
        assert found.dtype is ms.int64
        assert function(*shape, offset, dtype=ms.int32).dtype is ms.int32
