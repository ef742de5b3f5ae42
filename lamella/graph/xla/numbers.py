"""Inputs that hold one constant number throughout: they are compiled in.

The ones that a backward pass begins with, and what is computed of them alone, are constants of the
graph. As inputs each costs a microsecond a call, and XLA can't compute with them beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule, Node

from ..ir.metadata import TensorMetadata, meta_of_value
from ..ir.operations import bases_of

MOST_READ = 2**16  # elements of a constant that are compared
_TYPES = (torch.bool, torch.int32, torch.int64, torch.float32, torch.float64)


class Number(NamedTuple):
    """A tensor whose elements are all one number.

    Attributes:
        value: the number.
        meta: the tensor's metadata: its elements lie row by row; dimensions may repeat.
    """

    value: bool | int | float
    meta: TensorMetadata


def numbers_of(constants: Mapping[int, torch.Tensor]) -> dict[int, Number]:
    """Those of some tensors whose elements are all one finite number.

    Examples:
        >>> found = numbers_of({2: torch.ones(2, 3), 5: torch.tensor([1.0, 2.0])})
        >>> {i: number.value for i, number in found.items()}
        {2: 1.0}
    """
    found = {}
    for i, tensor in constants.items():
        meta = meta_of_value(tensor)
        if meta is None or meta.device.type != "cpu" or meta.dtype not in _TYPES or not meta.size:
            continue
        once = tensor[tuple(slice(0, n) for n in _once(meta))]  # without repeated elements
        if not once.is_contiguous() or once.numel() > MOST_READ:
            continue
        value = once.reshape(-1)[0].item()
        if math.isfinite(value) and bool((once == value).all()):
            found[i] = Number(value, meta)
    return found


def with_numbers(graph: GraphModule, numbers: Mapping[int, Number]) -> list[int]:
    """Let a graph make tensors of one number itself; returns the numbers of the other inputs.

    What a result lies in, or is written, stays an input.
    """
    nodes = list(graph.graph.nodes)
    if not numbers:
        return list(range(sum(n.op == "placeholder" for n in nodes)))
    bases = bases_of(nodes)
    given: set[Node] = set().union(*(bases[n] for n in nodes[-1].args[0]))  # type: ignore[union-attr]
    taken = []
    for i, node in enumerate(n for n in nodes if n.op == "placeholder"):
        if i not in numbers or node in given:
            taken.append(i)
            continue
        first = next(n for n in nodes if n.op != "placeholder")
        with graph.graph.inserting_before(first):
            node.replace_all_uses_with(_made(graph, numbers[i]))
        graph.graph.erase_node(node)
    graph.recompile()
    return taken


def _made(graph: GraphModule, number: Number) -> Node:
    """Operations that make a tensor of one number, with its metadata."""
    meta, aten = number.meta, torch.ops.aten
    kept: dict[str, Any] = {"dtype": meta.dtype, "device": meta.device}
    if meta.contiguous:
        return graph.graph.call_function(
            aten.full.default, (list(meta.shape), number.value), kept)
    one = graph.graph.call_function(aten.full.default, (_once(meta), number.value), kept)
    return graph.graph.call_function(aten.expand.default, (one, list(meta.shape)))


def _once(meta: TensorMetadata) -> list[int]:
    """The shape without repeated elements."""
    return [1 if step == 0 else n for n, step in zip(meta.shape, meta.stride, strict=True)]
