"""A graph that is still being rewritten."""

from __future__ import annotations

from typing import Any

from torch.fx import Graph, GraphModule


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
    own = Graph()
    result = own.graph_copy(graph.graph, {})
    own.output(result)
    return Draft(graph, own)
