"""The pass that recomputes casts to lower peak memory."""

import torch
import torch.nn.functional as F

from lamella.graph.ir.lazy_module import copied
from lamella.graph.passes.memory import Liveness
from lamella.graph.passes.order import simplify
from lamella.graph.passes.recomputation import recompute_casts
from tests.graph.passes.checks import check_same, count, recorded

HALF, SINGLE = torch.bfloat16, torch.float32


def peaks(function, *inputs):
    """Peak memory before and after the pass, which must not change any result."""
    graph = recorded(function, *inputs)
    simplify(graph)
    graph.recompile()
    better = copied(graph)
    recompute_casts(better.graph)
    better.recompile()
    check_same(graph, better, inputs, tolerance=0.0)
    return Liveness(graph.graph).peak, Liveness(better.graph).peak, better


def layers(x, *weights):
    """A network in mixed precision: products in 16 bits, normalization and relu in 32."""
    weights = [w.detach().requires_grad_() for w in weights]
    for w in weights:
        x = F.layer_norm((x.to(HALF) @ w.to(HALF)).to(SINGLE), w.shape[1:]).relu()
    return torch.autograd.grad(x.square().mean(), weights)


def test_a_network_in_mixed_precision_keeps_16_bits():
    torch.manual_seed(0)
    before, after, graph = peaks(layers, torch.randn(256, 128), *torch.randn(6, 128, 128))
    assert after < 0.7 * before
    simplify(graph)  # common subexpressions among the casts stay
    assert Liveness(graph.graph).peak == after


def test_the_peak_of_a_graph_is_what_its_tensors_take():
    graph = recorded(lambda x: ((x + 1) * 2).sum() + (x - 1).exp().sum(), torch.randn(1000))
    live = Liveness(graph.graph)
    assert live.peak == 8000 + 4  # both of x - 1 and its exp, beside a sum
    assert [live.size[n] for n in live.at_peak()] == [4000, 4000, 4]


def kept(x, w):
    """A cast of `w` that is alive while something larger is."""
    cast = w.to(HALF)
    first = cast.sum()
    return (x.expand(400_000).clone() * 2).sum() + first, cast


def test_a_cast_is_recomputed_if_its_input_is_alive_anyway():
    def step(x, w):
        first, cast = kept(x, w)
        return first + (cast * 2).sum()

    before, after, graph = peaks(step, torch.randn(1), torch.randn(200_000))
    assert after == before - 400_000 and count(graph, "_to_copy") == 2


def test_a_cast_of_a_mutated_input_stays():
    def step(x, w):
        first, cast = kept(x, w)
        w.add_(1)
        return first + (cast * 2).sum()

    before, after, _ = peaks(step, torch.randn(1), torch.randn(200_000))
    assert after == before


def test_a_cast_that_is_mutated_is_computed_just_before():
    def step(x, w, gradient):
        wide = gradient.to(SINGLE)
        first = (x.expand(400_000).clone() * 2).sum()
        torch._fused_sgd_([w], [wide], [], weight_decay=0.0, momentum=0.0, lr=0.1,
                          dampening=0.0, nesterov=False, maximize=False, is_first_step=True)
        return first  # by its schema, the kernel may have scaled the gradients

    inputs = torch.randn(1), torch.randn(200_000), torch.randn(200_000).to(HALF)
    before, after, _ = peaks(step, *inputs)
    assert after == before - 800_000


def test_casts_with_views_and_casts_that_are_results_stay():
    def viewed(x, w):
        first, cast = kept(x, w)
        return first + cast.view(2, -1).sum()

    def given(x, w):
        first, cast = kept(x, w)
        return first + (cast * 2).sum(), cast

    for step in (viewed, given):
        before, after, _ = peaks(step, torch.randn(1), torch.randn(200_000))
        assert after == before


def test_casts_stay_where_nothing_is_saved():
    def step(x, w):
        cast = w.to(HALF)
        first, small = cast.sum(), w.sum()
        wide = (cast * 2).to(SINGLE)
        return (wide * 3).sum() + first + small

    before, after, graph = peaks(step, torch.randn(1), torch.randn(200_000))
    assert after == before and count(graph, "_to_copy") == 2


def test_a_cast_that_is_written_through_a_view_stays():
    """Also where another cast, which is computed again, lowers the peak."""
    def step(x, w, other):
        cast, written = w.to(HALF), other.to(HALF)
        part = written[:1000]
        first = cast.sum() + written.sum()
        first = (x.expand(400_000).clone() * 2).sum() + first
        second = (cast * 2).sum() + (written * 2).sum()
        part.mul_(3)
        return first, second, written * 5, cast * 2

    inputs = torch.randn(1), torch.randn(200_000), torch.randn(200_000)
    before, after, graph = peaks(step, *inputs)
    assert after == before - 400_000 and count(graph, "_to_copy") == 3
