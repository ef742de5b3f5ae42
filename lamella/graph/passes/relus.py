"""Moves ReLU behind a max pool, where it has fewer elements."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from ..ir.metadata import meta_of
from .memory import Memory

aten = torch.ops.aten
_BACK: Any = aten.max_pool2d_with_indices_backward.default


def relu_after_pools(module: GraphModule) -> int:
    """Exchange each ReLU whose result only a max pool reads with that pool; returns how many.

    The greatest element of a window is the same before ReLU and after it. Where none is positive
    another element may be chosen, but no gradient reaches it. So all results are equal, except
    for the sign of a zero.

    Args:
        module: changed in place.
    """
    count, memory = 0, None
    for relu in [n for n in module.graph.nodes if n.target is aten.relu.default]:
        pool = _only_pool(relu)
        if pool is None:
            continue
        memory = memory or Memory(module.graph)
        touched = [relu, relu.args[0], pool, *pool.users]
        meta = meta_of(relu)
        if any(map(memory.writes, touched)) or meta is None or meta != meta_of(relu.args[0]):
            continue
        gradients = _gradients(relu, pool)
        if gradients is not None:
            _exchange(module.graph, relu, pool, gradients)
            count, memory = count + 1, None
    return count


def _only_pool(relu: Node) -> Node | None:
    """The one pool that reads it, if the pool's values are used."""
    pools = [n for n in relu.users if n.target is aten.max_pool2d_with_indices.default]
    return pools[0] if len(pools) == 1 and any(n.args[1] == 0 for n in pools[0].users) else None


def _gradients(relu: Node, pool: Node) -> list[tuple[Node, Node]] | None:
    """The gradients of the pool, with those of ReLU; None if anything else reads their inputs."""
    pairs = []
    for back in [n for n in relu.users if n.target is _BACK]:
        users = list(back.users)
        if (back.args[1] is not relu or len(users) != 1 or not _is_gradient(users[0], back, relu)
                or meta_of(back.args[0]) != meta_of(_value(pool))):
            return None
        pairs.append((back, users[0]))
    known = {pool, *(n for pair in pairs for n in pair)}
    indices = [n for n in pool.users if n.args[1] == 1]
    reading = {user for n in indices for user in n.users}
    if not known.issuperset(relu.users) or not {back for back, _ in pairs}.issuperset(reading):
        return None
    return pairs


def _value(pool: Node) -> Node:
    return next(n for n in pool.users if n.args[1] == 0)


def _is_gradient(node: Node, back: Node, relu: Node) -> bool:
    return (node.target is aten.threshold_backward.default and node.args == (back, relu, 0)
            and meta_of(node) == meta_of(back))


def _exchange(graph: Graph, relu: Node, pool: Node, gradients: list[tuple[Node, Node]]) -> None:
    x, value = relu.args[0], _value(pool)
    pool.update_arg(0, x)
    with graph.inserting_after(value):
        after = graph.call_function(aten.relu.default, (value,))
    after.meta.update(relu.meta, tensor_meta=meta_of(value))
    value.replace_all_uses_with(after, lambda user: user is not after)
    for back, gradient in gradients:
        with graph.inserting_before(back):
            less = graph.call_function(aten.threshold_backward.default, (back.args[0], after, 0))
        less.meta.update(gradient.meta, tensor_meta=meta_of(value))
        back.update_arg(0, less)
        back.update_arg(1, x)
        gradient.replace_all_uses_with(back)
        graph.erase_node(gradient)
    graph.erase_node(relu)
