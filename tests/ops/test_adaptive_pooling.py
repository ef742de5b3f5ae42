"""Pools at random positions."""

from __future__ import annotations

import numpy as np
import torch

import lamella as ms
from lamella import Tensor, ops


def test_samples_have_gradient_zero_beside_the_inputs():
    x = np.random.default_rng(0).permutation(50).reshape(1, 2, 5, 5).astype(np.float32)
    samples = np.random.default_rng(1).random((1, 2, 2)).astype(np.float32)
    by_x, by_samples = ms.grad(lambda x, samples: ops.fractional_max_pool2d(
        x, 2, 3, return_indices=True, _random_samples=samples)[0], (0, 1))(
            Tensor(x), Tensor(samples))
    theirs = torch.tensor(x, requires_grad=True)
    torch.nn.functional.fractional_max_pool2d(
        theirs, 2, 3, _random_samples=torch.tensor(samples)).sum().backward()
    np.testing.assert_array_equal(by_x.asnumpy(), theirs.grad)
    assert not by_samples.asnumpy().any()
