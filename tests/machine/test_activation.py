"""Activations of bfloat16 by tables, against PyTorch's kernels."""

from __future__ import annotations

import pytest
import torch

from lamella.machine import activation

ALL = [("gelu", "none"), ("gelu", "tanh"), ("silu", ""), ("mish", ""), ("sigmoid", ""),
       ("tanh", "")]


@pytest.fixture(autouse=True)
def kernel():
    if activation.extension.module is None:
        pytest.skip("no C++ compiler that can build it")


def all_numbers():
    """Each number of bfloat16, the infinite ones and NaN included."""
    return torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)


def same(a, b):
    """Whether all numbers are equal, where NaN equals NaN."""
    return a.shape == b.shape and a.dtype is b.dtype and torch.equal(
        a.isnan(), b.isnan()) and torch.equal(a.nan_to_num(), b.nan_to_num())


@pytest.mark.parametrize("name, setting", ALL)
def test_every_number_is_as_pytorch_computes_it(name, setting):
    x = all_numbers()
    assert same(activation.fused(x, name, setting), activation.by_torch(x, name, setting))


@pytest.mark.parametrize("name, setting", ALL)
def test_gradients_are_rounded_once(name, setting):
    torch.manual_seed(0)
    x = all_numbers()
    grad = torch.randn(2**16).bfloat16()
    grad[::1000] = float("inf")
    if name in ("sigmoid", "tanh"):  # whose gradients take their results
        x = activation.by_torch(x, name, setting)
    exact = activation.by_torch_backward(grad.float(), x.float(), name, setting, False)[0]
    found, sums = activation.fused_backward(grad, x, name, setting, False)
    torch.testing.assert_close(found, exact.bfloat16(), rtol=2**-8, atol=1e-38, equal_nan=True)
    assert sums.numel() == 0 and sums.dtype is torch.float32


@pytest.mark.parametrize("sizes", [(), (1,), (7,), (3, 5), (200, 3), (2, 3, 1031), (70, 1, 640)])
def test_sums_of_columns_in_any_number_of_threads(sizes):
    torch.manual_seed(0)
    x, grad = torch.randn(sizes).bfloat16(), torch.randn(sizes).bfloat16()
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            found, sums = activation.fused_backward(grad, x, "gelu", "none", True)
            assert same(activation.fused(x, "silu", ""), activation.by_torch(x, "silu", ""))
            wanted = found.double().reshape(-1, sizes[-1] if sizes else 1).sum(0).float()
            torch.testing.assert_close(sums, wanted, rtol=1e-5, atol=1e-5)
    finally:
        torch.set_num_threads(before)


def test_no_numbers():
    for sizes in ((0,), (0, 3), (3, 0)):
        x = torch.zeros(sizes).bfloat16()
        assert activation.fused(x, "tanh", "").shape == x.shape
        found, sums = activation.fused_backward(x, x, "tanh", "", True)
        assert found.shape == x.shape and torch.equal(sums, torch.zeros(sizes[-1]))


@pytest.mark.parametrize("x, name, said", [
    (torch.zeros(3), "gelu", "activation: all must be bfloat16"),
    (torch.zeros(4).bfloat16()[::2], "gelu", "activation: all must be bfloat16"),
    (torch.zeros(3).bfloat16(), "relu", "activation: name must be gelu, silu")])
def test_what_it_does_not_support_is_refused(x, name, said):
    with pytest.raises(RuntimeError, match=said):
        activation.fused(x, name, "none")
    with pytest.raises(RuntimeError, match="activation_backward: all|activation: name"):
        activation.fused_backward(x, x, name, "none", True)
