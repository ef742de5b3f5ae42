"""Cross entropy becomes one kernel forward and one backward, with the same results."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import ops
from lamella.graph.passes import cross_entropies, improve, plain
from lamella.graph.passes.cross_entropies import LOSS, OF_LOGARITHMS, OF_LOSS, _measured
from lamella.graph.passes.memory import Liveness
from lamella.machine import cross_entropy
from tests.graph.passes.checks import check_same, count, recorded, take_every_form

aten = torch.ops.aten
OURS = "cross_entropy", "cross_entropy_backward"


@pytest.fixture(autouse=True)
def chosen(monkeypatch):
    take_every_form(monkeypatch, cross_entropy, cross_entropies)


def data(dtype=torch.float32, rows=12, width=40):
    torch.manual_seed(0)
    target = torch.randint(0, width, (rows,))
    target[3] = -100
    return torch.randn(rows, width).to(dtype), target


def both(x, target, reduction=1):
    """Loss and gradient as PyTorch's tape records them, in mixed precision for bfloat16."""
    half = x.dtype is torch.bfloat16
    wide = aten._to_copy.default(x, dtype=torch.float32) if half else x
    logarithms = aten._log_softmax.default(wide, 1, False)
    loss, total = LOSS(logarithms, target, None, reduction, -100)
    grad = torch.ones_like(loss)
    picked = OF_LOSS(grad, logarithms, target, None, reduction, -100, total)
    found = OF_LOGARITHMS(picked, logarithms, 1, torch.float32)
    return loss, aten._to_copy.default(found, dtype=torch.bfloat16) if half else found


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 1e-2)])
def test_loss_and_gradient(dtype, tolerance, reduction):
    inputs = data(dtype)
    graph = recorded(lambda x, target: both(x, target, reduction), *inputs)
    better = improve(graph, list(inputs))
    assert count(better, *OURS) == 2
    assert count(better, "_log_softmax", "nll_loss_backward", "_to_copy") == 0
    assert Liveness(better.graph).peak < 0.5 * Liveness(graph.graph).peak
    check_same(graph, better, inputs, tolerance)
    assert count(plain(better), *OURS) == 0
    check_same(graph, plain(better), inputs, tolerance)


def test_without_a_gradient():
    inputs = data()
    graph = recorded(lambda x, target: LOSS(
        aten._log_softmax.default(x, -1, False), target, None, 1, -100)[0], *inputs)
    better = improve(graph, list(inputs))
    assert count(better, *OURS) == 1
    check_same(graph, better, inputs)


@pytest.mark.parametrize("function", [
    lambda x, target: both(x, target)[1] + aten._log_softmax.default(x, 1, False).sum(),
    lambda x, target: LOSS(aten._log_softmax.default(x, 1, False), target, torch.ones(40), 1,
                           -100)[0],
    lambda x, target: LOSS(aten._log_softmax.default(x.double(), 1, False), target, None, 1,
                           -100)[0],
    lambda x, target: aten._log_softmax.default(x, 1, False)[:, 2]])
def test_other_uses_stay_with_pytorch(function):
    inputs = data()
    graph = recorded(function, *inputs)
    better = improve(graph, list(inputs))
    assert count(better, *OURS) == 0
    check_same(graph, better, inputs)


@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
def test_measuring_names_a_way(monkeypatch, dtype):
    for has_gradient, narrow in ((False, False), (True, False), (True, True)):
        key = (16, 300, dtype, "1", has_gradient, narrow, torch.get_num_threads())
        assert _measured(key) in {"torch", "fused"}
    right = cross_entropy.fused_backward
    monkeypatch.setattr(cross_entropy, "fused_backward", lambda *given: right(*given) * 1.5)
    assert _measured(key) == "torch"


def test_a_wrong_class_is_an_error_when_replayed():
    """The same as eagerly, since the call is run again then."""
    x = ms.Tensor(np.random.default_rng(0).standard_normal((8, 30)).astype(np.float32))
    step = ms.jit(lambda x, y: ms.value_and_grad(lambda x: ops.cross_entropy(x, y))(x))
    for shift in range(3):
        good = ms.Tensor((np.arange(8) + shift).astype(np.int32))
        loss, gradient = step(x, good)
    wanted = ms.value_and_grad(lambda x: ops.cross_entropy(x, good))(x)
    assert float(loss) == pytest.approx(float(wanted[0]), rel=1e-6)
    np.testing.assert_allclose(gradient.asnumpy(), wanted[1].asnumpy(), rtol=1e-5, atol=1e-7)
    bad = ms.Tensor(np.full(8, 31, np.int32))
    with pytest.raises(RuntimeError, match="the class 31 is out of range") as eager:
        ops.cross_entropy(x, bad)
    with pytest.raises(RuntimeError) as compiled:
        step(x, bad)
    assert str(eager.value).split("\n")[0] == str(compiled.value).split("\n")[0]


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("has_gradient, narrow", [(False, False), (True, False), (True, True)])
def test_both_ways_that_are_timed_give_the_same(monkeypatch, has_gradient, narrow, reduction):
    shapes = []

    def compared(theirs, ours, given):
        for one, other in zip(theirs(*given), ours(*given), strict=True):
            assert one.dtype is other.dtype
            torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-4)
            shapes.append(tuple(one.shape))
        return "fused"

    monkeypatch.setattr(cross_entropies, "faster", compared)
    key = (16, 30, "torch.bfloat16", str(reduction), has_gradient, narrow, 1)
    assert _measured(key) == "fused"
    assert shapes == [(16,) if reduction == 0 else (), ()] + [(16, 30)] * has_gradient
