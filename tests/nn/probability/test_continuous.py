"""Continuous distributions beside SciPy's: batches of parameters, values outside, all questions."""

import math

import numpy as np
import pytest
import scipy.stats

import lamella as ms
from lamella import Tensor
from lamella.nn.probability import bijector as B  # noqa: N812  (as in the room's other tests)
from lamella.nn.probability import checks
from lamella.nn.probability import distribution as D  # noqa: N812

stats = scipy.stats
LOC = np.float32([0.5, -1.5, 2.0])
SCALE = np.float32([0.75, 2.0, 1.25])
SHAPE = np.float32([0.6, 1.0, 3.5])
VALUES = np.float32([[-3.0, -1.5, 2.0], [0.0, 0.25, 0.5], [0.5, 2.0, 4.5]])  # below, at, above

# family, its parameters, SciPy's
FAMILIES = {
    "Cauchy": (D.Cauchy, (LOC, SCALE), stats.cauchy(LOC, SCALE)),
    "Exponential": (D.Exponential, (SCALE,), stats.expon(scale=1 / SCALE)),
    "Gamma": (D.Gamma, (SHAPE, SCALE), stats.gamma(SHAPE, scale=1 / SCALE)),
    "Gumbel": (D.Gumbel, (LOC, SCALE), stats.gumbel_r(LOC, SCALE)),
    "HalfNormal": (D.HalfNormal, (LOC, SCALE), stats.halfnorm(LOC, SCALE)),
    "Laplace": (D.Laplace, (LOC, SCALE), stats.laplace(LOC, SCALE)),
    "LogNormal": (D.LogNormal, (LOC, SCALE), stats.lognorm(SCALE, scale=np.exp(LOC))),
    "Logistic": (D.Logistic, (LOC, SCALE), stats.logistic(LOC, SCALE)),
    "Normal": (D.Normal, (LOC, SCALE), stats.norm(LOC, SCALE)),
    "StudentT": (D.StudentT, (SHAPE, LOC, SCALE), stats.t(SHAPE, LOC, SCALE)),
    "Uniform": (D.Uniform, (LOC - 1, LOC + SCALE), stats.uniform(LOC - 1, SCALE + 1)),
    "Beta": (D.Beta, (SHAPE, SCALE), stats.beta(SHAPE, SCALE)),
}
WITHOUT_MOMENTS = ("HalfNormal", "Laplace", "StudentT")
GIVEN = pytest.mark.parametrize("given", [False, True])


def of(family, given):
    """A distribution, and what its questions take besides."""
    kind, parameters, peer = FAMILIES[family]
    tensors = tuple(map(Tensor, parameters))
    if given and kind is not D.Gumbel:  # whose parameters can't come later
        return kind(), tensors, peer
    return kind(*tensors), (), peer


def close(got, want, rtol=1e-4):
    got = got.asnumpy()
    np.testing.assert_allclose(got, np.broadcast_to(want, got.shape), rtol=rtol, atol=2e-6)


def points(family):
    if family == "Beta":
        return np.float32([[0.1, 0.5, 0.9], [0.3, 0.25, 0.75]])
    if family in ("Gamma", "LogNormal"):
        return np.abs(VALUES) + np.float32(0.125)
    return np.maximum(VALUES, -1.5) if family == "Gumbel" else VALUES  # whose end is steep


@GIVEN
@pytest.mark.parametrize("family", FAMILIES)
def test_densities(family, given):
    one, more, peer = of(family, given)
    at = points(family)
    close(one.prob(Tensor(at), *more), peer.pdf(at))
    with np.errstate(divide="ignore"):
        close(one.log_prob(Tensor(at), *more), peer.logpdf(at))


