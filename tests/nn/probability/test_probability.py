"""Distributions and bijectors against SciPy; those of MindSpore are in `tests/conformance`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.nn.probability import bijector as B
from lamella.nn.probability import distribution as D
from tests.contracts import check_compiled, check_gradient

KNOWN: dict[str, tuple[Any, Any]] = {
    "Beta": (D.Beta(Tensor([2.5]), Tensor([1.5]), dtype=ms.float32), scipy.stats.beta(2.5, 1.5)),
    "Cauchy": (D.Cauchy(1.0, 2.0), scipy.stats.cauchy(1, 2)),
    "Exponential": (D.Exponential(2.0), scipy.stats.expon(scale=0.5)),
    "Gamma": (D.Gamma([2.5], [1.5]), scipy.stats.gamma(2.5, scale=1 / 1.5)),
    "Gumbel": (D.Gumbel(1.0, 2.0), scipy.stats.gumbel_r(1, 2)),
    "HalfNormal": (D.HalfNormal(1.0, 2.0), scipy.stats.halfnorm(1, 2)),
    "Laplace": (D.Laplace(1.0, 2.0), scipy.stats.laplace(1, 2)),
    "LogNormal": (D.LogNormal(0.5, 0.75), scipy.stats.lognorm(0.75, scale=np.exp(0.5))),
    "Logistic": (D.Logistic(1.0, 2.0), scipy.stats.logistic(1, 2)),
    "Normal": (D.Normal(1.0, 2.0), scipy.stats.norm(1, 2)),
    "StudentT": (D.StudentT(3.0, 1.0, 2.0), scipy.stats.t(3, 1, 2)),
    "Uniform": (D.Uniform(-1.0, 2.0), scipy.stats.uniform(-1, 3)),
    "Bernoulli": (D.Bernoulli(0.3), scipy.stats.bernoulli(0.3)),
    "Geometric": (D.Geometric(0.3), scipy.stats.geom(0.3, loc=-1)),
    "Poisson": (D.Poisson([2.5]), scipy.stats.poisson(2.5)),
}
DISCRETE = ("Bernoulli", "Geometric", "Poisson")


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_equals_scipy(name: str) -> None:
    ours, theirs = KNOWN[name]
    points = np.array([0.0, 1.0, 3.0]) if name in DISCRETE else np.array([0.2, 0.6, 0.95])
    if name in ("Bernoulli", "HalfNormal"):
        points = points[:2] if name == "Bernoulli" else points + 1
    value = Tensor(points.astype("float32"))

    def same(got: Tensor, want: Any) -> None:
        np.testing.assert_allclose(got.asnumpy().reshape(np.shape(want)), want, rtol=3e-4,
                                   atol=1e-5)

    same(ours.log_prob(value), theirs.logpmf(points) if name in DISCRETE else theirs.logpdf(points))
    same(ours.prob(value), theirs.pmf(points) if name in DISCRETE else theirs.pdf(points))
    if name not in ("Laplace", "StudentT", "HalfNormal", "Beta"):
        same(ours.cdf(value), theirs.cdf(points))
        with np.errstate(divide="ignore"):
            same(ours.log_survival(value), theirs.logsf(points))
    if name not in ("Laplace", "StudentT", "HalfNormal"):
        if name != "Cauchy":
            same(ours.mean(), theirs.mean())
            same(ours.sd(), theirs.std())
        if name != "Poisson":
            same(ours.entropy(), theirs.entropy())


@pytest.mark.parametrize("name", sorted(set(KNOWN) - {"Laplace", "StudentT", "HalfNormal"}))
def test_random_numbers_have_their_distribution(name: str) -> None:
    ms.set_seed(7)
    ours, theirs = KNOWN[name]
    drawn = ours.sample((4000,))
    assert drawn.dtype is ours.dtype
    numbers = drawn.asnumpy().reshape(-1)
    if name not in DISCRETE:
        assert scipy.stats.kstest(numbers, theirs.cdf).pvalue > 1e-3
        return
    values, counts = np.unique(numbers, return_counts=True)
    often = counts > 40
    np.testing.assert_allclose(counts[often] / 4000, theirs.pmf(values[often]), atol=0.03)


def test_categories_are_drawn_by_their_probabilities() -> None:
    ms.set_seed(3)
    chances = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], "float32")
    drawn = D.Categorical(Tensor(chances)).sample((3000,))
    assert drawn.shape == (3000, 2) and drawn.dtype is ms.int32
    for row in range(2):
        share = np.bincount(drawn.asnumpy()[:, row], minlength=3) / 3000
        np.testing.assert_allclose(share, chances[row], atol=0.04)


SEEDED: dict[str, Callable[[int | None], Any]] = {
    "Bernoulli": lambda seed: D.Bernoulli(0.5, seed),
    "Beta": lambda seed: D.Beta([2.0, 3.0], [1.0, 2.0], seed),
    "Categorical": lambda seed: D.Categorical([0.25, 0.25, 0.5], seed),
    "Cauchy": lambda seed: D.Cauchy(0.0, 1.0, seed),
    "Exponential": lambda seed: D.Exponential(2.0, seed),
    "Gamma": lambda seed: D.Gamma([2.0], [1.0], seed),
    "Geometric": lambda seed: D.Geometric(0.25, seed),
    "Gumbel": lambda seed: D.Gumbel(0.0, 1.0, seed),
    "Logistic": lambda seed: D.Logistic(0.0, 1.0, seed),
    "LogNormal": lambda seed: D.LogNormal(0.0, 1.0, seed),
    "Normal": lambda seed: D.Normal(0.0, 1.0, seed),
    "Poisson": lambda seed: D.Poisson([3.0], seed),
    "Uniform": lambda seed: D.Uniform(0.0, 1.0, seed)}


@pytest.mark.parametrize("family", SEEDED)
def test_a_seed_makes_the_same_numbers_again(family: str) -> None:
    """Together with the seed of all; 0 is that of a distribution without one."""
    def drawn(seed: int | None, of_all: int = 1) -> list[Any]:
        ms.set_seed(of_all)
        return SEEDED[family](seed).sample((30,)).asnumpy().tolist()

    assert drawn(7) == drawn(7) and drawn(None) == drawn(None) == drawn(0)
    assert drawn(7) != drawn(8) != drawn(None) != drawn(7) != drawn(7, 2)
    assert (SEEDED[family](5).seed, SEEDED[family](None).seed) == (5, 0)


DIVERGENCES: dict[str, tuple[Any, Any, Any]] = {
    "Normal": (D.Normal(1.0, 2.0), (0.5, 1.5), scipy.stats.norm(0.5, 1.5)),
    "Gamma": (D.Gamma([2.5], [1.5]), ([2.0], [1.0]), scipy.stats.gamma(2)),
    "Beta": (D.Beta([2.5], [1.5]), ([2.0], [3.0]), scipy.stats.beta(2, 3)),
    "Exponential": (D.Exponential(2.0), (0.5,), scipy.stats.expon(scale=2)),
    "Gumbel": (D.Gumbel(1.0, 2.0), (0.5, 3.0), scipy.stats.gumbel_r(0.5, 3)),
    "LogNormal": (D.LogNormal(0.5, 0.75), (0.25, 1.0),
                  scipy.stats.lognorm(1, scale=np.exp(0.25))),
    "Cauchy": (D.Cauchy(1.0, 2.0), (0.5, 1.0), scipy.stats.cauchy(0.5, 1)),
}


@pytest.mark.parametrize("name", sorted(DIVERGENCES))
def test_divergences_by_integration(name: str) -> None:
    ours, other, theirs = DIVERGENCES[name]
    tensors = [Tensor(np.array(v, "float32")) for v in other]
    share = np.linspace(0, 1, 400002)[1:-1]
    at = KNOWN[name][1].ppf(share)
    want = (KNOWN[name][1].logpdf(at) - theirs.logpdf(at)).mean()
    got = float(ours.kl_loss(name, *tensors).reshape(()))
    np.testing.assert_allclose(got, want, rtol=2e-3)
    crossed = float(ours.cross_entropy(name, *tensors).reshape(()))
    np.testing.assert_allclose(crossed, got + float(ours.entropy().reshape(())), rtol=1e-5)


LOG_NORMAL = D.LogNormal()
GRADIENTS: dict[str, Any] = {
    "Normal": lambda x, p: D.Normal().log_prob(x, p - 1, p),
    "Cauchy": lambda x, p: D.Cauchy().log_cdf(x, p - 1, p),
    "Logistic": lambda x, p: D.Logistic().log_survival(x, p - 1, p),
    "StudentT": lambda x, p: D.StudentT().log_prob(x, p + 1, p - 1, p),
    "Exponential": lambda x, p: D.Exponential().log_prob(x, p),
    "Gamma": lambda x, p: D.Gamma().log_prob(x, p + 1, p),
    "Beta": lambda x, p: D.Beta().log_prob(x / 4, p + 1, p),
    "Categorical": lambda x, p: D.Categorical().log_prob(Tensor([0, 2]), ops.softmax(p)),
    "Bernoulli": lambda x, p: D.Bernoulli().entropy(ops.sigmoid(p)),
    "kl": lambda x, p: D.Normal().kl_loss("Normal", x, p + 1, p, p),
    "LogNormal": lambda x, p: LOG_NORMAL.log_prob(x, p - 1, p),
    "Softplus": lambda x, p: B.Softplus(2.0).inverse_log_jacobian(x),
    "PowerTransform": lambda x, p: B.PowerTransform(0.5).inverse(x),
    "Exp": lambda x, p: B.Exp().forward_log_jacobian(x),
}


@pytest.mark.parametrize("name", sorted(GRADIENTS))
def test_gradients_and_compiled(name: str) -> None:
    x, p = np.array([0.7, 1.9, 1.1]), np.array([1.2, 0.4, 2.3])

    def single(x: Tensor, p: Tensor) -> Tensor:  # parameters are held in float32
        return GRADIENTS[name](x.float(), p.float()).astype(ms.float64)

    check_gradient(single, [x, p], (0, 1), order=1, rtol=5e-2, atol=2e-2)
    check_compiled(single, [Tensor(x), Tensor(p)])


@pytest.mark.parametrize("make", [
    lambda: B.Exp(), lambda: B.PowerTransform(0.5), lambda: B.ScalarAffine(-2.0, 1.0),
    lambda: B.Softplus(0.5), lambda: B.GumbelCDF(1.0, 2.0), lambda: B.Invert(B.Softplus(2.0)),
], ids=["exp", "power", "affine", "softplus", "gumbel", "invert"])
def test_bijectors_are_invertible_with_their_derivative(make: Any) -> None:
    bijector = make()
    x = Tensor(np.array([0.3, 1.1, 2.4], "float32"))
    y = bijector.forward(x)
    np.testing.assert_allclose(bijector.inverse(y).asnumpy(), x.asnumpy(), rtol=1e-4)
    slope = ms.grad(lambda v: bijector.forward(v).sum())(x).asnumpy()
    jacobian = ops.broadcast_to(bijector.forward_log_jacobian(x), x.shape).asnumpy()
    np.testing.assert_allclose(jacobian, np.log(np.abs(slope)), rtol=1e-4, atol=1e-5)
    back = ops.broadcast_to(bijector.inverse_log_jacobian(y), x.shape).asnumpy()
    np.testing.assert_allclose(back, -jacobian, rtol=1e-3, atol=1e-4)


def test_in_a_network_with_parameters() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.width = Parameter(Tensor([2.0]), name="width")
            self.normal = D.Normal(0.0, self.width)

        def construct(self, value: Tensor) -> Tensor:
            return self.normal("log_prob", value).sum()

    net = Net()
    assert len(net.trainable_params()) == 1
    gradient = ms.grad(net, None, net.trainable_params())(Tensor([1.0, 3.0]))
    gradient = gradient[0] if isinstance(gradient, tuple) else gradient
    np.testing.assert_allclose(gradient.asnumpy(), [(1 + 9) / 8 - 2 / 2], rtol=1e-5)


def test_a_family_of_ones_own() -> None:
    class Triangle(D.Distribution):
        def __init__(self, top: Any = None, seed: Any = None, dtype: Any = ms.float32,
                     name: str = "Triangle"):
            param = dict(locals())
            param["param_dict"] = {"top": top}
            super().__init__(seed, dtype, name, param)
            self._top = self._add_parameter(top, "top")

        def _cdf(self, value: Tensor, top: Any = None) -> Tensor:
            return (value / self._check_param_type(top)) ** 2

    triangle = Triangle(2.0)
    assert float(triangle.log_survival(Tensor(1.0))) == pytest.approx(np.log(0.75))
    assert float(triangle("cdf", Tensor(1.0), Tensor(4.0))) == 1 / 16
    with pytest.raises(NotImplementedError, match="prob is not implemented for Triangle"):
        triangle.prob(Tensor(1.0))
    with pytest.raises(TypeError, match="the type top must be subclass of Tensor"):
        Triangle().cdf(Tensor(1.0))
    with pytest.raises(ValueError, match="Expected dist input is Normal, but got Gamma"):
        D.Normal(0.0, 1.0).kl_loss("Gamma", Tensor(0.0), Tensor(1.0))


def test_paths_of_the_original() -> None:
    import lamella.alias

    lamella.alias.install()
    try:
        import mindspore.nn.probability.bijector as msb  # pyright: ignore[reportMissingImports]
        import mindspore.nn.probability.distribution as msd  # pyright: ignore[reportMissingImports]
        from mindspore import nn as mnn  # pyright: ignore[reportMissingImports]
        assert mnn.probability.distribution.Normal is D.Normal
    finally:
        lamella.alias.uninstall()
    assert msb.Exp is B.Exp and msd.Normal is D.Normal


def test_far_values_and_nan():
    far = Tensor([np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(D.Poisson([0.5]).cdf(far).asnumpy(), [1, 0, np.nan])
    chances = D.Categorical([0.25, 0.75])
    np.testing.assert_array_equal(chances.cdf(far).asnumpy(), [1, 0, np.nan])
    assert np.isnan(chances.prob(far).asnumpy()).all()
    np.testing.assert_array_equal(D.HalfNormal(0.0, 1.0).prob(far).asnumpy(), [0, 0, np.nan])


def test_types_of_parameters_and_values():
    half = Tensor([1.0, 2.0], ms.float16)
    assert D.Normal(half, half).prob(Tensor([0.5])).dtype is ms.float32  # the distribution's own
    assert D.Normal(half, half, dtype=ms.float16).prob(Tensor([0.5])).dtype is ms.float16
    assert D.Normal(np.ones(2), np.ones(2)).mean().dtype is ms.float32
    assert D.Normal(np.ones(2), np.ones(2), dtype=ms.float64).mean().dtype is ms.float64
    assert D.Normal(Tensor(np.ones(2)), 1.0).mean().dtype is ms.float64


def test_the_mode_of_gumbel_is_its_location():
    found = D.Gumbel(ms.Tensor([1.0, 3.0]), ms.Tensor([2.0, 4.0])).mode()
    np.testing.assert_array_equal(found.asnumpy(), [1, 3])
