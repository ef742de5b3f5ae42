"""Steps of `DimReduce` beside its formulas in NumPy."""

import numpy as np
import pytest

import lamella as ms
from lamella import boost, nn

RNG = np.random.default_rng(6)
START = RNG.standard_normal(5)
ROWS = np.linalg.qr(RNG.standard_normal((5, 2)))[0].T


class Bowl(nn.Cell):
    """A quadratic function of two Parameters, of which each element has its own curvature."""

    def __init__(self, curvature):
        super().__init__()
        self.first = ms.Parameter(ms.Tensor(START[:2].reshape(2, 1), ms.float32), name="first")
        self.second = ms.Parameter(ms.Tensor(START[2:], ms.float32), name="second")
        self.curvature = np.asarray(curvature)

    def construct(self):
        one, two = (ms.Tensor(part, ms.float32) for part in (self.curvature[:2, None],
                                                             self.curvature[2:]))
        return 0.5 * ((one * self.first ** 2).sum() + (two * self.second ** 2).sum())


def wanted(curvature, steps, rho, gamma, alpha, sigma):
    """The weights after each step, and the shares of the directions that were taken."""
    def loss(w):
        return 0.5 * (curvature * w**2).sum()

    w, b, last, s, momentum = START.copy(), np.eye(2), None, np.zeros(2), np.zeros(5)
    for _ in range(steps):
        gradient = curvature * w
        g, before = ROWS @ gradient, (b, last)
        y = g - (0 if last is None else last)
        if last is not None and y @ s > 1e-20:
            turn = np.eye(2) - np.outer(y, s) / (y @ s)
            b = turn.T @ b @ turn + np.outer(s, s) / (y @ s)
        last, d = g, -b @ g
        share = next((r for r in (1.0, rho) if loss(w + r * ROWS.T @ d) < loss(w)
                      + sigma * r * (g @ d)), 0.0)
        if share:
            s = share * d
        else:
            b, last = before[0], np.zeros(2) if before[1] is None else before[1]
        momentum = gamma * momentum + gradient - ROWS.T @ g
        w = w - alpha * momentum + share * ROWS.T @ d
        yield w, share


@pytest.mark.parametrize("curvature, shares", [
    ([0.5, 0.7, 0.9, 0.3, 0.6], {1.0}),
    ([2.5, 2.7, 2.9, 2.3, 2.6], {0.0, 0.3, 1.0}),  # the whole first step is too far
    ([19.0, 12.0, 15.0, 17.0, 11.0], {0.0})])  # and so is its part
def test_steps_are_those_of_the_formulas(curvature, shares):
    net, options = Bowl(curvature), {"rho": 0.3, "gamma": 0.8, "alpha": 0.05, "sigma": 0.4}
    weights = ms.ParameterTuple(net.trainable_params())
    step = boost.DimReduce(net, nn.SGD(weights, 1.0), weights, ROWS, 2, rank=0, rank_size=1,
                           **options)
    clone, gradients, taken = weights.clone("before"), ms.grad(net, None, weights), set()
    for expected, share in wanted(np.array(curvature), 4, **options):
        scaled = tuple(8.0 * each for each in gradients())
        step(net(), scaled, ms.Tensor([8.0]), weights, clone)
        found = np.concatenate([w.asnumpy().ravel() for w in weights])
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)
        np.testing.assert_array_equal(np.concatenate([w.asnumpy().ravel() for w in clone]), found)
        taken.add(share)
    assert taken == shares


@pytest.mark.parametrize("shape", [(2, 4), (2, 6), (5,), (1, 2, 5)])
def test_components_have_a_column_for_each_weight(shape):
    net = Bowl(np.ones(5))
    weights = net.trainable_params()
    with pytest.raises(ValueError, match="must have 5 columns"):
        boost.DimReduce(net, nn.SGD(weights, 1.0), weights, np.zeros(shape), 2, 0.5, 0.9, 0.1, 0.4,
                        0, 1)
