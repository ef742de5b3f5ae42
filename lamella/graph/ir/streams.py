"""The random generators that a graph draws from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch.fx import GraphModule, Node

from ...core import context
from ...device import kinds
from .operations import is_random


def streams_of(graph: GraphModule, part: Sequence[Node] | None = None) -> list[torch.Generator]:
    """The generators that a run may advance; none, if it draws no random numbers.

    Args:
        graph: the graph.
        part: those of its nodes that run; all if None.
    """
    nodes = graph.graph.nodes if part is None else part
    if not any(is_random(n) for n in nodes):
        return []
    own = {n.target: getattr(graph, str(n.target), None) for n in nodes if n.op == "get_attr"}
    streams = [torch.default_generator,
               *[value for value in own.values() if isinstance(value, torch.Generator)]]
    kind = context.current_device().type
    return streams if kind == "cpu" else [*streams, *kinds.default_generators(kind)]


@contextmanager
def generators_restored(streams: Sequence[torch.Generator]) -> Iterator[None]:
    """A block after which generators are in their previous state."""
    positions = [stream.get_state() for stream in streams]
    try:
        yield
    finally:
        put_back(streams, positions)


def put_back(streams: Sequence[torch.Generator], positions: Sequence[torch.Tensor]) -> None:
    """Put generators into the states that they had."""
    for stream, position in zip(streams, positions, strict=True):
        stream.set_state(position)
