"""Serialization of a graph as text: for the process that compiles it, and as a key on disk."""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from .loop import Loop
from .stages import Part


class NoText(Exception):
    """The graph has an operation or argument that can't be serialized."""


def metas_of(inputs: Iterable[torch.Tensor]) -> list[Any]:
    """The metadata of inputs, for JSON."""
    return [[list(t.shape), list(t.stride()), str(t.dtype)[6:], str(t.device)] for t in inputs]


def to_text(graph: GraphModule | Part, metas: list[Any]) -> str:
    """A graph of kernels, or a part of one, with the metadata of its inputs, in one JSON line."""
    # line by line, which takes far less memory
    lines = ", ".join(map(json.dumps, _lines(graph)))
    return f'{{"nodes": [{lines}], "inputs": {json.dumps(metas)}}}'


def name_of(graph: GraphModule | Part, metas: list[Any]) -> str:
    """A name for a graph and the metadata of its inputs, which may also have loops."""
    found = hashlib.sha256(json.dumps(metas).encode())
    for line in _lines(graph):
        found.update(json.dumps(line).encode())
    return found.hexdigest()


def _lines(graph: GraphModule | Part) -> Iterator[Any]:
    if isinstance(graph, Part):
        given, results = graph.inputs, graph.results
        nodes: Iterable[Node] = graph.nodes
    else:
        nodes = graph.graph.nodes
        given, results = [], graph.graph.output_node().args[0]
    numbers = {node: i for i, node in enumerate(given)}
    yield from (["placeholder", [], {}] for _ in given)
    for node in nodes:
        numbers[node] = len(numbers)
        if node.op == "call_function":
            yield [_name(node.target), _written(node.args, numbers),
                   _written(node.kwargs, numbers)]
        elif node.op == "placeholder":
            yield [node.op, _written(node.args, numbers), {}]
        elif node.op != "output":
            raise NoText(node.op)
    yield ["output", [_written(results, numbers)], {}]


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
                target.counts, target.counted, *(list(_lines(graph)) for graph in target.graphs)]
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
