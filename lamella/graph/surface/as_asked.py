"""Compiled functions that the program itself asked for, by `jit` or GRAPH_MODE.

A few operations mean something else in MindSpore's graphs than they do eagerly (`state.in_graph`
tells these). Which meaning holds is a matter of how compilation was asked for: in such functions
that of graphs, recorded, replayed or run eagerly after all; in what Lamella compiles by its own
choice (a `Compiled`, as in `train.Model`) that of eager mode.
"""

from __future__ import annotations

from ...core.state import as_graph
from ..runtime.compiled import Compiled


class CompiledAsAsked(Compiled):
    """A function in which operations mean what they mean in MindSpore's graphs."""

    meaning = staticmethod(as_graph)
