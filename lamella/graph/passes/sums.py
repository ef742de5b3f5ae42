"""Sums of products as one product: a1 b1 + a2 b2 + ... = [a1 a2 ...] [b1; b2; ...].

So the gradient by a weight that is used many times, as in a recurrent network, is one product over
all of its uses.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.fx import Graph, GraphModule, Node

from ..ir.draft import copied
from .forms import Form, form_of
from .memory import Memory
from .parts import is_inner, terms_of

aten = torch.ops.aten
FEWEST = 3  # products that are worth putting together


def sums(module: GraphModule, inputs: Sequence[torch.Tensor]) -> GraphModule | None:
    """The graph with each sum of products, or of sums over rows, as one; None without any.

    The values are added in another order, so the results differ by rounding.
    """
    module = copied(module)
    memory = Memory(module.graph)
    count = 0
    for node in reversed(list(module.graph.nodes)):
        if node.target is aten.add.Tensor and node.users and not is_inner(node):
            count += _joined(module.graph, memory, node)
    return module if count else None


def _joined(graph: Graph, memory: Memory, node: Node) -> bool:
    terms = terms_of(node)
    for suits, join in ((_is_product, _product), (_is_sum_of_rows, _sum_of_rows)):
        found = [t for t in terms
                 if suits(t) and len(t.users) == 1 and _unchanged(memory, _summed(t) or t, node)]
        if len(found) < FEWEST or len({form_of(t) for t in found}) > 1:
            continue
        rest = [t for t in terms if t not in found]
        with graph.inserting_before(node):
            one = join(graph, found)
            one.meta.update(node.meta)
            for term in rest:
                one = graph.call_function(aten.add.Tensor, (one, term))
                one.meta.update(node.meta)
        node.replace_all_uses_with(one)
        graph.erase_node(node)
        return True
    return False


def _unchanged(memory: Memory, term: Node, end: Node) -> bool:
    """Whether what a term is computed from is the same where the sum is."""
    return all(memory.version((n,), memory.place[term]) == memory.version((n,), memory.place[end])
               for n in term.all_input_nodes)


def _is_product(node: Node) -> bool:
    forms = [form_of(n) for n in (node, *node.args[:2])]
    return node.target is aten.mm.default and all(
        f is not None and f.dtype.is_floating_point for f in forms)


def _product(graph: Graph, found: Sequence[Node]) -> Node:
    left = _along(graph, [t.args[0] for t in found], 1)  # type: ignore[misc]
    right = _along(graph, [t.args[1] for t in found], 0)  # type: ignore[misc]
    return graph.call_function(aten.mm.default, (left, right))


def _along(graph: Graph, factors: Sequence[Node], dim: int) -> Node:
    """Matrices side by side; in columns, if that is how all of them lie in memory."""
    forms = [f for f in map(form_of, factors) if f is not None]
    if all(f.stride[0] == 1 and f.shape[0] > 1 for f in forms):
        turned = [_turned(graph, n) for n in factors]
        return _turned(graph, _cat(graph, turned, 1 - dim))
    return _cat(graph, factors, dim)


def _turned(graph: Graph, node: Node) -> Node:
    if node.target is aten.t.default:
        return node.args[0]  # type: ignore[return-value]
    form = form_of(node)
    assert form is not None
    found = graph.call_function(aten.t.default, (node,))
    found.meta["form"] = form._replace(shape=form.shape[::-1], stride=form.stride[::-1])
    return found


def _cat(graph: Graph, nodes: Sequence[Node], dim: int) -> Node:
    forms = [f for f in map(form_of, nodes) if f is not None]
    shape = list(forms[0].shape)
    shape[dim] = sum(f.shape[dim] for f in forms)
    strides = (shape[1], 1) if len(shape) == 2 else None
    found = graph.call_function(aten.cat.default, (list(nodes), dim))
    if strides is not None:
        found.meta["form"] = Form(tuple(shape), strides, forms[0].dtype, forms[0].device)
    return found


def _is_sum_of_rows(node: Node) -> bool:
    """Whether it is the sum of a matrix over its rows, a vector or a matrix of one row."""
    summed = _summed(node)
    form, own = form_of(summed.args[0]) if summed is not None else None, form_of(node)
    return (summed is not None and not summed.kwargs and form is not None and own is not None
            and summed.args[1] == [0] and len(form.shape) == 2 and form.dtype.is_floating_point
            and own.shape in (form.shape[1:], (1, *form.shape[1:])))


def _summed(node: Node) -> Node | None:
    if node.target is aten.view.default and len(node.args[0].users) == 1:  # type: ignore[union-attr]
        node = node.args[0]  # type: ignore[assignment]
    return node if node.target is aten.sum.dim_IntList else None


def _sum_of_rows(graph: Graph, found: Sequence[Node]) -> Node:
    rows = [n.args[0] for n in map(_summed, found) if n is not None]
    form = form_of(found[0])
    return graph.call_function(aten.sum.dim_IntList, (
        _cat(graph, rows, 0), [0], form is not None and len(form.shape) == 2))  # type: ignore[arg-type]
