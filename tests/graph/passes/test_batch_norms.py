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
from tests.graph.passes.checks import check_fused, count, losses_of, recorded, take_every_form

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


def written_through_a_view(value):
    value[:2].mul_(3)
    return value


def masked(gradient, out, threshold=0):
    return torch.ops.aten.threshold_backward.default(gradient, out, threshold)


def back(gradient, values, weight, mean, inverse):
    return BACKWARD(gradient, values, weight, None, None, mean, inverse, True, 1e-3, [True] * 3)


def forward_of(others):
    """What `others` makes of a normalization and the inputs."""
    return lambda x, weight, bias, other, g: others(
        normalized(wide(x), weight, bias)[0], other, g)


def backward_of(others):
    """A gradient by values in bfloat16, for what `others` makes of the inputs and ReLU's result."""
    def block(x, weight, bias, other, g):
        values = wide(x)
        y, mean, inverse = normalized(values, weight, bias)
        gradient, *rest = others(g, other, narrow(y).float().relu())
        return *back(gradient, values, weight, mean, inverse), *rest

    return block


@pytest.mark.parametrize("function, adds, relus", [
    (forward_of(lambda y, other, g: (y + other).relu()), 0, 0),
    (forward_of(lambda y, other, g: (other + y).relu()), 0, 0),
    (forward_of(lambda y, other, g: (wide(g) + y).relu()), 1, 1),  # is cast after it
    (forward_of(lambda y, other, g: (y + y).relu()), 1, 1),
    (forward_of(lambda y, other, g: (y + 1).relu()), 1, 1),
    (forward_of(lambda y, other, g: (y + other[:, :, :1, :1]).relu()), 1, 1),
    (forward_of(lambda y, other, g: (y[:1] + other).relu()), 1, 1),
    (forward_of(lambda y, other, g: (y + other, y)), 1, 0),
    (forward_of(lambda y, other, g: ((total := y + other), total.relu())), 0, 1),
    (forward_of(lambda y, other, g: (y + other).tanh()), 0, 0),
    (backward_of(lambda g, other, out: [masked(wide(g) + other, out)]), 0, 1),
    (backward_of(lambda g, other, out: [masked(other + wide(g), out)]), 0, 1),
    (backward_of(lambda g, other, out: [masked(wide(g) + 1, out)]), 1, 1),
    (backward_of(lambda g, other, out: [masked(wide(g) + other[:1], out)]), 1, 1),
    (backward_of(lambda g, other, out: [masked((both := wide(g) + other), out), both]), 1, 1),
    (backward_of(lambda g, other, out: [wide(g) + other[:1]]), 1, 0)])
def test_which_sums_and_relus_are_part_of_the_kernel(function, adds, relus):
    """Of values of the same form, that are there by then, where nothing else reads the parts."""
    kernels = 1 if function.__qualname__.startswith("forward_of") else 2
    better = fused(function, data(), (kernels, 0))
    assert (count(better, "add"), count(better, "relu")) == (adds, relus)
    assert count(better, "threshold_backward") == 0


@pytest.mark.parametrize("gradient, kernels", [
    (lambda g, other, out: masked(out, out), 2), (lambda g, other, out: masked(wide(g), out, 1), 2),
    (lambda g, other, out: masked(wide(g)[:1].expand(4, 6, 5, 7), out), 1),
    (lambda g, other, out: masked(wide(g), out[:1]), 1),
    (lambda g, other, out: masked(wide(g), out.contiguous(memory_format=torch.channels_last)), 1),
    (lambda g, other, out: masked(wide(g), out.transpose(2, 3).contiguous().transpose(2, 3)), 1)])
def test_which_masks_stay_with_pytorch(gradient, kernels):
    """Those of other thresholds, of a value by itself, and of values of several forms."""
    better = fused(backward_of(lambda *given: [gradient(*given)]), data(), (kernels, 2 - kernels))
    assert count(better, "threshold_backward") == 1


@pytest.mark.parametrize("function, expected", [
    (lambda x, weight, bias, other, g: normalized(
        written_through_a_view(wide(x)), weight, bias)[0].relu(), (0, 1)),
    (lambda x, weight, bias, other, g: narrow(normalized(
        written_through_a_view(wide(x)), weight, bias)[0]), (0, 1)),
    (lambda x, weight, bias, other, g: normalized(
        written_through_a_view(wide(x)), weight, bias)[0], (0, 1)),
    (forward_of(lambda y, other, g: (y + written_through_a_view(other)).relu()), (0, 1)),
    (forward_of(lambda y, other, g: written_through_a_view(narrow(y))), (0, 1)),
    (forward_of(lambda y, other, g: (y * 2, written_through_a_view(y))), (0, 1)),
    (lambda x, weight, bias, other, g: written_through_a_view(normalized(
        wide(x), weight, bias)[1]), (0, 1)),
    (backward_of(lambda g, other, out: [written_through_a_view(wide(g))]), (1, 1)),
    (backward_of(lambda g, other, out: [masked(written_through_a_view(wide(g)), out)]), (1, 1)),
    (backward_of(lambda g, other, out: [masked(wide(g), written_through_a_view(out))]), (1, 1)),
    (backward_of(lambda g, other, out: [written_through_a_view(masked(wide(g), out))]), (1, 1))])
