"""What passes that replace several kernels by one share."""

import operator
import time

import pytest
import torch
from torch.fx import Graph

from lamella.graph.ir.metadata import TensorMetadata
from lamella.graph.passes import fusing
from tests.graph.passes.checks import recorded

X = torch.rand(6, 4) + 1


def compared(monkeypatch, theirs, ours, its=lambda x: x * 2, other=lambda x: x + x):
    """Which of two kernels is faster that take so many seconds, and how often they run."""
    now, runs = [0.0], []

    def kernel(name, seconds, function):
        def run(x):
            runs.append(name)
            now[0] += seconds
            return function(x)

        return run

    with monkeypatch.context() as changed:
        changed.setattr(time, "perf_counter", lambda: now[0])
        found = fusing.faster(kernel("torch", theirs, its), kernel("fused", ours, other), [X])
    return found, [runs.count(name) for name in ("torch", "fused")]


@pytest.mark.parametrize("theirs, ours, name, rounds", [
    (1 / 256, 1 / 512, "fused", 7), (1 / 256, 1 / 256, "torch", 7),
    (1 / 256, 0.9375 / 256, "fused", 7), (1 / 256, 0.96875 / 256, "torch", 7),
    (1 / 64, 1 / 64, "torch", 4), (1.0, 0.5, "fused", 2)])
def test_the_faster_kernel_in_seven_rounds_or_a_tenth_of_a_second(monkeypatch, theirs, ours, name,
                                                                  rounds):
    """Each has run once before, to compare what it gives."""
    assert compared(monkeypatch, theirs, ours) == (name, [rounds + 1] * 2)


@pytest.mark.parametrize("its, other", [
    (lambda x: x * 2, lambda x: x * 2.01),
    (lambda x: x * 2, lambda x: (x * 2).t().contiguous().t()),
    (lambda x: (x, x * 2), lambda x: (x, x * 3)), (lambda x: (x, x * 2), lambda x: (x,)),
    (lambda x: x * 2, lambda x: x.double() * 2)])
def test_a_kernel_with_other_results_or_strides_is_not_used(monkeypatch, its, other):
    assert compared(monkeypatch, 1.0, 1 / 64, its, other)[0] == "torch"


@pytest.mark.parametrize("read, want", [
    ((0,), [True, False]), ((1,), [False, True]), ((0, 1), [True, True]), ((), [False, False]),
    ((0, 0), None), ((0, "all"), None)])
def test_which_results_of_a_kernel_are_read(read, want):
    graph = Graph()
    kernel = graph.call_function(torch.ops.aten.sort.default, (graph.placeholder("x"),))
    users = [graph.call_function(torch.stack, (kernel,)) if number == "all" else
             graph.call_function(operator.getitem, (kernel, number)) for number in read]
    found = fusing.results_of(kernel, 2)
    if want is None:
        assert found is None
    else:
        assert [part in users for part in found] == want
        assert [part.args[1] for part in found if part is not None] == sorted(read)


@pytest.mark.parametrize("dtype, device, fit", [
    (torch.float32, "cpu", True), (torch.bfloat16, "cpu", True), (torch.float64, "cpu", False),
    (torch.float16, "cpu", False), (torch.int32, "cpu", False), (torch.float32, "meta", False),
    (None, None, False)])
def test_which_values_kernels_take(dtype, device, fit):
    (x, sine, end) = recorded(lambda x: [x.sin()], X).graph.nodes
    its = None if dtype is None else TensorMetadata((2,), (1,), dtype, torch.device(device))
    sine.meta["tensor_meta"] = its
    found = fusing.metas_of([x, None, 3, sine])
    assert found == ([x.meta["tensor_meta"], None, 3, its] if fit else None)


def test_nothing_is_built_for_a_graph_without_such_nodes():
    class Asked:
        def obtain(self):
            raise AssertionError("it was asked for")

    assert fusing.rewritten(recorded(lambda x: [x.sin()], X), [], Asked(), lambda *_: True) == 0


@pytest.mark.parametrize("dtype, want", [(torch.bfloat16, True), (torch.float32, False)])
@pytest.mark.parametrize("to, its", [(torch.float32, True), (torch.float64, False)])
def test_sums_of_columns_that_are_cast(dtype, want, to, its):
    graph = recorded(lambda x: [torch.ops.aten._to_copy.default(x.sum(0), dtype=to)], X.to(dtype))
    x, *_, cast, _ = graph.graph.nodes
    assert fusing.column_sum(x) is (cast if want and its else None)
