"""Makes a graph compute whether one of its kernels fails: machine code raises no errors.

Each kernel that fails for some values (`ir.failures`) gets a flag: whether it would. Whether any is
set is a further result of the graph. Such a call is run by PyTorch's kernels, and raises the error
that the program should see. The flag of a loop's steps is carried from one to the next.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..ir.failures import Check, Unknown, argument, checks_of
from ..ir.lazy_module import KernelGraph, LazyModule
from ..ir.loop import Loop, loop_of
from ..ir.metadata import TensorMetadata
from ..ir.operations import FAILS, effects_of, is_random, never_written
from ..ir.ranges import Range, ranges_of
from .insert import inserted

aten = torch.ops.aten
_FLAG = TensorMetadata((), (), torch.bool, torch.device("cpu"))


def add_flag(module: GraphModule, safe: bool = False) -> bool:
    """Add to the results of a graph whether any of its kernels fails.

    Args:
        module: a graph on the CPU; changed in place.
        safe: whether a kernel that fails gets other elements, with which it doesn't.

    Returns:
        Whether a result was added; not if no kernel can fail.

    Raises:
        Unknown: if a kernel may fail, and what for isn't known.
    """
    flag = _flag_of(module, safe)
    if flag is not None:
        end = module.graph.output_node()
        end.args = ([*end.args[0], flag],)  # type: ignore[misc]
        module.recompile()
    return flag is not None


def may_flag(nodes: Iterable[Node]) -> bool:
    """Whether any of some kernels may fail, as far as their arguments tell.

    Raises:
        Unknown: if one may, and what for isn't known.
    """
    return any(node.op == "call_function" and (
        loop_of(node) is not None or FAILS in node.meta or bool(checks_of(node)))
        for node in nodes)


def _flag_of(module: GraphModule, safe: bool, before: Node | None = None) -> Node | None:
    """A flag for whether any kernel of a graph fails; `before` if none can.

    Args:
        before: a flag that it is joined with: in the body of a loop, that of the earlier steps.
    """
    nodes = list(module.graph.nodes)
    unwritten = never_written(nodes)
    fixed, ranges, found = _fixed(nodes, unwritten), ranges_of(nodes, unwritten), before
    for node in nodes:
        if node.op != "call_function":
            continue
        loop = loop_of(node)
        if loop is None:
            for check in checks_of(node):
                given = argument(node, check.place)
                if given not in fixed and not _lies_within(ranges.get(given), check.within):
                    found = _joined(module, node, found, _flag(module, node, check, safe))
        elif _has_checks(loop):
            made = _of_loop(module, node, loop, safe)
            if made is not None:
                found = _joined(module, made.next, found, made)
                continue
        if FAILS in node.meta and not node.users and not effects_of(node.target).is_check:
            module.graph.erase_node(node)  # only its error counts
    return found


def _lies_within(bounds: Range | None, allowed: Range | None) -> bool:
    return (bounds is not None and allowed is not None
            and allowed[0] <= bounds[0] and bounds[1] <= allowed[1])


def _joined(module: GraphModule, place: Node, before: Node | None, flag: Node) -> Node:
    """Whether one of two flags is set, computed before a node."""
    if before is None:
        return flag
    with module.graph.inserting_before(place):
        both = module.graph.call_function(aten.logical_or.default, (before, flag))
    both.meta["tensor_meta"] = _FLAG
    return both


def _fixed(nodes: list[Node], unwritten: set[Node]) -> set[Node]:
    """The nodes that are computed of no input, and so have the same values in each run."""
    found: set[Node] = set()
    for node in nodes:
        if node in unwritten and (
                node.op == "get_attr" or node.op == "call_function" and not is_random(node)
                and found.issuperset(node.all_input_nodes)):
            found.add(node)
    return found


def _flag(module: GraphModule, node: Node, check: Check, safe: bool) -> Node:
    """Whether a kernel fails; one that is to be safe gets other elements."""
    given = argument(node, check.place)
    instead = check.instead if safe else None

    def computed(x: torch.Tensor) -> list[torch.Tensor]:
        mask = check.fails(x)
        return [mask.any(), *([] if instead is None else [x.masked_fill(mask, instead)])]

    flag, *others = inserted(module, node, computed, [given])
    if others:
        node.args = tuple(_with(node.args, check.place, others[0]))
    return flag


def _with(args: Any, place: tuple[int, ...], value: Node) -> list[Any]:
    """Arguments with another value at a place."""
    first, *rest = place
    return [(_with(arg, tuple(rest), value) if rest else value) if i == first else arg
            for i, arg in enumerate(args)]


def _has_checks(loop: Loop) -> bool:
    return any(loop_of(n) is not None or n.op == "call_function" and checks_of(n)
               for graph in loop.graphs for n in graph.graph.nodes)


def _of_loop(module: GraphModule, node: Node, loop: Loop, safe: bool) -> Node | None:
    """Whether a kernel of a loop's steps fails; None if none can.

    The loop is replaced by one that also carries this, after the other carried values.
    """
    body, before = _with_input(loop.body, loop.carried)
    flag = _flag_of(body, safe, before)
    if flag is before:
        return None
    end = body.graph.output_node()
    results: list[Any] = list(end.args[0])  # type: ignore[arg-type]
    end.args = ([*results[:loop.carried], flag, *results[loop.carried:]],)
    condition = None if loop.condition is None else _with_input(loop.condition, loop.carried)[0]
    if condition is not None and _flag_of(condition, safe) is not None:
        raise Unknown("what the condition of a loop fails for")
    other = Loop(body, loop.carried + 1, loop.stacks, loop.kept, condition, loop.steps,
                 loop.backward, loop.counts, loop.counted)
    other.seen = loop.seen
    other.simplify(lambda graph: None)
    at = loop.counted + loop.carried
    values: list[Any] = list(node.args[0])  # type: ignore[arg-type]
    graph = module.graph
    with graph.inserting_before(node):
        first = graph.call_function(aten.full.default, ([], False), {
            "dtype": torch.bool, "device": torch.device("cpu")})
        new = graph.call_function(other, ([*values[:at], first, *values[at:]],))
        last = graph.call_function(operator.getitem, (new, loop.carried))
    first.meta["tensor_meta"] = last.meta["tensor_meta"] = _FLAG
    new.meta.update({key: value for key, value in node.meta.items() if key != FAILS})
    for part in list(node.users):
        number: Any = part.args[1]
        part.args = (new, number + (number >= loop.carried))
    graph.erase_node(node)
    return last


def _with_input(graph: GraphModule, place: int) -> tuple[GraphModule, Node]:
    """A copy of a graph with one input more, a flag, before the one of this number."""
    own, copies = KernelGraph(), {}
    starts = [node for node in graph.graph.nodes if node.op == "placeholder"]
    made: list[Any] = [own.node_copy(node) for node in starts[:place]]
    flag = own.placeholder("failed")
    flag.meta["tensor_meta"] = _FLAG
    made += [own.node_copy(node) for node in starts[place:]]
    copies.update(zip(starts, made, strict=True))
    for node in graph.graph.nodes:
        if node.op == "output":
            own.output([copies[n] for n in node.args[0]])  # type: ignore[union-attr]
        elif node.op != "placeholder":
            copies[node] = own.node_copy(node, copies.__getitem__)
    return LazyModule(graph, own), flag
