"""All passes, in their order."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.fx import Graph, GraphModule

from ..stages import must_stay
from .constants import fold
from .forms import describe
from .memory import reshapes_in_place
from .pointless import remove_pointless
from .shared import share


def improve(graph: GraphModule, inputs: Sequence[torch.Tensor], measure: bool = False
            ) -> GraphModule:
    """A graph that gives and changes the same as `graph`, up to rounding, and is faster.

    Args:
        graph: kernels as `make_fx` records them; it stays as it is.
        inputs: what it may be called with, in the order of its placeholders; they stay as they are.
        measure: whether rewritings that pay on some machines only may be tried, by running the
            graph on copies. Without it this takes a fraction of one run.

    Returns:
        A new graph with the same placeholders. Constants are its attributes, read by ``get_attr``.
    """
    better = copied(graph)
    if reshapes_in_place(better.graph):
        return better
    describe(better.graph, inputs)
    simplify(better)
    better.recompile()
    return better


def copied(graph: GraphModule) -> GraphModule:
    """A graph with the same nodes, and the same tensors as attributes."""
    own = Graph()
    result = own.graph_copy(graph.graph, {})
    own.output(result)
    return GraphModule(graph, own)


def simplify(module: GraphModule) -> None:
    """Do less: no dead code, nothing twice, nothing without effect, no known values again."""
    graph = module.graph
    graph.eliminate_dead_code(is_impure_node=must_stay)
    while share(graph) + fold(module) + remove_pointless(graph):
        graph.eliminate_dead_code(is_impure_node=must_stay)
