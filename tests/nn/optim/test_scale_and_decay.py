"""Loss scales and decays of all optimizers: three steps with them, and without."""

import inspect

import numpy as np
import pytest

import lamella as ms
from lamella import nn

from .test_optimizer import EVERY, parameter


def stepped(name, scale=1.0, decay=None, group=False, explicit=False):
    """Two Parameters after three steps with gradients times `scale`, which is the loss scale."""
    kind = getattr(nn, name)
    takes = inspect.signature(kind).parameters
    options = dict(EVERY[name])
    if "loss_scale" in takes:
        options["loss_scale"] = scale
    if decay and "weight_decay" in takes:
        options["weight_decay"] = decay
    if explicit:
        kind = type(name, (kind,), {"decay_weight": lambda self, g: super(kind, self).decay_weight(
            g)})
    weights = [parameter(np.cos(np.arange(12)).reshape(4, 3)), parameter(np.sin(np.arange(5)), "v")]
    given = [{"params": weights[:1], "lr": 0.05, "weight_decay": 0.3, "grad_centralization": True},
             {"params": weights[1:]}] if group else weights
    optimizer = kind(given, **options)
    rng = np.random.default_rng(5)
    for _ in range(3):
        optimizer(tuple(ms.Tensor((scale * rng.standard_normal(w.shape)).astype(np.float32))
                        for w in weights))
    return np.concatenate([w.asnumpy().ravel() for w in weights])


SCALED = [name for name in EVERY if "loss_scale" in inspect.signature(
    getattr(nn, name)).parameters and name not in ("AdamOffload",)]


@pytest.mark.parametrize("name", SCALED)
def test_a_loss_scale_is_taken_out_of_gradients(name):
    for options in ({}, {"decay": 0.2}, {"decay": 0.2, "explicit": True}, {"group": True}):
        plain = stepped(name, **options)
        np.testing.assert_allclose(stepped(name, 16.0, **options), plain, rtol=1e-5, atol=1e-6)
        assert np.isfinite(plain).all()


@pytest.mark.parametrize("name", [name for name in EVERY if "weight_decay" in inspect.signature(
    getattr(nn, name)).parameters])
def test_a_decay_by_ones_own_method_is_the_rules(name):
    plain = stepped(name, decay=0.2)
    if not name.startswith(("AdamWeightDecay", "Lamb", "AdaFactor")):  # whose rule decays weights
        np.testing.assert_allclose(stepped(name, decay=0.2, explicit=True), plain, rtol=1e-5,
                                   atol=1e-6)
    assert abs(plain - stepped(name)).max() > 1e-4


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("change", ["another Tensor", "in place"])
def test_a_decay_that_is_set_between_steps_holds_from_the_next_one(compiled, grouped, change):
    w = ms.Parameter(ms.Tensor([1.0]), name="w")
    given = [{"params": [w], "weight_decay": 0.1}] if grouped else [w]
    optimizer = nn.Momentum(given, 0.1, 0.0, weight_decay=0.1)

    def step(gradient):
        optimizer((gradient,))
        return w.value()

    step = ms.jit(step) if compiled else step
    expected, found = 1.0, []
    for number in range(5):
        if number == 2 and change == "in place":
            (optimizer.weight_decay[0] if grouped else optimizer.weight_decay).copy_(
                ms.Tensor(0.5))
        elif number == 2:
            optimizer.weight_decay = (ms.Tensor(0.5),) if grouped else ms.Tensor(0.5)
        expected *= 1 - 0.1 * (0.1 if number < 2 else 0.5)
        found.append(step(ms.Tensor([0.0])).item() / expected)
    np.testing.assert_allclose(found, np.ones(5), rtol=1e-6)
    assert not compiled or step.report()["replays"] > 1


@pytest.mark.parametrize("scale, decay", [(1.0, 0.0), (1.0, 0.25), (4.0, 0.0), (4.0, 0.25)])
def test_the_parts_of_a_step_that_subclasses_call(scale, decay):
    gradient, value = np.array([8.0, -4.0], np.float32), np.array([1.0, 2.0], np.float32)
    weights = [parameter(value, "w"), parameter(value, "gamma")]
    optimizer = nn.Optimizer(0.5, weights, weight_decay=decay, loss_scale=scale)
    given = (ms.Tensor(gradient),) * 2
    decayed = optimizer.decay_weight(given)
    np.testing.assert_array_equal(decayed[0].asnumpy(), gradient + scale * decay * value)
    np.testing.assert_array_equal(decayed[1].asnumpy(), gradient)  # by its name
    for found, grad in zip(optimizer.scale_grad(decayed), decayed, strict=True):
        np.testing.assert_array_equal(found.asnumpy(), grad.asnumpy() / scale)
    assert optimizer.get_weight_decay().item() == scale * decay
