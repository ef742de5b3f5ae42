"""A run with symbolic scalars in place of the numbers that vary; its side effects are undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..guards.arguments import leaves_of, with_leaves
from ..guards.reachable import Reachable
from ..tracing.changes import APPENDED, Snapshot
from ..tracing.copies import copies_of
from ..tracing.draws import GENERATORS, Draws, Positions, draws_recorded, global_generators
from ..tracing.read_scalars import DryTrace, conversions_recorded
from ..tracing.recorder import CannotTrace
from ..tracing.scalars import ScalarEnvironment, alike, checks_classes, mathematics_recorded
from ..tracing.trace import Trace, run_traced
from .scalar_profile import ScalarProfile, input_kind


class DryRun:
    """A run with stand-ins for the numbers that vary; its side effects are undone.

    Args:
        fn: called with `args` and `kwargs`.
        reach: the objects that it can reach.
        varying: the numbers that get stand-ins.
        given: the numbers among the arguments.

    Raises:
        CannotTrace: if no graph can have these numbers as inputs.
        Exception: what the function raises.
    """

    def __init__(self, fn: Callable[..., Any], args: tuple, kwargs: dict, reach: Reachable,
                 varying: ScalarProfile, given: Sequence[Any]):
        self.numbers = ScalarEnvironment(varying.inputs(given), list(varying.sources.values()),
                               list(varying.lists.values()), varying.reads)
        draws = Draws(self.numbers)
        if reach.has_caches:
            raise CannotTrace("may call a function that caches its results")
        if reach.hidden:
            raise CannotTrace("finds a list that grows in several places")
        stand_ins = {i: n for i, n in zip(sorted(varying.positions), self.numbers.given,
                                          strict=True)}
        order = iter(range(len(given)))
        real_args = args, kwargs
        args, kwargs = with_leaves((args, kwargs), lambda leaf: stand_ins.get(
            next(order), leaf) if input_kind(leaf) is not None else draws.stand_in(leaf)
            if type(leaf) in GENERATORS else leaf)
        stands = [*zip(self.numbers.sources, self.numbers.held, strict=True), *self.numbers.lists,
                  *draws.sources(reach)]
        real = [(source.whole(), source.whole().get()) for source, _ in stands]
        for source, stand_in in stands:
            source.set(stand_in)
        generators = [*global_generators(), *reach.streams, *(
            leaf for leaf in leaves_of(real_args) if type(leaf) in GENERATORS)]
        begun = Positions(generators)
        with mathematics_recorded(reach), conversions_recorded(reach), draws_recorded(draws, reach):
            before = Snapshot(reach, may_draw=True)
            try:
                self.trace: Trace = run_traced(fn, args, kwargs, reach, before=before,
                                               kind=DryTrace, numbers=self.numbers)
                self.found = copies_of(_seen(
                    self.trace, [grown.items for _, grown in self.numbers.lists]))
                self.trace.undo()
            finally:
                self.ended = Positions(generators)
                before.restore()
                begun.put_back()
                for source, value in reversed(real):
                    source.set(value)
        if self.trace.refused is not None or self.trace.outside.warned:
            raise CannotTrace(self.trace.refused or "issues a warning")
        if any(kind is None and raw._version for raw, _, kind in self.numbers.tensors):
            raise CannotTrace("changes a NumPy array that it was given")
        if checks_classes(self.trace.outside.codes):
            raise CannotTrace("asks for the class of a number")
        if self.ended.differ() and not self._draws_again(varying.inputs(given), begun):
            raise CannotTrace(f"in a way that can't be repeated{draws.line}")

    def _draws_again(self, given: Sequence[Any], begun: Positions) -> bool:
        """Whether the draws that were recorded lead all generators to where the run left them."""
        try:
            held = [source.get() for source in self.numbers.sources]
            found = self.numbers.function()(*given, *held)
            return found is not None and not self.ended.differ()
        finally:
            begun.put_back()

    def agrees(self, real: Trace) -> bool:
        """Whether its results and changes are those of the real run."""
        tails = [list(source.get())[-len(grown.items):] if grown.items else []
                 for source, grown in self.numbers.lists]
        if self.ended.differ():
            return False
        return ([c.key for c in self.trace.changes if c.key is not APPENDED]
                == [c.key for c in real.changes] and alike(self.found, _seen(real, tails)))


def _seen(trace: Trace, appended: list[list]) -> tuple[Any, ...]:
    return trace.value, [value for change, value in zip(trace.changes, trace.noted, strict=True)
                         if change.key is not APPENDED], appended
