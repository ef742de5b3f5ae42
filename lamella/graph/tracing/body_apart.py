"""Records a function of the program's as a graph of kernels where no run is recorded.

`jet` computes with such a graph: it may run once, dry, before anything is computed. A function that
does more than computing isn't tried again.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ...core.state import state
from ..guards.search import reachable_from
from .body import Apply, recorded_body
from .effects import prints_recorded
from .loop_part import Raws
from .outside import Outside, extension
from .recorder import Recorder
from .refusals import CannotTrace
from .trace import Trace

OFTEN = 32  # recordings after which the part in C++ that watches a run is worth building
_refused: weakref.WeakSet[Any] = weakref.WeakSet()  # code, and objects that are called
_numbers = itertools.count(1)


class _Apart(Outside):
    """Ends the run of a function that asks what a graph would depend on: a warning is one."""

    def depend(self, question: Callable[[], Any]) -> None:
        self._refuse("asks for a setting")


class _TraceApart(Trace):
    """What a dry run needs of the run that it belongs to."""

    outside_kind = _Apart


def body_apart(program: Callable[..., Any], call: Callable[[Raws], Raws], inputs: Raws
               ) -> Callable[[Sequence[Any], Apply], list[Any]] | None:
    """What computes a function anew; the arguments are those of `recorded_body`.

    None if the program does more than computing, which it hasn't done then.
    """
    known_by = getattr(program, "__code__", program)
    try:
        if known_by in _refused:
            return None
    except TypeError:  # an object without a hash, or without weak references
        return None
    found = _recorded(program, call, inputs)
    if found is None:
        _refused.add(known_by)
    return found


def _recorded(program: Callable[..., Any], call: Callable[[Raws], Raws], inputs: Raws
              ) -> Callable[[Sequence[Any], Apply], list[Any]] | None:
    if next(_numbers) == OFTEN:
        extension.request()
    reach = reachable_from(program)
    if reach.limits.refused is not None:
        return None
    trace = _TraceApart(reach, [], Recorder([]))
    state.trace = trace
    try:
        with prints_recorded(), trace.outside:
            return recorded_body(trace, program, call, inputs, reach)
    except CannotTrace:
        return None
    finally:
        state.trace = None
