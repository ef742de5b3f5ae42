"""Learning rates as functions of the step, against numbers of MindSpore 2.10."""

import numpy as np
import pytest

import lamella as ms
from lamella import nn

RECORDED = {
    ("ExponentialDecayLR", (0.1, 0.9, 4)):
        [0.100000001, 0.097400375, 0.094868325, 0.092402108, 0.089999996, 0.087660335, 0.0853815],
    ("ExponentialDecayLR", (0.1, 0.9, 4, True)):
        [0.100000001, 0.100000001, 0.100000001, 0.100000001, 0.089999996, 0.089999996, 0.089999996],
    ("NaturalExpDecayLR", (0.1, 0.9, 4)):
        [0.100000001, 0.040656969, 0.016529892, 0.006720554, 0.002732373, 0.0011109, 0.000451658],
    ("NaturalExpDecayLR", (0.1, 0.9, 4, True)):
        [0.100000001, 0.100000001, 0.100000001, 0.100000001, 0.002732373, 0.002732373, 0.002732373],
    ("InverseDecayLR", (0.1, 0.5, 4)):
        [0.100000001, 0.088888891, 0.080000006, 0.072727278, 0.06666667, 0.061538465, 0.057142861],
    ("InverseDecayLR", (0.1, 0.5, 4, True)):
        [0.100000001, 0.100000001, 0.100000001, 0.100000001, 0.06666667, 0.06666667, 0.06666667],
    ("CosineDecayLR", (0.01, 0.1, 4)):
        [0.100000001, 0.086819805, 0.055, 0.02318019, 0.01, 0.01, 0.01],
    ("PolynomialDecayLR", (0.1, 0.01, 4, 0.5)):
        [0.100000001, 0.087942287, 0.073639609, 0.055, 0.01, 0.01, 0.01],
    ("PolynomialDecayLR", (0.1, 0.01, 3, 2.0, True)):
        [0.100000001, 0.049999997, 0.02, 0.01, 0.02, 0.0125, 0.01],
    ("WarmUpLR", (0.1, 4)):
        [0.0, 0.025, 0.050000001, 0.075000003, 0.100000001, 0.100000001, 0.100000001],
}


@pytest.mark.parametrize("name, args", RECORDED)
def test_recorded(name, args):
    schedule = getattr(nn, name)(*args)
    out = [schedule(ms.Tensor(step, ms.int32)) for step in range(7)]
    assert all(rate.dtype == ms.float32 and rate.shape == () for rate in out)
    np.testing.assert_allclose([r.asnumpy() for r in out], RECORDED[name, args], rtol=2e-6,
                               atol=1e-9)


def test_a_step_of_one_dimension():
    assert nn.WarmUpLR(0.1, 2)(ms.Tensor([1], ms.int32)).shape == (1,)


ERRORS = [
    (lambda: nn.ExponentialDecayLR(1, 0.9, 4), TypeError, "'learning_rate' must be a float"),
    (lambda: nn.ExponentialDecayLR(0.1, 0.0, 4), ValueError, "'decay_rate'.*above 0, but got 0.0"),
    (lambda: nn.NaturalExpDecayLR(0.1, 0.9, 4.0), TypeError, "'decay_steps' must be an int"),
    (lambda: nn.InverseDecayLR(0.1, 0.9, 4, 1), TypeError, "'is_stair'"),
    (lambda: nn.CosineDecayLR(0.1, 0.1, 4), ValueError, "above 'min_lr'"),
    (lambda: nn.CosineDecayLR(0, 0.1, 4), TypeError, "'min_lr'"),
    (lambda: nn.PolynomialDecayLR(0.1, -0.1, 4, 1.0), ValueError, "'end_learning_rate'"),
    (lambda: nn.PolynomialDecayLR(0.1, 0.0, 4, 1), TypeError, "'power'"),
    (lambda: nn.WarmUpLR(0.1, 0), ValueError, "'warmup_steps'"),
    (lambda: nn.LearningRateSchedule()(1), NotImplementedError, "must define construct"),
]


@pytest.mark.parametrize("make, kind, message", ERRORS)
def test_errors(make, kind, message):
    with pytest.raises(kind, match=message):
        make()
