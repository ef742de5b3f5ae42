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
from tests.graph.passes.checks import check_fused, count, losses_of, recorded, take_every_form

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


def backward_of(others, before=wide):
    """A gradient of a normalization, with what `others` makes of that by x and the inputs."""
    def block(x, weight, bias, other, g, branch):
        mean, inverse = x.mean(-1, keepdim=True), x.var(-1, keepdim=True).rsqrt()
        of_x, *found = gradients(before(g), x, weight, bias, mean, inverse)
        return *others(of_x, other, branch), *found

    return block


def forward_of(others):
    """A result in bfloat16 of the normalization of what `others` gives with weight and bias."""
    return lambda *given: narrow(FORWARD(*others(*given), 1e-5)[0])


@pytest.mark.parametrize("function, adds", [
    (forward_of(lambda x, weight, bias, other, g, branch: (x + other, FORM, weight, bias)), 0),
    (forward_of(lambda x, weight, bias, *_: (x + x, FORM, weight, bias)), 0),
    (forward_of(lambda x, weight, bias, other, *_: (x + other[:1], FORM, weight, bias)), 1),
    (forward_of(lambda x, weight, bias, *_: (x + 1, FORM, weight, bias)), 1),
    (forward_of(lambda x, weight, bias, *_: (x + bias, FORM, weight, bias)), 1),
    (forward_of(lambda x, weight, bias, other, *_: (x + other, FORM, weight.sin(), bias)), 1),
    (forward_of(lambda x, weight, bias, other, *_: (x + other, FORM, weight, bias.sin())), 1),
    (forward_of(lambda x, weight, bias, other, *_: (x + other, FORM, None, None)), 0),
    (backward_of(lambda of_x, other, branch: [of_x + other]), 0),
    (backward_of(lambda of_x, other, branch: [other + of_x]), 0),
    (backward_of(lambda of_x, other, branch: [of_x + of_x]), 1),
    (backward_of(lambda of_x, other, branch: [of_x + 1]), 1),
    (backward_of(lambda of_x, other, branch: [of_x + other[:1]]), 1),
    (backward_of(lambda of_x, other, branch: [of_x[:1] + other]), 1),
    (backward_of(lambda of_x, other, branch: [of_x + other.sin()]), 1),
    (backward_of(lambda of_x, other, branch: [of_x + other, of_x]), 1),
    (backward_of(lambda of_x, other, branch: [of_x + other, of_x * 2]), 1)])
def test_which_sums_are_part_of_the_kernel(function, adds):
    """Of values of the same form, that are there by then, where nothing else reads the parts."""
    assert count(fused(function, data(), (1, 0)), "add") == adds


def written_through_a_view(value):
    value[:2].mul_(3)
    return value


@pytest.mark.parametrize("function, expected, adds", [
    (forward_of(lambda x, weight, bias, other, g, branch: (
        written_through_a_view(wide(branch)), FORM, weight, bias)), (0, 1), 0),
    (forward_of(lambda x, weight, bias, other, g, branch: (
        x + written_through_a_view(wide(branch)), FORM, weight, bias)), (0, 1), 1),
    (lambda x, weight, bias, other, g, branch: written_through_a_view(narrow(
        FORWARD(x, FORM, weight, bias, 1e-5)[0])), (0, 1), 0),
    (backward_of(lambda of_x, other, branch: [of_x], lambda g: written_through_a_view(wide(g))),
     (0, 1), 0),
    (backward_of(lambda of_x, other, branch: [narrow(of_x + written_through_a_view(other))]),
     (0, 1), 1),
    (backward_of(lambda of_x, other, branch: [written_through_a_view(of_x + other)]), (0, 1), 1),
    (backward_of(lambda of_x, other, branch: [of_x, written_through_a_view(other)]), (1, 0), 0)])
def test_what_is_written_is_no_longer_what_it_was_made_of(function, expected, adds):
    assert count(fused(function, data(), expected), "add") == adds


