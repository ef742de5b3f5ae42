"""Random Primitives: what their numbers do to the same draws, their ends, and what they refuse."""

import numpy as np
import pytest
from scipy import stats

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.primitives import random as primitives

INT32, N = ms.int32, 4000


def drawn(make, seed=7):
    ms.set_seed(seed)
    return make().asnumpy()


def test_means_and_deviations_move_the_same_draws():
    plain = np.log(drawn(lambda: ops.LogNormalReverse(0.0, 1.0)(ops.zeros(9, ms.float64))))
    moved = np.log(drawn(lambda: ops.LogNormalReverse(2.0, 3.0)(ops.zeros(9, ms.float64))))
    np.testing.assert_allclose(moved, 2 + 3 * plain, rtol=1e-6)
    plain, moved = (drawn(lambda given=given: ops.Cauchy([9], *given)())
                    for given in ((), (2.0, 3.0)))
    np.testing.assert_allclose(moved, 2 + 3 * plain, rtol=1e-4)
    plain, moved = (drawn(lambda given=given: ops.zeros(9, ms.float64).uniform(*given))
                    for given in ((), (2.0, 5.0)))
    np.testing.assert_allclose(moved, 2 + 3 * plain, rtol=1e-6)


@pytest.mark.parametrize("make, cdf", [
    (lambda: ops.UniformReal(3)((N,)), stats.uniform.cdf),
    (lambda: ops.RandomGamma(3)(Tensor([N]), Tensor(2.5)), stats.gamma(2.5).cdf),
    (lambda: ops.Gamma(3)((N,), Tensor(2.5), Tensor(4.0)), stats.gamma(2.5, scale=0.25).cdf),
    (lambda: ops.TruncatedNormal(ms.float64, 3)((N,)), stats.truncnorm(-2, 2).cdf),
    (lambda: ops.RandomGamma(3)(Tensor([N]), Tensor(2.5, ms.float16)).float(),
     stats.gamma(2.5).cdf)])
def test_continuous_distributions(make, cdf):
    assert stats.kstest(make().asnumpy(), cdf).pvalue > 1e-3


@pytest.mark.parametrize("make, mean", [
    (lambda: ops.Poisson(3)((N,), Tensor(2.5)), 2.5),
    (lambda: ops.RandomPoisson(3)(Tensor([N]), Tensor(2.5)), 2.5)])
def test_numbers_of_events(make, mean):
    found = make().asnumpy()
    assert abs(found.mean() - mean) < 0.1 and abs(found.var() - mean) < 0.25


@pytest.mark.parametrize("make, shape, kind", [
    (lambda: ops.RandomGamma()(Tensor([2, 3]), ops.ones((4, 5))), (2, 3, 4, 5), ms.float32),
    (lambda: ops.RandomGamma()(Tensor([2]), ops.ones(3, ms.float16)), (2, 3), ms.float16),
    (lambda: ops.RandomGamma()(Tensor([2]), ops.ones(3, ms.float64)), (2, 3), ms.float64),
    (lambda: ops.Gamma()((2, 3), ops.ones((3,)), ops.ones((4, 1, 1))), (4, 2, 3), ms.float32),
    (lambda: ops.Poisson()((2, 3), ops.ones((4, 1, 1))), (4, 2, 3), INT32),
    (lambda: ops.RandomPoisson(dtype=ms.float16)(Tensor([2, 3]), ops.ones((4, 5))), (2, 3, 4, 5),
     ms.float16),
    (lambda: ops.TruncatedNormal(ms.float16)((2, 3)), (2, 3), ms.float16),
    (lambda: ops.Multinomial(dtype=ms.int64)(ops.ones((2, 3)), 4), (2, 4), ms.int64),
    (lambda: ops.Randperm(5, 9, ms.int64)(2), (5,), ms.int64),
    (lambda: ops.RandomShuffle()(Tensor(5)), (), ms.int64),
    (lambda: ops.NonDeterministicInts(INT32)(Tensor([2, 3])), (2, 3), INT32),
    (lambda: ops.ParameterizedTruncatedNormal()(Tensor([2, 3, 4]), *[Tensor(
        np.array(x, np.float16)) for x in ([0.0, 1.0], 1.0, [-1.0], 2.0)]), (2, 3, 4),
     ms.float16)])
def test_shapes_and_types(make, shape, kind):
    found = make()
    assert (found.shape, found.dtype) == (shape, kind)


def test_ends_of_integers():
    found = ops.UniformInt(1)((200,), Tensor(-2, INT32), Tensor(2, INT32)).asnumpy()
    assert sorted(set(found.tolist())) == [-2, -1, 0, 1]
    one = ops.UniformInt(1)((20,), Tensor(3, INT32), Tensor(4, INT32)).asnumpy()
    assert (one == 3).all()
    found = ops.NonDeterministicInts()(Tensor([2, 500])).asnumpy()
    assert found.min() < -2**61 and found.max() > 2**61
    assert len(set((found & 0xFFFFFFFF).ravel().tolist())) == 1000  # both halves are drawn
    low = primitives.draw_int((500,))
    assert low.min() < -2**30 and low.max() > 2**30 and (low == low.int()).all()


