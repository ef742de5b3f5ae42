"""The layout in which planes are pooled changes nothing but the time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.ops.pooling import _reached


def _planes(kind: str) -> np.ndarray:
    x = np.random.default_rng(3).integers(-9, 9, (2, 32, 56, 56)).astype(np.float32)  # equal maxima
    if kind == "nan":
        x[0, 0, 3, 3] = x[1, 31, 55, 55] = np.nan
    return -np.inf * np.ones_like(x) if kind == "-inf" else x


@pytest.mark.parametrize("kind", ["equal maxima", "nan", "-inf"])
@pytest.mark.parametrize("window", [(3, 2, 1, 1, False), (2, 2, 0, 1, False), (3, 3, 1, 2, True)])
@pytest.mark.parametrize("dtype", [ms.float32, ms.bfloat16, ms.float64])
def test_large_planes_have_the_maxima_and_indices_of_pytorchs_kernel(kind, window, dtype):
    kernel, stride, padding, dilation, ceil = window
    x = Tensor(_planes(kind), dtype)
    out, places = ops.max_pool2d(x, kernel, stride, padding, dilation, True, ceil)
    wanted = F.max_pool2d(x._raw, kernel, stride, padding, dilation, ceil, True)
    torch.testing.assert_close(out._raw, wanted[0], rtol=0, atol=0, equal_nan=True)
    assert torch.equal(places._raw, wanted[1])
    assert out._raw.is_contiguous() and places._raw.is_contiguous()
    pool = nn.MaxPool2d(kernel, stride, "pad", padding, dilation, ceil_mode=ceil)
    torch.testing.assert_close(pool(x)._raw, wanted[0], rtol=0, atol=0, equal_nan=True)


def test_large_planes_pool_under_vmap_and_with_gradients():
    x = Tensor(_planes("equal maxima"))
    pooled = ms.vmap(lambda y: nn.MaxPool2d(2, 2)(y))(ops.stack([x, x + 1]))
    np.testing.assert_array_equal(pooled[1].asnumpy(), nn.MaxPool2d(2, 2)(x + 1).asnumpy())
    gradient = ms.grad(lambda y: ops.max_pool2d(y, 2, 2).sum())(x)
    assert gradient.sum() == pooled[0].size


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_areas_of_any_rank(rank):
    x = np.random.default_rng(rank).normal(size=(2, 3, 7, 5, 4)[:rank]).astype("f4")
    size = (3, 4, 2)[:rank - 2]
    found = ops.interpolate(ms.Tensor(x), size=size, mode="area").asnumpy()
    wanted = torch.nn.functional.interpolate(torch.tensor(x), size=size, mode="area")
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_paddings_of_two_lengths_that_rounding_up_reaches():
    """Only where PyTorch's kernel, which pads both sides alike, has as many windows."""
    for n, k, s, a, b in itertools.product(range(3, 9), (1, 2, 3), (1, 2, 3), (0, 1, 2), range(4)):
        wanted = (n + a + b - k) // s + 1
        alike = a <= b and a <= k // 2 and torch.nn.functional.max_pool1d(
            torch.zeros(1, 1, n), k, s, a, ceil_mode=True).shape[-1] == wanted
        assert _reached([(a, b)], [n], [k], [s]) == ([a] if alike else None), (n, k, s, a, b)
