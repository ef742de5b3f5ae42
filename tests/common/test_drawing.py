"""Random numbers by their distributions, whole sequences beside number by number, limits."""

import math

import numpy as np
import pytest
import scipy.stats

import lamella as ms
from lamella.common import initializer as init
from lamella.common.drawing import draw_normal, draw_truncated, draw_uniform
from lamella.common.mersenne_twister import Mt19937, Mt19937x64, exponential, weighted
from lamella.common.philox import philox

from ..limits import check_limits

MANY = 6000


def drawn(draw, *options, seed=3, count=MANY):
    raw = ms.ops.zeros(count).to_torch()
    draw(raw, *options, seed=seed)
    return raw.numpy()


@pytest.mark.parametrize(("draw", "options", "peer"), [
    (draw_normal, (1.5, 2.0), scipy.stats.norm(1.5, 2)),
    (draw_uniform, (-0.5, 2.0), scipy.stats.uniform(-0.5, 2.5)),
    (draw_truncated, (-1.0, 2.0, 0.5, 1.5), scipy.stats.truncnorm(-1, 1, 0.5, 1.5)),
    (draw_truncated, (0.0, 9.0, 0.0, 2.0), scipy.stats.truncnorm(0, 4.5, 0, 2))])
def test_distributions(draw, options, peer):
    values = drawn(draw, *options)
    assert scipy.stats.kstest(values, peer.cdf).pvalue > 1e-3
    assert drawn(draw, *options, seed=4)[0] != values[0]
    np.testing.assert_array_equal(drawn(draw, *options), values)


@pytest.mark.parametrize(("options", "want"), [
    ((-1.0, 1.0, 0.5, 0.0), 0.5), ((-1.0, 1.0, 3.0, 0.0), 1.0), ((-1.0, 1.0, -3.0, 0.0), -1.0),
    ((50.0, 60.0, 0.0, 1.0), 50.0), ((-60.0, -50.0, 0.0, 1.0), -50.0)])
def test_truncated_to_one_number(options, want):
    assert (drawn(draw_truncated, *options, count=5) == want).all()


@pytest.mark.parametrize(("call", "inside", "outside"), [
    (lambda s: drawn(draw_normal, 0.0, s, count=4), (0.0, 1.0), (-1e-9,)),
    (lambda s: drawn(draw_truncated, -1.0, 1.0, 0.0, s, count=4), (0.0, 1.0), (-1e-9,)),
    (lambda b: drawn(draw_truncated, 1.0, b, 0.0, 1.0, count=4), (1.5,), (1.0, 0.5, math.nan)),
    (lambda s: init.VarianceScaling(s), (1e-9, 2), (0, -1)),
    (lambda m: init.VarianceScaling(mode=m), ("fan_in", "fan_out", "fan_avg"), ("fan",)),
    (lambda d: init.VarianceScaling(distribution=d),
     ("uniform", "truncated_normal", "untruncated_normal"), ("normal",)),
    (lambda s: init.initializer("ones", s), (1, (2, 3), [1]), (0, (2, 0), (1.5,), None)),
    (lambda s: init.initializer(ms.ops.ones(2), s), (None, (2,), [2]), ((1,), (2, 1))),
    (lambda s: init.initializer("xavier_uniform", s).init_data(), ((2, 3), (2, 3, 1)), ((2,),)),
    (lambda s: init.initializer("orthogonal", s).init_data(), ((2, 3), (3, 2, 2)), ((2,),)),
    (lambda s: init.initializer("identity", s).init_data(), ((2, 3),), ((2,), (2, 2, 2))),
    (lambda s: init.initializer(init.Sparse(0.5), s).init_data(), ((2, 3),), ((2,), (2, 2, 2))),
    (lambda s: init.initializer(init.Dirac(), s).init_data(),
     ((1, 1, 1), (1,) * 4, (1,) * 5), ((1, 1), (1,) * 6)),
    (lambda g: init.initializer(init.Dirac(g), (4, 2, 3)).init_data(), (1, 2, 4), (3,)),
], ids=range(14))
def test_limits(call, inside, outside):
    check_limits(call, inside, outside)


