"""Gradients that come in parts: put side by side, instead of each into zeros and then added."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.fx import Graph, Node

from .forms import form_of, form_of_value
from .memory import Memory

aten = torch.ops.aten


class Part(NamedTuple):
    """A tensor that fills a range of a dimension of a larger one; zeros are around it."""

    node: Node
    value: Node
    shape: tuple[int, ...]
    dim: int
    start: int
    end: int


def join(graph: Graph) -> int:
    """Let sums of parts that fill a whole be the parts side by side; returns how many sums."""
    memory = Memory(graph)
    count = 0
    for node in reversed(list(graph.nodes)):
        if node.target is not aten.add.Tensor or not node.users or is_inner(node):
            continue
        terms = terms_of(node)
        parts = [p for p in map(_part, terms) if p is not None and len(p.node.users) == 1]
        whole = _whole(parts)
        if whole is None or len(whole) < 2 or any(
                memory.version((p.value,), memory.place[p.node])
                != memory.version((p.value,), memory.place[node]) for p in whole):
            continue
        rest = [t for t in terms if t not in {p.node for p in whole}]
        count += _replace(graph, node, whole, rest)
    return count


def terms_of(node: Node) -> list[Node]:
    """What a sum of sums adds up."""
    found = []
    for term in node.args[:2]:
        assert isinstance(term, Node)
        found.extend(terms_of(term) if _is_sum(term) and len(term.users) == 1 else [term])
    return found


def _is_sum(node: Any) -> bool:
    """Whether it adds two tensors of its own form."""
    if not isinstance(node, Node) or node.target is not aten.add.Tensor or node.kwargs:
        return False
    forms = [form_of(n) for n in (node, *node.args[:2])]
    return all(f is not None and f.shape == forms[0].shape and f.dtype is forms[0].dtype
               for f in forms) if forms[0] is not None else False


def is_inner(node: Node) -> bool:
    """Whether it is no sum of this kind, or a term of one."""
    return not _is_sum(node) or (len(node.users) == 1 and _is_sum(next(iter(node.users))))


def _part(node: Node) -> Part | None:
    given: Any = node.args
    if node.target is aten.select_backward.default:
        value, shape, dim, index = given
        dim, start = dim % len(shape), index % shape[dim]
        return Part(node, value, tuple(shape), dim, start, start + 1)
    if node.target is aten.slice_backward.default:
        value, shape, dim, start, end, step = given
        dim = dim % len(shape)
        start, end, _ = slice(start, end).indices(shape[dim])
        form = form_of(value)
        if step == 1 and form is not None and form.shape[dim] == end - start:
            return Part(node, value, tuple(shape), dim, start, end)
    return None


def _whole(parts: list[Part]) -> list[Part] | None:
    """The parts in order, if they fill one dimension without gaps."""
    for dim in {p.dim for p in parts}:
        own = sorted([p for p in parts if p.dim == dim], key=lambda p: p.start)
        ends = [0, *[p.end for p in own]]
        if ends[:-1] == [p.start for p in own] and ends[-1] == own[0].shape[dim]:
            return own
    return None


def _replace(graph: Graph, node: Node, whole: list[Part], rest: list[Node]) -> bool:
    shape, dim = whole[0].shape, whole[0].dim
    form = form_of(node)
    forms = [form_of(p.value) for p in whole]
    if form is None or any(f is None or f.dtype is not form.dtype for f in forms):
        return False
    pieces = [torch.empty_strided(f.shape, f.stride, dtype=f.dtype, device="meta")
              for f in forms if f is not None]
    wide = [x if x.dim() == len(shape) else x.unsqueeze(dim) for x in pieces]
    # asking PyTorch what `cat` gives on the meta device would import its compiler
    if not form.contiguous or all(_is_channels_last(x) for x in wide):
        return False
    with graph.inserting_before(node):
        values = []
        for part, x in zip(whole, wide, strict=True):
            value = part.value
            if part.node.target is aten.select_backward.default:
                value = graph.call_function(aten.unsqueeze.default, (value, dim))
                own = form_of_value(x)
                assert own is not None
                value.meta["form"] = own._replace(device=form.device)
            values.append(value)
        found = graph.call_function(aten.cat.default, (values, dim))
        found.meta.update(node.meta)
        for term in rest:
            found = graph.call_function(aten.add.Tensor, (found, term))
            found.meta.update(node.meta)
    node.replace_all_uses_with(found)
    graph.erase_node(node)
    return True


def _is_channels_last(x: torch.Tensor) -> bool:
    """Whether `cat` of such tensors only has the channels last in memory, as PyTorch decides it."""
    if x.dim() not in (4, 5) or x.stride(1) == 0:
        return False
    least = 0
    for dim in (1, *range(x.dim() - 1, 1, -1), 0):
        if not x.shape[dim] or x.stride(dim) < least or (dim == 0 and least == x.stride(1)):
            return False
        least = x.stride(dim) * max(x.shape[dim], 1)
    return True
