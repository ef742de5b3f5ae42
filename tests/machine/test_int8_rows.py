"""The kernel for few rows and a matrix of int8, against the same in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn
from lamella.graph.passes import plain
from lamella.machine import int8_rows
from tests.graph.passes.checks import check_same, count, recorded

WIDE, NARROW = torch.float32, torch.bfloat16


@pytest.fixture(autouse=True)
def kernel():
    if int8_rows.extension.module is None:
        pytest.skip("no C++ compiler that can build it")


def given(rows, width, columns, groups, dtype, bias=True):
    torch.manual_seed(rows)
    return (torch.randn(rows, width).to(dtype),
            torch.randint(-127, 128, (columns, width), dtype=torch.int8),
            torch.rand(columns, groups) / 100, torch.randn(columns).to(dtype) if bias else None)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [WIDE, NARROW])
@pytest.mark.parametrize("sizes", [(1, 32, 1, 1), (3, 64, 5, 2), (7, 256, 40, 2), (8, 96, 33, 1),
                                   (1, 4096, 300, 32)])
def test_sums_are_rounded_once(sizes, dtype, bias):
    x, weight, scales, added = given(*sizes, dtype, bias)
    exact = int8_rows.by_torch(x.double(), weight, scales.double(), None if added is None else
                               added.double())
    found = int8_rows.by_rows(x, weight, scales, added)
    assert found.dtype is dtype and found.shape == exact.shape
    error = (found.double() - exact).abs().max() / exact.abs().max()
    assert error <= (4e-3 if dtype is NARROW else 2e-6)


@pytest.mark.parametrize("place, value", [
    (0, torch.zeros(2, 64).double()), (0, torch.zeros(64, 2).t()), (0, torch.zeros(2, 32)),
    (0, torch.zeros(0, 64)), (1, torch.zeros(5, 64)), (1, torch.zeros(64, 5).to(torch.int8).t()),
    (2, torch.zeros(5, 4)), (2, torch.zeros(5, 0)), (2, torch.zeros(4, 2)),
    (2, torch.zeros(5, 2).double()), (3, torch.zeros(4)), (3, torch.zeros(5).bfloat16())])
def test_what_it_does_not_support_is_refused(place, value):
    arguments = list(given(2, 64, 5, 2, WIDE))
    arguments[place] = value
    with pytest.raises(RuntimeError, match="int8_rows: "):
        int8_rows.by_rows(*arguments)


def test_compilers_get_pytorchs_kernels():
    inputs = given(2, 64, 5, 2, WIDE)
    graph = recorded(int8_rows.by_rows, *inputs)
    assert count(graph, "int8_rows") == 1 and count(plain(graph), "int8_rows") == 0
    check_same(graph, plain(graph), inputs)


@pytest.mark.parametrize("dtype", [ms.float32, ms.bfloat16, ms.float16])
@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("group", [None, 32, 16, 1])
def test_layers_with_groups(group, rows, dtype):
    """As by the formula, eager, compiled, and with gradients of the input."""
    layer = nn.Dense(64, 24)
    small = nn.Int8Dense(layer, group)
    numbers = np.random.default_rng(0).standard_normal((rows, 64)).astype(np.float32)
    x = ms.Tensor(numbers).astype(dtype)
    scales = np.repeat(small.scale.asnumpy().reshape(24, -1), 64 if group is None else group, 1)
    weights = small.weight.asnumpy().astype(np.float32) * scales
    expected = x.float().asnumpy() @ weights.T + layer.bias.asnumpy()
    tolerance = {ms.float32: 1e-5, ms.bfloat16: 3e-2, ms.float16: 5e-3}[dtype]
    compiled = ms.jit(small)
    for found in (small(x), compiled(x), compiled(x), compiled(x)):
        assert found.dtype is dtype
        np.testing.assert_allclose(found.float().asnumpy(), expected, atol=tolerance)
    gradient = ms.grad(lambda x: small(x).sum())(x).float().asnumpy()
    np.testing.assert_allclose(gradient, np.tile(weights.sum(0), (rows, 1)), atol=2 * tolerance)
    slope = ms.jvp(small, x, ms.ops.ones_like(x))[1].float().asnumpy()
    np.testing.assert_allclose(slope, np.tile(weights.sum(1), (rows, 1)), atol=2 * tolerance)
    np.testing.assert_allclose(ms.vmap(small)(x).float().asnumpy(), expected, atol=tolerance)


def test_small_groups_follow_the_weights_more_closely():
    weights = ms.Tensor(np.random.default_rng(0).standard_normal((8, 256)).astype(np.float32) ** 3)
    layer = nn.Dense(256, 8, weights, has_bias=False)
    x = ms.ops.eye(256, 256, ms.float32)[:8]
    errors = [float((nn.Int8Dense(layer, group)(x) - layer(x)).abs().mean())
              for group in (None, 64, 32)]
    assert errors[2] < errors[1] < errors[0]


def test_wrong_groups():
    for group in (0, -32, 48):
        with pytest.raises(ValueError, match=f"must divide the 64 inputs, but got {group}"):
            nn.Int8Dense(nn.Dense(64, 2), group)
    with pytest.raises(TypeError, match="'group' must be"):
        nn.quantize_weights(nn.SequentialCell(nn.Dense(64, 2)), group=1.5)
