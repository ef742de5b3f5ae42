"""Inserting the kernels of a function into a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.fx import GraphModule, Node

from ..ir.lazy_module import dismantle
from ..ir.metadata import meta_of
from ..tracing.lines import NOWHERE
from ..tracing.recorder import Recorder


def inserted(module: GraphModule, place: Node, function: Callable[..., Sequence[torch.Tensor]],
             arguments: Sequence[Node], again: bool = False) -> list[Node]:
    """Record the kernels of a function on values like its arguments, and insert them before a node.

    Args:
        module: changed in place. Tensors that the function creates become its attributes.
        place: the node.
        function: from tensors to several tensors; it runs once, on zeros.
        arguments: the nodes of its arguments, all with known metadata.
        again: whether values that the graph has already are computed again, to lower peak memory.

    Returns:
        The nodes of its results.
    """
    given = []
    for argument in arguments:
        meta = meta_of(argument)
        assert meta is not None
        given.append(meta.empty().zero_())
    recorder = Recorder(given)
    with torch.no_grad(), recorder:
        found = function(*given)
    part = recorder.finished(found)
    for node in part.graph.nodes:  # the line of the node that it replaces
        node.meta["line"] = place.meta.get("line", NOWHERE)
        node.meta["again"] = again or place.meta.get("again", False)
    graph = module.graph
    starts = [n for n in part.graph.nodes if n.op == "placeholder"]
    with graph.inserting_before(place):
        nodes = dict(zip(starts, arguments, strict=False))
        for start, value in zip(starts[len(given):], recorder.constants, strict=True):
            name = f"kept_{place.name}_{start.name}"
            module.register_buffer(name, value, persistent=False)
            nodes[start] = graph.get_attr(name)
            nodes[start].meta.update(start.meta)
        results = list(graph.graph_copy(part.graph, nodes))  # type: ignore[arg-type]
    dismantle(part)
    return results
