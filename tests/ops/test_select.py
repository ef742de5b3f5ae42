"""Elements chosen by conditions: types, numbers, and what does not fit."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(2)
X, Y = RNG.normal(size=(2, 3, 4)).astype(np.float32)
MASK = X > 0.2


def same(found, wanted):
    np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("choose", [
    ops.where, ops.select, ops.Select(), lambda c, x, y: x.where(c, y)
    if isinstance(x, Tensor) else ops.where(c, x, y)], ids=range(4))
@pytest.mark.parametrize("x, y, kind", [
    (Tensor(X), Tensor(Y), ms.float32), (Tensor(X), 2.0, ms.float32), (Tensor(X), 2, ms.float32),
    (3.0, Tensor(Y), ms.float32)], ids=range(4))
def test_one_of_two(choose, x, y, kind):
    plain = [v.asnumpy() if isinstance(v, Tensor) else v for v in (x, y)]
    found = choose(Tensor(MASK), x, y)
    same(found, np.where(MASK, *plain).astype(np.float32))
    assert found.dtype is kind


@pytest.mark.parametrize("x, y, kind", [
    (1, 2, ms.int64), (1.0, 2, ms.float32), (1, 2.0, ms.float32), (1.0, 2.0, ms.float32),
    (Tensor([1], ms.int32), Tensor([2.0], ms.float16), ms.float16),
    (Tensor([1], ms.int32), Tensor([2]), ms.int64)], ids=range(6))
def test_types_of_two(x, y, kind):
    found = ops.where(Tensor([True, False]), x, y)
    assert found.tolist() == [1, 2] and found.dtype is kind
    # numbers other than 0 hold
    assert ops.where(Tensor([-3, 0]), x, y).tolist() == [1, 2]


def test_masks():
    x, mask = Tensor(X), Tensor(MASK)
    for value in (9, 9.0, Tensor(9), Tensor(9.0)):
        found = ops.masked_fill(x, mask, value)
        same(found, np.where(MASK, 9, X).astype(np.float32))
        assert found.dtype is ms.float32
    same(ops.masked_fill(Tensor(X[0]), mask, Tensor(9.0)), np.where(MASK, 9, X[0]))
    same(ops.masked_select(x, mask), X[MASK])
    wanted = X.copy()
    wanted[MASK] = np.arange(MASK.sum())
    for extra in (0, 2):
        same(ops.masked_scatter(x, mask, ops.arange(int(MASK.sum()) + extra)), wanted)
        changed = Tensor(X)
        changed.masked_scatter_(mask, ops.arange(int(MASK.sum()) + extra))
        same(changed, wanted)
    changed = Tensor(X)
    changed.masked_fill_(mask, 9)
    same(changed, np.where(MASK, 9, X).astype(np.float32))


@pytest.mark.parametrize("call, kind", [
    (lambda x, m: ops.masked_fill(x, m, Tensor([1.0])), ValueError),
    (lambda x, m: ops.masked_fill(x, m.long(), 1.0), TypeError),
    (lambda x, m: ops.masked_select(x, m.long()), TypeError),
    (lambda x, m: ops.masked_scatter(x, m.long(), x), TypeError),
    (lambda x, m: ops.masked_scatter(x, m, ops.ones(int(MASK.sum()) - 1)), ValueError),
    (lambda x, m: x.masked_scatter_(m, ops.ones(int(MASK.sum()) - 1)), ValueError),
    (lambda x, m: ops.masked_scatter(x, m[:1], ops.ones(int(MASK[:1].sum()) * 3 - 1)), ValueError),
    (lambda x, m: x.masked_fill_(m.long(), 1.0), TypeError)], ids=range(8))
def test_masks_that_do_not_fit(call, kind):
    with pytest.raises(kind, match="^For '"):
        call(Tensor(X), Tensor(MASK))


def test_places_of_what_is_not_0():
    x = X * MASK
    for found in (ops.nonzero(Tensor(x)), ops.argwhere(Tensor(x)), ops.NonZero()(Tensor(x)),
                  Tensor(x).nonzero(), Tensor(x).argwhere()):
        same(found, np.argwhere(x))
        assert found.dtype is ms.int64
    for one, wanted in zip(ops.nonzero(Tensor(x), as_tuple=True), np.nonzero(x), strict=True):
        same(one, wanted)


def test_a_part_or_a_choice():
    x = Tensor(X)
    same(x.select(1, 2), X[:, 2])
    same(x.select(-2, -1), X[-1])
    same(x.select(dim=0, index=1), X[1])
    same(x.select(Tensor(MASK), Tensor(Y)), np.where(MASK, X, Y))
    same(x.select(condition=Tensor(MASK), y=2.0), np.where(MASK, X, np.float32(2)))


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_each_elements_choice(mode):
    index = np.array([[0, 1, 2], [3, -1, -4]])
    choices = [[[1, 2, 3]], [[10], [20]], 100]
    whole = [np.broadcast_to(c, (2, 3)) for c in choices]
    wanted = np.choose(index, whole, mode=mode)
    same(Tensor(index).choose(choices, mode), wanted)
    same(Tensor(index).choose(Tensor(np.stack(whole)), mode), wanted)
    found = Tensor([0, 1]).choose([Tensor([1, 2]), Tensor([0.5, 0.25])])
    assert found.tolist() == [1.0, 0.25] and found.dtype is ms.float32
    with pytest.raises(ValueError, match="'mode' must be"):
        Tensor(index).choose(choices, "raise")