def test_a_cast_that_is_written_before_the_sum_is_more_than_a_cast():
    def block(x, weight, bias, other, g, branch):
        mean, inverse = x.mean(-1, keepdim=True), x.var(-1, keepdim=True).rsqrt()
        passed = wide(branch)
        of_x, *found = gradients(wide(g), x, weight, bias, mean, inverse)
        passed[:2].mul_(3)
        return passed + of_x, *found

    assert count(fused(block, data(), (0, 1)), "add") == 1


@pytest.mark.parametrize("casts", [1, 2, 3])
def test_results_in_bfloat16_have_memory_of_their_own(casts):
    def forward(x, weight, bias, *_):
        y = FORWARD(x, FORM, weight, bias, 1e-5)[0]
        return narrow(y) * 2, *(narrow(y) for _ in range(casts))

    assert count(fused(forward, data(), (1, 0)), "_to_copy") == casts - 1
    backward = backward_of(lambda of_x, other, branch: [narrow(of_x) for _ in range(casts)])
    assert count(fused(backward, data(), (1, 0)), "_to_copy") == casts - 1


@pytest.mark.parametrize("function", [
    forward_of(lambda x, weight, bias, *_: (x.transpose(0, 1), FORM, weight, bias)),
    forward_of(lambda x, weight, bias, *_: (x[..., ::2], [12], weight[:12], bias[:12])),
    forward_of(lambda x, weight, bias, *_: (x[..., :12].clone(), [12], weight[::2], bias[:12])),
    forward_of(lambda x, weight, bias, *_: (x[..., :12].clone(), [12], weight[:12], bias[::2])),
    forward_of(lambda x, weight, bias, *_: (x.double(), FORM, weight.double(), bias.double())),
    lambda x, weight, bias, other, g, branch: narrow(
        FORWARD(x, FORM, weight, bias, 1e-5)[1].expand(4, 6, 24)),
    backward_of(lambda of_x, other, branch: [of_x], lambda g: wide(g[:1].expand(4, 6, 24))),
    backward_of(lambda of_x, other, branch: [narrow(of_x)], lambda g: wide(g).expand(4, 6, 24)[
        :1].expand(4, 6, 24))])
def test_values_that_the_kernel_does_not_take_stay_with_pytorch(function):
    fused(function, data(), (0, 1))


def test_what_decides_which_kernel_is_used(monkeypatch):
    """The form, the types and the settings; only if it is large; timed only when asked to."""
    asked = []
    monkeypatch.setattr(layer_norms.known, "find", lambda key, measured: asked.append(
        (key, measured is not None)) or "torch")

    def block(x, weight, bias, other, g, branch):
        y, mean, inverse = FORWARD(x + wide(branch), FORM, weight, None, 1e-3)
        of_x, *found = gradients(wide(g), x, weight, bias, mean, inverse)
        half = narrow(of_x)
        return narrow(y), half, wide(half.sum((0, 1))), *found

    given, threads = data(), torch.get_num_threads()
    for measure, smallest, wanted in ((False, 576, 2), (True, 576, 2), (True, 577, 0)):
        asked.clear()
        monkeypatch.setattr(layer_norms, "SMALLEST", smallest)
        assert fuse_layer_norms(recorded(block, *given), measure) == 0
        wide_, half = "torch.float32", "torch.bfloat16"
        assert asked == [
            (("by_torch", 4, 6, 24, wide_, half, wide_, "None", "1", "0.001", "False", "True",
              threads), measure),
            (("by_torch_backward", 4, 6, 24, half, wide_, wide_, wide_, wide_, "None", "1",
              "False", "True", "True", threads), measure)][:wanted]


@pytest.mark.parametrize("size, is_asked", [(2**14, True), (2**14 - 1, False)])
def test_how_many_elements_are_timed_at_least(monkeypatch, size, is_asked):
    monkeypatch.undo()
    asked = []
    monkeypatch.setattr(layer_norms.known, "find", lambda *given: asked.append(given))
    fuse_layer_norms(recorded(lambda x: narrow(FORWARD(x, [size], None, None, 1e-5)[0]),
                              torch.zeros(1, size)), True)
    assert len(asked) == is_asked
