"""Trainings by several processes beside those of one; each is (losses, weights, ...)."""

import numpy as np


def check_same(training, wanted):
    """Losses and weights are those of one process, up to rounding."""
    np.testing.assert_allclose(training[0], wanted[0], rtol=1e-5)
    for got, want in zip(training[1], wanted[1], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-6)


def check_moved_alike(training, wanted, before, least):
    """In float16: the last layer's weight has moved as in one process, by `least` on average."""
    np.testing.assert_allclose(training[0], wanted[0], rtol=0.02)
    moved = np.array(training[1][-2]) - before
    np.testing.assert_allclose(moved, np.array(wanted[1][-2]) - before, rtol=0.1, atol=2e-3)
    assert np.abs(moved).mean() > least
