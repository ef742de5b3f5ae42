"""Pools at random positions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.adaptive_pooling import fractional_pool


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


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("mean", [False, True])
def test_cells_of_any_size_are_pooled_whole(mean, overlapping):
    x = np.random.default_rng(2).standard_normal((2, 9, 7, 3))
    rows, columns = np.array([0, 2, 3, 7, 9]), np.array([0, 3, 4, 7])

    def cells(ends, length):
        return [slice(begin, min(end + overlapping, length))
                for begin, end in zip(ends, ends[1:], strict=False)]

    def pooled(x):
        return fractional_pool(x, torch.tensor(rows), torch.tensor(columns), mean, overlapping)

    want, slopes = np.empty((2, 4, 3, 3)), np.zeros_like(x)
    for i, row in enumerate(cells(rows, 9)):
        for j, column in enumerate(cells(columns, 7)):
            cell = x[:, row, column]
            want[:, i, j] = cell.mean((1, 2)) if mean else cell.max((1, 2))
            slopes[:, row, column] += 1 / cell[0, ..., 0].size if mean else (
                cell == want[:, None, None, i, j])
    np.testing.assert_allclose(pooled(Tensor(x)).asnumpy(), want, rtol=1e-6)
    gradient = ms.grad(lambda x: pooled(x).sum())(Tensor(x))
    np.testing.assert_allclose(gradient.asnumpy(), slopes, rtol=1e-6)
