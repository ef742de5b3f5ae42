"""The numbers that have differed between calls, and rehearsals of a run with them as inputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..guards.arguments import leaves_of, with_leaves
from ..guards.reach import Reach
from ..guards.spots import Spot, kept_in
from ..guards.values import comparable
from ..tracing.arrays import kind_of_array, may_be_input
from ..tracing.changes import APPENDED, Snapshot
from ..tracing.copies import copies_of
from ..tracing.draws import GENERATORS, Draws, Positions, draws_recorded, global_generators
from ..tracing.inspected import NotInspected
from ..tracing.lines import line_of
from ..tracing.numbers import (
    NUMBERS,
    Numbers,
    alike,
    checks_classes,
    mathematics_recorded,
)
from ..tracing.reads import NumberTrace, conversions_recorded
from ..tracing.recorder import CannotTrace
from ..tracing.trace import Trace, run_traced
from .replay import GuardTooLate

MOST_DRAWN = 6  # runs that drew random numbers and had no graph, before such calls run eagerly
MOST_RECORDINGS = 24  # for different numbers, before calls with new ones run eagerly


class Varying:
    """For arguments that differ only in numbers: the numbers that have differed so far.

    Attributes:
        positions: which of the arguments' numbers have differed, by their order.
        spots: the numbers in the program's objects that have differed, by their places.
        lists: the program's lists and deques that have grown, by their places.
        reads: which of the numbers that runs read off tensors have differed, by their order.
        draws: whether runs draw random numbers of Python or NumPy.
        keys: those of the recorded calls.
        refused: why no graph can have such numbers as inputs; empty if none has failed.
        refused_draws: the same in words for the program's author, if runs draw random numbers.
    """

    def __init__(self) -> None:
        self.positions: set[int] = set()
        self.spots: dict[Any, Spot] = {}
        self.lists: dict[Any, Spot] = {}
        self.reads: set[int] = set()
        self.draws = False
        self.keys: list[Any] = []
        self.refused = self.refused_draws = ""
        self._given: Sequence[Any] | None = None
        self._read: list[Any] = []
        self._reads_refused = False
        self._drawn = 0  # runs that drew random numbers and had no graph
        self._kept: dict[Any, tuple[Spot, Any]] = {}
        self._lists: dict[Any, tuple[Spot, Any, int, Any]] = {}

    def note(self, key: Any, given: Sequence[Any], reach: Reach) -> bool:
        """Note the numbers of a call before its recording; returns whether any have differed."""
        found = kept_in(reach, NUMBERS | {list, deque})
        kept = {place: held for place, held in found.items()
                if type(held[1]) not in (list, deque)}
        lists = {place: (spot, thing, len(thing), thing[-1] if thing else None)
                 for place, (spot, thing) in found.items() if type(thing) in (list, deque)}
        if self._given is not None:
            self.positions.update(i for i, (a, b) in enumerate(zip(map(_form, given), self._given,
                                                                   strict=True)) if a != b)
            for place, (spot, value) in kept.items():
                _, before = self._kept.get(place, (spot, value))
                if type(before) is type(value) and repr(before) != repr(value):
                    self.spots[place] = spot
            for place, (spot, thing, length, last) in lists.items():
                _, before, shorter, other = self._lists.get(place, (spot, None, 0, None))
                is_full = type(thing) is deque and length == thing.maxlen
                if before is thing and (length > shorter or is_full and last is not other):
                    self.lists[place] = spot
        self._given, self._kept, self._lists = [*map(_form, given)], kept, lists
        if len(self.keys) <= 2 * MOST_RECORDINGS:
            self.keys.append(key)
        self.spots = {place: spot for place, spot in self.spots.items() if place in kept}
        self.lists = {place: spot for place, spot in self.lists.items() if place in lists}
        return bool(self.positions or self.spots or self.lists or self.reads or self.draws)

    def note_reads(self, read: list[Any]) -> None:
        """Note the numbers that a recorded run has read off tensors."""
        if not self._reads_refused:
            self.reads.update(i for i, (a, b) in enumerate(zip(read, self._read, strict=False))
                              if repr(a) != repr(b) and type(a) is type(b) and type(a) is not bool)
        self._read = read

    def may_hold_reads(self, read: list[Any]) -> bool:
        """Note numbers that can't be guards; returns whether they may be values of a graph."""
        if self._reads_refused or self.refused or self.reads:
            return False
        self.reads.update(i for i, number in enumerate(read) if type(number) is not bool)
        return bool(self.reads)

    def may_hold_draws(self) -> bool:
        """Note a run that drew random numbers; returns whether a graph may hold the next one."""
        self.draws, self._drawn = True, self._drawn + 1
        return not self.refused and self._drawn <= MOST_DRAWN

    def refuse(self, reason: str) -> None:
        """Note why a rehearsal failed: the next one is without reads, or there is none."""
        if self.reads:
            self.reads, self._reads_refused = set(), True
        else:
            self.refused = reason
            self.refused_draws = f"it draws random numbers that are not Lamella's, and {reason}"

    def refuse_for(self, error: BaseException) -> None:
        """Note the error by which a rehearsal failed; one of a run that draws may be its own."""
        if isinstance(error, NotInspected):
            return  # the real run that follows says what has to be inspected
        if isinstance(error, GuardTooLate) and self.may_hold_reads(error.reads):
            return  # the next one has stand-ins for them
        if isinstance(error, CannotTrace) or not self.draws:
            line = "" if ".py:" in str(error) else line_of(error)
            self.refuse(f"{error}{line}" if self.draws else f"{type(error).__name__}: {error}")

    @property
    def was_recorded_too_often(self) -> bool:
        """Whether there were too many recordings for numbers that can't be inputs."""
        return bool(self.positions) and len(set(self.keys)) > MOST_RECORDINGS

    def grown(self) -> dict[int, Any]:
        """The lists that have grown, by identity."""
        return {id(thing): thing for thing in (spot.get() for spot in self.lists.values())}

    def place(self, kind: Any, given: Sequence[Any]) -> Any:
        """The key of the graphs for such arguments; None if no argument varies."""
        if not self.positions:
            return None
        return kind, tuple([_form(n) for i, n in enumerate(given) if i not in self.positions])

    def inputs(self, given: Sequence[Any]) -> list[Any]:
        """The arguments' numbers that vary."""
        return [given[i] for i in sorted(self.positions)]


