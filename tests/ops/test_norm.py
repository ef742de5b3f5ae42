"""Norms and distances beside PyTorch's."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import ops

RNG = np.random.default_rng(3)
X, Y = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4), (3, 1)))


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3.5, float("inf"), float("-inf")])
def test_distances_and_their_gradients(p):
    def distance(x, y):
        return ops.dist(x, y, p)

    x, y = torch.tensor(X, requires_grad=True), torch.tensor(Y, requires_grad=True)
    wanted = torch.dist(x, y, p)
    value, gradients = ms.value_and_grad(distance, (0, 1))(ms.Tensor(X), ms.Tensor(Y))
    np.testing.assert_allclose(value.asnumpy(), wanted.detach().numpy(), 1e-5)
    if p == 0:  # it counts, and PyTorch's derivative fails
        assert not any(gradient.asnumpy().any() for gradient in gradients)
        return
    wanted.backward()
    for gradient, its in zip(gradients, (x, y), strict=True):
        np.testing.assert_allclose(gradient.asnumpy(), its.grad.numpy(), 1e-4, 1e-6)