SHAPE = (40, 30, 2, 3)  # 180 inputs, 240 outputs


@pytest.mark.parametrize(("make", "deviation"), [
    (init.XavierNormal(3), 3 * math.sqrt(2 / 420)), (init.XavierUniform(3), 3 * math.sqrt(2 / 420)),
    (init.HeNormal(), math.sqrt(2 / 180)), (init.HeUniform(), math.sqrt(2 / 180)),
    (init.HeNormal(0.5, "fan_out"), math.sqrt(2 / 1.25 / 240)),
    (init.HeUniform(nonlinearity="tanh"), 5 / 3 / math.sqrt(180)),
    (init.HeNormal(nonlinearity="relu", mode="fan_out"), math.sqrt(2 / 240)),
    (init.HeNormal(nonlinearity="sigmoid"), 1 / math.sqrt(180)),
    (init.VarianceScaling(2.0), math.sqrt(2 / 180)),
    (init.VarianceScaling(2.0, "fan_out", "uniform"), math.sqrt(2 / 240)),
    (init.VarianceScaling(2.0, "fan_avg", "untruncated_normal"), math.sqrt(2 / 210)),
    (init.Normal(0.5, 2.0), 0.5), (init.Uniform(0.5), 0.5 / math.sqrt(3)),
    (init.TruncatedNormal(0.5), 0.5), (init.TruncatedNormal(1.0, a=-1.0, b=1.0), 0.5396)])
def test_spread(make, deviation):
    ms.set_seed(6)
    values = init.initializer(make, SHAPE).init_data().asnumpy()
    np.testing.assert_allclose(values.std(), deviation, rtol=0.03)
    middle = 2.0 if isinstance(make, init.Normal) and make.mean else 0
    np.testing.assert_allclose(values.mean(), middle, atol=0.05 * deviation)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (2, 3, 2)])
def test_orthogonal(shape):
    ms.set_seed(6)
    flat = init.initializer(init.Orthogonal(2.0), shape).init_data().asnumpy().reshape(shape[0], -1)
    product = flat @ flat.T if flat.shape[0] <= flat.shape[1] else flat.T @ flat
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


@pytest.mark.parametrize(("share", "zeros"), [(0.0, 0), (0.3, 3), (0.25, 2), (1.0, 7), (1.5, 7)])
def test_sparse_columns(share, zeros):
    values = init.initializer(init.Sparse(share, 0.5), (7, 5)).init_data().asnumpy()
    assert ((values == 0).sum(0) == zeros).all()


