"""Constant folding: what depends on no input is computed once."""

from __future__ import annotations

import operator

import torch
from torch.fx import GraphModule, Node

from ..ir.metadata import meta_of, meta_of_value
from ..ir.operations import effects_of, must_stay
from .memory import Memory

MOST_BYTES = 64 * 2**20  # of all constants kept for one graph
MOST_COMPARED = 1024  # bytes of one whose contents are compared
MANY = 4  # parts of one constant that stay parts of it: they may be read by the steps of a loop

aten = torch.ops.aten

_PARTS = {aten.slice.Tensor, aten.select.int}
_ONES = {aten.ones.default, aten.ones_like.default, aten.new_ones.default}
_FULL: dict[object, int] = {
    aten.full.default: 1, aten.full_like.default: 1, aten.new_full.default: 2}


def fold(module: GraphModule, memory: Memory) -> int:
    """Fold the operations whose value depends on no input and is never mutated; returns how many.

    The values become attributes of the module. Results of the graph are not folded: they belong to
    the caller, who may change them.
    """
    graph = module.graph
    known: dict[Node, torch.Tensor] = {}
    budget, count = MOST_BYTES, 0
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if not effects_of(node.target).of_a_form and (inputs := node.all_input_nodes) and (
                inputs[0] not in known or not all(map(known.__contains__, inputs))):
            continue  # most nodes
        if not _may_fold(node, memory) or node.target in _PARTS and _is_one_of_many(node):
            continue
        meta = meta_of(node)
        if meta is None or meta.bytes > budget:
            continue
        value = _computed(node, known)
        if value is None:
            continue
        if not memory.is_view(node):
            budget -= meta.bytes
        known[node] = value
        if _all_ones(node, known):
            node.meta["ones"] = True
    equal: dict[object, Node] = {}
    for node, value in known.items():
        if any(user not in known for user in node.users):
            contents = _contents(node, value)
            kept = equal.get(contents)
            if kept is None:
                with graph.inserting_before(node):
                    kept = equal[contents] = _attribute(module, node, value)
            memory.note_folded(kept, node)
            node.replace_all_uses_with(kept)
        count += 1
    for node in reversed(known):
        if not node.users:
            graph.erase_node(node)
    return count


def _may_fold(node: Node, memory: Memory) -> bool:
    return (not must_stay(node) and node.target is not operator.getitem
            and not str(node.target).startswith("aten.empty")
            and not memory.writes(node) and not memory.escapes(node))


def _is_one_of_many(node: Node) -> bool:
    """Whether a graph takes many parts of what a node takes a part of."""
    return sum(user.target in _PARTS for user in node.all_input_nodes[0].users) >= MANY


def _computed(node: Node, known: dict[Node, torch.Tensor]) -> torch.Tensor | None:
    """The value of a node whose inputs are known, or matter only by their metadata."""
    def value_of(argument: Node) -> torch.Tensor | None:
        if argument in known:
            return known[argument]
        meta = meta_of(argument)
        return None if meta is None else meta.empty()

    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), value_of)  # type: ignore[arg-type]
    if any(value_of(n) is None for n in node.all_input_nodes):
        return None
    with torch.no_grad():
        value = node.target(*args, **kwargs)  # type: ignore[operator]
    return value if meta_of_value(value) == meta_of(node) else None


def _all_ones(node: Node, known: dict[Node, torch.Tensor]) -> bool:
    """Whether all elements of a value are known to be one, without reading them."""
    if node.target in _ONES:
        return True
    place = _FULL.get(node.target)
    if place is not None:
        return node.args[place] in (1, 1.0)
    inputs = node.all_input_nodes
    view = node.target in (aten.expand.default, aten.view.default, aten.unsqueeze.default)
    return view and bool(inputs[0].meta.get("ones"))


def _contents(node: Node, value: torch.Tensor) -> object:
    """What is equal for equal constants, such as the ones that each backward pass begins with."""
    if node.meta.get("ones"):
        return meta_of(node), "ones"
    memory = value.untyped_storage()
    if memory.nbytes() > MOST_COMPARED or value.device.type != "cpu" or (
            value.is_conj() or value.is_neg()):
        return node
    return meta_of(node), value.storage_offset(), bytes(memory)


def _attribute(module: GraphModule, node: Node, value: torch.Tensor) -> Node:
    name = f"folded_{node.name}"
    module.register_buffer(name, value, persistent=False)
    kept = module.graph.get_attr(name)
    kept.meta.update(node.meta)
    return kept
