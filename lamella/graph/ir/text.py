"""Serialization of a graph as text: for the process that compiles it, and as a key on disk."""

from __future__ import annotations

import json
import operator
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from .loop import Loop


class NoText(Exception):
    """The graph has an operation or argument that can't be serialized."""


def to_text(graph: GraphModule, inputs: list[torch.Tensor]) -> str:
    """A graph of kernels, with the metadata of its inputs, in one JSON line.

    Of a graph with loops this is a name only: `from_text` can't read it.
    """
    metas = [[list(t.shape), list(t.stride()), str(t.dtype)[6:], str(t.device)] for t in inputs]
    return json.dumps({"nodes": _lines(graph), "inputs": metas})


def _lines(graph: GraphModule) -> list[Any]:
    numbers: dict[Node, int] = {}
    lines = []
    for node in graph.graph.nodes:
        numbers[node] = len(numbers)
        if node.op == "call_function":
            lines.append([_name(node.target), _written(node.args, numbers),
                          _written(node.kwargs, numbers)])
        elif node.op in ("placeholder", "output"):
            lines.append([node.op, _written(node.args, numbers), {}])
        else:
            raise NoText(node.op)
    return lines


def from_text(text: str) -> tuple[GraphModule, list[torch.Tensor]]:
    """The graph that `to_text` wrote, and inputs with the right metadata and any values."""
    described = json.loads(text)
    graph, nodes = Graph(), []
    for target, args, kwargs in described["nodes"]:
        if target == "placeholder":
            nodes.append(graph.placeholder(f"in{len(nodes)}"))
        elif target == "output":
            graph.output(tuple(_read(args, nodes)[0]))
        else:
            nodes.append(graph.call_function(_target(target), tuple(_read(args, nodes)),
                                             _read(kwargs, nodes)))
    inputs = [torch.empty_strided(shape, stride, dtype=getattr(torch, dtype), device=device)
              for shape, stride, dtype, device in described["inputs"]]
    return GraphModule(torch.nn.Module(), graph), inputs


def _name(target: Any) -> Any:
    if isinstance(target, Loop):
        return ["loop", target.carried, target.stacks, target.steps, target.backward,
                target.counts, target.counted, *map(_lines, target.graphs)]
    if target is operator.getitem:
        return "getitem"
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    raise NoText(str(target))


def _target(name: str) -> Any:
    if name == "getitem":
        return operator.getitem
    room, operation, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, room), operation), overload)


_KINDS = ((torch.dtype, "dtype"), (torch.layout, "layout"), (torch.memory_format, "format"))


def _written(value: Any, numbers: dict[Node, int]) -> Any:
    """JSON for an argument; what JSON lacks becomes a dict with one key that names its kind."""
    if isinstance(value, Node):
        return {"node": numbers[value]}
    if isinstance(value, (list, tuple)):
        return [_written(v, numbers) for v in value]
    if isinstance(value, dict):
        return {"dict": {k: _written(v, numbers) for k, v in value.items()}}
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return {"float": value.hex()}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return {name: str(value)[6:]}
    raise NoText(f"{type(value).__name__} {value!r}")


def _read(value: Any, nodes: list[Node]) -> Any:
    if isinstance(value, list):
        return [_read(v, nodes) for v in value]
    if not isinstance(value, dict) or not value:
        return value
    (kind, inner), = value.items()
    if kind == "node":
        return nodes[inner]
    if kind == "dict":
        return {k: _read(v, nodes) for k, v in inner.items()}
    if kind == "float":
        return float.fromhex(inner)
    if kind == "device":
        return torch.device(inner)
    return getattr(torch, inner)
