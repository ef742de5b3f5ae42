"""Recomputes casts just before the backward pass uses them, instead of keeping them.

In mixed precision a value often exists twice, in 16 and in 32 bits. Keeping the smaller one, or
the one that is alive anyway, lowers peak memory for the price of one cast.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch.fx import Graph, Node

from ..ir.metadata import meta_of
from ..ir.operations import sweep
from .memory import Liveness, Memory

aten = torch.ops.aten

FEWEST = 2**16  # bytes that are worth a cast


class Recast(NamedTuple):
    """Uses of a value that may read another cast of it.

    Attributes:
        value: a value that is alive at the peak.
        users: the operations after the peak that read it, in their order.
        source: what it can be cast from.
    """

    value: Node
    users: list[Node]
    source: Node


def recompute_casts(graph: Graph) -> None:
    """Make casts again where that lowers peak memory.

    A gradient of `relu` may be masked by activations that are rounded to bfloat16: for a positive
    one below 1e-40, which this rounds to 0, it becomes 0.
    """
    if not any(map(_is_cast, graph.nodes)):
        return
    while True:
        live = Liveness(graph)
        found = list(_found(Memory(graph), live))
        new = [_replaced(graph, recast) for recast in found]
        pays = bool(found) and Liveness(graph).peak < live.peak
        if not pays:
            for (value, users, _), again in zip(found, new, strict=True):
                for user in users:
                    user.replace_input_with(again, value)
        if found:
            sweep(graph)
        if not pays:
            return


def _found(memory: Memory, live: Liveness) -> Iterator[Recast]:
    """What can be cast again after the peak; no source is among the values."""
    sources: set[Node] = set()
    values: set[Node] = set()
    for value in live.at_peak():
        users = sorted((u for u in value.users if live.place[u] > live.top),
                       key=live.place.__getitem__)
        if not users or value in sources or memory.escapes(value):
            continue
        first, last = live.place[users[0]], live.place[users[-1]]
        writes, views = memory.writes(value), [u for u in value.users if value in memory.bases[u]]
        if live.end[value] > last or writes and (
                min(writes) < first or not set(views) <= set(users)):
            continue  # a view of it is read or written later, or it is more than a cast by then
        for source in _sources(value, users):
            if (source not in values and _is_unchanged(source, value, users[0], memory)
                    and live.size[value] - _kept_for(source, memory, live) >= FEWEST):
                values.add(value)
                sources.add(source)
                yield Recast(value, users, source)
                break


def _sources(value: Node, users: list[Node]) -> Iterator[Node]:
    """The values that this one can be cast from, with the same results for these users."""
    if _is_cast(value):
        yield value.args[0]  # type: ignore[misc]
    if all(_is_mask(user, value) for user in users):
        for user in value.users:
            meta = meta_of(user)
            if _is_cast(user) and meta is not None and meta.dtype is torch.bfloat16:
                yield user


def _is_cast(node: Node) -> bool:
    """Whether a node only changes the type of floating-point numbers."""
    if node.target is not aten._to_copy.default:
        return False
    meta, source = meta_of(node), meta_of(node.args[0])
    return (meta is not None and source is not None and meta.dtype.is_floating_point
            and source.dtype.is_floating_point and meta.stride == source.stride
            and meta.device == source.device)


def _is_mask(user: Node, value: Node) -> bool:
    """Whether an operation only asks which elements of a value are positive."""
    return (user.target is aten.threshold_backward.default and user.args[0] is not value
            and bool(user.args[2] == 0))


def _kept_for(source: Node, memory: Memory, live: Liveness) -> int:
    """The bytes that are alive at the peak only if the source is kept."""
    return sum(live.size.get(base, 0) for base in memory.bases[source]
               if live.end[base] <= live.top)


def _is_unchanged(source: Node, value: Node, user: Node, memory: Memory) -> bool:
    """Whether nothing mutates the source between the value and its user."""
    return (memory.version((source,), memory.place[value])
            == memory.version((source,), memory.place[user]))


def _replaced(graph: Graph, recast: Recast) -> Node:
    """The cast that the users read now."""
    value, users, source = recast
    meta = meta_of(value)
    assert meta is not None
    with graph.inserting_before(users[0]):
        again = graph.call_function(aten._to_copy.default, (source,), {"dtype": meta.dtype})
    again.meta.update(value.meta, again=True)
    for user in users:
        user.replace_input_with(value, again)
    return again
