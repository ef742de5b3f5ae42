"""Cuts the recorded step of a loop and its backward pass into the bodies of two loops.

The first loop also keeps, as stacks, what the second takes of each step. The second runs backwards:
it carries the gradients of the carried values, and adds up those of the values from outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule, Node

from .lazy_module import KernelGraph, LazyModule
from .metadata import TensorMetadata, meta_of
from .operations import sweep, sweep_recorded
from .partition import Backward, cut

aten = torch.ops.aten


class NoHalves(Exception):
    """A value that is kept lies in memory in a way that a stack can't repeat."""


class Joint(NamedTuple):
    """A step and its backward pass as one graph.

    Attributes:
        graph: its results are those of the step, then the gradients that there are.
        inputs: its inputs: carried values, elements of stacks, values from outside; None for one
            that it doesn't use.
        carried, elements: how many of these there are.
        results: how many results the step has.
        starts: for each result through which gradients flow, the input that stands for its
            gradient; None for one that isn't used.
        gradients: for each input by which there is a gradient, its node.
        inexact: the numbers of the carried values that may have a gradient.
        passes: the nodes of the backward pass, each with 0.
    """

    graph: GraphModule
    inputs: list[Node | None]
    carried: int
    elements: int
    results: int
    starts: dict[int, Node | None]
    gradients: dict[int, Node]
    inexact: list[int]
    passes: Mapping[Node, int]


class Halves(NamedTuple):
    """Two bodies.

    Attributes:
        forward: its results are those of the step, then what is kept.
        kept: for each value that is kept, an empty stack of such values.
        backward: takes and gives the gradients of the `inexact` carried values and the sums of the
            gradients of the values in `summed`. Its stacks are what is kept, those in `elements`,
            and the gradients of the results in `started`. It keeps the gradients of the elements
            in `of_elements`, and takes the values in `outside`. All these are numbers of inputs
            or of results of the step.
    """

    forward: GraphModule
    kept: list[torch.Tensor]
    backward: GraphModule
    summed: list[int]
    elements: list[int]
    started: list[int]
    of_elements: list[int]
    outside: list[int]


def halves(joint: Joint) -> Halves:
    """Cut a step and its backward pass in two.

    Raises:
        NoHalves: if what the second half takes can't be kept.
    """
    outs = list(joint.starts)
    first = joint.carried + joint.elements
    made, kept, (back,) = cut(
        joint.graph, joint.passes, [list(joint.starts.values())], [list(joint.gradients.values())],
        joint.results, joint.results, of_one_size=True)
    place = {node: i for i, node in enumerate(joint.inputs) if node is not None}
    stacked = [node for node in kept if place.get(node, -1) < joint.carried]
    metas = [_dense(meta_of(node)) for node in stacked]
    forward = _forward(made, joint, kept, stacked, [order for _, order in metas])
    found = Halves(
        forward, [empty for empty, _ in metas], joint.graph,
        summed=[i for i in joint.gradients if i >= first],
        elements=[place[n] for n in kept if joint.carried <= place.get(n, -1) < first],
        started=[i for i in outs if i >= joint.carried],
        of_elements=[i for i in joint.gradients if joint.carried <= i < first],
        outside=[place[n] for n in kept if place.get(n, -1) >= first])
    return found._replace(backward=_backward(
        back, joint, found, kept, place, dict(zip(stacked, [o for _, o in metas], strict=True))))


def placeholders(graph: GraphModule) -> list[Node]:
    """The inputs of a graph."""
    return [node for node in graph.graph.nodes if node.op == "placeholder"]


def with_inputs(graph: GraphModule, inputs: Sequence[Node | None], results: Sequence[Node]
                ) -> GraphModule:
    """The graph with its inputs in another order, and other results."""
    own, copies = KernelGraph(), {}
    for node in inputs:
        made = own.create_node("placeholder", f"input_{len(own.nodes)}")
        if node is not None:
            made.meta.update(node.meta)
            copies[node] = made
    for node in graph.graph.nodes:
        if node.op not in ("placeholder", "output"):
            copies[node] = own.node_copy(node, copies.__getitem__)
    own.output([copies[n] for n in results])
    sweep_recorded(own)
    return LazyModule(graph, own)


def _dense(meta: TensorMetadata | None) -> tuple[torch.Tensor, list[int] | None]:
    """An empty stack of values with this metadata, and the dimensions in their order in memory."""
    if meta is None:
        raise NoHalves
    order = sorted(range(len(meta.shape)), key=lambda i: (-meta.stride[i], i))
    laid = [meta.shape[i] for i in order]
    if not meta._replace(shape=tuple(laid), stride=tuple(meta.stride[i] for i in order)).contiguous:
        raise NoHalves
    return (torch.empty((0, *laid), dtype=meta.dtype, device=meta.device),
            None if order == sorted(order) else order)


def _forward(made: GraphModule, joint: Joint, kept: list[Node], stacked: list[Node],
             orders: list[list[int] | None]) -> GraphModule:
    given = iter(placeholders(made))
    starts = {node for node in joint.starts.values() if node is not None}
    copies = {node: next(given) for node in placeholders(joint.graph) if node not in starts}
    outs: list[Any] = list(made.graph.output_node().args[0])  # type: ignore[arg-type]
    twins = dict(zip(kept, outs[joint.results:], strict=True))
    results = outs[:joint.results]
    with made.graph.inserting_before(made.graph.output_node()):
        for node, order in zip(stacked, orders, strict=True):
            results.append(twins[node] if order is None else made.graph.call_function(
                aten.permute.default, (twins[node], order)))
    return with_inputs(made, [None if node is None else copies[node] for node in joint.inputs],
                       results)


def _backward(back: Backward, joint: Joint, its: Halves, kept: list[Node], place: dict[Node, int],
              orders: dict[Node, list[int] | None]) -> GraphModule:
    own = KernelGraph()

    def inputs(keys: Any) -> dict[Any, Node]:
        return {key: own.create_node("placeholder", f"input_{len(own.nodes)}")
                for key in keys}

    carried, sums, stacks = inputs(joint.inexact), inputs(its.summed), inputs(orders)
    others, starts = inputs(its.elements), inputs(its.started)
    others |= inputs(its.outside)
    given = {**carried, **starts}  # by numbers of results; the others by numbers of inputs
    for node, order in orders.items():
        if order is not None:
            stacks[node] = own.call_function(
                aten.permute.default, (stacks[node], sorted(range(len(order)),
                                                            key=order.__getitem__)))
    taken = [stacks[kept[i]] if kept[i] in stacks else others[place[kept[i]]] for i in back.takes]
    there = placeholders(back.graph)
    for node, made in zip(there, taken, strict=False):  # the starts come after these
        made.meta.setdefault("tensor_meta", meta_of(node))
    copies = dict(zip(there, [*taken, *(given[i] for i in joint.starts)], strict=True))
    for node in back.graph.graph.nodes:
        if node.op not in ("placeholder", "output"):
            copies[node] = own.node_copy(node, copies.__getitem__)
    outs: Any = back.graph.graph.output_node().args[0]
    found = {i: copies[node] for i, node in zip(joint.gradients, outs, strict=True)}
    own.output([
        *(own.call_function(aten.clone.default, (found[i],),
                            {"memory_format": torch.contiguous_format}) if i in found
          else own.call_function(aten.zeros_like.default, (carried[i],)) for i in joint.inexact),
        *(own.call_function(aten.add.Tensor, (sums[i], found[i])) for i in its.summed),
        *(found[i] for i in its.of_elements)])
    sweep(own)
    return LazyModule(back.graph, own)
