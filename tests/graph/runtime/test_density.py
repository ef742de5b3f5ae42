"""How much of a graph's time products take."""

import time

import pytest
import torch

from lamella.graph.ir.stages import Part
from lamella.graph.runtime import density
from lamella.graph.runtime.density import dense_share

aten = torch.ops.aten


def module(*targets):
    graph = torch.fx.Graph()
    x = y = graph.placeholder("x")
    for target in targets:
        y = graph.call_function(target, (y, x) if target is aten.mm.default else (y,))
    graph.output([y])
    return Part.whole(torch.fx.GraphModule(torch.nn.Module(), graph))


def test_products_are_dense():
    x = torch.ones(64, 64)
    assert dense_share(module(aten.mm.default, aten.mm.default), [x]) == 1.0
    assert dense_share(module(aten.sin.default), [x]) == 0.0
    assert 0.0 < dense_share(module(aten.sin.default, aten.mm.default), [x]) < 1.0


def test_long_kernels_run_once(monkeypatch):
    """If the time isn't that of a single one, which another program may have interrupted."""
    monkeypatch.setattr(density, "LONG", 0.02)
    calls = []

    def long(x):
        calls.append(x)
        time.sleep(0.02)
        return x

    dense_share(module(long, long, long), [torch.ones(2)])
    assert len(calls) == 3
    dense_share(module(long), [torch.ones(2)])
    assert len(calls) == 3 + density.RUNS


def test_one_slow_run_of_a_kernel_decides_nothing():
    calls = []

    def interrupted(x):
        calls.append(x)
        if len(calls) == 1:
            time.sleep(0.3)
        return x

    assert dense_share(module(interrupted, aten.mm.default), [torch.ones(400, 400)]) > 0.5


@pytest.mark.parametrize("target, want", [
    (aten.mm.default, True), (aten.addmm.out, True), (aten.convolution_backward.default, True),
    (aten._scaled_dot_product_flash_attention_for_cpu.default, True), (aten.sin.default, False),
    (aten.mul.Tensor, False), ("mm", False), (max, False)])
def test_which_kernels_are_dense(target, want):
    assert density.is_dense(target) is want


def test_on_other_devices_it_is_not_known():
    part = module(aten.mm.default)
    assert dense_share(part, [torch.ones(2, 2, device="meta")]) == 0.0
