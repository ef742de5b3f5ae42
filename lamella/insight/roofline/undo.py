"""Running a step so that afterwards everything is as before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ... import random
from ...autodiff.tree import map_tensors
from ...graph.guards.reach import Reach
from ...graph.tracing.trace import _hold, held_data
from ...parameter import Parameter
from ...tensor import Tensor, wrap


def copied(arguments: Any) -> Any:
    """The same arguments with copies of their Tensors, other than Parameters."""
    return map_tensors(lambda t: t if isinstance(t, Parameter) else wrap(t._raw.detach().clone()),
                       arguments)


@contextmanager
def undone(reach: Reach) -> Iterator[None]:
    """A block after which what a function can reach is as before, and so are random numbers.

    That is the data of Parameters and Tensors, and attributes of Cells. What a run does to other
    objects of Python stays done.
    """
    held: list[Tensor] = [*reach.parameters, *(t for t, _ in reach.tensors)]
    data = [(t, raw, raw.clone()) for t in held for raw in [held_data(t)]]
    cells = [(cell.__dict__, dict(cell.__dict__)) for cell in reach.cells]
    streams = _streams()
    positions = [s.get_state() for s in streams]
    known = dict(random._streams)
    try:
        yield
    finally:
        for tensor, raw, copy in data:
            _hold(tensor, raw)
            if not torch.equal(raw, copy):
                with torch.no_grad():
                    raw.copy_(copy)
        for now, before in cells:
            for name in [n for n in now if not n.startswith(("_compiled", "_graph"))]:
                if name not in before:
                    del now[name]
                elif now[name] is not before[name]:
                    now[name] = before[name]
        random._streams.clear()
        random._streams.update(known)
        for stream, position in zip(streams, positions, strict=True):
            stream.set_state(position)


def _streams() -> list[torch.Generator]:
    """The streams of random numbers that a run may draw from."""
    streams = [torch.default_generator, *random._streams.values()]
    if torch.cuda.is_available():
        streams.extend(torch.cuda.default_generators)
    return streams
