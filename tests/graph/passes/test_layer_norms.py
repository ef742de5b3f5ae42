"""Layer normalization and what is around it become one kernel, with the same results."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn, ops
from lamella.graph.ir.stages import Part
from lamella.graph.passes import layer_norms, plain
from lamella.graph.passes.layer_norms import BACKWARD, FORWARD, fuse_layer_norms
from lamella.machine import layer_norm
from lamella.machine.casts import narrow, wide
from tests.graph.passes.checks import check_fused, count, losses_of, take_every_form

OURS = "layer_norm", "layer_norm_backward"
THEIRS = "native_layer_norm", "native_layer_norm_backward"
FORM = [24]


@pytest.fixture(autouse=True)
def chosen(monkeypatch):
    take_every_form(monkeypatch, layer_norm, layer_norms)


def data():
    torch.manual_seed(0)
    x, other, g, branch = (torch.randn(4, 6, 24) for _ in range(4))
    return x, torch.randn(24), torch.randn(24), other, g.bfloat16(), branch.bfloat16()


def gradients(g, x, weight, bias, mean, inverse):
    return BACKWARD(g, x, FORM, mean, inverse, weight, bias, [True] * 3)


def fused(function, inputs, expected, tolerance=2e-2):
    better = check_fused(fuse_layer_norms, function, inputs, OURS, tolerance)
    assert (count(better, *OURS), count(better, *THEIRS)) == expected
    return better


def test_a_residual_block_in_mixed_precision():
    def block(x, weight, bias, other, g, branch):
        total = x + wide(branch)
        y, mean, inverse = FORWARD(total, FORM, weight, bias, 1e-5)
        of_x, of_weight, of_bias = gradients(wide(g), total, weight, bias, mean, inverse)
        passed = other + of_x
        half = narrow(passed)
        of_bias_before = wide(half.view(24, 24).sum(0))
        return (narrow(y), total * 2, mean * 1, passed * 1, half.view(24, 24).t(), of_bias_before,
                of_weight, of_bias)

    better = fused(block, data(), (2, 0))
    assert count(better, "_to_copy", "sum", "add") == 0


def test_what_others_read_is_made_too():
    def block(x, weight, bias, other, g, branch):
        y, mean, inverse = FORWARD(x, FORM, weight, bias, 1e-5)
        of_x, of_weight, of_bias = gradients(wide(g), x, weight, bias, mean, inverse)
        half = narrow(of_x)
        sums = half.sum((0, 1))
        return narrow(y), y + 1, of_x * 2, half, sums + 1, wide(sums), of_weight, of_bias

    better = fused(block, data(), (2, 0))
    assert count(better, "sum") == 1  # in bfloat16, which is read as such


def test_stages_have_a_form_for_compilers():
    """Their weights are inputs, of which `plain` has to know the form."""
    def block(x, weight, bias, other, g, branch):
        return narrow(FORWARD(x, FORM, weight, bias, 1e-5)[0])

    stage = Part.whole(fused(block, data(), (1, 0))).copied()
    assert (count(stage, *OURS), count(plain(stage), *THEIRS)) == (1, 1)


def test_sums_along_other_dimensions_stay():
    def block(x, weight, bias, other, g, branch):
        y, mean, inverse = FORWARD(x, FORM, weight, bias, 1e-5)
        half = narrow(gradients(wide(g), x, weight, bias, mean, inverse)[0])
        return wide(half.sum(0)), wide(half.sum((0, 1), keepdim=True)), wide(
            half.view(6, 96).sum(0)), wide(half.sum((1, 2)))

    assert count(fused(block, data(), (1, 1)), "sum") == 4


def test_several_dimensions():
    def block(x, weight, bias, other, g, branch):
        total = x + other
        y, mean, inverse = FORWARD(total, [6, 24], weight, bias, 1e-5)
        of_x, of_weight, of_bias = BACKWARD(wide(g), total, [6, 24], mean, inverse, weight, bias,
                                            [True] * 3)
        half = narrow(of_x)
        return narrow(y), mean, half, wide(half.view(4, 144).sum(0)), of_weight, of_bias

    x, _, _, *rest = data()
    better = fused(block, (x, torch.randn(6, 24), torch.randn(6, 24), *rest), (2, 0))
    assert count(better, "sum") == 1


def test_values_that_are_written_stay():
    def written(x, weight, bias, other, g, branch):
        total = x + wide(branch)
        y, *_ = FORWARD(total, FORM, weight, bias, 1e-5)
        half = narrow(y)
        total.mul_(2)
        return half, total

    fused(written, data(), (0, 1))

    def weight_written(x, weight, bias, other, g, branch):
        total = x + other
        weight.mul_(2)
        return narrow(FORWARD(total, FORM, weight, bias, 1e-5)[0]), total * 3

    better = fused(weight_written, data(), (1, 0))
    assert count(better, "add") == 1  # the sum comes before the weight is what it is

    def weight_written_later(x, weight, bias, other, g, branch):
        y, mean, inverse = FORWARD(x + other, FORM, weight, bias, 1e-5)
        half = narrow(y)
        weight.mul_(2)  # as an optimizer does
        return half

    assert count(fused(weight_written_later, data(), (1, 0)), "add") == 0


def test_nothing_around_it_is_left_alone():
    fused(lambda x, weight, bias, *_: FORWARD(x, FORM, weight, bias, 1e-5), data(), (0, 1))

    def half(x, weight, bias, other, g, branch):
        return FORWARD(branch, FORM, weight.bfloat16(), bias.bfloat16(), 1e-5)[0]

    fused(half, data(), (0, 1))

    def not_all(x, weight, bias, other, g, branch):
        y, mean, inverse = FORWARD(x, FORM, weight, bias, 1e-5)
        return narrow(BACKWARD(wide(g), x, FORM, mean, inverse, weight, bias,
                               [True, False, False])[0])

    fused(not_all, data(), (0, 2))


def test_a_form_that_is_wrong_stays_with_pytorch():
    given = [torch.randn(40, 64).bfloat16(), None, None, None, 1, 1e-5, True, True]

    def wrong(*given):
        total, wide, narrow, mean, inverse = layer_norm.fused(*given)
        return total, wide, narrow * 1.5, mean, inverse

    assert layer_norms.faster(layer_norm.by_torch, layer_norm.fused, given) in {"torch", "fused"}
    assert layer_norms.faster(layer_norm.by_torch, wrong, given) == "torch"


class Net(nn.Cell):
    """Two blocks of a transformer, without attention."""

    def __init__(self):
        super().__init__()
        self.norms = nn.CellList([nn.LayerNorm((24,)) for _ in range(3)])
        self.up = nn.CellList([nn.Dense(24, 48) for _ in range(2)])
        self.down = nn.CellList([nn.Dense(48, 24) for _ in range(2)])
        self.head = nn.Dense(24, 4)

    def construct(self, x):
        for norm, up, down in zip(self.norms, self.up, self.down):  # noqa: B905
            x = x + down(ops.gelu(up(norm(x))))
        return self.head(self.norms[2](x))


def test_training_in_mixed_precision_is_as_eagerly(monkeypatch):
    """Losses of two hundred steps follow float32's as closely as eager ones do."""
    monkeypatch.setattr("lamella.graph.runtime.execution.HOT", 0.0)
    monkeypatch.setenv("LAMELLA_COMPILE_SHARE", "1")
    x = ms.Tensor(np.random.default_rng(0).standard_normal((8, 12, 24)).astype(np.float32))
    seen = []
    monkeypatch.setattr("lamella.graph.passes.order.fuse_layer_norms", lambda graph, measure: (
        seen.append(fuse_layer_norms(graph, True))))

    def trained(wrap, half=True):
        ms.set_seed(1)
        net = Net()
        optimizer = nn.Adam(net.trainable_params(), 1e-2)
        return losses_of(lambda x: ((net(x) - x[..., :4]) ** 2).mean(), optimizer, x, 200, wrap,
                         half)

    compiled, eager = trained(ms.jit), trained(lambda step: step)
    exact = trained(lambda step: step, half=False)
    assert max(seen) == 5  # nothing asks for the gradient by x
    assert compiled[-1] < 0.1 * compiled[0]
    assert np.abs(compiled - exact).max() <= 2 * np.abs(eager - exact).max() + 1e-3


