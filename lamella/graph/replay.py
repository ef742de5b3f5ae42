"""Running a recorded graph again: first what decides whether it applies, then what commits."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from .trace import CannotTrace, Trace


class Path:
    """A recorded run made ready to be run again.

    Without guards it is one graph. With guards it is two: a pure one that ends with the guards'
    values and whatever is needed further on, and the rest, which runs only if the guards hold.
    """

    def __init__(self, trace: Trace):
        assert trace.graph is not None
        self.parameters = trace.parameters
        self.expected = [value for _, value in trace.guards]
        self.assigned = trace.assigned
        self.out_tree = trace.out_tree
        self.attributes = [(cell, name) for cell, name, _ in trace.attributes.values()]
        self.random = any(torch.Tag.nondeterministic_seeded in getattr(n.target, "tags", ())
                          for n in trace.graph.graph.nodes)
        self.nodes = len(trace.graph.graph.nodes)
        self.first: Any = None
        if self.expected:
            self.first, self.rest = _split(trace.graph, len(self.expected))
        else:
            self.rest = trace.graph

    def run(self, inputs: list[torch.Tensor]) -> list[torch.Tensor] | None:
        """The graph's results; None if a guard differs: then nothing happened."""
        with torch.no_grad():
            if self.first is None:
                return self.rest(*inputs)
            before = torch.get_rng_state() if self.random else None
            found = self.first(*inputs)
            count = len(self.expected)
            for raw, value in zip(found[:count], self.expected, strict=True):
                if raw.item() != value:
                    if before is not None:
                        torch.set_rng_state(before)
                    return None
            return self.rest(*found[count:])


def _split(graph: GraphModule, guards: int) -> tuple[GraphModule, GraphModule]:
    """The graph up to its last guard, and the rest of it."""
    nodes = list(graph.graph.nodes)
    output = nodes[-1]
    results: list[Node] = list(output.args[0])  # type: ignore[arg-type]
    places = {node: i for i, node in enumerate(nodes)}
    inputs = sum(node.op == "placeholder" for node in nodes)
    cut = max([inputs, *(places[node] + 1 for node in results[:guards])])
    for node in nodes[:cut]:
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable and _touches_input(node):
            raise CannotTrace(f"turns a tensor into a Python value after {node.target} has changed "
                              f"data")
    before, after = nodes[:cut], nodes[cut:-1]
    live = list(dict.fromkeys(
        node for node in before
        if any(node in user.all_input_nodes for user in after) or node in results[guards:]))
    first, copies = Graph(), {}
    for node in before:
        copies[node] = first.node_copy(node, lambda n: copies[n])
    first.output([copies[node] for node in (*results[:guards], *live)])
    rest, copies = Graph(), {}
    for node in live:
        copies[node] = rest.placeholder(node.name)
    for node in after:
        copies[node] = rest.node_copy(node, lambda n: copies[n])
    rest.output([copies[node] for node in results[guards:]])
    return GraphModule(graph, first), GraphModule(graph, rest)


def _touches_input(node: Node) -> bool:
    """Whether an operation that changes memory may change an input's, and not only its own."""
    schema: Any = node.target._schema  # type: ignore[union-attr]
    for argument, value in zip(schema.arguments, node.args, strict=False):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        for changed in value if isinstance(value, (list, tuple)) else (value,):
            while isinstance(changed, Node) and changed.op == "call_function" and changed.args:
                own = getattr(changed.target, "_schema", None)
                if own is None or not any(r.alias_info is not None for r in own.returns):
                    break
                changed = changed.args[0]
            if isinstance(changed, Node) and changed.op in ("placeholder", "get_attr"):
                return True
    return False
