"""Leaves out of a backward pass what is computed for results that get no gradient.

A function may return several things, of which only some are differentiated. No gradient is not the
same as a gradient of 0: where a derivative is infinite, such as that of a root at 0, the product of
both is NaN. So the pass for some results is derived from the pass for all: where gradients of
several results are added, one that isn't there adds nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .lazy_module import KernelGraph, LazyModule
from .metadata import meta_of
from .operations import bases_of, nodes_in, sweep, written_by

aten = torch.ops.aten
_SUM = aten.add.Tensor
_JOINS = (aten.cat.default, aten.stack.default)  # of parts; one that isn't there is 0


def sources_of(nodes: Sequence[Node], starts: Sequence[Node]) -> dict[Node, int] | None:
    """For each node, the results from whose gradients it is computed, as bits.

    Args:
        nodes: those of a graph, in order.
        starts: what stands for the gradients of the results.

    Returns:
        The nodes that are computed from any; None if gradients of different results meet elsewhere
        than in a sum or a kernel that can do without one: then a pass for some can't be derived
        from the pass for all.
    """
    bases = bases_of(nodes)
    found = {node: 1 << i for i, node in enumerate(starts)}
    inside: dict[Node, list[Node]] = {}  # the nodes in the memory of each
    for node in nodes:
        for base in bases[node]:
            inside.setdefault(base, []).append(node)
        given = {found.get(source, 0) for source in node.all_input_nodes} - {0}
        if not given or node.op == "output":
            continue
        if len(given) > 1 and not _may_meet(node) and any(
                source in found for source in _needed(node)):
            return None
        bits = 0
        for each in given:
            bits |= each
        found[node] = bits
        for base in written_by(node, bases):
            for other in inside[base]:
                if found.setdefault(other, bits) != bits:
                    return None
    return found


def _may_meet(node: Node) -> bool:
    """Whether this joins several gradients, or adds two of one shape and type, which it keeps."""
    if node.target is not _SUM or node.kwargs or len(node.all_input_nodes) != 2:
        return node.target in _JOINS
    metas = list(map(meta_of, (node, *node.all_input_nodes)))
    return None not in metas and len({(meta.shape, meta.dtype) for meta in metas if meta}) == 1


def _needed(node: Node) -> list[Node]:
    """The operands of a kernel without those that may be None."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return node.all_input_nodes
    given = [*node.args, *node.kwargs.values()]
    formal = {argument.name: str(argument.type) for argument in schema.arguments}
    types = [*list(formal.values())[:len(node.args)], *map(formal.__getitem__, node.kwargs)]
    return [source for value, kind in zip(given, types, strict=True) if kind != "Optional[Tensor]"
            for source in nodes_in(value)]


def without_unused(graph: GraphModule, starts: Sequence[Node], given: Collection[int]
                   ) -> tuple[GraphModule, list[bool]]:
    """A backward pass for some results, and which of its gradients are there.

    Args:
        graph: the pass for all results, of which `sources_of` knows the sources.
        starts: those of its inputs that are the gradients of results.
        given: the numbers of the results that have gradients. The inputs for the others are zeros.
    """
    nodes = list(graph.graph.nodes)
    found, bases = sources_of(nodes, starts), bases_of(nodes)
    assert found is not None
    own, copies = KernelGraph(), {}
    wanted = sum(1 << i for i in given)

    def is_there(node: Node) -> bool:
        bits = found.get(node, 0)
        return not bits or bool(bits & wanted)

    changes = any(written_by(node, bases) for node in nodes)
    for node in nodes[:-1]:
        copies[node] = _copy(own, node, copies, is_there, bool(written_by(node, bases)),
                             changes)
    outs: Any = nodes[-1].args[0]
    own.output([copies[node] for node in outs if is_there(node)])
    sweep(own)
    return LazyModule(graph, own), [is_there(node) for node in outs]


def _copy(own: KernelGraph, node: Node, copies: dict[Node, Node], is_there: Any, writes: bool,
          changes: bool) -> Node:
    """A node of the pass for all results in that for some."""
    first = node.args[0] if node.args else None
    if not is_there(node):  # at most its shape is used
        return copies[first] if writes and isinstance(first, Node) else own.node_copy(
            node, copies.__getitem__)
    absent = [source for source in node.all_input_nodes if not is_there(source)]
    if not absent:
        return own.node_copy(node, copies.__getitem__)
    if node.target is _SUM:
        (other,) = [copies[source] for source in node.all_input_nodes if source not in absent]
        return own.call_function(aten.clone.default, (other,)) if changes else other
    if node.target not in _JOINS:
        return own.node_copy(node, lambda source: None if source in absent else copies[source])
    return own.node_copy(node, lambda source: own.call_function(
        aten.zeros_like.default, (copies[source],)) if source in absent else copies[source])
