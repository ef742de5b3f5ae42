"""Activations of bfloat16 become tables, with the same results."""

from __future__ import annotations

import pytest
import torch

from lamella.graph.passes import activations
from lamella.graph.passes.activations import fuse_activations
from lamella.machine import activation
from lamella.machine.casts import wide
from tests.graph.passes.checks import check_fused, count, take_every_form

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
