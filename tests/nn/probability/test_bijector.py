"""Bijectors by their formulas, at bends, far out and in each type, and what they are made of."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.nn.probability import bijector as B  # noqa: N812  (as in the room's other tests)
from lamella.nn.probability import distribution as D  # noqa: N812
from lamella.nn.probability.bijector.base import Bijector

FAR = np.array([-90.0, -20.0, -1.5, -1e-3, 0.0, 1e-3, 0.75, 12.0, 60.0])
NEAR = np.array([-0.75, -0.1, 0.0, 0.3, 2.5])
FORMULAS = {  # how it is made, its argument, its formula, and the logarithm of its derivative
    "softplus": (lambda: B.Softplus(2.0), FAR, lambda x: np.logaddexp(0, 2 * x) / 2,
                 lambda x: -np.logaddexp(0, -2 * x)),
    "flat": (lambda: B.Softplus(0.5), FAR, lambda x: np.logaddexp(0, x / 2) * 2,
             lambda x: -np.logaddexp(0, -x / 2)),
    "exp": (lambda: B.Exp(), NEAR, np.exp, lambda x: x),
    "power": (lambda: B.PowerTransform(0.5), NEAR, lambda x: (1 + x / 2) ** 2,
              lambda x: np.log1p(x / 2)),
    "linear": (lambda: B.PowerTransform(1.0), NEAR, lambda x: 1 + x, lambda x: 0 * x),
    "cube": (lambda: B.PowerTransform(3.0), NEAR[NEAR > -0.3], lambda x: (1 + 3 * x) ** (1 / 3),
             lambda x: -2 / 3 * np.log1p(3 * x)),
    "affine": (lambda: B.ScalarAffine(-2.0, 1.0), FAR, lambda x: 1 - 2 * x,
               lambda x: 0 * x + np.log(2)),
    "gumbel": (lambda: B.GumbelCDF(0.5, 2.0), NEAR, lambda x: np.exp(-np.exp((0.5 - x) / 2)),
               lambda x: (0.5 - x) / 2 - np.exp((0.5 - x) / 2) - np.log(2)),
}


def whole(tensor, like):
    return ops.broadcast_to(tensor, like.shape).asnumpy()


@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_derivatives(name):
    make, at, formula, slope = FORMULAS[name]
    bijector, x = make(), Tensor(at, ms.float32)
    np.testing.assert_allclose(bijector.forward(x).asnumpy(), formula(at), rtol=2e-6, atol=1e-30)
    np.testing.assert_allclose(whole(bijector.forward_log_jacobian(x), x), slope(at), rtol=2e-5,
                               atol=1e-6)
    gradient = ms.grad(lambda v: bijector.forward(v).sum())(x).asnumpy()
    sign = -1 if name == "affine" else 1
    np.testing.assert_allclose(gradient, sign * np.exp(slope(at)), rtol=2e-5, atol=1e-30)
    turned = B.Invert(bijector)
    assert (turned.inverse(x) == bijector.forward(x)).all()
    y = bijector.forward(x)
    assert (turned.forward(y) == bijector.inverse(y)).all()
    assert (turned.inverse_log_jacobian(x) == bijector.forward_log_jacobian(x)).all()
    assert (turned.forward_log_jacobian(y) == bijector.inverse_log_jacobian(y)).all()
    for kind in ms.nn.probability.bijector.Bijector, nn.Cell:
        assert isinstance(turned, kind)


@pytest.mark.parametrize("name", FORMULAS)
def test_inverses_and_their_derivatives(name):
    make, at, formula, slope = FORMULAS[name]
    bijector, near = make(), at[abs(at) < 5]
    y = Tensor(formula(near), ms.float32)
    np.testing.assert_allclose(bijector.inverse(y).asnumpy(), near, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(whole(bijector.inverse_log_jacobian(y), y), -slope(near),
                               rtol=1e-4, atol=1e-5)
    gradient = ms.grad(lambda v: bijector.inverse(v).sum())(y).asnumpy()
    sign = -1 if name == "affine" else 1
    np.testing.assert_allclose(gradient, sign * np.exp(-slope(near)), rtol=2e-4)


@pytest.mark.parametrize("name", FORMULAS)
def test_other_types_than_that_of_the_parameters(name):
    make, at, formula, _ = FORMULAS[name]
    bijector, near = make(), at[abs(at) < 3]
    for kind, close in ((ms.float16, 3e-3), (ms.float64, 1e-12)):
        found = bijector.forward(Tensor(near, kind))
        assert found.dtype is kind
        np.testing.assert_allclose(found.asnumpy(), formula(near), rtol=close, atol=close)
    for wrong in (Tensor([1, 2]), Tensor([True])):
        with pytest.raises(TypeError, match="For input value of bijector, the type must be"):
            bijector.forward(wrong)
    with pytest.raises(TypeError, match="must be a Tensor or Parameter"):
        bijector.inverse(1.0)


def test_slopes_far_out_are_finite():
    """Where the inverse is its argument, the part that isn't taken has no slope of its own."""
    y = Tensor([1e-30, 1e-6, 1.0, 80.0, 1e6, 3e38])
    for bijector in (B.Softplus(0.5), B.Softplus(), B.Softplus(2.0)):
        for part in (bijector.inverse, bijector.inverse_log_jacobian):
            found = ms.grad(lambda v, part=part: part(v[1:-1]).sum())(y)
            assert np.isfinite(found.asnumpy()).all()
    np.testing.assert_allclose(B.Softplus().inverse(y[3:5]).asnumpy(), [80.0, 1e6], rtol=1e-6)
    np.testing.assert_allclose(B.Softplus().inverse(y[1:2]).asnumpy(), np.log(np.expm1(1e-6)),
                               rtol=1e-6)


