"""`Cell.compile`: recording a graph before the first call, without changing anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...autodiff.tree import map_tensors
from ...parameter import Parameter
from ...tensor import wrap
from ..guards.reach import Reach
from ..tracing.changes import Before
from .config import declared_arguments, varies
from .mode import compiled_cell


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
    """A block after which all that can be reached, and random states, are as before."""
    data = [(p, p._data, p._data.clone()) for p in reach.parameters]
    others = [(t, t._raw, t._raw.clone()) for t, _ in reach.tensors]
    before = Before(reach)
    try:
        yield
    finally:
        before.restore()
        for parameter, own, copy in data:
            parameter._data = own.copy_(copy)
        for tensor, own, copy in others:
            tensor._raw = own.copy_(copy)
