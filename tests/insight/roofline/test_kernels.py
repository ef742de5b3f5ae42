"""Running the kernels of a step one by one: what is noted of each, and what is passed on."""

from __future__ import annotations

import operator

import pytest
import torch
from torch.fx import Graph, GraphModule

from lamella.graph.tracing.lines import NOWHERE, Line
from lamella.insight.roofline import kernels
from lamella.insight.roofline.kernels import Record, Replayed, Watched

aten = torch.ops.aten
CPU = torch.device("cpu")
X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def test_the_quickest_of_like_rounds_counts():
    record = Record(CPU)
    for number in range(2):
        out = record.call(aten.exp.default, (X,), {})
        assert torch.equal(out, X.exp())
        assert record.add(aten.exp.default, (X,), {}, out, NOWHERE, {}) == number
    assert [k.number for k in record.kernels] == [0, 1]
    for times, want in ((("exp", 2.0), ("exp", 3.0)), [2.0, 3.0]), (
            (("exp", 1.0), ("exp", 5.0)), [1.0, 3.0]), ((("sin", 0.5), ("exp", 0.5)), [1.0, 3.0]), (
            (("exp", 0.5),), [1.0, 3.0]):
        record._times = list(times)
        record.end()
        assert [k.seconds for k in record.kernels] == want and record._times == []
    assert record.rounds == 4
    record.call(aten.sin.default, (X,), {})
    assert record.add(aten.sin.default, (X,), {}, X, NOWHERE, {}) == 0
    assert len(record.kernels) == 2  # only those of the first round


def chain(length):
    graph = Graph()
    nodes = [graph.placeholder("x")]
    for _ in range(length):
        nodes.append(graph.call_function(aten.exp.default, (nodes[-1],)))
    graph.output(nodes[-1])
    return graph, nodes


def test_the_line_of_the_nearest_node_that_has_one():
    line, other = Line("a.py", 3, "forward"), Line("b.py", 4, "backward")
    _, nodes = chain(6)
    assert kernels._line_of(nodes[3]) is NOWHERE
    nodes[6].meta["line"] = other
    assert kernels._line_of(nodes[1]) is other
    nodes[0].meta["line"] = line
    assert [kernels._line_of(nodes[i]) for i in (1, 2, 5, 6)] == [line, line, other, other]
    assert kernels._line_of(nodes[3]) is other  # as far: that of what uses it
    for distance, found in ((kernels.FARTHEST - 1, line), (kernels.FARTHEST, NOWHERE)):
        _, far = chain(60)
        far[distance].meta["line"] = line
        assert kernels._line_of(far[0]) is found


def test_values_are_released_after_their_last_use():
    graph = Graph()
    x = graph.placeholder("x")
    a = graph.call_function(aten.exp.default, (x,))
    b = graph.call_function(aten.sin.default, (a,))
    lost = graph.call_function(aten.cos.default, (a,))
    c = graph.call_function(aten.add.Tensor, (b, b))
    out = graph.output((c,))
    found = kernels._last_uses(GraphModule({}, graph))
    assert {node: set(uses) for node, uses in found.items()} == {
        out: {c, out}, c: {b}, lost: {lost, a}, a: {x}}


def stages():
    """exp and a view of it; then their sum with a constant, and its first part alone."""
    first = Graph()
    x = first.placeholder("x")
    y = first.call_function(aten.exp.default, (x,))
    view = first.call_function(aten.view.default, (y, [4]))
    first.output((y, view))
    second = Graph()
    view, y, x = (second.placeholder(name) for name in ("view", "y", "x"))
    constant = second.get_attr("part.constant")
    total = second.call_function(aten.add.Tensor, (view, constant), {"alpha": 2})
    parts = second.call_function(aten.max.dim, (y, 0))
    largest = second.call_function(operator.getitem, (parts, 0))
    last = second.call_function(aten.mul.Tensor, (largest, x))
    total.meta["line"] = Line("a.py", 3, "forward")
    second.output([last, total])
    root = torch.nn.Module()
    root.part = torch.nn.Module()
    root.part.register_buffer("constant", torch.arange(4.0))
    third = Graph()
    total = third.placeholder("total")
    third.output(third.call_function(aten.neg.default, (total,)))
    return [(GraphModule({}, first), [0]), (GraphModule(root, second), [2, 1, 0]),
            (GraphModule({}, third), [4])]


def test_stages_hand_on_their_results_and_who_made_them():
    record, replayed = Record(CPU), Replayed(stages(), [X])
    for rounds in (1, 2):
        replayed.round(record)
        assert (record.rounds, record.views, len(record.kernels)) == (rounds, 2, 5)
    assert [(k.number, k.name, k.sources) for k in record.kernels] == [
        (0, "exp", {}), (1, "add", {0: 16}), (2, "max", {0: 16}), (3, "mul", {2: 8}),
        (4, "neg", {1: 16})]
    assert record.kernels[1].line == Line("a.py", 3, "forward")
    assert [k.cost.forms for k in record.kernels] == [
        "2×2 → 2×2", "4, 4 → 4", "2×2 → 2, 2", "2, 2×2 → 2×2", "4 → 4"]
    assert all(0 < k.seconds < 60 for k in record.kernels)


def test_what_a_watched_block_notes():
    record = Record(CPU)
    for rounds in (1, 2):
        with Watched(record):
            y = X.exp()
            z = torch.cat([y.view(4)[:2], y.t()[0]])
            torch.topk(z, 2)[1].add_(1)
        record.end()
        assert (record.rounds, record.views) == (rounds, 4)
    assert [(k.name, k.sources) for k in record.kernels] == [
        ("exp", {}), ("cat", {0: 8}), ("topk", {1: 16}), ("add_", {2: 16})]
    assert torch.equal(z, torch.cat([X.exp()[0], X.exp()[:, 0]]))


@pytest.mark.parametrize("value, count", [
    (X, 1), ([X, (X, 3)], 2), ({"a": X, "b": [X]}, 2), (3, 0), ((), 0), ("text", 0), (None, 0)],
    ids=range(7))
def test_tensors_in_arguments(value, count):
    assert [raw is X for raw in kernels._raws(value)] == [True] * count
    assert kernels._bytes(value) == (16 if value is X else 0)
