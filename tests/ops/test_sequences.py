"""Sequences against loops over them, random numbers against their distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import lamella as ms
from lamella import Tensor, ops
from tests.contracts import check_op


def _levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def _sparse(rows, width):
    places = [[i // 2, i % 2, j] for i, row in enumerate(rows) for j in range(len(row))]
    return (Tensor(np.array(places, np.int64).reshape(-1, 3)),
            Tensor(np.array([v for row in rows for v in row], np.int32)), Tensor([3, 2, width]))


@pytest.mark.parametrize("seed", range(4))
def test_edit_distance(seed):
    rng = np.random.default_rng(seed)
    first, second = ([rng.integers(0, 3, rng.integers(0, 9)).tolist() for _ in range(6)]
                     for _ in range(2))
    want = np.array([_levenshtein(a, b) for a, b in zip(first, second, strict=True)], np.float32)
    args = (*_sparse(first, 8), *_sparse(second, 8))
    np.testing.assert_array_equal(ops.EditDistance(False)(*args).asnumpy().ravel(), want)
    lengths = np.array(list(map(len, second)), np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(want == 0, 0, want / lengths)
    np.testing.assert_allclose(ops.EditDistance()(*args).asnumpy().ravel(), share, rtol=1e-6)


def test_words_that_would_end_a_run_again_get_no_chance():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 4, (2, 3, 12))
    chances = rng.random((2, 3, 5)).astype(np.float32)
    for size in (1, 2, 3):
        want = chances.copy()
        for place in np.ndindex(2, 3):
            said = words[place].tolist()
            for i in range(len(said) - size + 1):
                if said[i:i + size - 1] == said[len(said) - size + 1:]:
                    want[place][said[i + size - 1]] = np.finfo(np.float32).min
        got = ops.NoRepeatNGram(size)(Tensor(words, ms.int32), Tensor(chances))
        np.testing.assert_array_equal(got.asnumpy(), want)


def test_ragged_ranges():
    rng = np.random.default_rng(0)
    start, limit = rng.integers(-20, 20, (2, 50))
    step = rng.choice([-4, -3, -1, 1, 2, 5], 50)
    splits, values = ops.RaggedRange(ms.int32)(Tensor(start), Tensor(limit), Tensor(step))
    want = [np.arange(*three) for three in zip(start, limit, step, strict=True)]
    np.testing.assert_array_equal(values.asnumpy(), np.concatenate(want))
    np.testing.assert_array_equal(splits.asnumpy(), np.cumsum([0, *map(len, want)]))


def test_hits_and_confusions():
    hits = ops.ComputeAccidentalHits(2)(Tensor([[1, 2], [0, 4], [3, 3]]), Tensor([4, 3, 9, 1]))
    assert [part.tolist() for part in hits[:2]] == [[0, 1, 2, 2], [3, 0, 1, 1]]
    assert hits[2].tolist() == [np.finfo(np.float32).min] * 4
    rng = np.random.default_rng(0)
    labels, found = rng.integers(0, 5, (2, 100))
    weights = rng.random(100).astype(np.float32)
    want = np.zeros((5, 5), np.float32)
    np.add.at(want, (labels, found), weights)
    got = ops.ConfusionMatrix(5, "float32")(Tensor(labels), Tensor(found), Tensor(weights))
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5)
    with pytest.raises(ValueError, match=r"must be in \[0, 4\), the number of classes"):
        ops.ConfusionMatrix(4)(Tensor(labels), Tensor(found))


def test_betainc():
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.uniform(-4, 8, (2, 500)))
    x = np.concatenate((rng.random(250), np.clip(a / (a + b) * rng.uniform(0.8, 1.2, 500), 0, 1)))
    check_op(ops.Betainc(), special.betainc, [a, b, x[-500:]], grad=False, rtol=1e-9, atol=1e-13)
    ends = np.array([0.0, 1.0, 0.0, 1.0])
    check_op(ops.Betainc(), special.betainc, [a[:4], b[:4], ends], grad=False)
    check_op(ops.Betainc(), special.betainc, [a[:9] % 4, b[:9] % 4, x[:9]], grad=(2,))
    outside = np.array([[0.5, 2, -0.1], [0.5, 2, 1.5], [0, 2, 0.5], [-1, 2, 0.5], [2, -0.5, 0.5]])
    assert np.isnan(ops.Betainc()(*map(Tensor, outside.T)).asnumpy()).all()


def test_distances_of_rows():
    def reference(x, p=2.0):
        i, j = np.triu_indices(len(x), 1)
        return np.linalg.norm(x[i] - x[j], p, axis=1)

    x = np.random.default_rng(0).normal(size=(5, 3))
    check_op(ops.pdist, reference, [x], [x, 1.0], [x, 3.0], [x, np.inf], order=1)


def test_random_numbers_follow_their_distributions():
    many = Tensor([2, 4000])
    mean, wide, low, high = [0.0, 50.0], [1.0, 3.0], [-1.0, 49.0], [2.0, 60.0]
    drawn = ops.ParameterizedTruncatedNormal(1, 2)(many, *map(Tensor, (mean, wide, low, high)))
    for row, m, w, lo, hi in zip(drawn.asnumpy(), mean, wide, low, high, strict=True):
        cut = stats.truncnorm((lo - m) / w, (hi - m) / w, m, w)
        assert stats.kstest(row, cut.cdf).pvalue > 1e-4
    ms.set_seed(1)
    assert stats.kstest(ops.Cauchy([4000], 1.0, 2.0)().asnumpy(),
                        stats.cauchy(1.0, 2.0).cdf).pvalue > 1e-4
    logs = np.log(ops.LogNormalReverse(2.0, 3.0)(ops.zeros(4000)).asnumpy())
    assert stats.kstest(logs, stats.norm(2.0, 3.0).cdf).pvalue > 1e-4
    for kind, bits in ((ms.int32, 32), (ms.int64, 64)):
        even = ops.NonDeterministicInts(kind)(many).asnumpy().ravel() / 2.0**bits
        assert stats.kstest(even, stats.uniform(-0.5, 1.0).cdf).pvalue > 1e-4
    for seed in (0, 3):
        drawn = ops.Bernoulli(seed)(ops.zeros(4000), Tensor([0.3]))
        assert abs(float(drawn.mean()) - 0.3) < 0.05
        assert (drawn == ops.Bernoulli(seed)(ops.zeros(4000), Tensor([0.3]))).all()
    for seed, offset in ((0, 0), (0, 7), (3, 4), (-1, 9)):
        ms.set_seed(2)
        drawn = ops.Bernoulli(seed, offset)(ops.zeros(4000), 0.3)
        ms.set_seed(2)
        wanted = ops.bernoulli(ops.zeros(4000), 0.3, None if seed < 0 else seed + offset)
        assert (drawn == wanted).all()
    with pytest.raises(ValueError, match="'seed' must be -1 or more, but got -2"):
        ops.Bernoulli(-2)


def test_functions_of_other_rooms():
    x = Tensor([1.0, 2.0])
    ops.all_reduce(x)
    assert (ops.get_rank(), ops.get_world_size(), x.tolist()) == (0, 1, [1.0, 2.0])
    assert ops.reduce(x, 0, async_op=True).wait() is None
    assert ops.zero_(x) is x and x.tolist() == [0.0, 0.0]
    assert ops.put_(x, Tensor([1]), Tensor([5.0])).tolist() == [0.0, 5.0]
    with pytest.raises(AttributeError, match="no attribute 'all_reduced'"):
        ops.all_reduced  # noqa: B018
