"""Distributions of integers beside SciPy's, at numbers below, at and above their limits."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

import lamella as ms
from lamella import Tensor
from lamella.nn.probability import distribution as D  # noqa: N812  (as in the room's other tests)

CHANCES = np.array([0.2, 0.5, 0.7], np.float32)
RATES = np.array([0.4, 1.0, 3.6], np.float32)
OTHERS = np.array([0.3, 0.6, 0.4], np.float32)
FAMILIES = {"Bernoulli": (D.Bernoulli, scipy.stats.bernoulli, CHANCES),
            "Geometric": (D.Geometric, lambda p: scipy.stats.geom(p, loc=-1), CHANCES),
            "Poisson": (D.Poisson, scipy.stats.poisson, RATES)}
TABLE = np.array([[0.1, 0.2, 0.3, 0.4], [0.25, 0.45, 0.05, 0.25]], np.float32)


def close(found, wanted, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=rtol, atol=atol)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_moments(family, given):
    kind, peer, chances = FAMILIES[family]
    one = kind() if given else kind(Tensor(chances))
    more = (Tensor(chances),) if given else ()
    wanted = peer(chances.astype(float))
    close(one.mean(*more), wanted.mean())
    close(one.var(*more), wanted.var())
    close(one.sd(*more), wanted.std())
    if family != "Poisson":
        close(one.entropy(*more), wanted.entropy(), 1e-4)
    modes = {"Bernoulli": [0, 0, 1], "Geometric": [0, 0, 0], "Poisson": [0, 1, 3]}
    assert one.mode(*more).tolist() == modes[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_chances_of_numbers(family):
    kind, peer, chances = FAMILIES[family]
    one, wanted = kind(Tensor(chances)), peer(chances.astype(float))
    for number in ((0, 1) if family == "Bernoulli" else (-1, 0, 1, 2, 5)):
        value = Tensor(np.full(3, number, np.float32))
        close(one.prob(value), wanted.pmf(number))
        if number >= 0:
            close(one.log_prob(value), wanted.logpmf(number), 1e-4)
    for number in (-1, -0.5, 0, 0.5, 1, 1.5, 4):
        value = Tensor(np.full(3, number, np.float32))
        below = wanted.cdf(np.floor(number))
        if family == "Poisson" and number >= 0:  # between whole numbers it ascends smoothly
            below = scipy.special.gammaincc(1 + number, chances.astype(float))
        close(one.cdf(value), below)
        close(one.survival_function(value), 1 - below)


def test_divergences():
    p, q = CHANCES.astype(float), OTHERS.astype(float)
    of_trial = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    close(D.Bernoulli(Tensor(CHANCES)).kl_loss("Bernoulli", Tensor(OTHERS)), of_trial)
    # each geometric number is 1 / p trials on average
    close(D.Geometric(Tensor(CHANCES)).kl_loss("Geometric", Tensor(OTHERS)), of_trial / p)
    wanted = scipy.stats.entropy(TABLE[0], TABLE[1])
    close(D.Categorical(Tensor(TABLE[0])).kl_loss("Categorical", Tensor(TABLE[1])), wanted)
    close(D.Categorical(Tensor(TABLE[0])).cross_entropy("Categorical", Tensor(TABLE[1])),
          wanted + scipy.stats.entropy(TABLE[0]))
    close(D.Categorical(Tensor(TABLE)).kl_loss("Categorical", Tensor(TABLE[::-1].copy())),
          scipy.stats.entropy(TABLE, TABLE[::-1], axis=-1))


def test_batches_of_categories():
    one, several = D.Categorical([0.25, 0.75]), D.Categorical(Tensor(TABLE))
    assert one.is_scalar_batch and one.broadcast_shape == ()
    assert not several.is_scalar_batch and several.broadcast_shape == (2,)
    assert several.extend_repr() == "batch_shape = (2,)"


def test_values_broadcast_with_chances():
    """A column of numbers and a row of trials; numbers for each row of a table."""
    numbers = np.float32([[-1], [0], [0.5], [1], [np.inf]])
    close(D.Bernoulli(Tensor(CHANCES)).cdf(Tensor(numbers)),
          scipy.stats.bernoulli(CHANCES.astype(float)).cdf(numbers))
    one = D.Categorical(Tensor([[0.5, 0.5], [0.25, 0.75]]))
    close(one.prob(Tensor([[0.0], [1.0], [0.0]])), [[0.5, 0.25], [0.5, 0.75], [0.5, 0.25]])
    close(one.cdf(Tensor(1.0)), [1, 1])


@pytest.mark.parametrize("given", [False, True])
def test_moments_of_categories(given):
    one = D.Categorical() if given else D.Categorical(Tensor(TABLE))
    more = (Tensor(TABLE),) if given else ()
    numbers = np.arange(4)
    mean = (TABLE * numbers).sum(-1, keepdims=True)
    close(one.mean(*more), mean)
    close(one.var(*more), (TABLE * (numbers - mean) ** 2).sum(-1, keepdims=True))
    close(one.entropy(*more), scipy.stats.entropy(TABLE, axis=-1))
    assert one.mode(*more).tolist() == [3, 1]


def test_chances_of_categories():
    """A number counts by what is below it; beyond the last one there is none."""
    one = D.Categorical(Tensor(TABLE))
    for value, place in ((0, 0), (-0.5, 0), (1, 1), (2.7, 2), (3, 3)):
        value = Tensor([value, value], ms.float32)
        close(one.log_prob(value), np.log(TABLE[:, place]))
        close(one.cdf(value), TABLE.cumsum(-1)[:, place])
    for value in (-1, -2, 4, 9):
        assert np.isnan(one.log_prob(Tensor([value] * 2, ms.float32)).asnumpy()).all()
        close(one.cdf(Tensor([value] * 2, ms.float32)), [value > 0] * 2)
    assert np.isnan(one.cdf(Tensor([np.nan] * 2, ms.float32)).asnumpy()).all()
    several = Tensor([[0, 1], [3, 2], [2, 2]], ms.float32)
    close(one.prob(several), [[0.1, 0.45], [0.4, 0.05], [0.3, 0.05]])


@pytest.mark.parametrize("shape", [(4000,), (2000, 2)])
def test_samples_follow_the_chances(shape):
    ms.set_seed(3)
    drawn = D.Categorical(Tensor(TABLE)).sample(shape).asnumpy()
    assert drawn.shape == (*shape, 2)
    for row, chances in enumerate(TABLE):
        shares = np.bincount(drawn[..., row].reshape(-1).astype(int), minlength=4) / 4000
        np.testing.assert_allclose(shares, chances, atol=0.05)
    for kind, peer, chances in FAMILIES.values():
        drawn = kind(Tensor(chances)).sample(shape).asnumpy()
        assert drawn.shape == (*shape, 3)
        over = tuple(range(len(shape)))
        wanted = peer(chances.astype(float))
        sd = wanted.std()
        np.testing.assert_array_less(abs(drawn.mean(over) - wanted.mean()), 5 * sd / 4000**0.5)
        np.testing.assert_allclose(drawn.std(over), sd, rtol=0.15)


def test_limits_of_a_trial_s_chance_are_finite():
    one = D.Bernoulli(Tensor([1e-9, np.nextafter(np.float32(1), np.float32(0))], ms.float32))
    found = one.log_prob(Tensor([1.0, 0.0])).asnumpy()
    np.testing.assert_allclose(found, np.log(np.finfo(np.float32).eps), rtol=1e-5)
