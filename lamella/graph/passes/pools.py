"""Max pools of large contiguous planes by the kernel for channels that come last in memory."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Graph, Node

from ...machine.planes import suits
from ..ir.forms import Form, form_of
from .memory import Liveness

aten = torch.ops.aten


def pool_channels_last(graph: Graph) -> int:
    """Convert what such pools take and give; returns how many they are.

    Results are the same, bit by bit, so this needs no trial. It is left out where the graph would
    take more memory at its peak.
    """
    found = [n for n in graph.nodes if _suits(n)]
    if not found:
        return 0
    before = Liveness(graph).peak
    undo = [_converted(graph, node) for node in found]
    if Liveness(graph).peak <= before:
        return len(found)
    for node, added in zip(found, undo, strict=True):
        _put_back(graph, node, added)
    return 0


def _suits(node: Node) -> bool:
    if node.target is not aten.max_pool2d_with_indices.default:
        return False
    form = form_of(node.args[0])
    return (form is not None and form.contiguous and suits(form.shape, form.dtype, form.device)
            and all(user.target is operator.getitem for user in node.users))


def _converted(graph: Graph, node: Node) -> list[Node]:
    """Convert the argument of a pool, and its results; returns the conversions."""
    x: Any = node.args[0]
    added = []
    with graph.inserting_before(node):
        added.append(_clone(graph, x, torch.channels_last))
    node.args = (added[0], *node.args[1:])
    for part in list(node.users):
        with graph.inserting_after(part):
            back = _clone(graph, part, torch.contiguous_format)
        part.replace_all_uses_with(back, lambda user, own=back: user is not own)
        part.meta["form"] = _last(form_of(part))
        added.append(back)
    return added


def _put_back(graph: Graph, node: Node, added: list[Node]) -> None:
    first, *backs = added
    for back in backs:
        part: Any = back.args[0]
        part.meta["form"] = form_of(back)
        back.replace_all_uses_with(part)
        graph.erase_node(back)
    node.args = (first.args[0], *node.args[1:])
    graph.erase_node(first)


def _clone(graph: Graph, node: Node, layout: torch.memory_format) -> Node:
    clone = graph.call_function(aten.clone.default, (node,), {"memory_format": layout})
    clone.meta.update(node.meta)
    form = form_of(node)
    clone.meta["form"] = _last(form) if layout is torch.channels_last else form
    return clone


def _last(form: Form | None) -> Form | None:
    """The form with its channels last."""
    if form is None:
        return None
    _, channels, height, width = form.shape
    return form._replace(stride=(channels * height * width, 1, channels * width, channels))