def test_what_is_written_is_no_longer_what_it_was_made_of(function, expected):
    fused(function, data(), expected)


@pytest.mark.parametrize("casts", [1, 2, 3])
def test_results_in_bfloat16_have_memory_of_their_own(casts):
    forward = forward_of(lambda y, other, g: [narrow(y) for _ in range(casts)])
    assert count(fused(forward, data(), (1, 0)), "_to_copy") == casts - 1

    def backward(x, weight, bias, other, g):
        y, mean, inverse = normalized(other, weight, bias)
        of_x, *found = back(wide(g), other, weight, mean, inverse)
        return *(narrow(of_x) for _ in range(casts)), *found

    assert count(fused(backward, data(), (1, 1)), "_to_copy") == (casts if casts > 1 else 0)


@pytest.mark.parametrize("masks", [False, True])
def test_results_in_bfloat16_of_values_in_bfloat16_stay(masks):
    """Their kernel rounds everything; ours gives them in float32."""
    def block(x, weight, bias, other, g):
        y, mean, inverse = normalized(x, weight, bias)
        out = y.relu()
        return out, *back(masked(g, out) if masks else g, x, weight, mean, inverse)

    fused(block, data(), (0, 2))


def test_a_kernel_that_also_gives_the_sum_comes_where_that_is_read():
    """All that it reads is there by then, and the weight is the same as later."""
    def block(change, x, weight, bias, other, g):
        values = wide(x)
        y, mean, inverse = normalized(values, weight, bias)
        gradient = masked(wide(g), y.relu())
        if change == "weight":
            weight.mul_(2)
        if change == "mean":
            mean = mean.sin()
        if change == "values":
            values = values.sin()
        return gradient * 2, *back(gradient, values, weight, mean, inverse)

    for change in ("none", "weight", "mean", "values"):
        better = fused(lambda *given, change=change: block(change, *given), data(),
                       (2, 0) if change == "none" else (1, 1))
        assert count(better, "threshold_backward") == (change != "none")


def test_what_decides_which_kernel_is_used(monkeypatch):
    """The form, the types and the settings, of dense values, if there are many of these."""
    asked = []
    monkeypatch.setattr(batch_norms.known, "find", lambda key, measured: asked.append(key))

    def block(x, weight, bias, other, g):
        y, mean, inverse = normalized(wide(x), weight, None)
        return narrow((y + other).relu()), *back(wide(g), wide(x), weight, mean, inverse)

    threads, wide_, half = torch.get_num_threads(), "torch.float32", "torch.bfloat16"

    def wanted(last):
        return [("by_torch", 4, 6, 5, 7, last, half, wide_, "None", wide_, "0.001", "True",
                 "False", "True", threads),
                ("by_torch_backward", 4, 6, 5, 7, last, half, "None", "None", half, wide_, wide_,
                 wide_, "False", "False", threads)]

    for last, smallest, found in ((False, 840, wanted(False)), (True, 840, wanted(True)),
                                  (False, 841, [])):
        asked.clear()
        monkeypatch.setattr(batch_norms, "SMALLEST", smallest)
        assert fuse_batch_norms(recorded(block, *data(last)), True) == 0
        assert asked == found
    asked.clear()
    monkeypatch.setattr(batch_norms, "SMALLEST", 1)
    x, weight, bias, other, g = data()
    for given in ((x.transpose(2, 3), weight, bias, other.transpose(2, 3), g.transpose(2, 3)),
                  (x[..., ::2], weight, bias, other[..., ::2], g[..., ::2]),
                  (x, torch.randn(12)[::2], bias, other, g)):
        assert fuse_batch_norms(recorded(block, *given), True) == 0
    assert asked == []
    assert fuse_batch_norms(recorded(block, *data()), False) == 0 and asked == []


@pytest.mark.parametrize("length, is_asked", [(2**11, True), (2**11 - 1, False)])
def test_how_many_elements_are_timed_at_least(monkeypatch, length, is_asked):
    """Two times four times as many."""
    monkeypatch.undo()
    asked = []
    monkeypatch.setattr(batch_norms.known, "find", lambda *given: asked.append(given))
    fuse_batch_norms(recorded(lambda x, w: normalized(x, w, w)[0].relu(), torch.zeros(2, 4, length),
                              torch.ones(4)), True)
    assert len(asked) == is_asked