def input_kind(leaf: Any) -> Any:
    """What a graph with a number or an array as an input holds for; None for anything else."""
    if type(leaf) in NUMBERS:
        return type(leaf)
    return kind_of_array(leaf) if may_be_input(leaf) else None


def _form(number: Any) -> Any:
    """The value of a number or an array, in a form that can be compared."""
    return comparable(number) if isinstance(number, np.ndarray) else repr(number)


class Rehearsal:
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

    def __init__(self, fn: Callable[..., Any], args: tuple, kwargs: dict, reach: Reach,
                 varying: Varying, given: Sequence[Any]):
        self.numbers = Numbers(varying.inputs(given), list(varying.spots.values()),
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
        stands = [*zip(self.numbers.spots, self.numbers.held, strict=True), *self.numbers.lists,
                  *draws.spots(reach)]
        real = [(spot.whole(), spot.whole().get()) for spot, _ in stands]
        for spot, stand_in in stands:
            spot.put(stand_in)
        generators = [*global_generators(), *reach.streams, *(
            leaf for leaf in leaves_of(real_args) if type(leaf) in GENERATORS)]
        begun = Positions(generators)
        with mathematics_recorded(reach), conversions_recorded(reach), draws_recorded(draws, reach):
            before = Snapshot(reach, may_draw=True)
            try:
                self.trace: Trace = run_traced(fn, args, kwargs, reach, before=before,
                                               kind=NumberTrace, numbers=self.numbers)
                self.found = copies_of(_seen(
                    self.trace, [grown.items for _, grown in self.numbers.lists]))
                self.trace.undo()
            finally:
                self.ended = Positions(generators)
                before.restore()
                begun.put_back()
                for spot, value in reversed(real):
                    spot.put(value)
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
            found = self.numbers.function()(*given, *[spot.get() for spot in self.numbers.spots])
            return found is not None and not self.ended.differ()
        finally:
            begun.put_back()

    def agrees(self, real: Trace) -> bool:
        """Whether its results and changes are those of the real run."""
        tails = [list(spot.get())[-len(grown.items):] if grown.items else []
                 for spot, grown in self.numbers.lists]
        if self.ended.differ():
            return False
        return ([c.key for c in self.trace.changes if c.key is not APPENDED]
                == [c.key for c in real.changes] and alike(self.found, _seen(real, tails)))


def _seen(trace: Trace, appended: list[list]) -> tuple[Any, ...]:
    return trace.value, [value for change, value in zip(trace.changes, trace.noted, strict=True)
                         if change.key is not APPENDED], appended
