"""Which attention is computed by which kernel: the forms that are asked for, and those that aren't.

The graphs are made by hand, since PyTorch's kernel refuses some of the forms; nothing is run.
"""

from __future__ import annotations

import operator

import pytest
import torch
from torch.fx import Graph

from lamella.graph.ir.metadata import TensorMetadata
from lamella.graph.passes import attention as module
from lamella.graph.passes.attention import BACKWARD, FORWARD, SMALLEST, route_attention

CPU = torch.device("cpu")
WIDE, HALF = torch.float32, torch.bfloat16


def meta(*shape, dtype=WIDE, device=CPU):
    return TensorMetadata(shape, torch.empty(shape, device="meta").stride(), dtype, device)


def transposed(its):
    """The metadata of a value with its last two dimensions exchanged in memory."""
    *shape, a, b = its.shape
    return its._replace(stride=meta(*shape, b, a).stride[:-2] + (1, a))


def graph_of(target, metas, args=(), read=(0,), mask=None, **keywords):
    """A graph of one operation, and that operation."""
    graph = Graph()

    def given(its):
        node = graph.placeholder("given")
        node.meta["tensor_meta"] = its
        return node

    tensors = [given(its) for its in metas]
    if mask is not None:
        keywords["attn_mask"] = given(mask)
    node = graph.call_function(target, (*tensors, *args), keywords)
    parts = []
    for number in read:
        parts.append(graph.call_function(operator.getitem, (node, number)))
        parts[-1].meta["tensor_meta"] = metas[0]
    graph.output(parts)
    return graph, node


def targets(graph):
    return [str(n.target) for n in graph.nodes if n.op == "call_function"
            and n.target is not operator.getitem]


Q, K = (3, 4, 48, 16), (3, 4, 40, 16)
FORM = (3, 3, 4, 48, 40, 16, False, "torch.float32")


@pytest.fixture
def asked(monkeypatch):
    """What is asked of the measured times, which say that the kernel by heads is the fastest."""
    if module.attention.extension.module is None:
        pytest.skip("no C++ compiler that can build it")
    keys = []
    monkeypatch.setattr(module, "available", lambda: True)
    monkeypatch.setattr(module.attention.extension, "obtain", lambda: True)
    monkeypatch.setattr(module, "SMALLEST", 3 * 4 * 48 * 40)
    monkeypatch.setattr(module.known, "find", lambda *given: keys.append(given) or "heads")
    return keys


def forward(q=Q, k=K, v=K, dtype=WIDE, types=(), args=(), **keywords):
    metas = [meta(*shape, dtype=dtype) for shape in (q, k, v)]
    for place, other in enumerate(types):
        metas[place] = metas[place]._replace(dtype=other)
    return graph_of(FORWARD, metas, args, **keywords)


def backward(q=Q, k=K, v=K, dtype=WIDE, types=(), args=(0.0, False), **keywords):
    metas = [*(meta(*shape, dtype=dtype) for shape in (q, q, k, v, q)), meta(*q[:2], q[2])]
    for place, other in enumerate(types):
        metas[place] = metas[place]._replace(dtype=other)
    return graph_of(BACKWARD, metas, args, (0, 1, 2), **keywords)


@pytest.mark.parametrize("made, key, settings", [
    (lambda: forward(), FORM, (False, 0.25)),
    (lambda: forward(args=(0.0,)), FORM, (False, 0.25)),
    (lambda: forward(args=(0.0, False)), FORM, (False, 0.25)),
    (lambda: forward(args=(0.0, True)), (*FORM[:6], True, FORM[7]), (True, 0.25)),
    (lambda: forward(is_causal=True), (*FORM[:6], True, FORM[7]), (True, 0.25)),
    (lambda: forward(dropout_p=0.0, scale=0.0), FORM, (False, 0.0)),
    (lambda: forward(scale=2), FORM, (False, 2.0)),
    (lambda: forward(dtype=HALF), (*FORM[:7], "torch.bfloat16"), (False, 0.25)),
    (lambda: forward((3, 4, 48, 64), (3, 4, 40, 64), (3, 4, 40, 64)),
     (*FORM[:5], 64, *FORM[6:]), (False, 0.125)),
    (lambda: backward(), (6, *FORM[1:]), (False, 0.25)),
    (lambda: backward(dtype=HALF), (6, *FORM[1:7], "torch.bfloat16"), (False, 0.25)),
    (lambda: backward(args=(0.0, True), scale=0.5), (6, *FORM[1:6], True, FORM[7]), (True, 0.5)),
    (lambda: backward(args=(), dropout_p=0.0, is_causal=True), (6, *FORM[1:6], True, FORM[7]),
     (True, 0.25))])
