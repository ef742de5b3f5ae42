"""`Cell.compile`: recording a graph before the first call, without side effects."""

from __future__ import annotations

from typing import Any

from ..guards.search import reachable_from
from ..tracing.copies import copied
from ..tracing.undo import undone
from .config import declared_arguments, varies
from .mode import compiled_cell


def compile_ahead(cell: Any, args: tuple, kwargs: dict) -> None:
    """Record the graph of a Cell for these inputs; dimensions of None declare dynamic shapes."""
    signatures = declared_arguments(cell.construct, args, {}, "compile")
    if any(varies(signature) for signature in signatures):
        cell.set_inputs(*args)
        return
    args, kwargs = copied((args, kwargs))
    with undone(reachable_from(cell, args, kwargs)):
        compiled_cell(cell)(*args, **kwargs)