@GIVEN
@pytest.mark.parametrize("family", sorted({*FAMILIES} - {*WITHOUT_MOMENTS, "Beta"}))
def test_cumulated(family, given):
    one, more, peer = of(family, given)
    at = points(family)
    with np.errstate(divide="ignore"):
        close(one.cdf(Tensor(at), *more), peer.cdf(at))
        close(one.survival_function(Tensor(at), *more), peer.sf(at))
        close(one.log_cdf(Tensor(at), *more), peer.logcdf(at), 1e-3)
        close(one.log_survival(Tensor(at), *more), peer.logsf(at), 1e-3)


@GIVEN
@pytest.mark.parametrize("family", sorted({*FAMILIES} - {*WITHOUT_MOMENTS}))
def test_moments(family, given):
    one, more, peer = of(family, given)
    close(one.entropy(*more), peer.entropy())
    if family == "Cauchy":
        for question in (one.mean, one.sd, one.var):
            with pytest.raises(ValueError, match="undefined"):
                question(*more)
        return
    close(one.mean(*more), peer.mean())
    close(one.sd(*more), peer.std())
    close(one.var(*more), peer.var())


@GIVEN
@pytest.mark.parametrize(("family", "want"), [
    ("Cauchy", LOC), ("Exponential", 0 * LOC), ("Gumbel", LOC), ("Logistic", LOC), ("Normal", LOC),
    ("LogNormal", np.exp(LOC - SCALE**2)),
    ("Gamma", [math.nan, math.nan, 2.5 / 1.25]),  # there is none up to 1
    ("Beta", [math.nan, math.nan, 2.5 / (3.5 + 1.25 - 2)])])
def test_modes(family, given, want):
    one, more, _ = of(family, given)
    close(one.mode(*more), want)


def test_the_mode_of_gamma_needs_a_shape_above_one():
    found = D.Gamma(Tensor([0.5, 1.0, 1.5, 2.0, 3.0]), Tensor([2.0] * 5)).mode()
    close(found, [math.nan, math.nan, 0.25, 0.5, 1.0])


def test_the_mode_of_beta_needs_both_above_one():
    found = D.Beta(Tensor([2.0, 2.0, 0.5, 2.0]), Tensor([1.0, 0.5, 2.0, 4.0])).mode()
    close(found, [math.nan, math.nan, math.nan, 0.25])


@pytest.mark.parametrize("family", sorted({*FAMILIES} - {*WITHOUT_MOMENTS, "Beta"}))
def test_quantiles_of_random_numbers(family):
    one, _, peer = of(family, False)
    ms.set_seed(11)
    drawn = one.sample((3000,)).asnumpy()
    assert drawn.shape == (3000, 3)
    for column in range(3):
        share = peer.cdf(drawn)[:, column]
        assert stats.kstest(share, "uniform").pvalue > 1e-3


OTHERS = np.float32([1.5, 0.5, 0.75]), np.float32([1.0, 1.5, 2.5])
DIVERGENCES = {
    "Cauchy": stats.cauchy(*OTHERS), "Normal": stats.norm(*OTHERS),
    "Gumbel": stats.gumbel_r(*OTHERS), "Gamma": stats.gamma(OTHERS[0], scale=1 / OTHERS[1]),
    "LogNormal": stats.lognorm(OTHERS[1], scale=np.exp(OTHERS[0])),
    "Exponential": stats.expon(scale=1 / OTHERS[0]), "Beta": stats.beta(*OTHERS),
}


@GIVEN
@pytest.mark.parametrize("family", DIVERGENCES)
def test_divergences_of_batches(family, given):
    one, more, peer = of(family, given)
    other = tuple(map(Tensor, OTHERS[:len(one.default_parameters)]))
    at = peer.ppf(((np.arange(20000) + 0.5) / 20000)[:, None])
    want = (peer.logpdf(at) - DIVERGENCES[family].logpdf(at)).mean(0)
    got = one.kl_loss(family, *other, *more)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=2e-2, atol=2e-3)
    close(one.cross_entropy(family, *other, *more), got.asnumpy() + peer.entropy(), 1e-4)


