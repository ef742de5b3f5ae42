"""Which algorithm for a convolution is the fastest, by a clock of the test's own."""

import time

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.ir.metadata import TensorMetadata
from lamella.graph.passes import convolutions as module
from lamella.graph.passes import order
from tests.graph.passes.checks import recorded

CPU = torch.device("cpu")
X = TensorMetadata((2, 4, 6, 6), (144, 36, 6, 1), torch.float32, CPU)
WEIGHT = TensorMetadata((4, 4, 3, 3), (36, 9, 3, 1), torch.float32, CPU)
SIZES = module.Convolution(X, WEIGHT, WEIGHT, X, (1, 1), (1, 1), True)


def chosen(monkeypatch, **seconds):
    """The fastest of ways that take so many seconds, in the n-th run the n-th; and their runs."""
    now, runs = [0.0], []
    right = module.WAYS["torch"]

    def way(name, its):
        def forward(*given):
            now[0] += its[runs.count(name) % len(its)]
            runs.append(name)
            return right.forward(*given)

        return right._replace(forward=forward)

    with monkeypatch.context() as changed:
        changed.setattr(time, "perf_counter", lambda: now[0])
        changed.setattr(module, "WAYS", {name: way(name, its if isinstance(its, list) else [its])
                                         for name, its in seconds.items()})
        return module.fastest(SIZES), [runs.count(name) for name in seconds]


@pytest.mark.parametrize("seconds, name, runs", [
    ({"torch": 1 / 64, "other": 1 / 128}, "other", [5, 5]),
    ({"torch": 1 / 64, "other": 1 / 64}, "torch", [5, 5]),
    ({"torch": 1 / 64, "other": 0.875 / 64}, "other", [5, 5]),  # takes less than nine tenths
    ({"torch": 1 / 64, "other": 0.9375 / 64}, "torch", [5, 5]),
    ({"torch": 1 / 64, "other": 1.25 / 64}, "torch", [5, 5]),
    ({"torch": 1 / 64, "other": 1.375 / 64}, "torch", [1, 1]),  # is hopeless
    ({"torch": 1 / 64, "other": 1.375 / 64, "third": 1.25 / 64}, "torch", [5, 1, 5]),
    ({"torch": 1 / 64, "other": [1 / 64, 1 / 32, 1 / 256]}, "other", [5, 5]),  # its best time
    ({"torch": [1 / 128, 1 / 32], "other": 1 / 128}, "torch", [5, 5]),
    ({"torch": 1 / 64, "other": 1 / 256, "third": 1 / 128}, "other", [5, 5, 1]),
    ({"torch": 1 / 8, "other": 1 / 16}, "other", [2, 2]),  # 0.3 seconds, two rounds at least
    ({"torch": 1.0, "other": 0.5}, "other", [2, 2]),
    ({"torch": 1 / 16, "other": 1 / 16}, "torch", [3, 3]),
    ({"torch": 1.0}, "torch", [1])])
def test_the_fastest_way_by_the_shortest_time_of_each(monkeypatch, seconds, name, runs):
    assert chosen(monkeypatch, **seconds) == (name, runs)


@pytest.mark.parametrize("bound, name", [(1 / 2, "torch"), (0.5 + 2**-20, "other")])
def test_by_how_much_another_has_to_be_faster(monkeypatch, bound, name):
    monkeypatch.setattr(module, "GAIN", bound)
    assert chosen(monkeypatch, torch=1 / 64, other=1 / 128)[0] == name


@pytest.mark.parametrize("weight, device, is_asked", [
    ((32, 16, 3, 3), "cpu", True), ((16, 32, 3, 3), "cpu", False), ((33, 32, 3, 3), "cpu", False),
    ((64, 3, 3, 3), "cpu", True), ((32, 32, 3, 1), "cpu", False), ((32, 32, 1, 3), "cpu", False),
    ((32, 32, 5, 5), "cpu", False), ((32, 32, 3, 3), "meta", False)])
def test_the_kernel_is_built_where_it_may_suit(monkeypatch, weight, device, is_asked):
    asked = []
    monkeypatch.setattr(module.tiles.extension, "request", lambda: asked.append(1))

    def step(x, w):
        w = w.detach().requires_grad_()
        return torch.autograd.grad(F.conv2d(x, w).sum() + F.conv2d(x, w).square().sum(), w)

    graph = recorded(step, torch.randn(1, weight[1], 5, 5), torch.randn(weight))
    for node in graph.graph.nodes:
        if (meta := node.meta.get("tensor_meta")) is not None:
            node.meta["tensor_meta"] = meta._replace(device=torch.device(device))
    module.await_kernels(graph)
    assert asked == [1] * is_asked


def test_a_graph_without_gradients_asks_for_no_kernel(monkeypatch):
    monkeypatch.setattr(module.tiles.extension, "request", lambda: pytest.fail("it was asked for"))
    order.improve(recorded(F.conv2d, torch.randn(1, 32, 5, 5), torch.randn(32, 32, 3, 3)), [])
