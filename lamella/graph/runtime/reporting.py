"""What a compiled function tells about its graphs and how they have been run."""

from __future__ import annotations

from typing import Any

from .cache import Cache
from .recompilations import Recompilations
from .replay import Replay
from .report import CompilationReport, described


class Statistics:
    """How the calls of a function have been run.

    Attributes:
        traces: recorded graphs, also those that are gone.
        replays: calls that were replayed.
        misses: graphs that were tried and didn't hold.
        failures: replays in which a kernel has failed.
    """

    def __init__(self) -> None:
        self.traces = self.replays = self.misses = self.failures = 0


class Reporting:
    """The part of a `Compiled` that reports; its calls inside of gradient calls count, too."""

    name: str
    cache: Cache
    statistics: Statistics
    recompilations: Recompilations
    taped: Any

    def report(self) -> CompilationReport:
        """How the function has been run.

        Returns:
            A dict: the numbers of traces, replays, guard misses and recorded graphs; for each
            recompilation the guard that failed, and its line; the reasons why calls run eagerly.
            Printed, it says so in words, with what to do; ``save("report.html")`` writes a page.
        """
        graphs = self._graphs()
        every = (self,) if self.taped is None else (self, self.taped)
        found = CompilationReport({
            "traces": sum(one.statistics.traces for one in every),
            "replays": sum(one.statistics.replays for one in every),
            "guard_misses": sum(one.statistics.misses for one in every),
            "graphs": len(graphs),
            "backends": [one.execution.backend for one in graphs],
            "kernels": [one.execution.nodes for one in graphs],
            "recompilations": [str(found) for one in every
                               for found in one.recompilations.noted.copy()],
            "eager": sorted({reason for one in every for reason in one.cache.reasons()})})
        found.name, found.details = self.name, [described(one) for one in graphs]
        return found

    def _graphs(self) -> list[Replay]:
        """All recorded graphs."""
        own = [entry.replay for entry in self.cache.all_entries()]
        return own if self.taped is None else own + self.taped._graphs()

    @property
    def settled(self) -> bool:
        """Whether it is final how each recorded graph is run, and by which executor."""
        return all(one.execution.is_final for one in self._graphs())

    def graphs(self, *args: Any, **kwargs: Any) -> list[Replay]:
        """The graphs recorded for arguments of this kind, or else those for any size."""
        return [entry.replay for entry in self.cache.of_call(args, kwargs)]
