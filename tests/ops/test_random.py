"""Random operators: shapes and types as MindSpore 2.10 gives them, and their distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import lamella as ms
from lamella import Tensor, ops

F = Tensor([1.0, 2.0])
X = ops.zeros((2, 3))
I32 = Tensor(0, ms.int32), Tensor(5, ms.int32)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    ms.set_seed(42)


@pytest.mark.parametrize("make, shape, dtype", [
    (lambda: ops.randn(2, 3), (2, 3), ms.float32),
    (lambda: ops.randn(), (1,), ms.float32),
    (lambda: ops.randn((2, 3), dtype=ms.float16), (2, 3), ms.float16),
    (lambda: ops.rand(2, dtype=ms.float64), (2,), ms.float64),
    (lambda: ops.randint(0, 5, (2,)), (2,), ms.int64),
    (lambda: ops.randint(0, 5, (2,), dtype=ms.int32), (2,), ms.int32),
    (lambda: ops.randn_like(Tensor([1, 2], ms.int32)), (2,), ms.float32),
    (lambda: ops.randint_like(Tensor([1, 2], ms.int32), 0, 5), (2,), ms.int32),
    (lambda: ops.randperm(5), (5,), ms.int64),
    (lambda: ops.uniform((3, 2), F, F + 1), (3, 2), ms.float32),
    (lambda: ops.uniform((2,), *I32, dtype=ms.int32), (2,), ms.int32),
    (lambda: ops.normal((2,), Tensor([[0.0], [5.0]]), F), (2, 2), ms.float32),
    (lambda: ops.standard_normal((2, 2)), (2, 2), ms.float32),
    (lambda: ops.multinomial(F, 4), (4,), ms.int32),
    (lambda: ops.multinomial(ops.ones((2, 3)), 4), (2, 4), ms.int32),
    (lambda: ops.gamma((3, 2), F, F), (3, 2), ms.float32),
    (lambda: ops.random_poisson(Tensor([2, 2], ms.int32), F), (2, 2, 2), ms.float32),
    (lambda: ops.laplace((2,), Tensor(0.0), Tensor(1.0)), (2,), ms.float32),
    (lambda: ops.bernoulli(Tensor([1, 2], ms.int32), 0.5), (2,), ms.int32),
    (lambda: ops.random_categorical(ops.ones((1, 3)), 4), (1, 4), ms.int64),
    (lambda: ops.UniformInt(seed=2)((2,), *I32), (2,), ms.int32),
    (lambda: ops.UniformReal()((2,)), (2,), ms.float32),
    (lambda: ops.TruncatedNormal()((2, 2)), (2, 2), ms.float32),
    (lambda: ops.RandomPoisson()(Tensor([2]), F), (2, 2), ms.int64),
    (lambda: ops.RandpermV2(seed=1)(4), (4,), ms.int64),
    (lambda: X.cauchy(), (2, 3), ms.float32),
])
def test_shape_and_type(make: Any, shape: tuple, dtype: ms.Type) -> None:
    out = make()
    assert out.shape == shape and out.dtype == dtype


N = 4000


@pytest.mark.parametrize("make, cdf", [
    (lambda: ops.randn(N), stats.norm.cdf),
    (lambda: ops.rand(N), stats.uniform.cdf),
    (lambda: ops.uniform((N,), Tensor(2.0), Tensor(5.0)), stats.uniform(2, 3).cdf),
    (lambda: ops.normal((N,), 3.0, 2.0), stats.norm(3, 2).cdf),
    (lambda: ops.standard_laplace((N,)), stats.laplace.cdf),
    (lambda: ops.laplace((N,), Tensor(1.0), Tensor(2.0)), stats.laplace(1, 2).cdf),
    (lambda: ops.gamma((N,), Tensor(2.0), Tensor(4.0)), stats.gamma(2, scale=0.25).cdf),
    (lambda: ops.random_gamma((N,), Tensor(3.0)), stats.gamma(3).cdf),
    (lambda: ops.StandardNormal(seed=3)((N,)), stats.norm.cdf),
    (lambda: ops.StandardLaplace(seed=3)((N,)), stats.laplace.cdf),
    (lambda: ops.Gamma(seed=3)((N,), Tensor([2.0]), Tensor([4.0])), stats.gamma(2, scale=0.25).cdf),
    (lambda: ops.TruncatedNormal(seed=3)((N,)), stats.truncnorm(-2, 2).cdf),
    (lambda: ops.zeros(N).cauchy(1.0, 2.0), stats.cauchy(1, 2).cdf),
    (lambda: ops.zeros(N).log_normal(0.0, 1.0), stats.lognorm(1).cdf),
])
def test_continuous_distribution(make: Any, cdf: Any) -> None:
    assert stats.kstest(make().asnumpy().ravel(), cdf).pvalue > 1e-3


@pytest.mark.parametrize("make, chances", [
    (lambda: ops.randint(2, 6, (N,)), [0, 0, 0.25, 0.25, 0.25, 0.25]),
    (lambda: ops.uniform((N,), *I32, dtype=ms.int32), [0.2] * 5),
    (lambda: ops.UniformInt()((N,), *I32), [0.2] * 5),
    (lambda: ops.multinomial(Tensor([1.0, 0.0, 3.0]), N), [0.25, 0, 0.75]),
    (lambda: ops.Multinomial(seed=4)(Tensor([1.0, 0.0, 3.0]), N), [0.25, 0, 0.75]),
    (lambda: ops.bernoulli(ops.zeros(N), 0.3), [0.7, 0.3]),
    (lambda: ops.random_categorical(Tensor(np.log([[0.2, 0.8]]), ms.float32), N), [0.2, 0.8]),
    (lambda: ops.poisson((N,), Tensor(0.5)), stats.poisson(0.5).pmf(np.arange(12))),
])
def test_discrete_distribution(make: Any, chances: Any) -> None:
    counts = np.bincount(make().asnumpy().ravel().astype(int), minlength=len(chances))
    assert len(counts) == len(chances)
    expected = np.asarray(chances) * N
    assert (counts[expected == 0] == 0).all()
    rare = expected < 5
    if rare.any():  # the chi-square test wants five or more in each class
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0.5
    statistic = ((counts[kept] - expected[kept]) ** 2 / expected[kept]).sum()
    assert stats.chi2(kept.sum() - 1).sf(statistic) > 1e-3


def test_permutations() -> None:
    assert sorted(ops.randperm(20).tolist()) == list(range(20))
    rows = ops.shuffle(ops.arange(40).reshape(20, 2)).asnumpy()
    assert sorted(rows[:, 0]) == list(range(0, 40, 2)) and (rows[:, 1] == rows[:, 0] + 1).all()
    assert ops.Randperm(5, pad=-1)(Tensor([3], ms.int32)).tolist()[3:] == [-1, -1]


def test_permutations_with_a_seed_are_mindspores() -> None:
    """Recorded from MindSpore 2.10."""
    for given, order in (((), [0, 2, 1, 5, 9, 11, 4, 7, 6, 10, 3, 8]),
                         ((5,), [11, 8, 5, 2, 10, 6, 7, 1, 9, 0, 4, 3]),
                         ((0, 5), [11, 8, 5, 2, 10, 6, 7, 1, 9, 0, 4, 3])):
        for _ in range(2):
            assert ops.randperm(12, *given).tolist() == order
    assert ops.randperm(5, -1, 3).tolist() == [3, 4, 0, 2, 1]
    assert ops.randperm(99, -1).tolist() != ops.randperm(99, -1).tolist()
    for given, what in (((-1,), "'n' must be 0"), ((3, -2), "'seed' must be -1"),
                        ((3, 1, -1), "'offset' must be 0")):
        with pytest.raises(ValueError, match=what):
            ops.randperm(*given)


WEIGHTS = np.array([0.1, 0.0, 0.6, 0.3], np.float32)
SEEDED = {
    "bernoulli": lambda n, *seed: ops.bernoulli(ops.zeros(n), 0.3, *seed),
    "with replacement": lambda n, *seed: ops.multinomial_with_replacement(
        Tensor(WEIGHTS), *seed or (0,), 0, n, True),
    "without": lambda n, *seed: ops.multinomial_with_replacement(
        ops.ones(n), *seed or (0,), 0, n // 2),
    "log-uniform": lambda n, *seed: ops.log_uniform_candidate_sampler(
        Tensor([[1]]), 1, n, False, 500, *seed or (0,))[0],
}


@pytest.mark.parametrize("name", SEEDED)
def test_each_call_with_a_seed_gives_the_same_again(name):
    draw = SEEDED[name]
    ms.set_seed(1)
    first = draw(40, 3).tolist()
    ms.set_seed(2)
    compiled = draw if name == "log-uniform" else ms.jit(draw)  # which runs eagerly, and warns
    assert draw(40, 3).tolist() == first == compiled(40, 3).tolist() != draw(40, 4).tolist()
    assert (draw(40).tolist() == draw(40).tolist()) is (name == "log-uniform")


def test_draws_with_a_seed_follow_their_distributions():
    counts = np.bincount(SEEDED["with replacement"](4000, 3).asnumpy(), minlength=4)
    np.testing.assert_allclose(counts / 4000, WEIGHTS, atol=0.03)
    rows = ops.multinomial_with_replacement(Tensor([[0.0, 1.0], [1.0, 0.0]]), 3, 1, 2, True)
    assert rows.tolist() == [[1, 1], [0, 0]]
    firsts = np.array([ops.multinomial_with_replacement(Tensor(WEIGHTS), seed, 1, 2).asnumpy()
                       for seed in range(600)])
    np.testing.assert_allclose(np.bincount(firsts[:, 0], minlength=4) / 600, WEIGHTS, atol=0.08)
    assert (firsts[:, 0] != firsts[:, 1]).all()
    drawn = ops.log_uniform_candidate_sampler(Tensor([[1]]), 1, 4000, False, 10)[0].asnumpy()
    classes = np.arange(10)
    np.testing.assert_allclose(np.bincount(drawn, minlength=10) / 4000,
                               np.log((classes + 2) / (classes + 1)) / np.log(11), atol=0.03)
    for bad in ([-1.0, 2.0], [0.0, 0.0], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="weights of 0 or more"):
            ops.multinomial_with_replacement(Tensor(bad), 1, 0, 1, True)
    with pytest.raises(ValueError, match="'numsamples' must be at most 2"):
        ops.multinomial_with_replacement(Tensor([1.0, 2.0]), 1, 0, 3)


def test_a_sampler_with_a_seed_goes_on_and_begins_anew() -> None:
    first, second = (ops.LogUniformCandidateSampler(1, 9, True, 99) for _ in range(2))
    one, two = (first(Tensor([[1]]))[0].tolist() for _ in range(2))
    assert one != two and second(Tensor([[1]]))[0].tolist() == one
    with pytest.raises(ValueError, match="'seed' must be 0 or more"):
        ops.LogUniformCandidateSampler(1, 9, True, 99, -1)


def test_without_replacement_draws_each_once() -> None:
    assert sorted(ops.multinomial(ops.ones(6), 6, replacement=False).tolist()) == list(range(6))


def test_choice_with_mask() -> None:
    mask = Tensor([[True, False], [True, True]])
    places, valid = ops.RandomChoiceWithMask(count=4)(mask)
    assert places.dtype == ms.int32 and valid.tolist() == [True, True, True, False]
    assert sorted(places.tolist()[:3]) == [[0, 0], [1, 0], [1, 1]] and places.tolist()[3] == [0, 0]


def test_candidate_samplers_give_expected_counts() -> None:
    _, true, drawn = ops.uniform_candidate_sampler(Tensor([[1], [3]]), 1, 3, False, 4)
    assert true.tolist() == [[0.75], [0.75]] and drawn.tolist() == [0.75] * 3
    classes, _, _ = ops.log_uniform_candidate_sampler(Tensor([[1, 3]]), 2, 5, True, 5)
    assert sorted(classes.tolist()) == list(range(5))
    # recorded from MindSpore 2.10; true classes may lie outside the range
    _, true, drawn = ops.log_uniform_candidate_sampler(Tensor([[1, 7], [0, 4]]), 2, 5, False, 5)
    np.testing.assert_allclose(true.asnumpy(), [[1.1314719, 0.3286798], [1.934264, 0.508778]],
                               rtol=1e-6)
    counts = {0: 1.934264, 1: 1.1314719, 2: 0.8027921, 3: 0.622694, 4: 0.508778}
    assert len(drawn.tolist()) == 5 and all(
        min(abs(c - v) for v in counts.values()) < 1e-6 for c in drawn.tolist())
    # 1 - 0.75 ** tries, with as many tries as it took to meet all four, if it took more than four
    for seed in (3, 4, 5):
        chance = float(ops.uniform_candidate_sampler(Tensor([[0]]), 1, 4, True, 4, seed)[2][0])
        tries = np.log(1 - chance) / np.log(0.75) if chance < 1 else 4
        assert abs(tries - round(tries)) < 1e-3 and round(tries) >= 4


def test_seeds_of_classes_and_positions_give_mindspores_draws() -> None:
    # recorded from MindSpore 2.10: calls of one object go on, calls of functions begin anew
    flat, mask, one = ops.zeros((2, 10000)), ops.ones(30).bool(), Tensor([[2, 12], [4, 5]])
    draw, mixed = ops.RandomCategorical(), Tensor([[1, 2, 3, 4, 5]], ms.float16)
    assert [draw(flat, 4, 5).tolist() for _ in range(2)] == [
        [[5364, 9762, 854, 4377]] * 2, [[5382, 3024, 7952, 8465]] * 2]
    assert [ops.random_categorical(flat, 4, 5)[0].tolist() for _ in range(2)] == [
        [5364, 9762, 854, 4377]] * 2
    assert ops.random_categorical(mixed, 10, 5).tolist() == [[4, 4, 2, 4, 4, 3, 4, 4, 4, 4]]
    for seeds, wanted in (((9, 0), [[17, 1, 16, 4, 8, 26], [25, 17, 24, 14, 29, 5]]),
                          ((0, 9), [[20, 3, 13, 23, 7, 22]]), ((0, -9), [[14, 3, 23, 13, 1, 2]]),
                          ((4, 9), [[25, 17, 19, 10, 18, 13]])):
        choose = ops.RandomChoiceWithMask(6, *seeds)
        assert [choose(mask)[0].flatten().tolist() for _ in wanted] == wanted
    for hits, wanted in ((False, [[2, 12, 16, 9, 14], [16, 6, 8, 17, 15]]),
                         (True, [[16, 9, 14, 6, 8], [17, 15, 8, 7, 16]])):
        sample = ops.UniformCandidateSampler(2, 5, True, 20, 3, hits)
        found = [sample(one) for _ in wanted]
        assert [classes.tolist() for classes, _, _ in found] == wanted
    np.testing.assert_allclose([counts[0] for _, _, counts in found], [0.33657956, 0.3016627],
                               rtol=1e-6)


def test_seeded_classes_go_on_in_a_compiled_function() -> None:
    flat = ops.zeros((1, 10000))
    eager, other = ops.RandomCategorical(), ops.RandomCategorical()
    step = ms.jit(lambda x: other(x, 2, 7))
    for _ in range(5):
        assert step(flat).tolist() == eager(flat, 2, 7).tolist()
    assert step.report()["replays"] >= 3


def test_gradients_reach_the_parameters() -> None:
    gradient = ms.grad(lambda m, s: ops.normal((50,), m, s).sum(), (0, 1))(Tensor(1.0), Tensor(2.0))
    assert gradient[0] == 50.0 and gradient[1] != 0


@pytest.mark.parametrize("call, error, message", [
    (lambda: ops.uniform((2,), 0.0, 1.0), TypeError, "'minval' must be a Tensor"),
    (lambda: ops.normal(2, 0.0, 1.0), TypeError, "'shape' must be a tuple"),
    (lambda: ops.randn(2, dtype=ms.int32), ValueError, "must be a floating type"),
    (lambda: ops.rand_like(Tensor([1])), ValueError, "must be a floating type"),
    (lambda: ops.randint_like(Tensor([1.0]), 0, 5), ValueError, "must be an int type"),
    (lambda: ops.randint(0, 5, 2), ValueError, "'size' must be a tuple"),
    (lambda: ops.randint(5, 0, (2,)), ValueError, "'low' must be less than 'high'"),
    (lambda: ops.multinomial(F, 4, replacement=False), ValueError, "at most 2 without"),
    (lambda: ops.bernoulli(X, 2.0), ValueError, r"must be in \[0, 1\], but got 2.0"),
    (lambda: ops.bernoulli(X, F), ValueError, r"shape of 'input' \(2, 3\)"),
    (lambda: ops.StandardNormal(seed=-1), ValueError, "'seed' must be 0 or more"),
    (lambda: ops.Randperm(2)(Tensor([4], ms.int32)), ValueError, "'max_length' = 2"),
])
def test_errors(call: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("draw, kind", [
    (lambda: ops.shuffle(X, seed=0.5), TypeError),
    (lambda: ops.shuffle(X, seed=-1), ValueError),
    (lambda: ops.random_poisson(Tensor([2]), [0.5]), TypeError),
    (lambda: ops.random_poisson((2,), Tensor([0.5])), TypeError),
    (lambda: ops.random_poisson(Tensor([2]), Tensor([True])), TypeError),
    (lambda: ops.random_poisson(Tensor([2.0]), Tensor([0.5])), TypeError),
    (lambda: ops.random_poisson(Tensor([[2]]), Tensor([0.5])), ValueError),
    (lambda: ops.random_poisson(Tensor([2]), Tensor([0.5]), dtype=ms.bool_), TypeError),
], ids=range(8))
def test_wrong_seeds_shapes_and_types(draw, kind):
    with pytest.raises(kind):
        draw()


def test_numbers_of_samples():
    draw = ops.MultinomialWithReplacement(0, True)
    assert draw.numsamples == 0
    with pytest.raises(ValueError, match="number of samples must be 1 or more"):
        draw(Tensor([[0.5, 0.5]]), Tensor(2), Tensor(5))
    with pytest.raises(ValueError, match="'numsamples' must be 0 or more, but got -1"):
        ops.MultinomialWithReplacement(-1, True)


@pytest.mark.parametrize("make", [
    lambda: ops.StandardNormal(5, 6)((9,)), lambda: ops.UniformReal(seed=5)((9,)),
    lambda: ops.Dropout(0.5, 5, 6)(ops.ones(64))[0], lambda: ops.RandomShuffle(5)(ops.arange(40)),
    lambda: ops.Multinomial(5, 6)(ops.ones(50), 40)])
def test_seeds_of_a_primitive_stand_for_themselves(make) -> None:
    found = []
    for seed in (1, 2):
        ms.set_seed(seed)
        found.append(make().tolist())
    assert found[0] == found[1]


def test_seeds_of_dropout_are_a_stream() -> None:
    drop = ops.Dropout(0.5, 3)
    a, b = drop(ops.ones(64))[0], drop(ops.ones(64))[0]
    assert a.tolist() != b.tolist()
    compiled = ms.jit(lambda x: ops.Dropout(0.5, 3)(x)[0])
    assert [compiled(ops.ones(64)).tolist() for _ in range(3)] == [a.tolist()] * 3