@GIVEN
def test_divergence_of_intervals(given):
    low, high = Tensor([0.0, 0.0, 0.5, -1.0]), Tensor([1.0, 1.0, 2.0, 1.0])
    begin, end = Tensor([0.0, -1.0, 0.0, 0.0]), Tensor([1.0, 2.0, 1.5, 2.0])
    one, more = (D.Uniform(), (low, high)) if given else (D.Uniform(low, high), ())
    got = one.kl_loss("Uniform", begin, end, *more)
    close(got, [0, math.log(3), math.inf, math.inf])


def test_the_ends_of_intervals_belong_to_them():
    ends = Tensor(np.float32([-1, np.nextafter(np.float32(-1), np.float32(-2)), 2,
                              np.nextafter(np.float32(2), np.float32(3))]))
    close(D.Uniform(-1.0, 2.0).prob(ends), [1 / 3, 0, 1 / 3, 0])
    close(D.HalfNormal(0.5, 2.0).prob(Tensor([0.5, 0.49999])), [math.sqrt(2 / math.pi) / 2, 0])
    close(D.Exponential(2.0).prob(Tensor([0.0, -1e-6])), [2, 0])
    close(D.LogNormal(0.0, 1.0).cdf(Tensor([0.0, -1.0, 1.0])), [0, 0, 0.5])


@pytest.mark.parametrize(("check", "inside", "outside"), [
    (lambda v: checks.require_positive(Tensor(v), "x"), ([1e-9], [0.5, 3.0]),
     ([0.0], [1.0, -1e-9])),
    (lambda v: checks.require_not_negative(Tensor(v), "x"), ([0.0, 1.0],), ([-1e-9], [1.0, -1.0])),
    (lambda v: checks.require_probabilities(Tensor(v)), ([1e-9, 0.999999],),
     ([0.0, 0.5], [1.0, 0.5], [0.5, 1.5])),
    (lambda v: checks.require_categories(Tensor(v)), ([1.0], [0.25, 0.75], [[0.5, 0.5]]),
     (1.0, [0.25, 0.7501], [0.25, 0.7499], [[0.5, 0.5], [0.1, 0.8]])),
    (lambda v: checks.require_less(Tensor(v[0]), Tensor(v[1]), "a", "b"),
     (([0.0, 1.0], [1.0, 1.5]),), (([0.0], [0.0]), ([0.0, 2.0], [1.0, 1.5]))),
    (lambda v: D.Normal(0.0, 1.0, seed=v), (0, 1, None), (-1,)),
], ids=["positive", "not negative", "probabilities", "categories", "less", "seed"])
def test_what_parameters_are(check, inside, outside):
    for value in inside:
        check(value)
    for value in outside:
        with pytest.raises(ValueError, match="must|should"):
            check(value)


@pytest.mark.parametrize("make", [
    lambda: D.Normal(0.0, 1.0, seed=1.0), lambda: D.Normal(0.0, 1.0, seed=True),
    lambda: D.Normal(0.0, 1.0, name=3), lambda: D.Normal(0.0, 1.0, dtype=ms.int32),
    lambda: D.Normal(True, 1.0), lambda: D.Normal("a", 1.0), lambda: D.Gamma(1.0, [1.0]),
    lambda: D.Gamma([1.0], 1), lambda: D.Poisson(1.0), lambda: D.Beta(1.0, [1.0]),
    lambda: D.Normal().mean(Tensor(1.0)), lambda: D.Normal(0.0).log_prob(Tensor(1.0)),
    lambda: D.Normal(0.0, 1.0).prob(1.0), lambda: D.Normal(0.0, 1.0).prob(None),
    lambda: D.Normal(0.0, 1.0).kl_loss("Normal", 1.0, Tensor(1.0)),
    lambda: D.Normal(0.0, 1.0).sample(3), lambda: D.Normal(0.0, 1.0).get_dist_args(width=1),
    lambda: D.Normal(Tensor([1.0], ms.float16), Tensor([1.0])),
    lambda: D.TransformedDistribution(D.Normal(), D.Normal()),
    lambda: D.TransformedDistribution(B.Exp(), B.Exp()),
    lambda: D.TransformedDistribution(B.Exp(), D.Bernoulli(0.5)),
], ids=range(21))
def test_wrong_types(make):
    with pytest.raises(TypeError):
        make()


