"""Muon against its formula in NumPy and, roughly, against PyTorch's, which is in bfloat16."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, mint
from lamella.experimental import optim

COEFFICIENTS = (3.4445, -4.775, 2.0315)


def drawn(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def by_formula(weight, grads, lr, decay, momentum, nesterov, match):
    rows, columns = weight.shape
    scale = 0.2 * max(rows, columns) ** 0.5 if match else max(1, rows / columns) ** 0.5
    moment = np.zeros_like(weight)
    for grad in grads:
        moment = momentum * moment + (1 - momentum) * grad
        x = momentum * moment + (1 - momentum) * grad if nesterov else moment
        x = x / np.linalg.norm(x)
        a, b, c = COEFFICIENTS
        for _ in range(5):
            x = a * x + b * x @ x.T @ x + c * x @ x.T @ x @ x.T @ x
        weight = weight * (1 - lr * decay) - lr * scale * x
    return weight


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("shape", [(4, 6), (7, 3)])
@pytest.mark.parametrize("settings", [{}, {"nesterov": False, "momentum": 0.8},
                                      {"adjust_lr_fn": "match_rms_adamw"}], ids=range(3))
def test_steps(shape, settings, compiled):
    start, grads = drawn(*shape, seed=0), [drawn(*shape, seed=i) for i in (1, 2, 3)]
    weight = ms.Parameter(Tensor(start), name="weight")
    optimizer = optim.Muon([weight], lr=0.1, weight_decay=0.2, **settings)
    step = ms.jit(lambda g: optimizer((g,))) if compiled else lambda g: optimizer((g,))
    for grad in grads:
        step(Tensor(grad))
    expected = by_formula(start, grads, 0.1, 0.2, settings.get("momentum", 0.95),
                          settings.get("nesterov", True), "adjust_lr_fn" in settings)
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=2e-4, atol=1e-4)


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="PyTorch has Muon from 2.9 on")
def test_near_to_pytorch_s():
    start, grad = drawn(8, 5, seed=0), drawn(8, 5, seed=1)
    theirs = torch.nn.Parameter(torch.tensor(start))
    reference = torch.optim.Muon([theirs], lr=0.1)
    theirs.grad = torch.tensor(grad)
    reference.step()
    weight = ms.Parameter(Tensor(start), name="weight")
    mint.optim.Muon([weight], lr=0.1)((Tensor(grad),))
    np.testing.assert_allclose(weight.asnumpy(), theirs.detach().numpy(), atol=0.01)


def test_vectors_are_refused():
    with pytest.raises(ValueError, match="two dimensions, but got 'bias' of shape \\(3,\\)"):
        optim.Muon([ms.Parameter(Tensor([1.0, 2.0, 3.0]), name="bias")])
    with pytest.raises(ValueError, match="'adjust_lr_fn' must be"):
        optim.Muon([ms.Parameter(Tensor([[1.0]]), name="w")], adjust_lr_fn="mine")
