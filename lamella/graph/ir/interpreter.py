"""Runs the operations of a graph one by one in Python, for what looks at each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

Call = Callable[[Node, tuple, dict], Any]


def interpret(root: GraphModule, nodes: Sequence[Node], known: dict[Node, Any],
              kept: Collection[Node], call: Call) -> None:
    """Run operations; each value is freed after its last use.

    PyTorch's own interpreter keeps a list for each node.

    Args:
        root: the graph.
        nodes: operations of it, in order.
        known: the values of what they take; those of `kept` are put there.
        kept: the values that stay.
        call: computes an operation of its arguments.
    """
    last = {value: i for i, node in enumerate(nodes) for value in (node, *node.all_input_nodes)}
    stay = set(kept)
    for i, node in enumerate(nodes):
        if node.op == "get_attr":
            known[node] = getattr(root, str(node.target))
            continue
        args, kwargs = map_arg((node.args, node.kwargs), known.__getitem__)  # type: ignore[misc]
        known[node] = call(node, args, kwargs)
        for value in (node, *node.all_input_nodes):
            if last[value] == i and value not in stay:
                known.pop(value, None)
