"""The pass that recomputes casts to lower peak memory."""

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.ir.lazy_module import copied
from lamella.graph.passes import recomputation
from lamella.graph.passes.memory import Liveness
from lamella.graph.passes.order import simplify
from lamella.graph.passes.recomputation import recompute_casts
from tests.graph.passes.checks import check_same, count, recorded

aten = torch.ops.aten
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


def around(make, use):
    """A value that is read before and after something larger is alive."""
    def step(x, w, h):
        value, *others = make(w, h)
        first = value.sum()
        first = (x.expand(800).clone() * 2).sum() + first
        found = use(value, *others)
        return first, *(found if isinstance(found, tuple) else [found])

    return step


def doubled(value, *others):
    return value * 2, *(other * 3 for other in others)


def turned(w, h):
    return [aten._to_copy(w.view(10, 20).t(), dtype=HALF, memory_format=torch.contiguous_format)]


def masked(dtype=HALF, threshold=0, gradient=lambda value: torch.ones_like(value)):
    """A value of which only is asked where it is positive, and a cast of it."""
    def step(x, w, h):
        value = w.sin()
        cast = value.to(dtype)
        first = (x.expand(800).clone() * 2).sum()
        return first, aten.threshold_backward(gradient(value), value, threshold), cast * 2

    return step


@pytest.mark.parametrize("step, saved", [
    (around(lambda w, h: [w.to(HALF)], doubled), 400),
    (around(lambda w, h: [h.to(SINGLE)], doubled), 800),
    (around(lambda w, h: [w.double()], doubled), 1600),
    (around(lambda w, h: [w.int()], doubled), 0), (around(lambda w, h: [w.long().float()], doubled),
                                                   0),
    (around(turned, doubled), 0),
    (around(lambda w, h: [w.sin().to(HALF)], doubled), 0),  # what it is of takes more
    (around(lambda w, h: [h.sin().to(SINGLE)], doubled), 400),
    (around(lambda w, h: [(s := w.sin()).to(HALF), s], doubled), 400),  # that is read later anyway
    (around(lambda w, h: [w.to(HALF)], lambda value: value.view(2, 100) * 2), 0),
    (around(lambda w, h: [(v := w.to(HALF)), v[:1].exp()], doubled), 400),
    (around(lambda w, h: [w.to(HALF)], lambda value: (value * 2, value.exp(), value[:3] * 2)), 0),
    (around(lambda w, h: [w.to(HALF)], lambda value: (value * 2, value.exp())), 400),
    (masked(), 800), (masked(threshold=1), 400),  # or only its cast, of the value
    (masked(torch.float16), 400), (masked(gradient=lambda value: value), 400),
    (masked(gradient=lambda value: value.exp()), 400)])
def test_which_casts_are_made_again(monkeypatch, step, saved):
    monkeypatch.setattr(recomputation, "FEWEST", 1)
    inputs = torch.randn(1), torch.randn(200), torch.randn(200).to(HALF)
    before, after, _ = peaks(step, *inputs)
    assert before - after == saved


@pytest.mark.parametrize("fewest, saved", [(399, 400), (400, 400), (401, 0)])
def test_how_many_bytes_are_worth_a_cast(monkeypatch, fewest, saved):
    """Those of the value without those of what it is cast from."""
    monkeypatch.setattr(recomputation, "FEWEST", fewest)
    inputs = torch.randn(1), torch.randn(200), torch.randn(200).to(HALF)
    before, after, _ = peaks(around(lambda w, h: [h.sin().to(SINGLE)], doubled), *inputs)
    assert before - after == saved


@pytest.mark.parametrize("count, is_worth", [(2**14, True), (2**14 - 1, False)])
def test_sixty_four_kibibytes_are_worth_a_cast(count, is_worth):
    inputs = torch.randn(1), torch.randn(1), torch.randn(count).to(HALF)

    def step(x, w, h):
        value = h.to(SINGLE)
        first = (x.expand(2**17).clone() * 2).sum() + value.sum()
        return first, value * 2

    before, after, _ = peaks(step, *inputs)
    assert before - after == 4 * count * is_worth
