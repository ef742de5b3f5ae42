"""A dry run: symbolic scalars take the place of numbers that vary; side effects are undone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ...autodiff.tree import container_tensors
from ..guards.arguments import leaves_of, with_leaves
from ..guards.reachable import Reachable
from ..tracing.changes import APPENDED, Snapshot
from ..tracing.copies import copies_of
from ..tracing.draws import GENERATORS, Draws, Positions, global_generators
from ..tracing.dry_trace import Dry
from ..tracing.outcome import Outcome
from ..tracing.python_functions import conversions, mathematics
from ..tracing.refusals import CannotTrace
from ..tracing.results import numbers_in
from ..tracing.run import run_traced
from ..tracing.scalar_environment import ScalarEnvironment
from ..tracing.scalars import alike, checks_classes
from ..tracing.stand_ins import in_place
from ..tracing.trace import Trace
from .scalar_profile import ScalarProfile, input_kind


class DryRun:
    """The outcome of a run that had stand-ins for the numbers that vary, and that was undone.

    Args:
        numbers: these numbers.
        trace: the run.
        found: copies of its results, and of what it keeps.
        ended: where it left the generators of random numbers.
    """

    def __init__(self, numbers: ScalarEnvironment, trace: Trace, found: Any, ended: Positions):
        self.numbers, self.trace, self.found, self.ended = numbers, trace, found, ended

    def agrees(self, real: Trace) -> bool:
        """Whether the real run has the same results, on the tape or not, and the same changes."""
        tails = [list(source.get())[-len(grown.items):] if grown.items else []
                 for source, grown in self.numbers.lists]
        if self.ended.differ():
            return False
        ours, its = self.trace.outcome, real.outcome
        assert ours is not None and its is not None
        return (_recorded(ours) == _recorded(its)
                and [c.key for c in ours.changes if c.key is not APPENDED]
                == [c.key for c in its.changes] and alike(self.found, _seen(real, tails)))


def _recorded(outcome: Outcome) -> list[bool]:
    """For each new Tensor that a run returns, whether the tape has recorded it."""
    return [outcome.recorded[number] for number in numbers_in(outcome.out_tree[0])]


def dry_run(fn: Callable[..., Any], args: tuple, kwargs: dict, reach: Reachable,
            varying: ScalarProfile, given: Sequence[Any]) -> DryRun:
    """Run a function with stand-ins for the numbers that vary, and undo what it changes.

    Args:
        fn: called with `args` and `kwargs`.
        reach: the objects that it can reach.
        varying: the numbers that get stand-ins.
        given: the numbers among the arguments.

    Raises:
        CannotTrace: if no graph can have these numbers as inputs.
        Exception: what the function raises.
    """
    if reach.limits.has_caches:
        raise CannotTrace("may call a function that caches its results")
    if reach.limits.hidden:
        raise CannotTrace("appends to a list that it reaches in several ways")
    numbers = ScalarEnvironment(varying.inputs(given), list(varying.sources.values()),
                                list(varying.lists.values()), varying.reads.places)
    draws = Draws(numbers)
    generators = [*global_generators(), *reach.contents.streams, *(
        leaf for leaf in leaves_of((args, kwargs)) if type(leaf) in GENERATORS)]
    args, kwargs = _with_stand_ins((args, kwargs), numbers, draws, varying)
    begun = Positions(generators)
    stand_ins = [*zip(numbers.sources, numbers.held, strict=True), *numbers.lists,
                 *draws.sources(reach), *mathematics(reach), *conversions(reach)]
    with in_place(stand_ins):
        before = Snapshot(reach, may_draw=True)
        try:
            trace = run_traced(fn, args, kwargs, reach, Dry(numbers), before)
            found = _seen(trace, [grown.items for _, grown in numbers.lists])
            if trace.recorder.changes_later(t._raw for t in container_tensors(found)):
                trace.recorder.update()
            found = copies_of(found)
            trace.undo()
        finally:
            ended = Positions(generators)
            before.restore()
            begun.put_back()
    if trace.refused is not None:
        raise CannotTrace(trace.refused.what)
    if any(kind is None and raw._version for raw, _, kind in numbers.tensors):
        raise CannotTrace("changes a NumPy array that it was given")
    if checks_classes(trace.outside.codes):
        raise CannotTrace("asks for the class of a number")
    if ended.differ() and not _draws_again(numbers, varying.inputs(given), begun, ended):
        raise CannotTrace(f"in a way that can't be repeated{draws.line}")
    return DryRun(numbers, trace, found, ended)


def _with_stand_ins(arguments: Any, numbers: ScalarEnvironment, draws: Draws,
                    varying: ScalarProfile) -> Any:
    """Arguments with stand-ins for the numbers that vary, and for generators."""
    stand_ins = dict(zip(sorted(varying.arguments.places), numbers.given, strict=True))
    order = itertools.count()

    def replaced(leaf: Any) -> Any:
        if input_kind(leaf) is not None:
            return stand_ins.get(next(order), leaf)
        return draws.stand_in(leaf) if type(leaf) in GENERATORS else leaf

    return with_leaves(arguments, replaced)


def _draws_again(numbers: ScalarEnvironment, given: Sequence[Any], begun: Positions,
                 ended: Positions) -> bool:
    """Whether the draws that were recorded lead all generators to where the run left them."""
    try:
        found = numbers.function()(*given, *[source.get() for source in numbers.sources])
        return found is not None and not ended.differ()
    finally:
        begun.put_back()


def _seen(trace: Trace, appended: list[list]) -> tuple[Any, ...]:
    outcome = trace.outcome
    assert outcome is not None
    return trace.value, [value for change, value in zip(
        outcome.changes, outcome.values, strict=True) if change.key is not APPENDED], appended