@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_keeps_channels(groups):
    weight = init.initializer(init.Dirac(groups), (4, 3, 5, 4)).init_data().asnumpy()
    want = np.zeros((4, 3, 5, 4))
    for group in range(groups):
        for channel in range(min(4 // groups, 3)):
            want[group * 4 // groups + channel, channel, 2, 2] = 1
    np.testing.assert_array_equal(weight, want)


def test_long_sequences_are_short_ones():
    whole = philox(7, 600_000)
    for start in (0, 4, 2**17 - 4, 2**17, 2**18 - 8, 2**18, 2**19 - 4, 2**19, 599_996):
        np.testing.assert_array_equal(whole[start:start + 4], philox(7, 4, start))


@pytest.mark.parametrize("seed", [1, 5489])
def test_many_integers_are_one_after_the_other(seed):
    # a size just above half of the range rejects nearly every second word
    sizes = np.array([2, 3, 2**31 + 5, 3 * 10**9, 2**32 - 1, 7, 10**9] * 900, np.uint64)
    together, single = Mt19937(seed), Mt19937(seed)
    assert together.word() == single.word()  # so that words are left over
    found = together._integers(sizes)
    want = [single.integer(0, int(size) - 1) for size in sizes]
    assert found.tolist() == want and together.word() == single.word()


def test_integers_of_the_whole_range():
    words, numbers = Mt19937(3), Mt19937(3)
    assert [numbers.integer(0, 2**32 - 1) for _ in range(5)] == [words.word() for _ in range(5)]
    assert [Mt19937(3).integer(5, 2**32 + 4) - 5] == [Mt19937(3).word()]
    values = [numbers.integer(-2, 3) for _ in range(300)]
    assert set(values) == {-2, -1, 0, 1, 2, 3}


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 10, 11])
def test_permutations(count):
    """Swaps of two places for each draw, from the left, as the standard library makes them."""
    generator, order = Mt19937(9), list(range(count))
    at = 1
    if count and count % 2 == 0:
        place = generator.integer(0, 1)
        order[1], order[place] = order[place], order[1]
        at = 2
    while at < count:
        first, second = divmod(generator.integer(0, (at + 1) * (at + 2) - 1), at + 2)
        order[at], order[first] = order[first], order[at]
        order[at + 1], order[second] = order[second], order[at + 1]
        at += 2
    assert Mt19937(9).permutation(count).tolist() == order
    items = [str(n) for n in range(count)]
    Mt19937(9).shuffle(items)
    assert items == [str(n) for n in order]


@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_samples_are_ascending_and_as_likely(count):
    generator, seen = Mt19937(4), np.zeros(7)
    for _ in range(700):
        found = generator.sample(7, count)
        assert len(found) == count and found == sorted(set(found))
        seen[found] += 1
    np.testing.assert_allclose(seen / 700, count / 7, atol=0.07)


@pytest.mark.parametrize(("draw", "peer"), [
    (lambda g: g.gamma(0.5), scipy.stats.gamma(0.5)), (lambda g: g.gamma(1.0), scipy.stats.expon()),
    (lambda g: g.gamma(4.5), scipy.stats.gamma(4.5)),
    (lambda g: g.normal(1.0, 3.0), scipy.stats.norm(1, 3)),
    (lambda g: g.float32(-1, 3), scipy.stats.uniform(-1, 4)),
    (lambda g: g.float64(-1, 3), scipy.stats.uniform(-1, 4)),
    (lambda g: g.canonical(), scipy.stats.uniform())], ids=range(7))
def test_continuous_numbers(draw, peer):
    generator = Mt19937(12)
    assert scipy.stats.kstest([draw(generator) for _ in range(2500)], peer.cdf).pvalue > 1e-3


@pytest.mark.parametrize("kind", [Mt19937, Mt19937x64])
def test_states_go_on(kind):
    generator = kind(2)
    for _ in range(5):
        generator.word()
    if kind is Mt19937:
        generator.normal(0, 1)
    state = generator.state()
    more = [generator.word() for _ in range(400)]
    other = kind(99)
    other.restore(state)
    assert [other.word() for _ in range(400)] == more
    generator.restore(state)
    assert generator.word() == more[0]


def test_words_are_numpy_s():
    bits = np.random.MT19937()
    bits._legacy_seeding(77)
    assert [Mt19937(77 + 2**32).word()] == bits.random_raw(1).tolist()
    # the 10000th number of the standard's 64-bit engine (C++11, 26.5.5)
    generator = Mt19937x64(5489)
    assert [generator.word() for _ in range(10000)][-1] == 9981545732273789042


def test_draws_by_weights():
    weights = np.array([1.0, 0.0, 3.0, 4.0])
    found = np.bincount(weighted(Mt19937(1), weights, 4000), minlength=4) / 4000
    np.testing.assert_allclose(found, weights / 8, atol=0.03)
    assert found[1] == 0
    firsts = np.zeros(4)
    generator = Mt19937(2)
    for _ in range(2000):
        chosen = exponential(generator, weights, 3)
        assert sorted(chosen) == [0, 2, 3]  # what weighs nothing comes last
        firsts[chosen[0]] += 1
    np.testing.assert_allclose(firsts / 2000, weights / 8, atol=0.04)