@pytest.mark.parametrize("power", [Tensor([0.0, 0.5]), Tensor([[0.0], [0.5]])])
def test_powers_side_by_side(power):
    bijector = B.PowerTransform(power)
    x = Tensor([0.25, 0.25])
    want = np.where(power.asnumpy() == 0, np.exp(0.25), 1.125 ** 2)
    want = np.broadcast_to(want, np.broadcast_shapes(power.shape, (2,)))
    np.testing.assert_allclose(bijector.forward(x).asnumpy(), want, rtol=1e-6)
    np.testing.assert_allclose(bijector.inverse(bijector.forward(x)).asnumpy(),
                               np.full(want.shape, 0.25), rtol=1e-5)
    assert bijector.batch_shape == power.shape and not bijector.is_scalar_batch
    assert np.isfinite(ms.grad(lambda v: bijector.forward(v).sum())(x).asnumpy()).all()


ONE, TWO = Tensor([1.0, 2.0]), Tensor([2.0, 3.0])


@pytest.mark.parametrize("make, text, linear", [
    (lambda: B.ScalarAffine(2.0, 1.0), "scale = 2.0, shift = 1.0", True),
    (lambda: B.ScalarAffine(ONE, TWO), "batch_shape = (2,)", True),
    (lambda: B.GumbelCDF(0.5, 2.0), "loc = 0.5, scale = 2.0", False),
    (lambda: B.GumbelCDF(ONE, TWO), "batch_shape = (2,)", False),
    (lambda: B.Softplus(2.0), "sharpness = 2.0", False),
    (lambda: B.Softplus(ONE), "batch_shape = (2,)", False),
    (lambda: B.PowerTransform(2.0), "power = 2.0", False),
    (lambda: B.PowerTransform(TWO), "batch_shape = (2,)", False),
    (lambda: B.Exp(), "exp", False)], ids=range(9))
def test_texts_and_properties(make, text, linear):
    one = make()
    assert one.extend_repr() == text and one.name == type(one).__name__
    assert one.is_constant_jacobian is linear and one.is_injective
    assert one.is_scalar_batch is (not text.startswith("batch"))
    assert one.batch_shape == (() if one.is_scalar_batch else (2,)) and one.dtype is None
    assert one.parameters["name"] == one.name and "param_dict" in one.parameters
    turned = B.Invert(one)
    assert (turned.name, B.Invert(one, "own").name) == (f"Invert{one.name}", "own")
    assert turned.bijector is one and turned.batch_shape == one.batch_shape
    assert turned.is_constant_jacobian is linear and turned.is_injective
    assert turned.is_scalar_batch is one.is_scalar_batch and turned.dtype is None
    assert turned.shape_mapping((3, 1)) == one.shape_mapping((3, 1))


@pytest.mark.parametrize("make, error, text", [
    (lambda: B.GumbelCDF(0.0, 0.0), ValueError, "scale must be greater than zero"),
    (lambda: B.GumbelCDF(0.0, Tensor([1.0, -1.0])), ValueError, "scale must be greater than zero"),
    (lambda: B.PowerTransform(-0.5), ValueError, "Power must be greater than or equal to zero"),
    (lambda: B.PowerTransform(Tensor([0.0, -1.0])), ValueError, "greater than or equal to zero"),
    (lambda: B.ScalarAffine(None, 1.0), TypeError, "scale cannot be type"),
    (lambda: B.ScalarAffine(1.0, True), TypeError, "of type <class 'bool'>"),
    (lambda: B.ScalarAffine(Tensor([1.0], ms.float16), 1.0), TypeError, "shift should have the"),
    (lambda: B.Softplus(Tensor([1])), TypeError, "dtype of sharpness"),
    (lambda: B.Invert(D.Normal(0.0, 1.0)), TypeError, "must be Bijector, but got Normal"),
    (lambda: B.Exp()("backward", ONE), ValueError, "must be one of forward, inverse"),
    (lambda: Bijector(1, True, "a"), TypeError, "'is_constant_jacobian' must be bool"),
    (lambda: Bijector(True, 1, "a"), TypeError, "'is_injective' must be bool"),
    (lambda: Bijector(True, True, None), TypeError, "'name' must be str"),
    (lambda: Bijector(True, True, "a", ms.int32), TypeError, "dtype"),
], ids=range(14))
def test_what_bijectors_are_not_made_of(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_by_the_name_of_a_method_and_of_a_type_of_its_own():
    bijector, x = B.Softplus(2.0), Tensor([0.5, 2.0])
    for name in ("forward", "inverse", "forward_log_jacobian", "inverse_log_jacobian"):
        assert (bijector(name, x) == getattr(bijector, name)(x)).all()
    assert isinstance(bijector(D.Normal(0.0, 1.0)), D.TransformedDistribution)

    class Double(Bijector):
        def __init__(self):
            super().__init__(True, True, "Double", ms.float16, {"_hidden": 1, "self": 2, "by": 2})

        def _forward(self, x):
            return self._with(x)[0] * 2

    double = Double()
    assert double.parameters == {"by": 2} and double.dtype is ms.float16
    assert double.batch_shape is None and not double.is_scalar_batch
    assert double.shape_mapping((2, 3)) == (2, 3)
    assert double.forward(x.astype(ms.float16)).tolist() == [1.0, 4.0]
    with pytest.raises(TypeError, match="the type must be Float16|must be mindspore.float16"):
        double.forward(x)
