"""Activations of several pieces: their gradients by fast kernels are those by their slopes."""

from __future__ import annotations

import pytest
import torch

import lamella as ms
from lamella import ops
from lamella.tensors.tensor import wrap

KINKS = {"relu6": (0.0, 6.0), "leaky_relu": (0.0,), "hardswish": (-3.0, 3.0),
         "hardsigmoid": (-3.0, 3.0), "selu": (0.0,)}


def _around(kinks: tuple[float, ...], dtype: torch.dtype) -> torch.Tensor:
    """Numbers of all sizes, the kinks and their neighbours."""
    wide = torch.linspace(-12, 12, 4001, dtype=torch.float64)
    limits = torch.finfo(dtype)
    small = torch.tensor([limits.tiny, limits.tiny * limits.eps, limits.eps], dtype=torch.float64)
    steps = torch.arange(-3, 4, dtype=torch.float64) * limits.eps
    near = [kink + max(abs(kink), 1.0) * 2 * steps for kink in kinks]
    ends = torch.tensor([-limits.max, limits.max], dtype=torch.float64)
    return torch.cat([wide, small, -small, -0.0 * small, *near, ends]).to(dtype)


@pytest.mark.parametrize("name", KINKS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_gradients_by_kernels_are_those_by_slopes(name, dtype):
    function, x = getattr(ops, name), _around(KINKS[name], dtype)
    gradient = torch.linspace(-2, 2, len(x)).to(dtype)
    fast = ms.grad(lambda x: (function(x) * wrap(gradient)).sum())(wrap(x))._raw
    with_derivatives = x.clone().requires_grad_()
    slow, = torch.autograd.grad(function(wrap(with_derivatives))._raw, with_derivatives,
                                gradient.clone().requires_grad_(), create_graph=True)
    unit = torch.finfo(dtype).eps
    torch.testing.assert_close(fast, slow.detach(), rtol=4 * unit, atol=4 * unit)


@pytest.mark.parametrize("name", KINKS)
def test_gradients_compiled_and_of_each_example(name):
    function = getattr(ops, name)
    x = wrap(_around(KINKS[name], torch.float32)[:4000].view(4, 1000))
    gradient = ms.grad(lambda x: function(x).sum())
    wanted = gradient(x)._raw
    compiled = ms.jit(gradient)
    for _ in range(3):
        torch.testing.assert_close(compiled(x)._raw, wanted, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(ms.vmap(gradient)(x)._raw, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 2.5, -0.5])
def test_leaky_relu_with_any_slope(alpha):
    x = ms.Tensor([-2.0, -0.0, 0.0, 1e-44, -1e-44, 3.0])
    slope = ms.grad(lambda x: ops.leaky_relu(x, alpha).sum())(x)
    middle = (1 + alpha) / 2
    wanted = torch.tensor([alpha, middle, middle, 1.0, alpha, 1.0])
    torch.testing.assert_close(slope._raw, wanted)
