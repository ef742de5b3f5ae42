"""Common subexpression elimination."""

from __future__ import annotations

from typing import Any

from torch.fx import GraphModule, Node

from ..ir.operations import must_stay
from .memory import Memory
from .replacements import Replacements


def eliminate_common_subexpressions(module: GraphModule, memory: Memory) -> int:
    """Replace equal operations on equal values by the first of them; returns how many.

    Values that are mutated later, or that are results of the graph, are not merged.
    """
    replacements = Replacements()
    seen: dict[Any, Node] = {}
    count = 0
    for node in list(module.graph.nodes):
        if node.op != "call_function" or must_stay(node) or node in memory.results:
            continue
        if node.meta.get("again"):  # computed again on purpose, to lower peak memory
            continue
        if not memory.is_view(node) and (memory.writes(node) or memory.escapes(node)):
            continue
        version = memory.version(node.all_input_nodes, memory.place[node])
        # by identity: an operation's hash is slow
        key = (id(node.target), _written_out(node.args), _written_out(node.kwargs), version)
        first = seen.setdefault(key, node)
        if first is not node:
            replacements.replace(node, first)
            count += 1
    replacements.finish()
    return count


def _written_out(value: Any) -> Any:
    """Arguments as a hashable key; 1, 1.0 and True are different."""
    if isinstance(value, Node):
        return value
    if isinstance(value, (list, tuple)):
        return tuple([_written_out(v) for v in value])
    if isinstance(value, dict):
        return tuple([(k, _written_out(v)) for k, v in value.items()])
    return type(value), repr(value)
