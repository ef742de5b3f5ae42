"""What a compiled function tells about its graphs and how they have been run."""

from __future__ import annotations

from typing import Any

from .keys import form_of_any_size, key_of
from .recompilations import Recompilations
from .replay import Replay


class Reporting:
    """The part of a `Compiled` that reports; its calls inside of gradient calls count, too."""

    traces: int
    replays: int
    misses: int
    _entries: dict[Any, list[Any]]
    _eager: dict[Any, str]
    _recompilations: Recompilations
    _taped: Any

    def report(self) -> dict[str, Any]:
        """How the function has been run.

        Returns:
            The numbers of traces, replays, guard misses and recorded graphs; for each
            recompilation the guard that failed, and its line; the reasons why calls run eagerly.
        """
        graphs = self._graphs()
        every = (self,) if self._taped is None else (self, self._taped)
        return {"traces": sum(one.traces for one in every),
                "replays": sum(one.replays for one in every),
                "guard_misses": sum(one.misses for one in every),
                "graphs": len(graphs),
                "backends": [one.execution.backend for one in graphs],
                "kernels": [one.execution.nodes for one in graphs],
                "recompilations": [str(found) for one in every
                                   for found in one._recompilations.noted.copy()],
                "eager": sorted({reason for one in every for reason in one._eager.values()})}

    def _graphs(self) -> list[Replay]:
        """All recorded graphs."""
        own = [entry.replay for several in list(self._entries.values()) for entry in several]
        return own if self._taped is None else own + self._taped._graphs()

    @property
    def settled(self) -> bool:
        """Whether it is final how each recorded graph is run, and by which executor."""
        return all(one.execution.is_final for one in self._graphs())

    def graphs(self, *args: Any, **kwargs: Any) -> list[Replay]:
        """The graphs recorded for arguments of this kind, or else those for any size."""
        found = (self._entries.get(key_of(args, kwargs))
                 or self._entries.get(key_of(args, kwargs, form_of_any_size)) or ())
        return [entry.replay for entry in found]
