"""Graphs as text: read back, they compute the same; other graphs have other names."""

import json
import math

import pytest
import torch

from lamella.graph.ir.text import NoText, from_text, metas_of, name_of, to_text

from ..passes.checks import check_same, recorded

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
FUNCTIONS = {
    "products": lambda x: [x @ x.t(), x.sum(1, keepdim=True)],
    "several results": lambda x: [x.topk(2)[1].t(), *x.max(1), *x.split(3, 1)],
    "types and layouts": lambda x: [
        x.to(torch.float64), x.half(), x[None, None].contiguous(memory_format=torch.channels_last),
        torch.zeros_like(x, dtype=torch.int32), x.new_full((2,), 3, dtype=torch.bool)],
    "numbers": lambda x: [
        x * 0.1, x.masked_fill(x > 0, -math.inf), x.nan_to_num(0.3, math.nan), x + -0.0, x * 3,
        x.clamp(None, 1 / 3), torch.full_like(x, 1e-310, dtype=torch.float64)],
    "indices": lambda x: [x[torch.arange(2) * 2], x[:, None, torch.arange(1, 3)], x.index_put(
        (torch.arange(1), torch.arange(1) + 1), torch.ones(1), accumulate=True)],
    "written": lambda x: [x.clone().add_(1).mul_(x), torch.cat([x, x * 2], 1)],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_graph_is_read_back(name):
    graph = recorded(FUNCTIONS[name], X)
    text = to_text(graph, metas_of([X]))
    again, inputs = from_text(text)
    assert [(t.shape, t.stride(), t.dtype, t.device) for t in inputs] == [
        (X.shape, X.stride(), X.dtype, X.device)]
    check_same(graph, again, [X], tolerance=0)
    assert to_text(again, metas_of([X])) == text and "\n" not in text
    assert set(json.loads(text)) == {"nodes", "inputs"}
    assert name_of(again, metas_of([X])) == name_of(graph, metas_of([X]))


def test_other_graphs_and_inputs_have_other_names():
    inputs = [X, X.t(), X.double(), X[:2], X.contiguous()]
    functions = [lambda x: x * 0.1, lambda x: x * math.nextafter(0.1, 1), lambda x: x * 0.2,
                 lambda x: x * 2, lambda x: x + 2, lambda x: [x * 2, x], lambda x: x.sum(0),
                 lambda x: x.sum(-1), lambda x: x.sum(0, dtype=torch.float64),
                 lambda x: x * 0.0, lambda x: x * -0.0]
    names = [[name_of(recorded(fn, each), metas_of([each])) for fn in functions] for each in inputs]
    assert names[0] == names[4]  # of the same metadata
    different = {name for each in names[:4] for name in each}
    assert len(different) == 4 * len(functions)


def test_what_has_no_text():
    graph = recorded(lambda x: x[torch.tensor([1])], X)
    with pytest.raises(NoText, match="get_attr"):
        to_text(graph, metas_of([X]))
    graph = recorded(torch.sin, X)
    node = next(node for node in graph.graph.nodes if node.op == "call_function")
    node.target = torch.sin
    with pytest.raises(NoText, match="sin"):
        to_text(graph, metas_of([X]))
    node.target, node.kwargs = torch.ops.aten.sin.default, {"a": 1j}
    with pytest.raises(NoText, match="complex 1j"):
        to_text(graph, metas_of([X]))
