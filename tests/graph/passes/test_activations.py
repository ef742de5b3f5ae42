"""Activations of bfloat16 become tables, with the same results."""

from __future__ import annotations

import pytest
import torch

from lamella.graph.passes import activations
from lamella.graph.passes.activations import fuse_activations
from lamella.machine import activation
from lamella.machine.casts import wide
from tests.graph.passes.checks import check_fused, count, recorded, take_every_form

aten = torch.ops.aten
OURS = "activation", "activation_backward"


@pytest.fixture(autouse=True)
def chosen(monkeypatch):
    take_every_form(monkeypatch, activation, activations)


def data():
    torch.manual_seed(0)
    return [torch.randn(4, 6, 10).bfloat16() for _ in range(2)]


def fused(function, inputs, expected, tolerance=1e-2):
    better = check_fused(fuse_activations, function, inputs, OURS, tolerance)
    assert count(better, *OURS) == expected
    return better


@pytest.mark.parametrize("name", sorted(activation.FORWARD))
def test_each_and_its_gradient(name):
    def block(x, g):
        y = activation.FORWARD[name](x)
        back = activation.BACKWARD[name](g, y if name in ("sigmoid", "tanh") else x)
        return y, back, wide(back.view(24, 10).sum(0))

    better = fused(block, data(), 2)
    assert count(better, "sum", "_to_copy") == 0


def test_how_gelu_is_approximated():
    fused(lambda x, g: (aten.gelu(x, approximate="tanh"), aten.gelu(x),
                        aten.gelu_backward(g, x, approximate="tanh"), aten.gelu_backward(g, x)),
          data(), 4)


def test_sums_that_others_read_stay():
    def block(x, g):
        back = aten.silu_backward(g, x)
        total = back.sum((0, 1))
        return back, total, wide(total)

    assert count(fused(block, data(), 1), "sum") == 1


def test_what_has_no_table_stays():
    x, g = data()
    fused(lambda x, g: (aten.gelu(x), aten.gelu_backward(g, x)), (x.float(), g.float()), 0)
    fused(lambda x, g: aten.gelu(x.transpose(0, 1)), (x, g), 0)
    fused(lambda x, g: aten.gelu_backward(g.expand(4, 6, 10), x), (x, g[:1]), 0)

    def written(x, g):
        y = aten.gelu(x)
        y.mul_(2)
        return y

    fused(written, (x, g), 0)


def test_measuring_chooses_one_of_both():
    for target in (*activations.FORWARD, *activations.BACKWARD):
        for in_sums in (False, True):
            key = str(target), "none" if "gelu" in str(target) else "", 16, 32, in_sums, 1
            assert activations._measured(key) in {"torch", "fused"}


@pytest.mark.parametrize("shape, rows, width", [
    ((4, 6, 10), 24, 10), ((240,), 1, 240), ((2**12, 2), 2**7, 2), ((2, 2**9), 1, 2**9)])
def test_no_more_rows_are_timed_than_take_a_while(monkeypatch, shape, rows, width):
    keys = []
    monkeypatch.setattr(activations.known, "find", lambda key, measured: keys.append(key))
    monkeypatch.setattr(activations, "LARGEST", 2**8)
    x = torch.ones(shape).bfloat16()
    fused(lambda x, g: (aten.gelu(x, approximate="tanh"), aten.silu_backward(g, x)), [x, x], 0)
    assert [key[:5] for key in keys] == [
        ("aten.gelu.default", "tanh", rows, width, False),
        ("aten.silu_backward.default", "", rows, width, False)]


def summed(dims, *settings, size=(), to=torch.float32, **keywords):
    """A gradient and a cast of sums of it."""
    def block(x, g):
        found = aten.silu_backward(g, x)
        total = aten.sum.dim_IntList(found.view(size or x.shape), dims, *settings, **keywords)
        return found, aten._to_copy.default(total, dtype=to)

    return block


@pytest.mark.parametrize("shape, function, is_part", [
    ((4, 6, 10), summed([0, 1]), True), ((4, 6, 10), summed([1, 0], False), True),
    ((4, 6, 10), summed([-2, -3]), True), ((4, 6, 10), summed([0], size=(24, 10)), True),
    ((24, 10), summed([0, 2], size=(6, 1, 4, 10)), False),
    ((24, 10), summed([0, 1, 2], size=(6, 1, 4, 10)), True),
    ((4, 6, 10), summed([0]), False), ((4, 6, 10), summed([1]), False),
    ((4, 6, 10), summed([0, 2]), False), ((4, 6, 10), summed([0, 1, 2]), False),
    ((4, 6, 10), summed([0, 1], True), False), ((4, 6, 10), summed([0], size=(12, 20)), False),
    ((4, 6, 10), summed([0], size=(48, 5)), False), ((4, 6, 10), summed([]), False),
    ((4, 6, 10), summed(None), False), ((240,), summed([]), False), ((240,), summed([0]), False),
    ((240,), summed([0], size=(1, 240)), True),
    ((4, 6, 10), summed([0, 1], to=torch.float64), False),
    ((4, 6, 10), summed([0, 1], dtype=torch.bfloat16), False)])
