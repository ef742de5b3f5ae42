"""Adds an embedding's gradient to another gradient of its table only where it isn't zero.

A table that a network uses twice, as a language model does to read tokens and to predict them, has
two gradients, which are added up. That of the embedding is as large as the table, and zero but for
the rows of the tokens that were read.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from ..ir.metadata import meta_of, same_as
from ..ir.operations import sweep
from .memory import Memory

aten = torch.ops.aten


def add_rows(module: GraphModule) -> int:
    """Add rows in place of whole tables, where the other gradient isn't needed any more.

    Where a token occurs several times, its row is summed in another order.

    Args:
        module: changed in place.

    Returns:
        How many sums were replaced.
    """
    graph, count, memory = module.graph, 0, None
    for total in [n for n in graph.nodes if n.target is aten.add.Tensor and not n.kwargs]:
        if not any(map(_is_gradient, total.args)):
            continue
        memory = memory or Memory(graph)
        pair = _pair(total, memory)
        if pair is None:
            continue
        other, gradient = pair
        rows, tokens = (_flat(graph, total, node) for node in gradient.args[:2])
        with graph.inserting_before(total):
            new = graph.call_function(aten.index_add_.default, (other, 0, tokens, rows))
        new.meta.update(total.meta)
        total.replace_all_uses_with(new)
        graph.erase_node(total)
        count, memory = count + 1, None
    if count:
        sweep(graph)
    return count


def _flat(graph: Graph, place: Node, node: Any) -> Node:
    """Tokens as one row of them, or their gradients as a matrix with a row for each."""
    meta: Any = meta_of(node)
    last = meta.shape[-1:] if meta.dtype.is_floating_point else ()
    shape = (meta.size // math.prod(last), *last)
    with graph.inserting_before(place):
        flat = graph.call_function(aten.view.default, (node, [-1, *last]))
    flat.meta.update(place.meta, tensor_meta=meta._replace(
        shape=shape, stride=(*last, 1) if last else (1,)))
    return flat


def _pair(total: Node, memory: Memory) -> tuple[Any, Any] | None:
    """The gradient that rows can be added to, and the embedding's; None if there are no such two.

    The first has memory of its own that nothing else reads, now or later.
    """
    both: Any = total.args
    for other, gradient in (both, both[::-1]):
        if not (_is_gradient(gradient) and isinstance(other, Node) and other is not gradient):
            continue
        rows, tokens = (meta_of(n) for n in gradient.args[:2])
        if (rows is None or tokens is None or not rows.contiguous or not tokens.contiguous
                or not rows.size or rows.device.type != "cpu"
                or not same_as(total, gradient) or not same_as(total, other)):
            continue
        if (len(gradient.users) == 1 and _is_unshared(other, memory)
                and not any(map(memory.writes, gradient.args[:2]))):
            return other, gradient
    return None


def _is_unshared(node: Node, memory: Memory) -> bool:
    """Whether a node's memory is made by the graph, and read through this node and only once."""
    bases = memory.bases[node]
    return len(bases) == 1 and all(n.op == "call_function" for n in bases) and (
        not memory.escapes(node) and all(
            len(n.users) == 1 for n, its in memory.bases.items() if not bases.isdisjoint(its)))


def _is_gradient(node: Any) -> bool:
    """Whether a node is the gradient of an embedding that counts each of its tokens once."""
    if not isinstance(node, Node) or node.target is not aten.embedding_dense_backward.default:
        return False
    given: Any = node.args
    return isinstance(given[2], int) and given[3] == -1 and not given[4]
