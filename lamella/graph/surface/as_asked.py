"""Compiled functions that the program itself asked for, by `jit` or GRAPH_MODE.

A few operations mean something else in MindSpore's graphs than they do eagerly (they ask
`state.in_graph`). A function that the program compiles has the meaning of graphs, even where it
runs eagerly after all. What Lamella compiles by its own choice (a `Compiled`, as in `train.Model`)
keeps the eager meaning.

A graph has no iterators and no views of a dict: such a function returns a tuple or a list of their
elements instead.
"""

from __future__ import annotations

from typing import Any

from ...core.state import as_graph
from ...tensors.tensor import Tensor
from ..runtime.compiled import Compiled

_AS: dict[type, type] = {
    zip: tuple, enumerate: tuple, range: tuple, type({}.keys()): tuple, type({}.values()): tuple,
    map: list, filter: list, type({}.items()): list}


class CompiledAsAsked(Compiled):
    """A function in which operations mean what they mean in MindSpore's graphs."""

    meaning = staticmethod(as_graph)

    def called(self, args: tuple, kwargs: dict) -> Any:
        """A call on its own: a replay, or a recorded run."""
        return as_graphs_give(super().called(args, kwargs))

    def _inside(self, args: tuple, kwargs: dict) -> Any:
        """A call that is part of a larger run."""
        return as_graphs_give(super()._inside(args, kwargs))


def as_graphs_give(result: Any, around: tuple[int, ...] = ()) -> Any:
    """A result without iterators and views of dicts; the very object if it has none.

    Args:
        around: the containers around it, by identity; it may be one of them again.

    >>> as_graphs_give({"a": {"b": 1}.keys()}), as_graphs_give(zip([1], [2]))
    ({'a': ('b',)}, ((1, 2),))
    """
    kind = type(result)
    if kind is Tensor or id(result) in around:
        return result
    if kind in _AS:
        return _AS[kind](as_graphs_give(part, around) for part in result)
    if kind is tuple or kind is list:
        around = (*around, id(result))
        parts = [as_graphs_give(part, around) for part in result]
        return result if all(a is b for a, b in zip(parts, result, strict=True)) else kind(parts)
    if kind is dict:
        around = (*around, id(result))
        parts = {key: as_graphs_give(part, around) for key, part in result.items()}
        return result if all(parts[key] is result[key] for key in parts) else parts
    return result
