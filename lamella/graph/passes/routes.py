"""Matrix products by the kernel that is fastest for their shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from ...machine import few_rows
from ...machine.products import available, routes
from ..ir.lazy_module import copied, dismantle
from ..ir.metadata import TensorMetadata, meta_of
from ..ir.operations import effects_of
from ..ir.stages import Part
from .attention import plain_attention
from .plain import plain_kernels

aten = torch.ops.aten
_MM, _ADDMM = aten.mm.default, aten.addmm.default

# activations that oneDNN's kernel applies to the product: name and argument. Not relu: it would
# turn NaN into 0.
_ENDINGS: dict[object, Any] = {
    aten.gelu.default: lambda node: ("gelu", node.kwargs.get("approximate", "none")),
    aten.sigmoid.default: lambda node: ("sigmoid", ""),
    aten.tanh.default: lambda node: ("tanh", ""),
}


def route(graph: Graph, measure: bool) -> int:
    """Use the fastest kernel for each product; returns how many are not PyTorch's own.

    Args:
        graph: changed in place.
        measure: whether shapes that have not been timed before are timed now.
    """
    if not available():
        return 0
    count = 0
    for node in list(graph.nodes):
        factors = _factors(node)
        if factors is None:
            continue
        a, b, bias = factors
        left, right = meta_of(a), meta_of(b)
        if left is None or right is None or not _fits(left, right, bias):
            continue
        kernel = _fastest(left, right, bias is not None, measure)
        if kernel == "onednn":
            _replace(graph, node, a, b, bias)
        elif kernel == "rows":
            _replace_by_rows(graph, node, a, b, bias)
        count += kernel != "torch"
    return count


def _fastest(left: TensorMetadata, right: TensorMetadata, bias: bool, measure: bool) -> str:
    """The name of the fastest kernel for a product."""
    (rows, width), (_, columns) = left.shape, right.shape
    if (rows <= few_rows.MOST and left.stride == (width, 1) and right.stride[0] == 1
            and right.stride[1] >= width > 0):
        found = few_rows.fastest(rows, width, columns, bias, left.dtype, measure)
        if found is not None:
            return found
    return routes.fastest((left.shape, left.stride), (right.shape, right.stride), bias, measure,
                          left.dtype)


def _factors(node: Node) -> tuple[Node, Node, Node | None] | None:
    """The matrices that a node multiplies, and what it adds to each row."""
    if node.target is _MM:
        a, b = node.args
        return a, b, None  # type: ignore[return-value]
    if node.target is _ADDMM and not node.kwargs and len(node.args) == 3:
        bias, a, b = node.args
        return a, b, bias  # type: ignore[return-value]
    return None


def _fits(left: TensorMetadata, right: TensorMetadata, bias: Node | None) -> bool:
    if left.dtype not in few_rows.TYPES or right.dtype is not left.dtype:
        return False
    if left.device.type != "cpu" or right.device.type != "cpu":
        return False
    added = meta_of(bias)
    return bias is None or (added is not None and added.shape == right.shape[1:]
                            and added.dtype is left.dtype
                            and added.stride == (1,))  # the kernel reads it as if it were


def _replace(graph: Graph, node: Node, a: Node, b: Node, bias: Node | None) -> None:
    last, ending = node, ("none", "")
    users = list(node.users)
    if len(users) == 1 and users[0].target in _ENDINGS:
        last, ending = users[0], _ENDINGS[users[0].target](users[0])
    with graph.inserting_before(node):
        weight = _transposed(graph, b)
        routed = graph.call_function(torch.ops.mkldnn._linear_pointwise.default,
                                     (a, weight, bias, ending[0], [], ending[1]))
    routed.meta.update(last.meta)
    last.replace_all_uses_with(routed)
    graph.erase_node(last)
    if last is not node:
        graph.erase_node(node)


def _replace_by_rows(graph: Graph, node: Node, a: Node, b: Node, bias: Node | None) -> None:
    with graph.inserting_before(node):
        routed = graph.call_function(torch.ops.lamella.few_rows.default,
                                     (a, _transposed(graph, b), bias))
    routed.meta.update(node.meta)
    node.replace_all_uses_with(routed)
    graph.erase_node(node)


def _transposed(graph: Graph, node: Node) -> Node:
    if node.target is aten.t.default:
        return node.args[0]  # type: ignore[return-value]
    turned = graph.call_function(aten.t.default, (node,))
    meta = meta_of(node)
    assert meta is not None
    turned.meta["tensor_meta"] = meta._replace(shape=meta.shape[::-1], stride=meta.stride[::-1])
    return turned


def _is_routed(node: Node) -> bool:
    """Whether a node is another product than PyTorch's own."""
    return _is_ours(node) and str(node.target) in (
        "mkldnn._linear_pointwise.default", "lamella.few_rows.default")


def _is_ours(node: Node) -> bool:
    """Whether a kernel is one that a pass put there: neither recorded nor known to a compiler."""
    return node.op == "call_function" and effects_of(node.target).namespace in ("mkldnn", "lamella")


def plain(graph: GraphModule) -> GraphModule:
    """The graph with PyTorch's own kernels, for a compiler that has no rule for others.

    Returns:
        A copy; the graph itself if it has no others.
    """
    if not any(map(_is_ours, graph.graph.nodes)):
        return graph
    found = copied(graph)
    plain_attention(found.graph)
    plain_kernels(found)
    for node in list(found.graph.nodes):
        if not _is_routed(node):
            continue
        a, weight, bias = node.args[:3]
        ending, meta = (node.args[3], node.args[5]) if len(node.args) == 6 else ("none", "")
        with found.graph.inserting_before(node):
            turned = found.graph.call_function(aten.t.default, (weight,))
            out = (found.graph.call_function(aten.mm.default, (a, turned)) if bias is None
                   else found.graph.call_function(aten.addmm.default, (bias, a, turned)))
            if ending != "none":
                kwargs = {"approximate": meta} if ending == "gelu" else {}
                out = found.graph.call_function(getattr(aten, ending).default, (out,), kwargs)
        out.meta.update(node.meta)
        node.replace_all_uses_with(out)
        found.graph.erase_node(node)
    found.recompile()
    return found


def plain_part(part: Part) -> Part:
    """As `plain`, of a part of a graph."""
    if not any(map(_is_ours, part.nodes)):
        return part
    copy = part.copied()
    found = Part.whole(plain(copy))
    dismantle(copy)
    return found
