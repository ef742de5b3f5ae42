"""Joins gradients of the parts of a tensor, instead of adding them up between zeros.

The gradient of ``x[i]`` or ``x[:, a:b]`` is zeros of x's size, with the part's gradient written
into them. Where a program takes a tensor apart (queries, keys and values; the gates of an LSTM),
these are added up, and each element has one term that isn't a zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.fx import Graph, GraphModule, Node

from ..ir.metadata import TensorMetadata, meta_of
from .memory import Memory

aten = torch.ops.aten


class _Part(NamedTuple):
    """A gradient of some of the elements along a dimension."""

    gradient: Node
    dim: int
    start: int
    end: int


def join_parts(module: GraphModule) -> int:
    """Replace sums of parts' gradients, where the parts make up the whole; returns how many.

    All results are equal, except for the sign of a zero: what was added to it is left out.

    Args:
        module: changed in place.
    """
    count, memory = 0, None
    for total in reversed([n for n in module.graph.nodes if n.target is aten.add.Tensor]):
        if not total.users or any(_is_sum(user) for user in total.users if len(total.users) == 1):
            continue  # the outermost sum of each comes first
        parts, meta = _parts_of(total), meta_of(total)
        if parts is None or meta is None or not _are_whole(parts, meta):
            continue
        memory = memory or Memory(module.graph)
        if any(map(memory.writes, (total, *(part.gradient for part in parts)))):
            continue
        _join(module.graph, total, parts, meta)
        count, memory = count + 1, None
    return count


def _is_sum(node: Node) -> bool:
    return node.target is aten.add.Tensor and not node.kwargs


def _parts_of(total: Node) -> list[_Part] | None:
    """The parts whose gradients a sum adds up, by their starts; None if there is anything else."""
    found: list[_Part] = []
    waiting: list[Any] = [total]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Node) or node is not total and len(node.users) != 1 or (
                meta_of(node) != meta_of(total)):
            return None
        if _is_sum(node):
            waiting += node.args
            continue
        part = _part(node)
        if part is None:
            return None
        found.append(part)
    return sorted(found, key=lambda part: part.start)


def _part(node: Node) -> _Part | None:
    if node.target not in (aten.select_backward.default, aten.slice_backward.default):
        return None
    given: Any = node.args
    gradient, shape, dim, start, *more = given
    if not all(isinstance(n, int) for n in (*shape, dim, start, *more)):
        return None  # sizes that vary
    dim %= len(shape)
    start = start + shape[dim] if start < 0 else start
    if not more:
        return _Part(gradient, dim, start, start + 1)
    end, step = more
    return _Part(gradient, dim, start, min(end, shape[dim])) if step == 1 and end >= 0 else None


def _are_whole(parts: list[_Part], meta: TensorMetadata) -> bool:
    """Whether each element along one dimension is in exactly one of several parts."""
    dim, place = parts[0].dim, 0
    for part in parts:
        if part.dim != dim or part.start != place or part.end <= place:
            return False
        place = part.end
    ranks = {len(found.shape) for part in parts if (found := meta_of(part.gradient)) is not None}
    return place == meta.shape[dim] and len(ranks) == 1 and meta.contiguous and len(parts) > 1


def _join(graph: Graph, total: Node, parts: list[_Part], meta: TensorMetadata) -> None:
    """Put the parts side by side; in the other order at once, if the sum is only copied to that."""
    turn = next(iter(total.users))
    copy = next(iter(turn.users), None)
    rank, dim = len(meta.shape), parts[0].dim
    order, last = list(range(rank)), total
    if (len(total.users) == 1 and turn.target is aten.permute.default and len(turn.users) == 1
            and copy is not None and copy.target is aten.clone.default
            and copy.kwargs.get("memory_format") is torch.contiguous_format):
        turned: Any = turn.args[1]
        order, last = [d % rank for d in turned], copy
    selected = all(part.gradient.meta.get("tensor_meta") is not None
                   and len(part.gradient.meta["tensor_meta"].shape) == rank - 1 for part in parts)
    inner = [d - (d > dim) for d in order if d != dim] if selected else order
    with graph.inserting_before(last):
        pieces = [part.gradient if inner == sorted(inner) else
                  _permuted(graph, part.gradient, inner) for part in parts]
        joined = graph.call_function((aten.stack if selected else aten.cat).default,
                                     (pieces, order.index(dim)))
    joined.meta.update(last.meta)
    last.replace_all_uses_with(joined)
    for node in (last, *((turn, total) if last is not total else ())):
        graph.erase_node(node)


def _permuted(graph: Graph, node: Node, order: list[int]) -> Node:
    meta = node.meta["tensor_meta"]
    turned = graph.call_function(aten.permute.default, (node, order))
    turned.meta.update(node.meta, tensor_meta=meta._replace(
        shape=tuple([meta.shape[d] for d in order]),
        stride=tuple([meta.stride[d] for d in order])))
    return turned
