"""The pass that runs each matrix product by the fastest kernel."""

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.passes import improve, plain
from lamella.machine import products
from lamella.machine.halves import SLOW
from tests.graph.passes.checks import check_same, count, recorded

pytestmark = pytest.mark.skipif(not products.available(), reason="this PyTorch has no oneDNN")


@pytest.fixture(autouse=True)
def onednn(monkeypatch):
    monkeypatch.setattr(products.routes, "fastest", lambda *args: "onednn")


def step(x, w1, b1, w2):
    weights = [w.detach().requires_grad_() for w in (w1, b1, w2)]
    loss = (F.linear(x, *weights[:2]).tanh() @ weights[2]).square().sum()
    return loss.detach(), *torch.autograd.grad(loss, weights)


@pytest.mark.parametrize("dtype, tolerance", [
    (torch.float32, 1e-4), pytest.param(torch.bfloat16, 5e-2, marks=pytest.mark.skipif(
        torch.bfloat16 in SLOW, reason="no kernels of oneDNN's of bfloat16 on this processor"))])
def test_forward_and_backward_products(dtype, tolerance):
    inputs = [torch.randn(s).to(dtype) for s in [(9, 5), (4, 5), (4,), (4, 3)]]
    graph = recorded(step, *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs, tolerance)
    assert count(graph, "mm", "addmm") == 5
    assert count(better, "mm", "addmm") == 0 and count(better, "_linear_pointwise") == 5
    assert count(better, "tanh") == 0
    back = plain(better)
    check_same(graph, back, inputs)
    assert count(back, "_linear_pointwise") == 0 and count(back, "tanh") == 1


@pytest.mark.parametrize("ending", [torch.tanh, torch.sigmoid, F.gelu,
                                    lambda x: F.gelu(x, approximate="tanh")])
def test_activations_fused_into_products(ending):
    inputs = [torch.randn(s) for s in [(6, 5), (4, 5), (4,)]]
    graph = recorded(lambda x, w, b: ending(F.linear(x, w, b)), *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs, 1e-4)
    assert count(better, "_linear_pointwise") == 1
    assert count(better, "tanh", "sigmoid", "gelu") == 0
    check_same(graph, plain(better), inputs)


@pytest.mark.parametrize("ending", [torch.relu, torch.tanh, torch.sigmoid, F.gelu,
                                    lambda x: F.gelu(x, approximate="tanh")])
def test_nan_is_kept(ending):
    inputs = [torch.randn(s) for s in [(6, 5), (4, 5), (4,)]]
    graph = recorded(lambda x, w, b: ending(F.linear(x, w, b)), *inputs)
    better = improve(graph, inputs)
    assert count(better, "_linear_pointwise") == 1
    inputs[0][1, 2], inputs[0][3, 1], inputs[0][4, 0] = float("nan"), float("inf"), -float("inf")
    torch.testing.assert_close(better(*inputs), graph(*inputs), equal_nan=True)


@pytest.mark.parametrize("bias", [lambda b: b[::2], lambda b: b[:1].expand(4)])
def test_products_with_a_strided_bias_stay(bias):
    inputs = [torch.randn(s) for s in [(6, 5), (4, 5), (8,)]]
    graph = recorded(lambda x, w, b: F.linear(x, w, bias(b)), *inputs)
    better = improve(graph, inputs)
    check_same(graph, better, inputs)
    assert count(better, "_linear_pointwise") == 0


def test_other_products_stay():
    inputs = [torch.randn(6, 5).double(), torch.randn(5, 4).double(), torch.randn(6, 4).double()]
    graph = recorded(lambda a, b, c: (a @ b, torch.addmm(c, a, b)), *inputs)
    assert count(improve(graph, inputs), "_linear_pointwise") == 0
    inputs = [x.float() for x in inputs]
    graph = recorded(lambda a, b, c: (torch.addmm(c, a, b), torch.addmm(c[0], a, b, beta=2)),
                     *inputs)
    assert count(improve(graph, inputs), "_linear_pointwise") == 0
