"""Graphs that are cheap to build and to rewrite."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from torch.fx import Graph, GraphModule, Node
from torch.fx.immutable_collections import immutable_dict
from torch.fx.node import map_arg

from ...core.forking import Lock

_generating = Lock()
_numbers = itertools.count()  # names are unique across graphs
_NO_NAMES = immutable_dict()


class _Search:
    """Finds the nodes of a graph, in place of PyTorch's index of them, which is rarely asked."""

    def __init__(self, graph: Graph):
        self._graph = graph

    def insert(self, node: Node) -> None:
        """Do nothing."""

    remove = insert

    def __contains__(self, node: Node) -> bool:
        return False

    def find_nodes(self, *, op: str, target: Any = None) -> list[Node]:
        """The nodes of a kind."""
        return [node for node in self._graph.nodes
                if node.op == op and (target is None or node.target == target)]


class KernelGraph(Graph):
    """A graph of kernels, whose nodes are named by numbers.

    PyTorch's own class searches all arguments for symbols, makes a readable name for each node and
    keeps an index of nodes, which is more than half of the time that a node takes.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._find_nodes_lookup_table: Any = _Search(self)

    def create_node(self, op: str, target: Any, args: Any = None, kwargs: Any = None,
                    name: str | None = None, type_expr: Any = None) -> Node:
        """A new node at the current position."""
        node = Node(self, f"k{next(_numbers)}", op, target, args or (),
                    kwargs or _NO_NAMES, type_expr)
        self._insert(node)
        self._len += 1
        return node

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A copy of a node of another graph at the current position, with other arguments."""
        copy = self.create_node(node.op, node.target, map_arg(node.args, arg_transform),
                                map_arg(node.kwargs, arg_transform))
        copy.meta = dict(node.meta)
        return copy

    def lint(self) -> None:
        """Do nothing: PyTorch would check the whole graph each time dead code is removed."""


class LazyModule(GraphModule):
    """A graph with its tensors; its Python code is generated when it is first called.

    Most intermediate graphs are never called, and generating their code takes longer than most
    passes.
    """

    def recompile(self) -> Any:
        """Drop the code, since the graph has changed."""
        if "forward" in vars(type(self)):  # each object has a class of its own
            del type(self).forward

    def forward(self, *inputs: Any) -> Any:
        with _generating:  # threads may call it first at the same time
            if "forward" not in vars(type(self)):
                super().recompile()  # puts another `forward` into the object's class
        return type(self).forward(self, *inputs)


def copied(graph: GraphModule) -> GraphModule:
    """A graph with the same nodes, and the same tensors as attributes."""
    own = KernelGraph()
    result = own.graph_copy(graph.graph, {})
    own.output(result)
    return LazyModule(graph, own)


def dismantle(graph: GraphModule) -> None:
    """Erase the nodes of a graph that nothing uses any more.

    They refer to each other, so their memory would be kept until Python's collector looks at old
    objects, which it rarely does.
    """
    for node in reversed(graph.graph.nodes):
        graph.graph.erase_node(node)
