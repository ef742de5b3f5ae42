"""Learning rates as lists, against numbers of MindSpore 2.10."""

import numpy as np
import pytest

from lamella import nn

RECORDED = {
    ("piecewise_constant_lr", ((2, 5, 7), (0.1, 0.05, 0.01))):
        [0.1, 0.1, 0.05, 0.05, 0.05, 0.01, 0.01],
    ("exponential_decay_lr", (0.1, 0.9, 6, 2, 2)):
        [0.1, 0.1, 0.094868329805, 0.094868329805, 0.09, 0.09],
    ("exponential_decay_lr", (0.1, 0.9, 6, 2, 2, True)):
        [0.1, 0.1, 0.1, 0.1, 0.09, 0.09],
    ("natural_exp_decay_lr", (0.1, 0.9, 6, 2, 2)):
        [0.1, 0.1, 0.040656965974, 0.040656965974, 0.016529888822, 0.016529888822],
    ("natural_exp_decay_lr", (0.1, 0.9, 6, 2, 2, True)):
        [0.1, 0.1, 0.1, 0.1, 0.016529888822, 0.016529888822],
    ("inverse_decay_lr", (0.1, 0.5, 6, 2, 2)):
        [0.1, 0.1, 0.08, 0.08, 0.066666666667, 0.066666666667],
    ("inverse_decay_lr", (0.1, 0.5, 6, 1, 2, True)):
        [0.1, 0.1, 0.066666666667, 0.066666666667, 0.05, 0.05],
    ("cosine_decay_lr", (0.01, 0.1, 7, 2, 2)):
        [0.1, 0.1, 0.055, 0.055, 0.01, 0.01, 0.01],
    ("polynomial_decay_lr", (0.1, 0.01, 7, 2, 2, 0.5)):
        [0.1, 0.1, 0.073639610307, 0.073639610307, 0.01, 0.01, 0.01],
    ("polynomial_decay_lr", (0.1, 0.01, 8, 1, 3, 2.0, True)):
        [0.1, 0.05, 0.02, 0.01, 0.02, 0.0125, 0.01, 0.014444444444],
    ("warmup_lr", (0.1, 7, 2, 2)):
        [0.0, 0.0, 0.05, 0.05, 0.1, 0.1, 0.1],
}


@pytest.mark.parametrize("name, args", RECORDED)
def test_recorded(name, args):
    out = getattr(nn, name)(*args)
    assert isinstance(out, list) and all(isinstance(x, float) for x in out)
    np.testing.assert_allclose(out, RECORDED[name, args], rtol=1e-9)


ERRORS = [
    (lambda: nn.piecewise_constant_lr([2, 5], [0.1]), ValueError, "2 and 1"),
    (lambda: nn.piecewise_constant_lr([5, 2], [0.1, 0.2]), ValueError, "comes after 5"),
    (lambda: nn.piecewise_constant_lr([5], [1]), TypeError, "must be a float"),
    (lambda: nn.piecewise_constant_lr(5, [0.1]), TypeError, "tuple or list"),
    (lambda: nn.exponential_decay_lr(1, 0.9, 4, 2, 1), TypeError, "'learning_rate'"),
    (lambda: nn.exponential_decay_lr(0.1, -0.9, 4, 2, 1), ValueError, "above 0, but got -0.9"),
    (lambda: nn.exponential_decay_lr(0.1, 0.9, 0, 2, 1), ValueError, "'total_step'"),
    (lambda: nn.exponential_decay_lr(0.1, 0.9, 2**31, 2, 1), ValueError,
     r"'total_step' must be in \[1, 100000000\], but got 2147483648"),
    (lambda: nn.piecewise_constant_lr([5, 2**31], [0.1, 0.2]), ValueError, r"'milestone\[1\]'"),
    (lambda: nn.exponential_decay_lr(0.1, 0.9, 4, 2, 1, 1), TypeError, "'is_stair'"),
    (lambda: nn.cosine_decay_lr(0.1, 0.1, 4, 2, 1), ValueError, "above 'min_lr'"),
    (lambda: nn.cosine_decay_lr(0, 0.1, 4, 2, 1), TypeError, "'min_lr'"),
    (lambda: nn.polynomial_decay_lr(0.1, 0.0, 4, 2, 1, 0.0), ValueError, "'power'"),
    (lambda: nn.warmup_lr(0.1, 4, 2, 2.0), TypeError, "'warmup_epoch'"),
]


@pytest.mark.parametrize("make, kind, message", ERRORS)
def test_errors(make, kind, message):
    with pytest.raises(kind, match=message):
        make()
