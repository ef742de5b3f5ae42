"""Decides whether a graph is kept although other threads of the program ran while it was recorded.

Another thread may change a value between the time at which a guard looks at it and the time at
which the run reads it, and put it back. What it assigns meanwhile looks like an assignment of the
run. A graph recorded that way would stay wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..guards.guard import Guard
from ..tracing.changes import Change
from ..tracing.results import New
from ..tracing.threads import Beside
from ..tracing.trace import Trace

MOST_DOUBTS = 3  # recordings that another thread may have disturbed, before calls run eagerly
REHEARSALS = 4  # undisturbed recordings that are not kept, while other threads run


class Doubts:
    """What is known of the other threads that ran while a function was recorded."""

    def __init__(self) -> None:
        self._number = 0
        self._rehearsed: dict[Any, int] = {}

    def keeps(self, key: Any, trace: Trace, guard: Guard, values: Any, beside: Beside) -> bool:
        """Whether the graph of a run may be kept.

        If other threads have run, it has to be recorded undisturbed a few times; and what the run
        has assigned must be what it has computed.

        Args:
            key: that of the call.
            trace: the run.
            guard: what the function can reach.
            values: the fingerprint of that before the run.
            beside: the other threads.
        """
        if trace.outcome is None or beside.ran() is None:
            return True
        own = trace.outcome.changes or trace.outcome.assigned
        if next(_of_others(trace), None) is not None or (
                not own and guard.fingerprint() != values):
            self.note()
            return False
        if len(self._rehearsed) > MOST_DOUBTS * 64:
            self._rehearsed.clear()
        self._rehearsed[hash(key)] = number = self._rehearsed.get(hash(key), 0) + 1
        return number > REHEARSALS * (1 + self._number)

    def note(self) -> None:
        """Note a recording that another thread may have disturbed."""
        self._number += 1

    def reason(self, beside: Beside) -> str | None:
        """Why such calls run eagerly from now on; None if they don't."""
        if self._number < MOST_DOUBTS:
            return None
        return (f"uses or changes what another thread of the program, '{beside.ran()}', may change "
                f"at the same time")


def _of_others(trace: Trace) -> Iterator[Change | int]:
    """The assignments in a run whose values it hasn't computed: other threads may have made them.
    """
    outcome: Any = trace.outcome
    results = outcome.graph.graph.output_node().args[0]
    first = len(trace.guards)
    for change, tree in zip(outcome.changes, outcome.out_tree[1], strict=True):
        if type(tree) is not New or results[first + tree.number].op == "placeholder":
            yield change
    first += len(outcome.recorded)
    for place, number in enumerate(outcome.assigned):
        if results[first + place].op == "placeholder":
            yield number
