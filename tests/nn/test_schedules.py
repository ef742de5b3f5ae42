"""Learning rates by the formulas of their schedules, as functions of the step and as lists."""

import math

import numpy as np
import pytest

import lamella as ms
from lamella import nn

from ..limits import check_limits

STEPS = np.arange(13)
EPOCHS = STEPS // 2  # of two steps each


def stairs(stair, x):
    return np.floor(x) if stair else x


@pytest.mark.parametrize("stair", [False, True])
def test_decays(stair):
    rate, decay, length = 0.3, 0.7, 3
    for name, form in {
            "exponential": lambda t: rate * decay ** stairs(stair, t / length),
            "natural_exp": lambda t: rate * np.exp(
                -decay * (t // length * length if stair else t)),
            "inverse": lambda t: rate / (1 + decay * stairs(stair, t / length))}.items():
        kind = {"exponential": nn.ExponentialDecayLR, "natural_exp": nn.NaturalExpDecayLR,
                "inverse": nn.InverseDecayLR}[name]
        got = kind(rate, decay, length, stair)(ms.Tensor(STEPS, ms.int32)).asnumpy()
        np.testing.assert_allclose(got, form(STEPS), rtol=1e-5, err_msg=name)
        listed = getattr(nn, f"{name}_decay_lr")(rate, decay, 13, 2, length, stair)
        np.testing.assert_allclose(listed, form(EPOCHS), rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("power", [1.0, 2.5])
def test_polynomial(again, power):
    first, last, length = 0.3, 0.02, 4

    def form(t):
        whole = length * np.maximum(np.ceil(t / length), 1) if again else length
        return (first - last) * (1 - np.minimum(t, whole) / whole) ** power + last

    got = nn.PolynomialDecayLR(first, last, length, power, again)(ms.Tensor(STEPS, ms.int32))
    np.testing.assert_allclose(got.asnumpy(), form(STEPS), rtol=1e-5)
    listed = nn.polynomial_decay_lr(first, last, 13, 2, length, power, again)
    np.testing.assert_allclose(listed, form(EPOCHS), rtol=1e-9)


def test_cosine_and_warm_up():
    def cosine(t):
        return 0.02 + 0.5 * (0.3 - 0.02) * (1 + np.cos(np.pi * np.minimum(t, 5) / 5))

    got = nn.CosineDecayLR(0.02, 0.3, 5)(ms.Tensor(STEPS, ms.int32)).asnumpy()
    np.testing.assert_allclose(got, cosine(STEPS), rtol=1e-5)
    np.testing.assert_allclose(nn.cosine_decay_lr(0.02, 0.3, 13, 2, 5), cosine(EPOCHS), rtol=1e-9)
    got = nn.WarmUpLR(0.3, 5)(ms.Tensor(STEPS, ms.int32)).asnumpy()
    np.testing.assert_allclose(got, 0.3 * np.minimum(STEPS, 5) / 5, rtol=1e-6)
    np.testing.assert_allclose(nn.warmup_lr(0.3, 13, 2, 5), 0.3 * np.minimum(EPOCHS, 5) / 5,
                               rtol=1e-12)


SMALL = math.ulp(0.0)
LIMITS = {
    "milestones": (lambda m: nn.piecewise_constant_lr(m, [0.1, 0.2]), ([1, 1], (2, 5)),
                   ([0, 1], [2, 1], [1], [1, 2, 3], [1, 2.0])),
    "ExponentialDecayLR rate": (lambda r: nn.ExponentialDecayLR(r, 0.9, 1), (SMALL,), (0.0, -0.1)),
    "ExponentialDecayLR steps": (lambda n: nn.ExponentialDecayLR(0.1, 0.9, n), (1,), (0,)),
    "InverseDecayLR rate": (lambda r: nn.InverseDecayLR(0.1, r, 1), (SMALL,), (0.0,)),
    "CosineDecayLR least": (lambda r: nn.CosineDecayLR(r, 0.1, 1), (0.0, 0.09), (-0.1, 0.1, 0.2)),
    "CosineDecayLR steps": (lambda n: nn.CosineDecayLR(0.0, 0.1, n), (1,), (0,)),
    "PolynomialDecayLR end": (lambda r: nn.PolynomialDecayLR(0.1, r, 1, 1.0), (0.0, 0.2), (-0.1,)),
    "PolynomialDecayLR power": (lambda p: nn.PolynomialDecayLR(0.1, 0.0, 1, p), (SMALL,), (0.0,)),
    "PolynomialDecayLR steps": (lambda n: nn.PolynomialDecayLR(0.1, 0.0, n, 1.0), (1,), (0,)),
    "WarmUpLR rate": (lambda r: nn.WarmUpLR(r, 1), (0.0,), (-0.1,)),
    "WarmUpLR steps": (lambda n: nn.WarmUpLR(0.1, n), (1,), (0,)),
    "total steps": (lambda n: nn.warmup_lr(0.1, n, 1, 1), (1,), (0, 10**8 + 1)),
    "steps of an epoch": (lambda n: nn.warmup_lr(0.1, 1, n, 1), (1,), (0,)),
    "epochs": (lambda n: nn.cosine_decay_lr(0.0, 0.1, 1, 1, n), (1,), (0,)),
    "least": (lambda r: nn.cosine_decay_lr(r, 0.1, 1, 1, 1), (0.0, 0.09), (-0.1, 0.1, 0.2)),
    "end": (lambda r: nn.polynomial_decay_lr(0.1, r, 1, 1, 1, 1.0), (0.0,), (-0.1,)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    check_limits(*LIMITS[name])