@pytest.mark.parametrize("measure", [False, True])
def test_what_the_kernel_by_heads_is_chosen_for(asked, made, key, settings, measure):
    graph, node = made()
    tensors = node.args[:key[0]]
    route_attention(graph, measure)
    assert asked == [((*key, torch.get_num_threads()), module._measured if measure else None)]
    name = "lamella.attention.default" if key[0] == 3 else "lamella.attention_backward.default"
    assert targets(graph) == [name] and not node.kwargs
    assert node.args == (*tensors, *settings) and type(node.args[-1]) is float


@pytest.mark.parametrize("made", [
    lambda: forward(args=(0.1,)), lambda: forward(dropout_p=0.1),
    lambda: backward(args=(0.1, False)), lambda: backward(args=(), dropout_p=0.1),
    lambda: forward(mask=meta(48, 40)), lambda: backward(mask=meta(48, 40)),
    lambda: forward(scale=-1e-3), lambda: backward(scale=-1e-3),
    lambda: forward(dtype=torch.float64), lambda: forward(dtype=torch.float16),
    lambda: forward(types=(HALF, WIDE, WIDE)), lambda: forward(types=(WIDE, HALF, WIDE)),
    lambda: forward(types=(WIDE, WIDE, HALF)), lambda: backward(types=(HALF, *[WIDE] * 4)),
    lambda: backward(types=(*[WIDE] * 4, HALF)), lambda: forward((12, 48, 16)),
    lambda: forward(k=(12, 40, 16)), lambda: forward(v=(3, 4, 40, 32)),
    lambda: forward(v=(3, 4, 39, 16)), lambda: forward(k=(3, 2, 40, 16), v=(3, 2, 40, 16)),
    lambda: forward(k=(1, 4, 40, 16), v=(1, 4, 40, 16)),
    lambda: forward(k=(3, 4, 40, 8), v=(3, 4, 40, 8)),
    lambda: forward((3, 4, 48, 0), (3, 4, 40, 0), (3, 4, 40, 0)),
    lambda: forward((3, 4, 47, 16)), lambda: backward((3, 4, 48, 16), (3, 4, 39, 16)),
    lambda: graph_of(FORWARD, [meta(*Q), meta(*K), None]),
    lambda: graph_of(FORWARD, [meta(*Q), meta(*K)._replace(device=torch.device("meta")),
                               meta(*K)])])
def test_other_attention_stays_with_pytorch(asked, made):
    graph, node = made()
    route_attention(graph, True)
    assert not asked and node.target in (FORWARD, BACKWARD)


@pytest.mark.parametrize("largest, batch", [(1, 1), (2 * 7680 - 1, 1), (2 * 7680, 2), (10**6, 3)])
def test_no_more_heads_are_timed_than_take_a_while(asked, monkeypatch, largest, batch):
    """Of 4 heads, 48 queries and 40 keys."""
    monkeypatch.setattr(module, "LARGEST", largest)
    route_attention(forward()[0], True)
    assert asked[0][0][:3] == (3, batch, 4)


def test_without_its_kernel_all_stays(asked, monkeypatch):
    for change in ((module.attention.extension, "obtain", lambda: None),
                   (module, "available", lambda: False)):
        with monkeypatch.context() as changed:
            changed.setattr(*change)
            graph, node = forward()
            route_attention(graph, True)
            assert not asked and node.target is FORWARD
    monkeypatch.setattr(module.known, "find", lambda *given: "torch")
    graph, node = forward()
    route_attention(graph, True)
    assert node.target is FORWARD


FEW, CACHE = (2, 3, 8, 16), (2, 3, 30, 16)


@pytest.fixture
def few(monkeypatch):
    """What is asked for few queries; all else stays with PyTorch."""
    if module.few_queries.extension.module is None:
        pytest.skip("no C++ compiler that can build it")
    keys = []
    monkeypatch.setattr(module, "available", lambda: False)
    monkeypatch.setattr(module, "SMALLEST", 2 * 3 * 30 * 16)
    monkeypatch.setattr(module.by_queries, "find", lambda *given: keys.append(given) or "fused")
    return keys


@pytest.mark.parametrize("q, dtype, mask, scale", [
    (FEW, WIDE, None, None), (FEW, HALF, None, 0.5), ((2, 3, 1, 16), WIDE, None, -0.5),
    (FEW, WIDE, meta(1, 1, 1, 30), None), (FEW, HALF, meta(2, 3, 8, 30, dtype=HALF), 2)])
