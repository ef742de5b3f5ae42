"""Windows as channels by loops, what fits into them, and look-ups of a cache."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops
from lamella.ops.primitives import cache_index, embedding_cache

IMAGES = np.arange(2 * 3 * 5 * 7).reshape(2, 3, 5, 7)
VOLUMES = np.arange(2 * 2 * 3 * 4 * 5).reshape(2, 2, 3, 4, 5)


def begins(n, k, s, r, same):
    """Where windows begin, and how many there are."""
    reach = r * (k - 1) + 1
    count = -(-n // s) if same else (n - reach) // s + 1
    first = -(max((count - 1) * s + reach - n, 0) // 2) if same else 0
    return [first + i * s for i in range(count)]


def laid(x, kernel, stride, rate, same):
    """(N, kernel elements and channels, positions)."""
    lengths = x.shape[2:]
    starts = [begins(*each, same) for each in zip(lengths, kernel, stride, rate, strict=True)]
    out = np.zeros((len(x), *kernel, x.shape[1], *map(len, starts)), x.dtype)
    for at in np.ndindex(*kernel):
        for place in np.ndindex(*map(len, starts)):
            where = [s[p] + a * r for s, p, a, r in zip(starts, place, at, rate, strict=True)]
            if all(0 <= w < n for w, n in zip(where, lengths, strict=True)):
                out[(slice(None), *at, slice(None), *place)] = x[(slice(None), slice(None), *where)]
    return out.reshape(len(x), -1, *map(len, starts))


@pytest.mark.parametrize("mode", ["VALID", "same"])
@pytest.mark.parametrize("kernel, stride, rate", [
    ((2, 3), (1, 2), (1, 1)), ((3, 2), (2, 3), (2, 1)), ((1, 2), (3, 1), (1, 3)),
    ((5, 7), (1, 1), (1, 1))])
def test_windows_of_images_as_channels(mode, kernel, stride, rate):
    wanted = laid(IMAGES, kernel, stride, rate, mode == "same")
    found = ops.ExtractImagePatches(kernel, stride, rate, mode)(Tensor(IMAGES))
    np.testing.assert_array_equal(found.asnumpy(), wanted)
    longer = [[1, 1, *v] for v in (kernel, stride, rate)]
    found = ops.ExtractImagePatches(*longer, mode)(Tensor(IMAGES))
    np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("mode", ["VALID", "same"])
@pytest.mark.parametrize("kernel, stride", [((2, 3, 1), (1, 2, 3)), ((1, 2, 4), (2, 1, 1)),
                                            ((3, 4, 5), (1, 1, 1))])
def test_windows_of_volumes_as_channels(mode, kernel, stride):
    wanted = laid(VOLUMES, kernel, stride, (1, 1, 1), mode == "same")
    found = ops.ExtractVolumePatches(kernel, stride, mode)(Tensor(VOLUMES))
    np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("call", [
    lambda: ops.ExtractImagePatches((6, 1), 1, 1)(Tensor(IMAGES)),
    lambda: ops.ExtractImagePatches((1, 8), 1, 1)(Tensor(IMAGES)),
    lambda: ops.ExtractImagePatches((3, 1), 1, (3, 1))(Tensor(IMAGES)),
    lambda: ops.ExtractImagePatches(1, 1, 1)(Tensor(VOLUMES)),
    lambda: ops.ExtractImagePatches((1, 1, 1), 1, 1), lambda: ops.ExtractImagePatches(0, 1, 1),
    lambda: ops.ExtractImagePatches(1, 1, 1, "PAD"),
    lambda: ops.ExtractVolumePatches((4, 1, 1), 1, "VALID")(Tensor(VOLUMES)),
    lambda: ops.ExtractVolumePatches((1, 5, 1), 1, "VALID")(Tensor(VOLUMES)),
    lambda: ops.ExtractVolumePatches((1, 1, 6), 1, "VALID")(Tensor(VOLUMES)),
    lambda: ops.ExtractVolumePatches(1, 1, "VALID")(Tensor(IMAGES)),
    lambda: ops.ExtractVolumePatches((1, 1), 1, "VALID"),
    lambda: ops.ExtractVolumePatches(1, 1, "PAD"),
    lambda: ops.Dilation2D((1, 1, 1), 1), lambda: ops.Dilation2D(1, (1, 1, 1)),
    lambda: ops.Dilation2D(1, 1, data_format="NHWC"),
    lambda: ops.Dilation2D(1, 1)(Tensor(IMAGES), ops.ones((2, 2, 2), ms.int64)),
    lambda: ops.Dilation2D(1, 1)(Tensor(IMAGES), ops.ones((2, 2), ms.int64)),
    lambda: ops.Dilation2D(1, 1)(Tensor(VOLUMES), ops.ones((2, 2, 2), ms.int64)),
    lambda: ops.DeformableOffsets((1,) * 4, (0,) * 4, (2, 2), modulated=1),
    lambda: ops.DeformableOffsets((1,) * 4, (0,) * 4, (2, 2), data_format="NHWC")], ids=range(21))
def test_windows_that_do_not_fit(call):
    with pytest.raises(ValueError, match="^For '"):
        call()


@pytest.mark.parametrize("most, wanted", [(4, {0: 1, 3: 3}), (3, {0: 1}), (0, {}),
                                          (9, {0: 1, 3: 3, 4: 4})])
def test_rows_of_a_cache_are_stored(most, wanted):
    """Those at indices that are there, up to a number."""
    cache = Parameter(ops.zeros((5, 2)), name="cache")
    rows = np.arange(1, 7).repeat(2).reshape(6, 2)
    embedding_cache.UpdateCache()(cache, Tensor([[0, -1, 3], [4, 5, 9]]),
                                  Tensor(rows, ms.float32), most)
    expected = np.zeros((5, 2))
    for row, value in wanted.items():
        expected[row] = value
    np.testing.assert_array_equal(cache.asnumpy(), expected)


def test_values_of_any_shape_are_stored():
    held = Parameter(ops.zeros((2, 2)), name="p")
    embedding_cache.DynamicAssign()(held, Tensor([[1.0, 2], [3, 4]]))
    assert held.tolist() == [[1, 2], [3, 4]]
    embedding_cache.DynamicAssign()(held, Tensor([5, 6, 7]))
    assert held.tolist() == [5, 6, 7] and held.dtype is ms.float32


def test_a_map_of_rows_keeps_what_it_holds():
    """Against a dict: each key that was looked up lately has the row it was given."""
    rng, rows = np.random.default_rng(0), 23
    table = np.zeros((rows, 4), np.int64)
    # six keys that were used long ago, at their places, hold the rows of the cache
    start = cache_index._Map(table.tolist())
    for value in range(8):
        key = 100 + value
        row, tag = start.find(None, start.place(key))
        start.rows[row][:] = key, value, -9, tag
    held = {100 + value: value for value in range(8)}
    used = dict.fromkeys(held, -9)
    hashmap = Parameter(Tensor(start.rows), name="map")
    for step in range(1, 12):
        keys = rng.choice(40, 4, replace=False)
        given = np.array([[*keys[:2], 60], [*keys[2:], -1]]) + 5
        found, old, new, at = cache_index.MapCacheIdx()(hashmap, Tensor(given), step, 50, 5)
        missing = [key for key in keys if key not in held]
        assert new.tolist() == missing and len(set(old.tolist())) == len(missing)
        for gone, key, row in zip(old.tolist(), missing, at.tolist(), strict=True):
            assert used[gone] < step - 1 and held[gone] == row
            del held[gone], used[gone]
            held[key] = row
        used |= {int(key): step for key in keys}
        wanted = [held[key] if key in held else -1 for key in (given - 5).ravel().tolist()]
        assert found.asnumpy().ravel().tolist() == wanted and found.shape == (2, 3)
        kept = {row[0]: row[1] for row in hashmap.tolist() if row[3]}
        assert kept == held


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (12,), (1, 3, 4)])
def test_a_map_has_four_columns(shape):
    with pytest.raises(ValueError, match=r"must have the shape \(rows, 4\)"):
        cache_index.MapCacheIdx()(Parameter(ops.zeros(shape, ms.int64), name="m"), Tensor([0]), 1,
                                  5, 0)


def test_a_map_without_room():
    full = Parameter(Tensor([[1, 0, 5, 1], [2, 1, 5, 1]]), name="m")
    with pytest.raises(RuntimeError, match="no empty row left"):
        cache_index.MapCacheIdx()(full, Tensor([3]), 6, 9, 0)
    for step, fits in ((6, False), (7, True)):
        table = Parameter(Tensor([[1, 4, 5, 1], [0, 0, 0, 0]]), name="m")
        if fits:
            found, old, *_ = cache_index.MapCacheIdx()(table, Tensor([3]), step, 9, 0)
            assert (found.tolist(), old.tolist()) == ([4], [1])
        else:
            with pytest.raises(RuntimeError, match="all rows of 'hashmap' are in use"):
                cache_index.MapCacheIdx()(table, Tensor([3]), step, 9, 0)
