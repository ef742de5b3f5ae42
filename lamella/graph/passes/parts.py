"""Joins gradients of the parts of a tensor, instead of adding them up between zeros.

The gradient of ``x[i]`` or ``x[:, a:b]`` is zeros of x's size, with the part's gradient written
into them. Where a program takes a tensor apart (queries, keys and values; the gates of an LSTM; the
steps of a sequence, of which the last is often left out), these are added up, and each element has
one term that isn't a zero, or two.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.fx import Graph, GraphModule, Node

from ..ir.metadata import TensorMetadata, meta_of
from .memory import Memory

aten = torch.ops.aten
MOST_TERMS = 2  # of which the order doesn't matter

_WRITTEN = (aten.select_backward.default, aten.slice_backward.default)


class _Part(NamedTuple):
    """A gradient of some of the elements along a dimension.

    Attributes:
        node: the operation that writes the gradient into zeros.
        gradient: the gradient.
        dim: the dimension.
        start: where the elements begin along it.
        end: where they end.
        rank: of the gradient, which has a dimension less if one element was selected.
    """

    node: Node
    gradient: Node
    dim: int
    start: int
    end: int
    rank: int


def join_parts(module: GraphModule) -> int:
    """Replace sums of parts' gradients, where parts lie beside each other; returns how many.

    All results are equal, except for the sign of a zero: what was added to it is left out.

    Args:
        module: changed in place.
    """
    count, memory = 0, None
    for total in reversed([n for n in module.graph.nodes if _is_sum(n)]):
        if not total.users or any(_is_sum(user) for user in total.users if len(total.users) == 1):
            continue  # the outermost sum of each comes first
        meta = meta_of(total)
        if meta is None or not meta.contiguous:
            continue
        rows, others = _terms_of(total, meta)
        if not rows or len(rows) + len(others) > MOST_TERMS:
            continue
        memory = memory or Memory(module.graph)
        if any(map(memory.writes, (total, *others, *(p.gradient for row in rows for p in row)))):
            continue
        _join(module.graph, total, rows, others, meta)
        count, memory = count + 1, None
    return count


def _is_sum(node: Node) -> bool:
    return node.target is aten.add.Tensor and not node.kwargs


def _terms_of(total: Node, meta: TensorMetadata) -> tuple[list[list[_Part]], list[Node]]:
    """What a sum adds up: rows of parts that lie beside each other, and other terms.

    There are no rows if it has a term of another shape or type.
    """
    parts: list[_Part] = []
    others: list[Node] = []
    waiting: list[Any] = [total]
    while waiting:
        node = waiting.pop()
        its = meta_of(node)
        if its is None or its._replace(stride=meta.stride) != meta:
            return [], []
        if node is total or _is_sum(node) and len(node.users) == 1 and its == meta:
            waiting += node.args
            continue
        part = _part(node) if len(node.users) == 1 else None
        if part is None:
            others.append(node)
        else:
            parts.append(part)
    rows = _rows(parts)
    return [row for row in rows if len(row) > 1], [
        *others, *(row[0].node for row in rows if len(row) == 1)]


def _part(node: Node) -> _Part | None:
    if node.target not in _WRITTEN:
        return None
    given: Any = node.args
    gradient, shape, dim, start, *more = given
    meta = meta_of(gradient)
    if meta is None or not all(isinstance(n, int) for n in (*shape, dim, start, *more)):
        return None  # sizes that vary
    dim %= len(shape)
    start = start + shape[dim] if start < 0 else start
    if not more:
        return _Part(node, gradient, dim, start, start + 1, len(meta.shape))
    end, step = more
    end = min(end + shape[dim] if end < 0 else end, shape[dim])
    return _Part(node, gradient, dim, start, end, len(meta.shape)) if (
        step == 1 and 0 <= start < end) else None


def _rows(parts: list[_Part]) -> list[list[_Part]]:
    """Parts in rows, in each of which the next begins where one ends."""
    found: list[list[_Part]] = []
    for part in sorted(parts, key=lambda part: part.start):
        row = next((row for row in found if row[-1].end == part.start
                    and (row[0].dim, row[0].rank) == (part.dim, part.rank)), None)
        if row is None:
            found.append([part])
        else:
            row.append(part)
    return found


def _join(graph: Graph, total: Node, rows: list[list[_Part]], others: list[Node],
          meta: TensorMetadata) -> None:
    """Put the parts of each row side by side; add what is left."""
    last, order = total, list(range(len(meta.shape)))
    if len(rows) == 1 and not others and _is_whole(rows[0], meta):
        last, order = _turned(total)  # in the other order at once
    with graph.inserting_before(last):
        terms = [*(_beside(graph, row, order, meta) for row in rows), *others]
        if len(terms) > 1:
            joined = graph.call_function(aten.add.Tensor, tuple(terms))
        else:
            joined = terms[0]
    joined.meta.update(last.meta)
    last.replace_all_uses_with(joined)
    for node in (last, *((last.args[0], total) if last is not total else ())):
        graph.erase_node(node)  # type: ignore[arg-type]


def _is_whole(row: list[_Part], meta: TensorMetadata) -> bool:
    return row[0].start == 0 and row[-1].end == meta.shape[row[0].dim]


def _turned(total: Node) -> tuple[Node, list[int]]:
    """The copy of a sum that has its dimensions in another order, if nothing else reads the sum."""
    rank = len(total.meta["tensor_meta"].shape)
    turn = next(iter(total.users))
    copy = next(iter(turn.users), None)
    if (len(total.users) == 1 and turn.target is aten.permute.default and len(turn.users) == 1
            and copy is not None and copy.target is aten.clone.default
            and copy.kwargs.get("memory_format") is torch.contiguous_format):
        turned: Any = turn.args[1]
        return copy, [d % rank for d in turned]
    return total, list(range(rank))


def _beside(graph: Graph, row: list[_Part], order: list[int], meta: TensorMetadata) -> Node:
    """The gradient that the parts of a row make up, with its dimensions in this order."""
    dim, selected = row[0].dim, row[0].rank < len(meta.shape)
    inner = [d - (d > dim) for d in order if d != dim] if selected else order
    pieces = [part.gradient if inner == sorted(inner) else
              _permuted(graph, part.gradient, inner) for part in row]
    join = (aten.stack if selected else aten.cat).default
    joined = graph.call_function(join, (pieces, order.index(dim)))
    like = join([torch.empty_strided(p.meta["tensor_meta"].shape, p.meta["tensor_meta"].stride,
                                     device="meta") for p in pieces], order.index(dim))
    its = meta._replace(shape=tuple(like.shape), stride=like.stride())
    joined.meta.update(row[0].node.meta, tensor_meta=its)
    start, end = row[0].start, row[-1].end
    if _is_whole(row, meta):
        if its.contiguous:
            return joined
        copy = graph.call_function(aten.clone.default, (joined,), {
            "memory_format": torch.contiguous_format})  # they lie in another order
        copy.meta.update(joined.meta, tensor_meta=its._replace(
            stride=torch.empty(its.shape, device="meta").stride()))
        return copy
    spread = graph.call_function(aten.slice_backward.default,
                                 (joined, [*meta.shape], dim, start, end, 1))
    spread.meta.update(row[0].node.meta)
    return spread


def _permuted(graph: Graph, node: Node, order: list[int]) -> Node:
    meta = node.meta["tensor_meta"]
    turned = graph.call_function(aten.permute.default, (node, order))
    turned.meta.update(node.meta, tensor_meta=meta._replace(
        shape=tuple([meta.shape[d] for d in order]),
        stride=tuple([meta.stride[d] for d in order])))
    return turned
