"""Batch normalization and what is around it become one kernel, with the same results."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn, ops
from lamella.graph.passes import batch_norms
from lamella.graph.passes.batch_norms import BACKWARD, FORWARD, fuse_batch_norms
from lamella.machine import batch_norm
from tests.graph.passes.checks import check_fused, count, losses_of, take_every_form

OURS = "batch_norm", "batch_norm_backward"
THEIRS = "native_batch_norm", "native_batch_norm_backward"


@pytest.fixture(autouse=True)
def chosen(monkeypatch):
    take_every_form(monkeypatch, batch_norm, batch_norms)


def wide(x):
    return torch.ops.aten._to_copy.default(x, dtype=torch.float32)


def narrow(x):
    return torch.ops.aten._to_copy.default(x, dtype=torch.bfloat16)


def normalized(x, weight, bias):
    return FORWARD(x, weight, bias, None, None, True, 0.1, 1e-3)


def data(last=False, dtype=torch.bfloat16):
    torch.manual_seed(0)
    x, g, other = (torch.randn(4, 6, 5, 7) for _ in range(3))
    if last:
        x, g, other = (a.contiguous(memory_format=torch.channels_last) for a in (x, g, other))
    return x.to(dtype), torch.randn(6), torch.randn(6), other, g.to(dtype)


def fused(function, inputs, expected, tolerance=2e-2):
    better = check_fused(fuse_batch_norms, function, inputs, OURS, tolerance)
    assert (count(better, *OURS), count(better, *THEIRS)) == expected
    return better


@pytest.mark.parametrize("last", [False, True])
def test_a_cast_a_sum_and_relu_before_and_after(last):
    """A block of a residual network in mixed precision, forward and backward."""

    def block(x, weight, bias, other, g):
        values = wide(x)
        y, mean, inverse = normalized(values, weight, bias)
        out = (y + other).relu()
        half = narrow(out)
        back = torch.ops.aten.threshold_backward.default(wide(g) + other, out, 0)
        of_x, of_weight, of_bias = BACKWARD(back, values, weight, None, None, mean, inverse, True,
                                            1e-3, [True] * 3)
        return half, out * 2, mean * 3, narrow(of_x), of_weight, of_bias, back + 1

    better = fused(block, data(last), (2, 0))
    assert count(better, "relu", "threshold_backward") == 0
    assert count(better, "_to_copy") == 0 and count(better, "add") == 1


def test_what_nothing_reads_is_not_made():
    def block(x, weight, bias, other, g):
        values = wide(x)
        y, mean, inverse = normalized(values, weight, bias)
        out = y.relu()
        back = torch.ops.aten.threshold_backward.default(wide(g), out, 0)
        return narrow(out), *BACKWARD(back, values, weight, None, None, mean, inverse, True, 1e-3,
                                      [True] * 3)

    better = fused(block, data(), (2, 0))
    kernel = next(n for n in better.graph.nodes if str(n.target) == batch_norms.FUSED)
    assert kernel.args[6:] == (False, True)


def test_float32_gains_too():
    def block(x, weight, bias, other, g):
        y, mean, inverse = normalized(x, weight, bias)
        out = (y + other).relu()
        back = torch.ops.aten.threshold_backward.default(g, out, 0)
        return out, *BACKWARD(back, x, weight, None, None, mean, inverse, True, 1e-3, [True] * 3)

    fused(block, data(dtype=torch.float32), (2, 0), 1e-4)


def test_values_that_are_read_otherwise_stay():
    def before_relu(x, weight, bias, other, g):
        y, *_ = normalized(wide(x), weight, bias)
        return y.relu(), y  # the sum and ReLU are kernels of their own

    fused(before_relu, data(), (1, 0))

    def later(x, weight, bias, other, g):
        y, *_ = normalized(wide(x), weight, bias)
        return (y + other.sin()).relu()  # which is computed after the normalization

    assert count(fused(later, data(), (1, 0)), "relu") == 1

    def written(x, weight, bias, other, g):
        y, *_ = normalized(wide(x), weight, bias)
        out = y.relu()
        out.mul_(2)
        return out

    fused(written, data(), (0, 1))


@pytest.mark.parametrize("wanted", [(0, 1), (0, 2), (1, 2), (0,), (1, 2, 0)])
def test_gradients_of_which_some_are_not_wanted_stay_with_pytorch(wanted):
    def block(x, weight, bias, other, g):
        values = wide(x)
        y, mean, inverse = normalized(values, weight, bias)
        back = torch.ops.aten.threshold_backward.default(wide(g), y.relu(), 0)
        found = BACKWARD(back, values, weight, None, None, mean, inverse, True, 1e-3,
                         [place in wanted for place in range(3)])
        return [found[place] for place in wanted]

    better = fused(block, data(), (2, 0) if len(wanted) == 3 else (1, 1))
    assert count(better, "threshold_backward") == (len(wanted) < 3)


def test_nothing_around_it_is_left_alone():
    fused(lambda x, weight, bias, other, g: normalized(other, weight, bias), data(), (0, 1))

    def with_statistics(x, weight, bias, mean, variance):
        return FORWARD(x, weight, bias, mean, variance, True, 0.1, 1e-3)[0].relu()

    x, weight, bias, *_ = data(dtype=torch.float32)
    fused(with_statistics, (x, weight, bias, torch.zeros(6), torch.ones(6)), (0, 1))


def test_a_form_that_is_no_faster_or_wrong_stays_with_pytorch(monkeypatch):
    given = [torch.randn(4, 6, 8, 8).bfloat16(), None, None, None, 1e-5, True, False, True]
    metas = [batch_norms.TensorMetadata(tuple(a.shape), a.stride(), a.dtype, a.device)
             if isinstance(a, torch.Tensor) else a for a in given]
    found = batch_norms._measured(batch_norm.by_torch, batch_norm.fused, metas)
    assert found in {"torch", "fused"}

    def wrong(*given):
        wide, narrow, mean, inverse = batch_norm.fused(*given)
        return wide, narrow * 1.5, mean, inverse

    assert batch_norms._measured(batch_norm.by_torch, wrong, metas) == "torch"


class Net(nn.Cell):
    """A residual block between a convolution and a mean."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, has_bias=False)
        self.second = nn.Conv2d(8, 8, 3, has_bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(8), nn.BatchNorm2d(8)
        self.head = nn.Dense(8, 4)

    def construct(self, x):
        x = ops.relu(self.norm1(self.first(x)))
        x = ops.relu(self.norm2(self.second(x)) + x)
        return self.head(x.mean((2, 3)))


def test_training_in_mixed_precision_is_as_eagerly(monkeypatch):
    """Losses and statistics of a hundred steps follow eager ones as closely as these float32's."""
    monkeypatch.setattr("lamella.graph.runtime.execution.HOT", 0.0)
    monkeypatch.setenv("LAMELLA_COMPILE_SHARE", "1")
    x = ms.Tensor(np.random.default_rng(0).standard_normal((8, 3, 12, 12)).astype(np.float32))
    seen = []
    monkeypatch.setattr("lamella.graph.passes.order.fuse_batch_norms", lambda graph, measure: (
        seen.append(fuse_batch_norms(graph, True))))

    def trained(wrap, half=True):
        ms.set_seed(1)
        net = Net()
        net.set_train()
        optimizer = nn.Momentum(net.trainable_params(), 1e-2, 0.9)
        forward = lambda x: ((net(x) - x.mean((2, 3)).sum(1, keepdims=True)) ** 2).mean()  # noqa: E731
        losses = losses_of(forward, optimizer, x, 100, wrap, half)
        return losses, net.norm2.moving_variance.asnumpy()

    (compiled, variance), (eager, its) = trained(ms.jit), trained(lambda step: step)
    exact, exact_variance = trained(lambda step: step, half=False)
    assert max(seen) == 4 and compiled[-1] < 0.5 * compiled[0]
    assert np.abs(compiled - exact).max() <= 2 * np.abs(eager - exact).max() + 1e-3
    apart = np.abs(its - exact_variance).max() + 1e-2 * exact_variance.max()
    assert np.abs(variance - exact_variance).max() <= 2 * apart


@pytest.mark.parametrize("threshold", [0, 0.5])
@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_gradient_of_a_mask_or_sum_that_is_read_otherwise_too(masked, summed, threshold):
    def block(x, weight, bias, other, g):
        values = wide(x)
        y, mean, inverse = normalized(values, weight, bias)
        out = y.relu()
        back = wide(g) + other if summed else wide(g)
        if masked:
            back = torch.ops.aten.threshold_backward.default(back, out, threshold)
        return narrow(out), back * 3, *BACKWARD(back, values, weight, None, None, mean, inverse,
                                                True, 1e-3, [True] * 3)

    better = fused(block, data(), (2, 0))
    assert count(better, "threshold_backward") == (masked and threshold > 0)
    assert count(better, "add") == (summed and masked and threshold > 0)


@pytest.mark.parametrize("alpha", [1, 2])
def test_a_sum_with_a_factor_stays(alpha):
    def block(x, weight, bias, other, g):
        y, mean, inverse = normalized(wide(x), weight, bias)
        out = y.add(other, alpha=alpha).relu()
        back = wide(g).add(other, alpha=alpha)
        return out, *BACKWARD(back, wide(x), weight, None, None, mean, inverse, True, 1e-3,
                              [True] * 3)

    assert count(fused(block, data(), (2, 0)), "add") == 2 * (alpha != 1)
