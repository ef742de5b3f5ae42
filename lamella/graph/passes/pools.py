"""Max pools of large planes by the kernel for the layout with channels last."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from ...machine.planes import suits
from ..ir.lazy_module import copied
from ..ir.metadata import TensorMetadata, meta_of
from .memory import MOST_MEMORY, Liveness

aten = torch.ops.aten


def pool_channels_last(module: GraphModule, recorded: GraphModule) -> GraphModule | None:
    """The graph with conversions of what such pools take and give; None if there are none of them.

    Results are the same, bit by bit, so this needs no trial. Trials of other layouts start from
    the graph without it: they convert what is around the pools, too.

    Args:
        module: the graph.
        recorded: the graph that it was made from.

    Returns:
        A new graph; None also where it would take clearly more memory than the recorded one.
    """
    if not any(map(_suits, module.graph.nodes)):
        return None
    better = copied(module)
    for node in [n for n in better.graph.nodes if _suits(n)]:
        _convert(better.graph, node)
    if Liveness(better.graph).peak > MOST_MEMORY * Liveness(recorded.graph).peak:
        return None
    better.recompile()
    return better


def _suits(node: Node) -> bool:
    if node.target is not aten.max_pool2d_with_indices.default:
        return False
    meta = meta_of(node.args[0])
    return (meta is not None and meta.contiguous and suits(meta.shape, meta.dtype, meta.device)
            and all(user.target is operator.getitem for user in node.users))


def _convert(graph: Graph, node: Node) -> None:
    """Convert the argument of a pool, and its results."""
    x: Any = node.args[0]
    with graph.inserting_before(node):
        last = _clone(graph, x, torch.channels_last)
    node.args = (last, *node.args[1:])
    for part in list(node.users):
        with graph.inserting_after(part):
            back = _clone(graph, part, torch.contiguous_format)
        part.replace_all_uses_with(back, lambda user, own=back: user is not own)
        part.meta["tensor_meta"] = _last(meta_of(part))


def _clone(graph: Graph, node: Node, layout: torch.memory_format) -> Node:
    clone = graph.call_function(aten.clone.default, (node,), {"memory_format": layout})
    clone.meta.update(node.meta)
    meta = meta_of(node)
    clone.meta["tensor_meta"] = _last(meta) if layout is torch.channels_last else meta
    return clone


def _last(meta: TensorMetadata | None) -> TensorMetadata | None:
    """The metadata with its channels last."""
    if meta is None:
        return None
    _, channels, height, width = meta.shape
    return meta._replace(stride=(channels * height * width, 1, channels * width, channels))
