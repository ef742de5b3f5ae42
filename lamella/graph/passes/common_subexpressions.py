"""Common subexpression elimination."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..ir.operations import must_stay
from .memory import Memory
from .replacements import Replacements

_PLAIN = (int, bool, str, torch.dtype, type(None))  # equal values of one type are one


def eliminate_common_subexpressions(module: GraphModule, memory: Memory) -> int:
    """Replace equal operations on equal values by the first of them; returns how many.

    Values that are mutated later, or that are results of the graph, are not merged.
    """
    replacements = Replacements()
    alike: dict[Any, Node] = {}  # the first of the nodes with one operation and its arguments
    seen: dict[Any, Node] = {}  # the first of those whose arguments have not been mutated between
    count = 0
    for node in list(module.graph.nodes):
        if node.op != "call_function" or must_stay(node) or node in memory.results:
            continue
        again = node.meta.get("again")  # computed again on purpose, to lower peak memory
        if again is True:
            continue
        replacements.finish_one(node)
        # by identity: an operation's hash is slow; values of one recomputation may be merged, but
        # not with those of another run
        key = (id(node.target), id(again), _written_out(node.args),
               _written_out(node.kwargs) if node.kwargs else ())
        first = alike.setdefault(key, node)
        if first is node or not _may_merge(node, memory):
            continue
        if _may_merge(first, memory):
            seen.setdefault((key, _version(first, memory)), first)
        first = seen.setdefault((key, _version(node, memory)), node)
        if first is not node:
            replacements.replace(node, first)
            count += 1
    replacements.finish()
    return count


def _may_merge(node: Node, memory: Memory) -> bool:
    """Whether a value may be one with an equal value: it is not mutated, and no result."""
    return memory.is_view(node) or not (memory.writes(node) or memory.escapes(node))


def _version(node: Node, memory: Memory) -> tuple[int, ...]:
    """Numbers that differ for two nodes if an argument is mutated between them."""
    return memory.version(node.all_input_nodes, memory.place[node])


def _written_out(value: Any) -> Any:
    """Arguments as a hashable key; 1, 1.0 and True are different."""
    if isinstance(value, Node):
        return value
    kind = type(value)
    if kind in _PLAIN or kind is float and abs(value) > 0:
        return kind, value
    if isinstance(value, (list, tuple)):
        return tuple([v if type(v) is Node else _written_out(v) for v in value])
    if isinstance(value, dict):
        return tuple([(k, _written_out(v)) for k, v in value.items()])
    return kind, repr(value)  # 0.0 and -0.0 are different, too, and NaN equals NaN