def test_shapes_of_batches_and_what_is_shown():
    wide = D.Normal(Tensor(np.zeros((2, 1), np.float32)), Tensor(np.ones(3, np.float32)))
    assert wide.batch_shape == wide.broadcast_shape == (2, 3) and not wide.is_scalar_batch
    assert wide.sample((4,)).shape == (4, 2, 3) and wide.sample().shape == (2, 3)
    assert wide.extend_repr() == "batch_shape = (2, 3)"
    plain = D.Normal(0.0, 2)
    assert plain.batch_shape == () and plain.is_scalar_batch and plain.sample().shape == ()
    assert plain.sample((1,)).shape == (1,)
    assert plain.extend_repr() == "mean = 0.0, standard deviation = 2.0"
    assert D.Normal(0.0).batch_shape is None and D.Normal(0.0).is_scalar_batch
    assert D.Normal().get_dist_args(sd=Tensor(3.0))[1] == 3.0
    assert [t.item() for t in plain.get_dist_args(Tensor(1.0))] == [1, 2]


@pytest.mark.parametrize(("bijector", "inner", "scalar", "linear", "shape"), [
    (B.ScalarAffine(2.0, 1.0), D.Normal(0.0, 1.0), True, True, ()),
    (B.ScalarAffine(Tensor([2.0, 3.0]), Tensor(1.0)), D.Normal(0.0, 1.0), False, True, (2,)),
    (B.Exp(), D.Normal(Tensor([0.0, 1.0]), 1.0), False, False, (2,)),
    (B.ScalarAffine(Tensor([[2.0], [3.0]]), Tensor(1.0)), D.Normal(0.0, Tensor([1.0, 2.0])),
     False, True, (2, 2)),
    (B.Exp(), D.Normal(0.0), True, False, None)])
def test_transformed(bijector, inner, scalar, linear, shape):
    one = D.TransformedDistribution(bijector, inner)
    assert one.is_scalar_batch is scalar and one.is_linear_transformation is linear
    assert one.broadcast_shape == shape and one.dtype is ms.float32
    if not linear:
        with pytest.raises(ValueError, match="non-linear"):
            one.mean()


def test_a_transformed_normal_is_log_normal_or_shifted():
    at = Tensor([0.3, 1.0, 2.5])
    x = at.asnumpy()
    one = D.TransformedDistribution(B.Exp(), D.Normal(0.5, 0.75))
    peer = stats.lognorm(0.75, scale=np.exp(0.5))
    close(one.log_prob(at), peer.logpdf(x))
    close(one.cdf(at), peer.cdf(x))
    shifted = D.TransformedDistribution(B.ScalarAffine(2.0, 1.0), D.Normal(0.5, 0.75))
    close(shifted.log_prob(at), stats.norm(2, 1.5).logpdf(x))
    close(shifted.mean(), 2)
    ms.set_seed(2)
    assert stats.kstest(shifted.sample((2000,)).asnumpy(), stats.norm(2, 1.5).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("bijector", "shape", "want"), [
    (B.Exp(), (3, 1), (3, 1)), (B.ScalarAffine(Tensor([2.0, 3.0]), Tensor(1.0)), (3, 1), (3, 2)),
    (B.ScalarAffine(2.0, 1.0), [4], (4,)), (B.Softplus(Tensor([[1.0], [2.0]])), (5,), (2, 5))])
def test_shapes_of_images(bijector, shape, want):
    assert bijector.shape_mapping(shape) == want
