"""Convolutions of float16 on a CPU: as PyTorch's kernel gives them, but rounded once."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import lamella as ms
from lamella import mint, nn, ops
from lamella.machine import convolutions
from lamella.machine import halves as machine_halves

RANDOM = np.random.default_rng(5)
CASES = [  # kernel, input, weight, (stride, padding, ...)
    ("conv1d", (2, 4, 9), (6, 4, 3), (2, 1)),
    ("conv2d", (2, 4, 9, 8), (6, 4, 3, 3), (1, 1)),
    ("conv2d", (2, 4, 9, 8), (8, 2, 3, 2), (2, (0, 1), (1, 2), 2)),
    ("conv3d", (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), (1,)),
    ("conv_transpose1d", (2, 4, 5), (4, 3, 3), (2, 1)),
    ("conv_transpose2d", (2, 4, 5, 4), (4, 3, 3, 3), (2, 1, 1)),
    ("conv_transpose3d", (1, 2, 3, 3, 3), (2, 3, 2, 2, 2), (1,)),
]


def halves(*shapes):
    return [torch.from_numpy(RANDOM.standard_normal(shape)).half() for shape in shapes]


@pytest.mark.parametrize(("name", "shape", "weights", "rest"), CASES)
def test_results_and_gradients_are_the_kernels_within_its_rounding(name, shape, weights, rest):
    x, w = halves(shape, weights)
    channels = weights[0] if not name.startswith("conv_t") else weights[1]
    (bias,) = halves((channels,))
    found = getattr(convolutions, name)(x, w, bias, *rest)
    assert found.dtype == torch.float16
    exact = getattr(F, name)(x.double(), w.double(), bias.double(), *rest)
    # rounded once: at most half a unit in the last place, and what float32 loses
    torch.testing.assert_close(found.double(), exact, rtol=2**-11 + 1e-5, atol=1e-6)
    torch.testing.assert_close(found, getattr(F, name)(x, w, bias, *rest), rtol=4e-3, atol=8e-3)

    def gradients(kernel, convert):
        given = [convert(t).requires_grad_() for t in (x, w, bias)]
        out = kernel(*given, *rest)
        cotangent = torch.linspace(-1, 1, out.numel()).reshape(out.shape).half().to(out.dtype)
        return torch.autograd.grad(out, given, cotangent)

    ours = gradients(getattr(convolutions, name), torch.clone)
    for given, double in zip(ours, gradients(getattr(F, name), torch.Tensor.double), strict=True):
        assert given.dtype == torch.float16
        torch.testing.assert_close(given.double(), double, rtol=2**-11 + 1e-5, atol=1e-5)


def test_other_types_are_left_alone(monkeypatch):
    monkeypatch.setattr(machine_halves, "SLOW", frozenset((torch.float16,)))
    for kind in (torch.float32, torch.float64, torch.bfloat16):
        x, w = (t.to(kind) for t in halves((1, 2, 5, 5), (3, 2, 3, 3)))
        assert torch.equal(convolutions.conv2d(x, w), F.conv2d(x, w))
    x, w = halves((1, 2, 5, 5), (3, 2, 3, 3))
    with pytest.raises(RuntimeError):
        convolutions.conv2d(x, w.float())


def test_bfloat16_without_kernels_is_that_of_float32_rounded_once(monkeypatch):
    monkeypatch.setattr(machine_halves, "SLOW", frozenset((torch.float16, torch.bfloat16)))
    x, w = (t.bfloat16().requires_grad_() for t in halves((2, 3, 6, 5), (4, 3, 3, 3)))
    wide = [t.detach().float().requires_grad_() for t in (x, w)]
    found, wanted = convolutions.conv2d(x, w, padding=1), F.conv2d(*wide, padding=1)
    assert torch.equal(found, wanted.bfloat16())
    ours = torch.autograd.grad(found, (x, w), torch.ones_like(found))
    theirs = torch.autograd.grad(wanted, wide, torch.ones_like(wanted))
    for one, two in zip(ours, theirs, strict=True):
        assert one.dtype is torch.bfloat16 and torch.equal(one, two.bfloat16())


def test_autocast_rounds_to_bfloat16_and_computes_in_float32_without_kernels(monkeypatch):
    monkeypatch.setattr(machine_halves, "SLOW", frozenset((torch.float16, torch.bfloat16)))
    x, w = (t.float().requires_grad_() for t in halves((2, 3, 6, 5), (4, 3, 3, 3)))
    wanted = F.conv2d(x.bfloat16().float(), w.bfloat16().float()).bfloat16()
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        found = convolutions.conv2d(x, w)
        assert torch.is_autocast_enabled("cpu")
    assert torch.equal(found, wanted)
    ours, theirs = (torch.autograd.grad(y.sum(), (x, w)) for y in (found, wanted))
    for one, two in zip(ours, theirs, strict=True):
        assert one.dtype is torch.float32 and torch.equal(one, two)
    with torch.autocast("cpu", torch.bfloat16):
        assert convolutions.conv2d(x.double(), w.double()).dtype is torch.float64


def float16_layers():
    yield nn.Conv1d(4, 6, 3, dtype=ms.float16), (2, 4, 9)
    yield nn.Conv2d(4, 6, 3, has_bias=True, dtype=ms.float16), (2, 4, 9, 8)
    yield nn.Conv2dTranspose(4, 6, 3, stride=2, dtype=ms.float16), (2, 4, 5, 5)
    yield nn.Conv3d(2, 3, 3, dtype=ms.float16), (1, 2, 4, 4, 4)
    yield mint.nn.Conv2d(4, 6, 3, padding=1, dtype=ms.float16), (2, 4, 9, 8)


@pytest.mark.parametrize("number", range(5))
def test_layers_eager_and_compiled_agree_and_use_no_kernel_of_float16(number, monkeypatch):
    layer, shape = [*float16_layers()][number]
    x = ms.Tensor.from_torch(halves(shape)[0])
    step = ms.value_and_grad(lambda x: ops.tanh(layer(x)).astype(ms.float32).sum(), 0,
                             layer.trainable_params())
    seen = []

    class Look(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if "convolution" in str(func):
                seen.extend(a.dtype for a in args if isinstance(a, torch.Tensor))
            return func(*args, **(kwargs or {}))

    with Look():
        value, (dx, weights) = step(x)
    assert set(seen) == {torch.float32}
    assert dx.dtype == ms.float16 and all(w.dtype == ms.float16 for w in weights)
    compiled = ms.jit(step)
    for _ in range(3):
        again, (dx_again, weights_again) = compiled(x)
    assert compiled.report()["replays"] > 0
    for one, two in zip((value, dx, *weights), (again, dx_again, *weights_again), strict=True):
        np.testing.assert_allclose(one.asnumpy(), two.asnumpy(), rtol=1e-3, atol=1e-3)