@pytest.mark.parametrize("count", [0, 1, 4])
def test_permutations_fill_a_length(count):
    found = ops.Randperm(4, -7)(Tensor([count], INT32)).tolist()
    assert sorted(found[:count]) == list(range(count)) and found[count:] == [-7] * (4 - count)


def test_rows_in_random_order():
    rows = np.arange(60).reshape(20, 3)
    found = ops.RandomShuffle(3)(Tensor(rows)).asnumpy()
    assert (found != rows).any() and sorted(found.tolist()) == rows.tolist()


def test_cut_off_normal_numbers_of_each_row():
    mean, wide, low, high = [0.0, 5.0], [1.0, 3.0], [0.5, 4.0], [0.7, 4.5]
    found = ops.ParameterizedTruncatedNormal(1)(Tensor([2, 3, 40]), *map(Tensor, (mean, wide, low,
                                                                                  high))).asnumpy()
    for row, begin, end in zip(found, low, high, strict=True):
        assert begin <= row.min() < begin + 0.1 and end - 0.1 < row.max() <= end


@pytest.mark.parametrize("made", [
    primitives.StandardNormal, primitives.UniformReal, primitives.RandomShuffle, primitives.Gamma,
    lambda *seeds: primitives.TruncatedNormal(ms.float32, *seeds), primitives.RandomPoisson,
    primitives.Multinomial])
def test_seeds_are_0_or_more(made):
    for seeds in ((0, 0), (1, 0), (0, 1)):
        made(*seeds)
    for seeds, which in (((-1, 0), "seed"), ((0, -1), "seed2")):
        with pytest.raises(ValueError, match=f"'{which}' must be 0 or more"):
            made(*seeds)


@pytest.mark.parametrize("seeds", [(5, 0), (0, 5), (3, 4)])
def test_either_seed_makes_a_stream(seeds):
    first, second = (ops.StandardNormal(*seeds) for _ in range(2))
    one, two = (first((8,)).tolist() for _ in range(2))
    assert one != two and second((8,)).tolist() == one
    ms.set_seed(1)
    free = ops.StandardNormal()((8,)).tolist()
    ms.set_seed(1)
    assert ops.StandardNormal()((8,)).tolist() == free


CUT = ops.ParameterizedTruncatedNormal()


def cut(shape=(2, 3), mean=(0.0,), stdevs=(1.0,), low=(-1.0,), high=(1.0,)):
    return CUT(Tensor(list(shape)), *map(Tensor, (mean, stdevs, low, high)))


@pytest.mark.parametrize("call, kind, text", [
    (lambda: ops.Cauchy([]), ValueError, "must hold positive lengths"),
    (lambda: ops.Cauchy([2, 0]), ValueError, "must hold positive lengths"),
    (lambda: ops.Cauchy([-1]), ValueError, "must hold positive lengths"),
    (lambda: ops.Cauchy((2,)), TypeError, "'size' must be a list"),
    (lambda: ops.Cauchy([2], 1), TypeError, "'median' must be a float"),
    (lambda: ops.Cauchy([2], 1.0, 1), TypeError, "'sigma' must be a float"),
    (lambda: ops.LogNormalReverse(1), TypeError, "'mean' must be a float"),
    (lambda: ops.LogNormalReverse(1.0, 1), TypeError, "'std' must be a float"),
    (lambda: ops.Randperm(4)(5), ValueError, "'n' must be in"),
    (lambda: ops.Randperm(4)(-1), ValueError, "'n' must be in"),
    (lambda: ops.UniformInt()((2,), Tensor(3, INT32), Tensor(3, INT32)), ValueError,
     "'minval' must be less"),
    (lambda: ops.NonDeterministicInts(ms.int16), TypeError, "int32 or int64"),
    (lambda: ops.NonDeterministicInts()(Tensor([3])), ValueError, "two lengths or more"),
    (lambda: ops.NonDeterministicInts()(Tensor([[3, 2]])), ValueError, "shape"),
    (lambda: ops.MultinomialWithReplacement(1, 1), TypeError, "'replacement'"),
    (lambda: cut((2,)), ValueError, "two lengths or more"),
    (lambda: cut(mean=(0.0,) * 3), ValueError, "'mean' must have one element or 2"),
    (lambda: cut(stdevs=(1.0,) * 3), ValueError, "'stdevs' must have one element or 2"),
    (lambda: cut(low=((0.0, 0.0),)), ValueError, "'min' must have one element or 2"),
    (lambda: cut(high=(2.0,) * 3), ValueError, "'max' must have one element or 2"),
    (lambda: cut(stdevs=(1.0, 0.0)), ValueError, "'stdevs' must be positive"),
    (lambda: cut(low=(-1.0, 1.0)), ValueError, "'min' must be less"),
    (lambda: CUT(Tensor([2, 3]), Tensor([0.0]), Tensor([1.0]), Tensor([0.0]),
                 Tensor([1.0], ms.float64)), TypeError, "one type|same"),
])
def test_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_lengths_and_rows_at_their_limits():
    assert ops.Cauchy([1])().shape == (1,)
    assert cut(mean=(0.0, 1.0), stdevs=(1e-3, 1.0), low=(-1.0, 0.5), high=(1.0, 0.6)).shape == (2,
                                                                                                3)
