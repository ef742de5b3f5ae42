"""Gradients of functions of three pieces, against the derivative of each piece."""

from __future__ import annotations

import pytest
import torch

from lamella import ops
from lamella.machine import kinks
from lamella.tensors.tensor import wrap

NAMES = {"hardtanh": (-1.0, 1.0), "leaky_relu": (0.0,), "hardswish": (-3.0, 3.0)}


@pytest.fixture(autouse=True)
def kernel():
    if kinks.extension.module is None:
        pytest.skip("no C++ compiler that can build it")


def numbers(bounds):
    """Numbers of all sizes with the bounds, what is next to them, infinity and NaN among them."""
    torch.manual_seed(0)
    x = 3 * torch.randn(kinks.LARGE + 3)
    special = [float("inf"), -float("inf"), float("nan"), 0.0, -0.0, 1e-44, -1e-44]
    for bound in bounds:
        at = torch.tensor(bound)
        special += [bound, *torch.nextafter(at, torch.tensor([-9.0, 9.0])).tolist()]
    x[:len(special)] = torch.tensor(special)
    return x


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("expanded", [False, True])
def test_gradients_are_those_of_pytorch_s_kernels(name, expanded, monkeypatch):
    x = numbers(NAMES[name]).requires_grad_()
    gradient = torch.tensor(-1.5).expand(len(x)) if expanded else torch.linspace(-2, 2, len(x))
    calls = []

    def found():
        return torch.autograd.grad(getattr(ops, name)(wrap(x))._raw, x, gradient)[0]

    real = kinks.backward
    monkeypatch.setattr(kinks, "backward", lambda *a: calls.append(1) or real(*a))
    fast = found()
    assert calls == [1]
    monkeypatch.setattr(kinks, "suits", lambda *a: False)
    torch.testing.assert_close(fast, found(), rtol=1e-6, atol=1e-6, equal_nan=True)


def test_any_number_of_threads_and_no_numbers():
    slopes = (0.0, 0.5, 0.0, 1.0, 0.5, 0.0, 1.0)
    x = torch.linspace(-2, 2, 3 * kinks.LARGE + 1)
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found = kinks.backward(torch.ones_like(x), x, -1.0, 1.0, slopes)
            assert torch.equal(found, (x.abs() < 1) + 0.5 * (x.abs() == 1))
    finally:
        torch.set_num_threads(before)
    assert kinks.backward(torch.ones(0), torch.ones(0), -1.0, 1.0, slopes).shape == (0,)
    with pytest.raises(RuntimeError, match="must be float32, of one shape"):
        kinks.backward(torch.ones(3), torch.ones(4), -1.0, 1.0, slopes)
