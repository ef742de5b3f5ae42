"""Pools over even windows and at random positions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.adaptive_pooling import fractional_pool, pooling_sequence


def test_samples_have_gradient_zero_beside_the_inputs():
    x = np.random.default_rng(0).permutation(50).reshape(1, 2, 5, 5).astype(np.float32)
    samples = np.random.default_rng(1).random((1, 2, 2)).astype(np.float32)
    by_x, by_samples = ms.grad(lambda x, samples: ops.fractional_max_pool2d(
        x, 2, 3, return_indices=True, _random_samples=samples)[0], (0, 1))(
            Tensor(x), Tensor(samples))
    theirs = torch.tensor(x, requires_grad=True)
    torch.nn.functional.fractional_max_pool2d(
        theirs, 2, 3, _random_samples=torch.tensor(samples)).sum().backward()
    np.testing.assert_array_equal(by_x.asnumpy(), theirs.grad)
    assert not by_samples.asnumpy().any()


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("mean", [False, True])
def test_cells_of_any_size_are_pooled_whole(mean, overlapping):
    x = np.random.default_rng(2).standard_normal((2, 9, 7, 3))
    rows, columns = np.array([0, 2, 3, 7, 9]), np.array([0, 3, 4, 7])

    def cells(ends, length):
        return [slice(begin, min(end + overlapping, length))
                for begin, end in zip(ends, ends[1:], strict=False)]

    def pooled(x):
        return fractional_pool(x, torch.tensor(rows), torch.tensor(columns), mean, overlapping)

    want, slopes = np.empty((2, 4, 3, 3)), np.zeros_like(x)
    for i, row in enumerate(cells(rows, 9)):
        for j, column in enumerate(cells(columns, 7)):
            cell = x[:, row, column]
            want[:, i, j] = cell.mean((1, 2)) if mean else cell.max((1, 2))
            slopes[:, row, column] += 1 / cell[0, ..., 0].size if mean else (
                cell == want[:, None, None, i, j])
    np.testing.assert_allclose(pooled(Tensor(x)).asnumpy(), want, rtol=1e-6)
    gradient = ms.grad(lambda x: pooled(x).sum())(Tensor(x))
    np.testing.assert_allclose(gradient.asnumpy(), slopes, rtol=1e-6)


RNG = np.random.default_rng(20)


def windows(length, count):
    """The even windows of one dimension, from the share's floor to the next one's ceiling."""
    return [slice(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("size", [(3, 2, 4), (1, 7, 3), (None, 4, None), 2])
@pytest.mark.parametrize("kind, batch", [(np.float64, (2, 3)), (np.float32, (3,)),
                                         (np.int64, (2, 3)), (np.int64, (3,))])
def test_even_windows(rank, size, kind, batch):
    lengths = (5, 7, 6)[:rank]
    x = (RNG.permutation(int(np.prod((*batch, *lengths)))).reshape(*batch, *lengths) * 8
         ).astype(kind)
    given = size if isinstance(size, int) else size[:rank]
    counts = [n if c is None else c for n, c in zip(
        lengths, (size,) * rank if isinstance(size, int) else size, strict=False)]
    parts = [windows(n, c) for n, c in zip(lengths, counts, strict=True)]
    most, mean = np.empty((*batch, *counts), kind), np.empty((*batch, *counts))
    places = np.empty((*batch, *counts), int)
    for at in np.ndindex(*counts):
        window = (..., *(p[i] for p, i in zip(parts, at, strict=True)))
        axes = tuple(range(-rank, 0))
        most[(..., *at)], mean[(..., *at)] = x[window].max(axes), x[window].mean(axes)
        for lead in np.ndindex(*batch):
            places[(*lead, *at)] = np.argmax(x[lead].ravel() == most[(*lead, *at)])
    call = getattr(ops, f"adaptive_max_pool{rank}d")
    if kind is np.int64 and rank < 3:
        with pytest.raises(TypeError, match="not supported"):
            call(Tensor(x), given)
        return
    found = call(Tensor(x), given)
    assert found.asnumpy().dtype == kind
    np.testing.assert_array_equal(found.asnumpy(), most)
    if rank > 1:
        found, indices = call(Tensor(x), given, True)
        assert indices.dtype is (ms.int32 if rank == 3 else ms.int64)
        np.testing.assert_array_equal(found.asnumpy(), most)
        np.testing.assert_array_equal(indices.asnumpy(), places)
    found = getattr(ops, f"adaptive_avg_pool{rank}d")(Tensor(x), given).asnumpy()
    np.testing.assert_allclose(found, np.trunc(mean) if kind is np.int64 else mean, rtol=1e-6)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("size, error", [
    (0, ValueError), (-1, ValueError), ("3", TypeError), (1.0, TypeError), ((2.0,), TypeError),
    ((1,) * 4, ValueError), ((), ValueError)])
def test_sizes_of_even_windows(rank, kind, size, error):
    call = getattr(ops, f"adaptive_{kind}_pool{rank}d")
    x = ops.ones((1, 1, *(3,) * rank))
    assert call(x, (1,) * rank).shape == (1, 1, *(1,) * rank)
    with pytest.raises(error, match=f"For 'adaptive_{kind}_pool{rank}d', 'output_size'"):
        call(x, size)


@pytest.mark.parametrize("rank", [2, 3])
def test_sizes_of_random_windows(rank):
    call = getattr(ops, f"fractional_max_pool{rank}d")
    x = RNG.permutation(2 * 8 ** rank).reshape(1, 2, *(8,) * rank)
    for given, count in (({"output_size": 3}, 3), ({"output_size": (3,) * rank}, 3),
                         ({"output_ratio": 0.5}, 4), ({"output_ratio": (0.5,) * rank}, 4)):
        found, places = call(Tensor(x), 2, **given, return_indices=True)
        assert found.shape == places.shape == (1, 2, *(count,) * rank)
        flat = x.reshape(1, 2, -1)
        np.testing.assert_array_equal(found.asnumpy().reshape(1, 2, -1), np.take_along_axis(
            flat, places.asnumpy().reshape(1, 2, -1), 2))
        assert found.dtype is ms.int64
    for given in ({}, {"output_size": 3, "output_ratio": 0.5}):
        with pytest.raises(ValueError, match="exactly one of 'output_size' and 'output_ratio'"):
            call(Tensor(x), 2, **given)


@pytest.mark.parametrize("length, count", [(10, 3), (7, 5), (12, 4), (9, 8), (5, 5), (20, 7)])
@pytest.mark.parametrize("pseudo_random", [True, False])
def test_cells_cover_the_whole_length(length, count, pseudo_random):
    source = torch.Generator().manual_seed(1)
    seen = set()
    for _ in range(30):
        ends = pooling_sequence(length, count, pseudo_random, source)
        widths = ends.diff().tolist()
        assert ends[0] == 0 and ends[-1] == length and len(widths) == count
        assert set(widths) <= {length // count, -(-length // count)}
        seen.add(tuple(widths))
    assert (len(seen) > 1) == (length % count > 0)
