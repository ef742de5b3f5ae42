"""Running a function and undoing its side effects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ...tensors.tensor import Tensor
from ..guards.reachable import Reachable
from .changes import Snapshot
from .trace import data_of, set_data


@contextmanager
def undone(reach: Reachable) -> Iterator[None]:
    """A block after which all objects that a function can reach, and generators, are restored."""
    held: list[Tensor] = reach.tensors.all()
    data = [(t, raw, raw.clone()) for t in held for raw in [data_of(t)]]
    kinds = [(p, type(p)) for p in reach.tensors.parameters]  # several processes may share one out
    before = Snapshot(reach)
    try:
        yield
    finally:
        before.restore()
        for parameter, kind in kinds:
            parameter.__class__ = kind
        for tensor, raw, copy in data:
            set_data(tensor, raw)
            if not torch.equal(raw, copy):
                with torch.no_grad():
                    raw.copy_(copy)
