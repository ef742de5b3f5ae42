"""Order and distinct elements, beside NumPy and PyTorch: equal elements, each axis, each option."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(5)
X = RNG.integers(0, 4, (3, 4, 5))
T = Tensor(X)


def same(found, wanted):
    np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_sorted(axis, descending):
    """Equal elements keep their order, also from the greatest down."""
    order = np.argsort(-X if descending else X, axis, kind="stable")
    wanted = np.take_along_axis(X, order, axis)
    for values, places in (ops.sort(T, axis, descending), T.sort(axis, descending),
                           T.sort(dim=axis, descending=descending),
                           ops.Sort(axis, descending)(T)):
        same(values, wanted)
        same(places, order)
    for places in (ops.argsort(T, axis, descending), T.argsort(axis, descending),
                   T.argsort(dim=axis, descending=descending)):
        same(places, order)
    assert ops.argsort(T, axis).dtype is ms.int32
    same(ops.msort(T), np.sort(X, 0))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis, count", [(0, 1), (0, 3), (1, 2), (-1, 2), (2, 5), (None, 1)])
@pytest.mark.parametrize("equal", [True, False])
def test_the_first_of_an_order(axis, count, largest, equal):
    x = X if equal else RNG.permutation(60).reshape(3, 4, 5)
    along = -1 if axis is None else axis
    order = np.argsort(-x if largest else x, along, kind="stable")
    places = np.take(order, range(count), along)
    values, found = ops.topk(Tensor(x), count, axis, largest)
    same(found, places)
    same(values, np.take_along_axis(x, places, along))
    assert found.dtype is ms.int32
    if axis in (None, -1) and largest:
        same(ops.top_k(Tensor(x), count)[1], places)
        same(ops.TopK()(Tensor(x), count)[1], places)


@pytest.mark.parametrize("call", [
    lambda: ops.topk(T, 0), lambda: ops.topk(T, 6), lambda: ops.topk(T, 4, 0),
    lambda: ops.topk(T, 1, 3), lambda: ops.topk(T, 1, -4), lambda: ops.topk(Tensor(1.0), 2),
    lambda: ops.topk(Tensor(1.0), 1, 1), lambda: ops.sort(T, 3), lambda: ops.sort(T, -4),
    lambda: ops.sort(Tensor(1.0), 1), lambda: ops.searchsorted(T[0], T, side="left", right=True)])
def test_numbers_out_of_range(call):
    with pytest.raises(ValueError, match="^For '"):
        call()


def test_numbers_have_an_order():
    assert ops.topk(Tensor(3.0), 1)[0] == 3 and ops.sort(Tensor(3.0))[0] == 3
    assert ops.sort(Tensor(3.0), -1)[1] == 0 and ops.topk(Tensor(3.0), 1, 0)[1].shape == ()


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("narrow", [False, True])
def test_places_in_sorted_rows(right, narrow):
    rows = np.sort(X, -1)
    side = "right" if right else "left"
    values = np.arange(-1, 5)
    wanted = np.stack([[np.searchsorted(row, values, side) for row in block] for block in rows])
    every = Tensor(np.broadcast_to(values, (3, 4, 6)).astype(np.float32))
    found = [ops.searchsorted(Tensor(rows), every, out_int32=narrow, right=right),
             ops.searchsorted(Tensor(rows), every, out_int32=narrow, side=side)]
    kind = ms.int32 if narrow else ms.int64
    found.append(ops.SearchSorted(kind, right)(Tensor(rows), every))
    order = Tensor(np.argsort(X, -1))
    found.append(ops.searchsorted(T, every, out_int32=narrow, right=right, sorter=order))
    found.append(ops.SearchSorted(kind, right)(T, every, order))
    for each in found:
        same(each, wanted)
        assert each.dtype is kind
    for v in (values, Tensor(values), values.tolist()):
        one = Tensor(rows[0, 0]).searchsorted(v, side)
        same(one, wanted[0, 0])
        assert one.dtype is ms.int32
    edges = [0, 1, 3]
    for given in (edges, tuple(edges), Tensor(edges)):
        found = ops.bucketize(T, given, right=right)
        same(found, np.searchsorted(edges, X, side))
        assert found.dtype is ms.int32
    same(ops.Bucketize([0.0, 1.0, 3.0])(T.float()), np.searchsorted(edges, X, "right"))


@pytest.mark.parametrize("kind", [ms.int64, ms.int32, ms.float32, ms.int8])
def test_distinct_elements(kind):
    """In the order in which they first come."""
    x = T.astype(kind)
    distinct = list(dict.fromkeys(X.ravel().tolist()))
    values, which = ops.unique(x)
    assert values.tolist() == distinct and values.dtype is kind
    same(values[which.long()], X)
    assert which.dtype is (ms.int64 if kind is ms.int64 else ms.int32)
    padded, places = ops.unique_with_pad(x, 9)
    assert padded.tolist() == distinct + [9] * (60 - len(distinct))
    same(places, which.asnumpy())
    assert places.dtype is which.dtype
    assert ops.unique_with_pad(x, Tensor(9, kind))[0].tolist() == padded.tolist()


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_without_repetitions(axis, counts, inverse):
    x = X.copy()
    x[1], x[:, 2] = x[0], x[:, 1]
    x[..., 4] = x[..., 3]
    raw = torch.from_numpy(x)
    wanted = torch.unique_consecutive(raw, return_inverse=inverse, return_counts=counts, dim=axis)
    found = ops.unique_consecutive(Tensor(x), inverse, counts, axis)
    several = inverse or counts
    for one, other in zip(found if several else [found], wanted if several else [wanted],
                          strict=True):
        same(one, other.numpy())
    always = ops.UniqueConsecutive(inverse, counts, axis)(Tensor(x))
    rest = iter(wanted[1:] if several else ())
    same(always[0], (wanted[0] if several else wanted).numpy())
    for asked, part in zip((inverse, counts), always[1:], strict=True):
        same(part, next(rest).numpy() if asked else 0)
    if axis is None:
        for part, real in zip(*((p if isinstance(p, tuple) else (p,)) for p in (
                ops.unique_consecutive(Tensor(x * 1j), inverse, counts), found)), strict=True):
            same(part, real.asnumpy() * (1j if part.dtype is ms.complex128 else 1))


@pytest.mark.parametrize("axis, k, kept", [(0, 1, False), (1, 4, True), (-1, 2, False)])
def test_one_element_of_an_order(axis, k, kept):
    x = RNG.permutation(60).reshape(3, 4, 5)
    values, places = Tensor(x).kthvalue(k, axis, kept)
    order = np.take(np.argsort(x, axis), [k - 1], axis)
    wanted = np.take_along_axis(x, order, axis)
    for found, want in ((values, wanted), (places, order)):
        same(found, want if kept else want.squeeze(axis))
    for reverse in (False, True):
        lowest = ops.NthElement(reverse)(Tensor(x), 1)
        same(lowest, np.sort(x, -1)[..., -2 if reverse else 1])
        same(ops.NthElement(reverse)(Tensor(x), 4), np.sort(x, -1)[..., 0 if reverse else 4])
    for n in (-1, 5):
        with pytest.raises(ValueError, match="'n' must be in"):
            ops.NthElement()(Tensor(x), n)


def test_bounds_in_sorted_rows():
    rows, values = np.array([[0, 1, 1, 3], [2, 2, 4, 9]]), np.array([[1, 5, 0], [2, 3, 9]])
    for name, side in (("LowerBound", "left"), ("UpperBound", "right")):
        kind = getattr(ops, name)
        wanted = [np.searchsorted(row, each, side) for row, each in zip(rows, values, strict=True)]
        same(kind()(Tensor(rows), Tensor(values)), wanted)
        assert kind(ms.int64)(Tensor(rows), Tensor(values)).dtype is ms.int64
        assert kind()(Tensor(rows), Tensor(values)).dtype is ms.int32
        for given in ((rows[0], values), (rows, values[0]), (rows, values[:1]), (rows[None],
                                                                                values[None])):
            with pytest.raises(ValueError, match="2 dimensions and as many rows"):
                kind()(*map(Tensor, given))
        with pytest.raises(TypeError, match="int32 or int64"):
            kind(ms.int16)


@pytest.mark.parametrize("name, function", [
    ("Sum", np.sum), ("Mean", np.mean), ("Max", np.max), ("Min", np.min), ("Prod", np.prod)])
def test_segments_of_ascending_numbers(name, function):
    x = RNG.normal(size=(5, 2, 3)).astype(np.float32)
    ids = np.array([0, 0, 2, 2, 2])
    found = getattr(ops, f"Segment{name}")()(Tensor(x), Tensor(ids))
    empty = np.ones((2, 3)) if name == "Prod" else np.zeros((2, 3))
    np.testing.assert_allclose(found.asnumpy(), [function(x[:2], 0), empty, function(x[2:], 0)],
                               rtol=1e-5)
    for wrong in ([0, 1, 0, 2, 2], [-1, 0, 0, 1, 1], [0, 0, 1, 1], [[0], [0], [1], [1], [1]]):
        with pytest.raises(ValueError, match=f"Segment{name}"):
            getattr(ops, f"Segment{name}")()(Tensor(x), Tensor(wrong))
