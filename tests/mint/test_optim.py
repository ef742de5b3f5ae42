"""Optimizers of `mint` against PyTorch's, eager and compiled."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, mint

START = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]], np.float32)

CASES = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}), ("SGD", {"lr": 0.1, "maximize": True}),
    ("Adam", {}), ("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True}), ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "amsgrad": True, "maximize": True, "eps": 1e-3}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.5, "centered": True}), ("Adagrad", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1}),
]


def stepped(name, settings, mode):
    weight = ms.Parameter(Tensor(START.copy()), name="weight")
    optimizer = getattr(mint.optim, name)([weight], **settings)

    def step():
        gradients = ms.grad(lambda: ((weight - 1) ** 3).sum(), None, [weight])()
        return optimizer(gradients)

    step = ms.jit(step) if mode == "compiled" else step
    for _ in range(4):
        step()
    return weight.asnumpy()


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize(("name", "settings"), CASES, ids=[f"{n}-{i}" for i, (n, _) in
                                                           enumerate(CASES)])
def test_as_pytorch(name, settings, mode):
    weight = torch.nn.Parameter(torch.tensor(START))
    optimizer = getattr(torch.optim, name)([weight], **settings)
    for _ in range(4):
        optimizer.zero_grad()
        ((weight - 1) ** 3).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(stepped(name, settings, mode), weight.detach().numpy(), rtol=2e-5,
                               atol=1e-6)


def test_groups_have_their_own_settings_and_rates_may_change():
    a, b = (ms.Parameter(Tensor([1.0]), name=n) for n in "ab")
    optimizer = mint.optim.SGD([{"params": [a], "lr": 0.5}, {"params": [b]}], 0.1)
    optimizer((Tensor([1.0]), Tensor([1.0])))
    assert (float(a), float(b)) == pytest.approx((0.5, 0.9))
    ms.ops.assign(optimizer.param_groups[1]["lr"], 0.2)
    optimizer((Tensor([1.0]), Tensor([1.0])))
    assert (float(a), float(b)) == pytest.approx((0.0, 0.7))
    assert "lr: 0.2" in repr(optimizer)


def test_fused_is_the_same():
    assert issubclass(mint.optim.FusedAdamW, mint.optim.AdamW)


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda w: mint.optim.SGD([w], -1.0), ValueError, "'lr' must be at least 0"),
    (lambda w: mint.optim.SGD([w], 0.1, nesterov=True), ValueError, "'nesterov' needs"),
    (lambda w: mint.optim.Adam([w], betas=(1.0, 0.9)), ValueError, r"'betas\[0\]' must be"),
    (lambda w: mint.optim.Adam([]), ValueError, "must not be empty"),
    (lambda w: mint.optim.Adam([1]), TypeError, "must hold Parameters"),
    (lambda w: mint.optim.Adam([{"params": [w]}, {"params": [w]}]), ValueError, "one group only"),
    (lambda w: mint.optim.Adam([w])(()), ValueError, "a gradient for each"),
], ids=["lr", "nesterov", "betas", "empty", "type", "twice", "count"])
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make(ms.Parameter(Tensor([1.0]), name="w"))
