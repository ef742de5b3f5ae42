"""Cross entropy becomes one kernel forward and one backward, with the same results."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import ops
from lamella.graph.passes import cross_entropies, improve, plain
from lamella.graph.passes.cross_entropies import (
    LOSS,
    OF_LOGARITHMS,
    OF_LOSS,
    _measured,
    fuse_cross_entropies,
)
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


def written_through_a_view(value):
    value[:2].mul_(3)
    return value


def of(logits=lambda x: x, target=lambda t: t, grad=torch.ones_like, casts=0, reduction=1, dim=1,
       after=lambda grad: None, other=None):
    """Cross entropy and its gradient, with something that may differ from what a tape records."""
    def both(x, t):
        x, t = logits(x), target(t)
        logarithms = aten._log_softmax.default(x, dim, False)
        loss, total = LOSS(logarithms, t, None, reduction, -100)
        given = grad(loss)
        how = dict(logarithms=logarithms, target=t, weight=None, reduction=reduction, ignored=-100,
                   again=logarithms, back_dim=dim)
        how.update(other(how) if other else {})
        picked = OF_LOSS(given, how["logarithms"], how["target"], how["weight"], how["reduction"],
                         how["ignored"], total)
        after(given)
        found = OF_LOGARITHMS(picked, how["again"], how["back_dim"], torch.float32)
        return loss, *([aten._to_copy.default(found, dtype=torch.bfloat16) for _ in range(casts)]
                       or [found])

    return both


@pytest.mark.parametrize("function, kernels", [
    (of(), 2), (of(dim=-1), 2), (of(casts=1), 2), (of(casts=2), 2),
    (of(lambda x: x.bfloat16().float()), 2),
    (of(lambda x: written_through_a_view(x.bfloat16().float())), 0),
    (of(lambda x: written_through_a_view(x * 2)), 0),
    (of(target=lambda t: written_through_a_view(t.clamp(0, 9))), 0),
    (of(lambda x: torch.cat([x, x], 1)[:, ::2]), 0), (of(lambda x: x.t().contiguous().t()), 0),
    (of(lambda x: x[:6], lambda t: t[::2]), 0),
    (of(lambda x: x[:6], lambda t: t[6:]), 2),
    (of(grad=lambda loss: torch.full((1,), 2.0).expand(12), reduction=0), 2),
    (of(grad=lambda loss: torch.arange(24.0)[::2], reduction=0), 2),
    (of(grad=lambda loss: torch.tensor(2.0), reduction=2), 2),
    (of(grad=lambda loss: loss * 2, after=lambda grad: grad.mul_(3)), 0),
    (of(other=lambda how: {"reduction": 2}), 0),
    (of(target=lambda t: t.clamp(min=0), other=lambda how: {"ignored": 7}), 0),
    (of(other=lambda how: {"weight": torch.arange(40.0)}), 0),
    (of(other=lambda how: {"target": how["target"].clamp(max=9)}), 0),
    (of(other=lambda how: {"again": how["logarithms"] * 2}), 0),
    (of(other=lambda how: {"logarithms": how["logarithms"] * 2}), 0),
    (of(other=lambda how: {"back_dim": 0}), 0), (of(other=lambda how: {"back_dim": -1}), 2)])
def test_which_cross_entropies_are_fused(function, kernels):
    """Of dense logits and classes that nothing writes, with a gradient of the same loss."""
    inputs = data()
    graph, better = recorded(function, *inputs), recorded(function, *inputs)
    assert fuse_cross_entropies(better, True) == (kernels > 0)
    better.recompile()
    assert count(better, *OURS) == kernels
    check_same(graph, better, inputs, 1e-2)
    check_same(graph, plain(better), inputs, 1e-2)


@pytest.mark.parametrize("function", [
    lambda x, t: LOSS(aten._log_softmax.default(x, 0, False), t, None, 1, -100)[0],
    lambda x, t: LOSS((y := aten._log_softmax.default(x, 1, False)), t, None, 1, -100)[0]
    + LOSS(y, t.clamp(min=0), None, 1, -100)[0],
    lambda x, t: LOSS((y := aten._log_softmax.default(x, 1, False)), t, None, 1, -100)[0] + y[0, 0],
    lambda x, t: (LOSS((y := aten._log_softmax.default(x, 1, False)), t, None, 1, -100)[0], y),
    lambda x, t: (LOSS((y := aten._log_softmax.default(x, 1, False)), t, None, 1, -100)[0],
                  aten.nll_loss_backward.default(x.sum(), y, t, None, 1, -100, x[0, 0])),
    lambda x, t: LOSS(aten._log_softmax.default(x.bfloat16(), 1, False), t, None, 1, -100)[0],
    lambda x, t: LOSS(aten._log_softmax.default(x[0], 0, False), t[0], None, 1, -100)[0]])
def test_logarithms_that_are_read_otherwise_stay(function):
    inputs = data()
    graph, better = recorded(function, *inputs), recorded(function, *inputs)
    assert fuse_cross_entropies(better, True) == 0
    better.recompile()
    assert count(better, *OURS) == 0
    check_same(graph, better, inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_decides_which_kernel_is_used(monkeypatch, dtype):
    """The form, of at most 256 rows, and what is wanted; only if there are many logits."""
    asked = []
    monkeypatch.setattr(cross_entropies.known, "find", lambda key, measured: asked.append(
        (key, measured)) or "torch")
    for rows, smallest, measure in ((255, 2550, True), (256, 2560, False), (257, 2570, True),
                                    (255, 2551, True)):
        asked.clear()
        monkeypatch.setattr(cross_entropies, "SMALLEST", smallest)
        for reduction, function in ((0, both), (2, of(lambda x: x.float(), reduction=2)), (
                1, lambda x, t: LOSS(aten._log_softmax.default(x.float(), 1, False), t, None, 1,
                                     -100)[0])):
            graph = recorded(lambda x, t, f=function, r=reduction: f(x, t) if r else f(x, t, r),
                             *data(dtype, rows, 10))
            assert fuse_cross_entropies(graph, measure) == 0
        threads, half = torch.get_num_threads(), dtype is torch.bfloat16
        assert asked == [((min(rows, 256), 10, str(dtype), reduction, back, narrow, threads),
                          _measured if measure else None) for reduction, back, narrow in (
            ("0", True, half), ("2", True, False), ("1", False, False))] * (smallest % 10 == 0)


@pytest.mark.parametrize("width, is_asked", [(2**12, True), (2**12 - 1, False)])
def test_how_many_logits_are_timed_at_least(monkeypatch, width, is_asked):
    """Four rows of them."""
    monkeypatch.undo()
    asked = []
    monkeypatch.setattr(cross_entropies.known, "find", lambda *given: asked.append(given))
    fuse_cross_entropies(recorded(of(), torch.zeros(4, width), torch.arange(4)), True)
    assert len(asked) == is_asked
