"""Two groups with learning rates of their own step as two optimizers would."""

import numpy as np
import pytest

from lamella import Parameter, Tensor, nn

OPTIMIZERS = {
    "Adam": nn.Adam, "AdamWeightDecay": nn.AdamWeightDecay, "AdaMax": nn.AdaMax,
    "amsgrad": lambda p, rate: nn.Adam(p, rate, use_amsgrad=True), "Lamb": nn.Lamb,
    "nesterov": lambda p, rate: nn.Adam(p, rate, use_nesterov=True), "SGD": nn.SGD,
    "Momentum": lambda p, rate: nn.Momentum(p, rate, 0.9), "RMSProp": nn.RMSProp,
    "centered": lambda p, rate: nn.RMSProp(p, rate, centered=True), "Rprop": nn.Rprop,
    "Adagrad": lambda p, rate: nn.Adagrad(p, learning_rate=rate), "ASGD": nn.ASGD,
    "Adadelta": nn.Adadelta}
RATES = {"numbers": (0.1, 0.03), "lists": ([0.1, 0.2, 0.05], [0.03, 0.0, 0.4]),
         "schedules": (nn.ExponentialDecayLR(0.1, 0.5, 1), nn.ExponentialDecayLR(0.3, 0.9, 2))}


def weights():
    return [Parameter(Tensor([[0.5, -1.0], [2.0, 0.25]]), name="a"),
            Parameter(Tensor([[2.0, -0.5, 1.0]]), name="b")]


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_groups_step_as_optimizers_apart(name, rates):
    make, (first, second) = OPTIMIZERS[name], RATES[rates]
    together, apart = weights(), weights()
    both = make([{"params": [together[0]], "lr": first}, {"params": [together[1]], "lr": second}],
                0.5)
    each = [make([apart[0]], first), make([apart[1]], second)]
    rng = np.random.default_rng(8)
    for _ in range(3):
        gradients = [Tensor(rng.standard_normal(w.shape).astype(np.float32)) for w in apart]
        both(tuple(gradients))
        for step, gradient in zip(each, gradients, strict=True):
            step((gradient,))
    for ours, wanted, start in zip(together, apart, weights(), strict=True):
        np.testing.assert_allclose(ours.asnumpy(), wanted.asnumpy(), rtol=1e-6)
        assert (ours.asnumpy() != start.asnumpy()).any()


def test_each_parameter_s_rate_is_found():
    first, second = weights()
    step = nn.SGD([{"params": [first], "lr": 0.5}, {"params": [second], "lr": 0.25},
                   {"order_params": [second, first]}], 0.125)
    assert step.is_group_params_ordered and list(step.parameters) == [second, first]
    assert [float(step.get_lr_parameter(w).asnumpy()) for w in (first, second)] == [0.5, 0.25]
    assert not nn.SGD([{"params": [first], "lr": 0.5}], 0.125).is_group_params_ordered


@pytest.mark.parametrize("shape, is_centralized", [
    ((16,), False), ((2, 15), False), ((2, 16), True), ((2, 17), False), ((2, 32, 3), True),
    ((2, 3, 16), False)])
def test_gradients_less_their_means(shape, is_centralized):
    """Of those alone whose second dimension is a multiple of 16."""
    w = Parameter(Tensor(np.zeros(shape, np.float32)), name="w")
    gradient = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    nn.SGD([{"params": [w], "grad_centralization": True}], 1.0)((Tensor(gradient),))
    if is_centralized:
        gradient = gradient - gradient.mean(tuple(range(1, len(shape))), keepdims=True)
    np.testing.assert_allclose(w.asnumpy(), -gradient, rtol=1e-5, atol=1e-6)