def test_which_sums_are_part_of_the_kernel(shape, function, is_part):
    """Those over all dimensions but the last one, with nothing that says more."""
    torch.manual_seed(0)
    better = fused(function, [torch.randn(shape).bfloat16() for _ in range(2)], 1, 2e-2)
    assert count(better, "sum") == (not is_part)


@pytest.mark.parametrize("function", [
    lambda x, g: aten.silu_backward(g[:1], x), lambda x, g: aten.silu_backward(g, x[:1]),
    lambda x, g: aten.tanh_backward(g[:, :1].clone(), x), lambda x, g: aten.silu(x.half()),
    lambda x, g: aten.silu_backward(g, x.float()), lambda x, g: aten.silu_backward(g.float(), x),
    lambda x, g: aten.silu(x[..., ::2]), lambda x, g: aten.silu(x.transpose(1, 2)),
    lambda x, g: aten.silu_backward(g.transpose(0, 1), x.transpose(0, 1)), lambda x, g: x.relu()])
def test_gradients_of_several_forms_and_types_stay_with_pytorch(function):
    fused(function, data(), 0)


def test_a_gradient_that_is_written_through_a_view_stays():
    def block(x, g):
        found = aten.silu_backward(g, x)
        found[:2].mul_(3)
        return found, wide(found.sum((0, 1)))

    assert count(fused(block, data(), 0, 3e-2), "sum") == 1


@pytest.mark.parametrize("smallest, measure", [(240, False), (240, True), (241, True)])
def test_only_many_numbers_are_worth_it(monkeypatch, smallest, measure):
    asked = []
    monkeypatch.setattr(activations.known, "find", lambda *given: asked.append(given))
    monkeypatch.setattr(activations, "SMALLEST", smallest)
    x, g = data()
    graph = recorded(lambda x, g: (aten.sigmoid(x), *summed([0, 1])(x, g)), x, g)
    assert fuse_activations(graph, measure) == 0
    threads, timed = torch.get_num_threads(), activations._measured if measure else None
    assert asked == [(("aten.sigmoid.default", "", 24, 10, False, threads), timed), (
        ("aten.silu_backward.default", "", 24, 10, True, threads), timed)] * (smallest == 240)


def test_what_is_timed_is_what_the_key_says(monkeypatch):
    """On numbers of that form; gradients of sigmoid and tanh take their results."""
    seen = []
    monkeypatch.setattr(activations, "faster", lambda theirs, ours, given: seen.append(
        (theirs, ours, given)) or "torch")
    for target, name in (*activations.FORWARD.items(), *activations.BACKWARD.items()):
        for in_sums in (False, True):
            form = "tanh" if name == "gelu" else ""
            activations._measured((str(target), form, 300, 7, in_sums, 1))
            theirs, ours, given = seen.pop()
            *tensors, its, setting = given[:4 if target in activations.BACKWARD else 3]
            assert (its, setting) == (name, form)
            assert all(x.shape == (300, 7) and x.dtype is torch.bfloat16 for x in tensors)
            if target in activations.FORWARD:
                assert (theirs, ours) == (activation.by_torch, activation.fused)
                assert len(given) == 3
                continue
            assert (theirs, ours) == (activation.by_torch_backward, activation.fused_backward)
            assert given[4:] == [in_sums]
            assert (tensors[1].abs().max() <= 1) == (name in ("sigmoid", "tanh"))
            assert (tensors[1].min() >= 0) == (name == "sigmoid")


@pytest.mark.parametrize("size, is_asked", [(2**14, True), (2**14 - 1, False)])
def test_how_many_numbers_are_timed_at_least(monkeypatch, size, is_asked):
    monkeypatch.undo()
    asked = []
    monkeypatch.setattr(activations.known, "find", lambda *given: asked.append(given))
    fuse_activations(recorded(lambda x: aten.silu(x), torch.zeros(size).bfloat16()), True)
    assert len(asked) == is_asked


@pytest.mark.parametrize("rows, width, timed", [(2**12, 2**10, 2**12), (2**12 + 1, 2**10, 2**12)])
def test_how_many_numbers_are_timed_at_most(monkeypatch, rows, width, timed):
    asked = []
    monkeypatch.setattr(activations.known, "find", lambda key, _: asked.append(key))
    fuse_activations(recorded(lambda x: aten.silu(x), torch.zeros(rows, width).bfloat16()), True)
    assert asked[0][2:4] == (timed, width)