CASTS = [(before, added, after) for before in (0, 1) for added in (0, 1) for after in (0, 1)]


@pytest.mark.parametrize("before, added, after", CASTS)
def test_any_of_the_operations_around_it_is_enough(before, added, after):
    def forward(x, weight, bias, other, g, branch):
        y = FORWARD(x + wide(branch) if added else x, FORM, weight, bias, 1e-5)[0]
        return narrow(y) if after else y

    fused(forward, data(), (1, 0) if added or after else (0, 1))

    def backward(x, weight, bias, other, g, branch):
        mean, inverse = x.mean(-1, keepdim=True), x.var(-1, keepdim=True).rsqrt()
        found = list(gradients(wide(g) if before else other, x, weight, bias, mean, inverse))
        found[0] = other + found[0] if added else found[0]
        return narrow(found[0]) if after else found[0], *found[1:]

    fused(backward, data(), (1, 0) if before or added or after else (0, 1))


@pytest.mark.parametrize("alpha", [1, 2])
def test_a_sum_with_a_factor_is_no_residual_connection(alpha):
    def forward(x, weight, bias, other, g, branch):
        return narrow(FORWARD(x.add(other, alpha=alpha), FORM, weight, bias, 1e-5)[0])

    assert count(fused(forward, data(), (1, 0)), "add") == (alpha != 1)

    def backward(x, weight, bias, other, g, branch):
        mean, inverse = x.mean(-1, keepdim=True), x.var(-1, keepdim=True).rsqrt()
        of_x, *others = gradients(wide(g), x, weight, bias, mean, inverse)
        return other.add(of_x, alpha=alpha), *others

    assert count(fused(backward, data(), (1, 0)), "add") == (alpha != 1)
