"""Batch normalization of bfloat16 under level "auto": one kernel, beside a cast and PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn
from lamella.machine import batch_norm


@pytest.fixture(autouse=True)
def kernel():
    if batch_norm.extension.module is None:
        pytest.skip("no C++ compiler that can build it")


@pytest.fixture
def calls(monkeypatch):
    """A list of "used" for each call of the kernel; after "off" PyTorch's are called."""
    found, real = [], batch_norm.in_float32

    def in_float32(*given):
        if found[-1:] == ["off"]:
            return None
        found.append("used")
        return real(*given)

    monkeypatch.setattr(batch_norm, "in_float32", in_float32)
    return found


def loss_and_weights():
    net = nn.SequentialCell(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU()).set_train()
    loss = lambda x: (net(x) ** 2).mean() + net(x)[0, 0, 0, 0]  # noqa: E731
    return net, ms.amp.auto_mixed_precision(loss, "auto", ms.bfloat16)


def test_results_gradients_and_statistics_are_those_of_a_cast(calls):
    net, loss = loss_and_weights()
    x = ms.Tensor(np.random.default_rng(0).standard_normal((4, 3, 20, 20)).astype(np.float32))
    both = ms.value_and_grad(loss, 0, net.trainable_params())
    before = [p.asnumpy().copy() for p in net.get_parameters()]
    found = []
    for switch in ("on", "off"):
        for parameter, value in zip(net.get_parameters(), before, strict=True):
            parameter.set_data(ms.Tensor(value))
        if switch == "off":
            assert calls == ["used"] * 2
            calls.append("off")
        value, (of_x, of_weights) = both(x)
        found.append([value, of_x, *of_weights, *net.untrainable_params()])
        found[-1] = [t.asnumpy().copy() for t in found[-1]]
    for fused, wanted in zip(*found, strict=True):
        assert fused.dtype == wanted.dtype
        np.testing.assert_allclose(fused, wanted, rtol=0.02, atol=4e-3 * np.abs(wanted).max())


def test_derivatives_of_the_gradient(calls):
    _, loss = loss_and_weights()
    x = ms.Tensor(np.random.default_rng(1).standard_normal((4, 3, 20, 20)).astype(np.float32))
    twice = ms.grad(lambda x: (ms.grad(loss)(x) ** 2).sum())
    fused = twice(x).asnumpy()
    assert calls and set(calls) == {"used"}
    calls.append("off")
    wanted = twice(x).asnumpy()
    # sums of values of bfloat16, which differ by their order: by some units of 2**-8
    np.testing.assert_allclose(fused, wanted, rtol=0.02, atol=2**-6 * np.abs(wanted).max())


def test_what_the_kernel_is_not_for():
    x, one = torch.randn(4, 8, 32, 32).bfloat16(), torch.ones(8)
    given = (one, one, None, None, True, 0.0, 1e-5)
    for dense in (x, x.contiguous(memory_format=torch.channels_last)):
        assert batch_norm.in_float32(dense, *given) is not None
    for other in (x.float(), x[:, :, ::2], x[:1, :, :4, :4].contiguous(), x.half()):
        assert batch_norm.in_float32(other, *given) is None
    assert batch_norm.in_float32(x, one.double(), *given[1:]) is None
    assert batch_norm.in_float32(x, one, one, one, one, False, 0.0, 1e-5) is None
