"""The cross entropy of two classes by whole vectors, beside its formula and PyTorch's kernel."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import Tensor, nn, ops

RNG = np.random.default_rng(3)


def sample(dtype):
    p = RNG.random((40, 50)).astype(dtype)
    p[0, :6] = [0, 1, 1e-12, 1 - np.finfo(dtype).eps, 1e-30, 0.5]
    y = np.where(RNG.random(p.shape) < 0.3, RNG.random(p.shape), RNG.random(p.shape) < 0.5)
    y[0, :6] = [1, 0, 1, 0, 0.5, 0.25]
    return p, y.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_values_and_gradients(dtype, reduction):
    p, y = sample(dtype)
    tiny = dtype(1e-12)
    wide = -(y.astype(float) * np.log((p + tiny).astype(float))
             + (1 - y.astype(float)) * np.log((1 - p + tiny).astype(float)))
    wanted = {"none": wide, "mean": wide.mean(), "sum": wide.sum()}[reduction]
    loss = nn.BCELoss(reduction=reduction)
    tolerance = 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(loss(Tensor(p), Tensor(y)).asnumpy(), wanted, rtol=tolerance,
                               atol=tolerance)
    factors = RNG.random(np.shape(wanted)).astype(dtype)
    found = ms.grad(lambda p: (loss(p, Tensor(y)) * Tensor(factors)).sum())(Tensor(p))
    x = torch.from_numpy(p).requires_grad_()
    (F.binary_cross_entropy(x, torch.from_numpy(y), reduction=reduction)
     * torch.from_numpy(np.asarray(factors))).sum().backward()
    np.testing.assert_allclose(found.asnumpy(), x.grad.numpy(), rtol=tolerance)


def test_eager_and_compiled_and_second_derivatives_agree():
    p, y = sample(np.float32)
    p, y = Tensor(p[1:].clip(0.02, 0.98)), Tensor(y[1:])
    both = ms.value_and_grad(lambda p: ops.binary_cross_entropy(p, y))
    compiled = ms.jit(both)
    for _ in range(3):
        for a, b in zip(compiled(p), both(p), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5)
    twice = ms.grad(lambda p: ms.grad(lambda p: ops.binary_cross_entropy(p, y))(p).sum())(p)
    at, of = p.asnumpy().astype(float), y.asnumpy().astype(float)
    np.testing.assert_allclose(twice.asnumpy() * at.size,
                               of / at ** 2 + (1 - of) / (1 - at) ** 2, rtol=1e-3)
    by_labels = ms.grad(lambda y: ops.binary_cross_entropy(p, y, None, "sum"))(y)
    np.testing.assert_allclose(by_labels.asnumpy(), np.log1p(-at) - np.log(at), rtol=1e-4,
                               atol=1e-5)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("wrong", [-0.5, 1.5, -1e-30, float("nan")])
def test_what_is_no_probability_is_refused(wrong, reduction):
    with pytest.raises(RuntimeError, match="must be in .0, 1."):
        ops.binary_cross_entropy(Tensor([0.5, wrong]), Tensor([0.0, 1.0]), None, reduction)


def test_labels_that_are_nan_make_the_loss_nan():
    assert np.isnan(ops.binary_cross_entropy(Tensor([0.5]), Tensor([float("nan")])).asnumpy())
