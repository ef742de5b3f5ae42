"""A graph that is still being rewritten."""

from __future__ import annotations

import itertools
from typing import Any

from torch.fx import Graph, GraphModule, Node
from torch.fx.immutable_collections import immutable_dict

_numbers = itertools.count()  # no two nodes of any graphs have the same name


class Kernels(Graph):
    """A graph of kernels, whose nodes are named by numbers.

    PyTorch's own looks through all arguments for symbols, and makes a readable name of each
    operation: more than half of the time that a node takes.
    """

    def create_node(self, op: str, target: Any, args: Any = None, kwargs: Any = None,
                    name: str | None = None, type_expr: Any = None) -> Node:
        """A new node at the current place."""
        node = Node(self, f"k{next(_numbers)}", op, target, args or (),
                    kwargs or immutable_dict(), type_expr)
        self._insert(node)
        self._find_nodes_lookup_table.insert(node)
        self._len += 1
        return node

    def lint(self) -> None:
        """Nothing: PyTorch checks the whole graph each time that dead code is removed."""


class Draft(GraphModule):
    """A graph with its tensors, without code until it is called.

    Most graphs on the way from a recording to what is run are never called, and writing their code
    takes longer than most rewritings.
    """

    def recompile(self) -> Any:
        """Forget the code: the graph has changed."""
        if "forward" in vars(type(self)):  # each object has a class of its own
            del type(self).forward

    def forward(self, *inputs: Any) -> Any:
        super().recompile()  # gives the class another `forward`
        return type(self).forward(self, *inputs)


def copied(graph: GraphModule) -> GraphModule:
    """A graph with the same nodes, and the same tensors as attributes."""
    own = Kernels()
    result = own.graph_copy(graph.graph, {})
    own.output(result)
    return Draft(graph, own)
