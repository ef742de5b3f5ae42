"""Walks a recorded graph and adds the MindIR nodes of its operations."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Node

from ..builder import Builder, Unwritable, Value
from .table import TABLE

__all__ = ["NoForm", "lower"]

_NUMBERS: dict[Any, str] = {
    operator.add: "ScalarAdd", operator.sub: "ScalarSub", operator.mul: "ScalarMul",
    operator.floordiv: "ScalarFloorDiv", operator.mod: "ScalarMod"}
_SET_GRAD = "wrap_with_set_grad_enabled"


class NoForm(Exception):
    """An operation that can't be written.

    Attributes:
        node: where it stands in the recorded graph.
    """

    def __init__(self, node: Node, why: str):
        super().__init__(why)
        self.node = node


def lower(graph: Builder, module: Any, nodes: Any, given: Sequence[Value]) -> list[Any]:
    """Add the nodes of a recorded graph.

    Args:
        graph: where to.
        module: has the graphs that are inside of this one.
        nodes: the recorded graph.
        given: its inputs.

    Returns:
        Its results: Values, or constants.

    Raises:
        NoForm: for an operation that can't be written.
    """
    values: dict[Node, Any] = {}
    left = iter(given)
    needed = _needed(nodes)
    for node in nodes.nodes:
        if node.op == "placeholder":
            values[node] = next(left)
        elif node.op == "output":
            return [_read(each, values) for each in node.args[0]]
        elif node.op == "call_function" and node in needed:
            try:
                values[node] = _lowered(graph, module, node, values)
            except Unwritable as error:
                raise NoForm(node, str(error)) from error
    raise ValueError("the graph has no result")


def _needed(nodes: Any) -> set[Node]:
    """The nodes that the results come from; others check sizes."""
    found: set[Node] = set()
    left = [node for node in nodes.nodes if node.op == "output"]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left.extend(node.all_input_nodes)
    return found


def _lowered(graph: Builder, module: Any, node: Node, values: dict[Node, Any]) -> Any:
    target: Any = node.target
    raw = node.meta.get("val")
    if getattr(target, "__name__", "") == _SET_GRAD:
        _, inner, *rest = node.args
        within = getattr(module, getattr(inner, "target", ""))
        return lower(graph, within, within.graph, [_read(each, values) for each in rest])
    args, kwargs = _read(list(node.args), values), _read(dict(node.kwargs), values)
    if target is operator.getitem:
        found = args[0][args[1]]
        if found is None:
            raise Unwritable(f"the result {args[1]} of '{args[0]}'")
        return found
    if target in _NUMBERS:
        return graph.node(_NUMBERS[target], *args, raw=raw)
    name = str(target).removeprefix("aten.")
    if name == "sym_size.int":
        return graph.node("TupleGetItem", graph.node("Shape", args[0]), args[1], raw=raw)
    lowering: Callable[..., Any] | None = TABLE.get(name)
    if lowering is None or isinstance(raw, torch.Tensor) and raw.dtype.is_complex:
        raise Unwritable(f"'{name.partition('.')[0]}'")
    return lowering(graph, raw, *args, **kwargs)


def _read(value: Any, values: dict[Node, Any]) -> Any:
    """An argument with Values in place of nodes."""
    if isinstance(value, Node):
        return values[value]
    if isinstance(value, (list, tuple)):
        return [_read(each, values) for each in value]
    if isinstance(value, dict):
        return {key: _read(each, values) for key, each in value.items()}
    return value
