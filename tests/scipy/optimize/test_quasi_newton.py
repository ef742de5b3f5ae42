"""What BFGS and L-BFGS learn of the Hessian, beside its formulas in NumPy."""

import numpy as np
import pytest

import lamella as ms
from lamella.scipy.optimize import quasi_newton


def pairs(count, size=4):
    """Steps, and the changes of the gradient of a quadratic function."""
    rng = np.random.default_rng(3)
    root = rng.standard_normal((size, size))
    hessian = root @ root.T + np.eye(size)
    steps = rng.standard_normal((count, size))
    return [(step, hessian @ step) for step in steps]


def updated(inverse, step, change):
    """The formula of Nocedal and Wright (6.17)."""
    share = 1 / (step @ change)
    left = np.eye(len(step)) - share * np.outer(step, change)
    return left @ inverse @ left.T + share * np.outer(step, step)


def as_tensor(array):
    return ms.Tensor(array, ms.float64)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_direction_from_the_last_steps(count):
    known, found = pairs(count), quasi_newton._Recent(2)
    for step, change in known:
        found.learn(as_tensor(step), as_tensor(change))
    inverse = np.eye(4)
    if known:
        step, change = known[-1]
        inverse *= (step @ change) / (change @ change)
    for step, change in known[-2:]:  # what is kept
        inverse = updated(inverse, step, change)
    gradient = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(found.direction(as_tensor(gradient)).asnumpy(), -inverse @ gradient,
                               rtol=1e-9)


def test_a_direction_from_the_whole_matrix():
    found, inverse = quasi_newton._Dense(as_tensor(np.zeros(4))), np.eye(4)
    for step, change in pairs(3):
        found.learn(as_tensor(step), as_tensor(change))
        inverse = updated(inverse, step, change)
    gradient = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(found.direction(as_tensor(gradient)).asnumpy(), -inverse @ gradient,
                               rtol=1e-9)


@pytest.mark.parametrize("product, noisy", [(0.5e-10, True), (2e-10, False), (-1.0, True)])
def test_a_step_without_curvature_teaches_nothing(product, noisy):
    found = quasi_newton._Recent(5)
    found.learn(as_tensor([1.0, 0.0]), as_tensor([product, 0.0]))
    assert (found.noisy, len(found.pairs)) == (noisy, not noisy)
    if noisy:
        assert found.direction(as_tensor([3.0, 4.0])).tolist() == [-3.0, -4.0]
