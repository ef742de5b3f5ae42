"""Cuts a graph of a function and its backward pass into two graphs.

The graph of the function also gives what the others need of it: their direct operands. Views, sizes
and constants are computed again there, which costs next to nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from torch.fx import GraphModule, Node

from .lazy_module import KernelGraph, LazyModule
from .loop import loop_of, operations_of
from .metadata import meta_of
from .operations import bases_of, effects_of, must_stay, written_by


class Backward(NamedTuple):
    """A backward pass.

    Attributes:
        graph: its inputs are what it takes, and then the gradients that it starts from.
        takes: which of the kept values it takes, by their numbers.
    """

    graph: GraphModule
    takes: list[int]


def cut(joint: GraphModule, passes: Mapping[Node, int], starts: Sequence[Sequence[Node | None]],
        gradients: Sequence[Sequence[Node]], kept_after: int, results: int,
        of_one_size: bool = False) -> tuple[GraphModule, list[Node], list[Backward]]:
    """Cut a graph into the function and its backward passes.

    Args:
        joint: the graph.
        passes: for each node that belongs to a backward pass, the number of this.
        starts: for each pass, the inputs that it starts from; None for one that isn't used.
        gradients: for each pass, its results.
        kept_after: after how many results of the function the kept values come.
        results: how many results the function has.
        of_one_size: whether kept values must have the same sizes in all runs: loops with open
            stacks are then run again in the backward pass.

    Returns:
        The graph of the function, the nodes in `joint` of the values that it keeps, and the
        backward passes.
    """
    nodes = list(joint.graph.nodes)
    outs = nodes[-1].args[0]
    given = {node for several in starts for node in several if node is not None}
    parts = [_Part(nodes, passes, given, number, wanted, of_one_size)
             for number, wanted in enumerate(gradients)]
    kept = list(dict.fromkeys(node for part in parts for node in part.takes))
    forward = _graph(joint, [n for n in nodes[:-1] if n not in passes and n not in given],
                     [*outs[:kept_after], *kept, *outs[kept_after:results]])  # type: ignore[index]
    places = {node: i for i, node in enumerate(kept)}
    return forward, kept, [
        Backward(_of_pass(joint, part, first, wanted), [places[n] for n in part.takes])
        for part, first, wanted in zip(parts, starts, gradients, strict=True)]


class _Part:
    """What a backward pass consists of.

    Attributes:
        body: its nodes, in order.
        takes: the values of the function that it takes.
    """

    def __init__(self, nodes: list[Node], passes: Mapping[Node, int], given: set[Node],
                 number: int, wanted: Sequence[Node], of_one_size: bool):
        needed, takes = set(wanted), set()
        for node in reversed(nodes):
            stays = passes.get(node) == number and must_stay(node)
            if node not in needed and not stays or node in given:
                continue
            if node in passes or _is_cheap(node) or of_one_size and _has_any_size(node):
                needed.add(node)
                needed.update(node.all_input_nodes)
            else:
                takes.add(node)
        self.body = [n for n in nodes if n in needed and n not in takes and n not in given]
        self.takes = [n for n in nodes if n in takes]


def _is_cheap(node: Node) -> bool:
    """Whether a value of the function is computed again instead of being kept."""
    if node.op != "call_function" or node.target is operator.getitem or must_stay(node) or (
            loop_of(node) is not None):
        return False
    if meta_of(node) is None and "tensor_meta" not in node.meta and not _gives_tensors(node):
        return True  # a size
    known = effects_of(node.target)
    return bool(known.shared) and len(node.all_input_nodes) == 1 and not known.may_be_view


def _has_any_size(node: Node) -> bool:
    """Whether this is a loop with open stacks that can be run again, or such a stack, or the number
    of its steps.
    """
    is_part = node.target is operator.getitem
    source: Any = node.args[0] if is_part else node
    loop = loop_of(source)
    return loop is not None and loop.has_open_stacks and (
        not is_part or node.args[1] >= loop.carried) and not any(  # type: ignore[operator]
            map(must_stay, operations_of(loop)))


def _gives_tensors(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any("Tensor" in str(r.type) for r in schema.returns)


def _graph(joint: GraphModule, nodes: Sequence[Node], results: Sequence[Node]) -> GraphModule:
    own, copies = KernelGraph(), {}
    for node in nodes:
        copies[node] = own.node_copy(node, copies.__getitem__)
    own.output([copies[n] for n in results])
    return LazyModule(joint, own)


def _of_pass(joint: GraphModule, part: _Part, starts: Sequence[Node | None],
             wanted: Sequence[Node]) -> GraphModule:
    own, copies = KernelGraph(), {}
    for node in (*part.takes, *starts):
        made = own.create_node("placeholder", f"input_{len(own.nodes)}")
        if node is not None:
            made.meta["tensor_meta"] = node.meta.get("tensor_meta")
            copies[node] = made
    for node in part.body:
        copies[node] = own.node_copy(node, copies.__getitem__)
    own.output([copies[n] for n in wanted])
    return LazyModule(joint, own)


def changes_what_it_takes(graph: GraphModule) -> bool:
    """Whether a graph writes into the memory of any of its inputs."""
    nodes = list(graph.graph.nodes)
    bases = bases_of(nodes)
    return any(base.op == "placeholder" for base in _written(nodes, bases))


def _written(nodes: list[Node], bases: dict[Node, set[Node]]) -> Iterator[Node]:
    for node in nodes:
        yield from written_by(node, bases)