def test_what_the_kernel_for_few_queries_is_chosen_for(few, q, dtype, mask, scale):
    graph, node = graph_of(FORWARD, [meta(*shape, dtype=dtype) for shape in (q, CACHE, CACHE)],
                           (0.0, False), mask=mask, scale=scale)
    tensors, added = node.args[:3], node.kwargs.get("attn_mask")
    route_attention(graph, True)
    ((key, measured),) = few
    its = 0.25 if scale is None else float(scale)
    assert measured is not None and key == (
        "by_torch", *q, 30, 1440, 480, 16, *[str(dtype)] * 3,
        "None" if mask is None else str(mask.dtype), str(its), torch.get_num_threads())
    assert targets(graph) == ["lamella.few_queries_attention.default"]
    (new,) = graph.output_node().args[0]
    assert new.args == (*tensors, added, its) and new.meta["tensor_meta"].shape == q


@pytest.mark.parametrize("change", [
    {"args": (0.1,)}, {"dropout_p": 0.1}, {"args": (0.0, True)}, {"is_causal": True},
    {"read": (0, 1)}, {"read": (1,)}, {"mask": meta(8, 30)}, {"mask": meta(3, 8, 30)},
    {"mask": meta(1, 1, 8, 30, dtype=torch.bool)}, {"q": meta(2, 3, 9, 16)},
    {"q": meta(2, 3, 0, 16)}, {"q": meta(6, 8, 16)}, {"q": meta(2, 3, 8, 15)},
    {"q": meta(*FEW, dtype=HALF)}, {"k": meta(*CACHE, dtype=HALF)}, {"v": meta(*CACHE, dtype=HALF)},
    {"q": meta(1, 3, 8, 16)}, {"q": meta(2, 6, 8, 16)}, {"v": meta(2, 3, 30, 17)},
    {"k": meta(2, 3, 31, 16)}, {"k": meta(2, 3, 29, 16), "v": meta(2, 3, 29, 16)},
    {"q": transposed(meta(*FEW))}, {"k": transposed(meta(*CACHE))},
    {"v": transposed(meta(*CACHE))}, {"v": None}])
def test_other_attention_of_few_queries_stays(few, change):
    change = dict(change)
    metas = [change.pop(name, meta(*shape)) for name, shape in (
        ("q", FEW), ("k", CACHE), ("v", CACHE))]
    graph, _ = graph_of(FORWARD, metas, **change)
    route_attention(graph, True)
    assert not few and targets(graph) == [str(FORWARD)]


@pytest.mark.parametrize("measure, spent, timed", [
    (False, 0.0, True), (False, 0.5, False), (False, 0.6, False), (True, 0.6, True)])
def test_few_queries_are_timed_at_once_for_half_a_second(few, monkeypatch, measure, spent, timed):
    """Later only where graphs are hot; what is timed counts."""
    monkeypatch.setattr(module, "_spent", spent)
    monkeypatch.setattr(module, "faster", lambda *given: "torch")
    route_attention(graph_of(FORWARD, [meta(*FEW), meta(*CACHE), meta(*CACHE)])[0], measure)
    ((key, measured),) = few
    assert (measured is not None) == timed
    if timed:
        assert measured(key) == "torch" and spent < module._spent < spent + 60


@pytest.mark.parametrize("keys, built, found, name", [
    (meta(*CACHE), True, "fused", "few_queries_attention"),
    (meta(*CACHE), True, "torch", "attention"), (meta(*CACHE), True, None, "attention"),
    (meta(*CACHE), None, "fused", "attention"),
    (transposed(meta(*CACHE)), True, "fused", "attention")])
def test_few_queries_may_still_be_computed_by_heads(few, asked, monkeypatch, keys, built, found,
                                                    name):
    monkeypatch.setattr(module, "SMALLEST", 1)
    monkeypatch.setattr(module.few_queries.extension, "obtain", lambda: built)
    monkeypatch.setattr(module.by_queries, "find", lambda *given: found)
    graph, _ = graph_of(FORWARD, [meta(*FEW), keys, meta(*CACHE)])
    route_attention(graph, True)
    assert targets(graph) == [f"lamella.{name}.default"]


@pytest.mark.parametrize("q, k, batch", [
    ((1, 1, 128, 16), (1, 1, 128, 16), [1]), ((1, 1, 127, 16), (1, 1, 129, 16), []),
    ((3, 2, 1024, 16), (3, 2, 1024, 16), [2]), ((3, 2, 1025, 16), (3, 2, 1024, 16), [1])])
def test_how_many_weights_are_timed(asked, monkeypatch, q, k, batch):
    """From 2 ** 14 on; of at most 2 ** 22."""
    monkeypatch.setattr(module, "SMALLEST", SMALLEST)
    route_attention(forward(q, k, k)[0], True)
    assert [key[1] for key, _ in asked] == batch
