"""How far the search for reachable objects goes; each recording may widen it."""

from __future__ import annotations

from typing import Any

from ..guards.ran import not_found, was_read
from ..guards.reachable import Reachable
from ..guards.search import reachable_from_call
from ..tracing.trace import Trace


class Scope:
    """What earlier recordings of a function have taught about what it reads.

    Attributes:
        opened: by identity, the large containers that it may read, which are looked into.
        ran: the names of functions that ran though the search had not found them.
        by_name: whether Tensors in variables and globals are found by their names.
    """

    def __init__(self) -> None:
        self.opened: dict[int, Any] = {}
        self.ran: set[str] = set()
        self.by_name = False

    def reach(self, fn: Any, args: tuple, kwargs: dict, without: Any = None) -> Reachable:
        """The objects that a call can reach."""
        return reachable_from_call(fn, args, kwargs, self.ran, opened=self.opened,
                                   without=without, by_name=self.by_name)

    def covers(self, trace: Trace) -> bool:
        """Whether all that a run may have read was inspected; if not, the next search inspects it.
        """
        codes = trace.outside.codes
        read = was_read(trace.reach, codes)
        self.opened.update(read)  # the next recording looks into these containers
        ran = not_found(trace.reach, codes) - self.ran
        self.ran |= ran  # and for these functions
        return not (read or ran)
