"""Graphs that are built and rewritten: their nodes, copies, and code that follows each change."""

import threading

import pytest
import torch

from lamella.graph.ir.lazy_module import KernelGraph, LazyModule, copied, dismantle

aten = torch.ops.aten
X = torch.tensor([1.0, 2.0])


def made():
    """sin(x) * w."""
    root, graph = torch.nn.Module(), KernelGraph()
    root.w = torch.tensor([3.0, 4.0])
    x = graph.placeholder("x")
    sine = graph.call_function(aten.sin.default, (x,))
    sine.meta["note"] = [1]
    graph.output([graph.call_function(aten.mul.Tensor, (sine, graph.get_attr("w")))])
    return LazyModule(root, graph)


def test_a_graph_computes_what_its_nodes_say_after_each_change():
    module = made()
    assert torch.equal(module(X)[0], X.sin() * module.w)
    (sine,) = module.graph.find_nodes(op="call_function", target=aten.sin.default)
    sine.target = aten.cos.default
    assert torch.equal(module(X)[0], X.sin() * module.w)  # it isn't told
    module.recompile()
    assert torch.equal(module(X)[0], X.cos() * module.w)
    module.recompile()
    module.recompile()
    assert torch.equal(module(X)[0], X.cos() * module.w)


def test_code_of_one_graph_is_no_code_of_another():
    first, second = made(), made()
    (sine,) = second.graph.find_nodes(op="call_function", target=aten.sin.default)
    sine.target = aten.exp.default
    assert torch.equal(first(X)[0], X.sin() * first.w)
    assert torch.equal(second(X)[0], X.exp() * second.w)


def test_threads_may_call_a_graph_first_at_the_same_time():
    module, found = made(), []
    begin = threading.Barrier(4)

    def call():
        begin.wait(60)
        found.append(module(X)[0].tolist())

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [(X.sin() * module.w).tolist()] * 4


def test_nodes_are_found_by_kind_and_target():
    graph = made().graph
    nodes = list(graph.nodes)
    assert len(graph.nodes) == len(nodes) == 5 and len({node.name for node in nodes}) == 5
    assert graph.find_nodes(op="call_function") == [nodes[1], nodes[3]]
    assert graph.find_nodes(op="call_function", target=aten.mul.Tensor) == [nodes[3]]
    assert graph.find_nodes(op="get_attr", target="w") == [nodes[2]]
    assert graph.find_nodes(op="placeholder", target="y") == []
    assert graph.find_nodes(op="call_module") == []
    graph.erase_node(graph.output_node())
    graph.erase_node(nodes[3])
    assert graph.find_nodes(op="call_function") == [nodes[1]] and len(graph.nodes) == 3


def test_nodes_go_where_the_graph_inserts():
    graph = made().graph
    x, sine, *_ = graph.nodes
    with graph.inserting_after(x):
        negative = graph.call_function(aten.neg.default, (x,))
    sine.args = (negative,)
    assert list(graph.nodes)[:3] == [x, negative, sine]
    other = KernelGraph()
    twin = other.node_copy(x)
    copy = other.node_copy(sine, lambda node: twin)
    assert copy.args == (twin,) and copy.meta == sine.meta and copy.meta is not sine.meta
    assert copy.target is sine.target and copy.name != sine.name and copy.kwargs == {}
    named = other.create_node("call_function", aten.add.Tensor, (twin, 1), {"alpha": 2})
    assert named.args == (twin, 1) and named.kwargs == {"alpha": 2}
    assert other.create_node("call_function", aten.rand.default).args == ()


def test_a_copy_is_a_graph_of_its_own():
    module = made()
    twin = copied(module)
    assert twin.w is module.w and torch.equal(twin(X)[0], module(X)[0])
    assert set(twin.graph.nodes).isdisjoint(module.graph.nodes) and type(twin.graph) is KernelGraph
    assert [n.meta.get("note") for n in twin.graph.nodes] == [None, [1], None, None, None]
    dismantle(module)
    assert len(module.graph.nodes) == 0 and list(module.graph.nodes) == []
    assert torch.equal(twin(X)[0], X.sin() * twin.w)


def test_dead_code_is_removed_without_a_check_of_the_graph():
    module = made()
    graph = module.graph
    with graph.inserting_before(graph.output_node()):
        graph.call_function(aten.exp.default, (next(iter(graph.nodes)),))
    assert len(graph.nodes) == 6 and graph.lint() is None
    assert graph.eliminate_dead_code() and len(graph.nodes) == 5
    with pytest.raises(RuntimeError, match="still had"):
        graph.erase_node(next(iter(graph.nodes)))
