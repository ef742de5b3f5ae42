"""`Cell.compile`: recording a graph before the first call, without changing anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..autodiff.tree import map_tensors, tensors
from ..parameter import Parameter
from ..tensor import wrap
from .config import declared_arguments, varies
from .mode import compiled_cell
from .reach import Reach


def compile_ahead(cell: Any, args: tuple, kwargs: dict) -> None:
    """Record the graph of a Cell for these inputs; with open dimensions, declare them."""
    forms = declared_arguments(cell.construct, args, {}, "compile")
    if any(varies(form) for form in forms):
        cell.set_inputs(*args)
        return
    args, kwargs = map_tensors(_copied, (args, kwargs))
    with _undone(Reach(cell, args, kwargs)):
        compiled_cell(cell)(*args, **kwargs)


def _copied(tensor: Any) -> Any:
    return tensor if isinstance(tensor, Parameter) else wrap(tensor._raw.clone())


@contextmanager
def _undone(reach: Reach) -> Iterator[None]:
    """A block after which Parameters, attributes of Cells and random states are as before."""
    data = [(p, p._data, p._data.clone()) for p in reach.parameters]
    buffers = [(b, b._raw, b._raw.clone()) for cell in reach.cells
               for b in tensors(dict(cell._buffers))]
    attributes = [(cell.__dict__, dict(cell.__dict__)) for cell in reach.cells]
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)
        for parameter, own, copy in data:
            parameter._data = own.copy_(copy)
        for buffer, own, copy in buffers:
            buffer._raw = own.copy_(copy)
        for now, before in attributes:
            kept = {k: v for k, v in now.items() if k == "_graph"}
            now.clear()
            now.update(before, **kept)
