"""The numbers that have differed between the calls of a function."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..guards.reachable import Reachable
from ..guards.sources import Source, kept_in
from ..guards.values import comparable
from ..tracing.arrays import kind_of_array, may_be_input
from ..tracing.lines import line_of
from ..tracing.refusals import CannotTrace, Cause
from ..tracing.scalars import NUMBERS
from .profile import Profile

MOST_DRAWN = 6  # runs that drew random numbers and had no graph, before such calls run eagerly
MOST_RECORDINGS = 24  # for different numbers, before calls with new ones run eagerly


class ScalarProfile:
    """For arguments that differ only in numbers: the numbers that have differed so far.

    Attributes:
        arguments: the profile of the arguments' numbers, by their order.
        sources: of the numbers in the program's objects that have differed, by their identities.
        lists: the sources of the program's lists and deques that have grown, likewise.
        reads: the profile of the numbers that runs read off tensors, by their order.
        draws: whether runs draw random numbers of Python or NumPy.
        keys: those of the recorded calls.
        refused: why no graph can have such numbers as inputs; empty if none has failed.
        refused_draws: `refused` as a message for runs that draw random numbers.
        waits_for: the thread of the program's that ran when a dry run was due; None if none did.
    """

    def __init__(self) -> None:
        self.arguments, self.reads = Profile(), Profile()
        self.sources: dict[Any, Source] = {}
        self.lists: dict[Any, Source] = {}
        self.draws = False
        self.keys: list[Any] = []
        self.refused = self.refused_draws = ""
        self.waits_for: str | None = None
        self._numbers, self._contents = Profile(), Profile()
        self._reads_refused = False
        self._counts = True
        self._drawn = 0  # runs that drew random numbers and had no graph

    def note(self, key: Any, given: Sequence[Any], reach: Reachable) -> bool:
        """Note the numbers of a call before its recording; returns whether any have differed."""
        found = kept_in(reach, NUMBERS | {list, deque})
        self.arguments.note(dict(enumerate(map(_compared, given))))
        self._numbers.note({place: value for place, (_, value) in found.items()
                            if type(value) in NUMBERS}, _differ)
        self._contents.note({place: (value, len(value), value[-1] if value else None)
                             for place, (_, value) in found.items()
                             if type(value) not in NUMBERS}, _has_grown)
        self.sources, self.lists = ({place: found[place][0] for place in found
                                     if place in profile.places}
                                    for profile in (self._numbers, self._contents))
        if len(self.keys) <= 2 * MOST_RECORDINGS:
            self.keys.append(key)
        return bool(self.arguments.places or self.sources or self.lists or self.reads.places
                    or self.draws)

    def note_reads(self, read: list[Any], counted: Collection[int] = ()) -> None:
        """Note the numbers that a recorded run has read off tensors.

        Args:
            counted: which of them vary for sure.
        """
        if not self._reads_refused:
            self.reads.note(dict(enumerate(read)), _differ)
            self.reads.places.update(counted)

    def may_hold_reads(self, read: list[Any]) -> bool:
        """Note numbers that can't be guards; returns whether they may be values of a graph."""
        if self._reads_refused or self.refused or self.reads.places:
            return False
        self.reads.places.update(i for i, number in enumerate(read) if type(number) is not bool)
        return bool(self.reads.places)

    def may_count(self) -> bool:
        """Whether the next graph may hold numbers that loops compute; true once at most."""
        may, self._counts = self._counts, False
        return may and not (self._reads_refused or self.refused)

    def may_hold_draws(self) -> bool:
        """Note a run that drew random numbers; returns whether a graph may hold the next one."""
        self.draws, self._drawn = True, self._drawn + 1
        return not self.refused and self._drawn <= MOST_DRAWN

    def refuse(self, reason: str) -> None:
        """Note why a dry run failed: the next one is without reads, or there is none."""
        if self.reads.places:
            self.reads, self._reads_refused = Profile(), True
        else:
            self.refused = reason
            self.refused_draws = f"it draws random numbers that are not Lamella's, and {reason}"

    def refuse_for(self, error: BaseException, reads: list[Any]) -> None:
        """Note the error by which a dry run failed; not the program's own error if it draws random
        numbers, since with others it may raise none.

        Args:
            reads: the numbers that the run has read off tensors, if it came to its end.
        """
        cause = getattr(error, "cause", None)
        if cause is Cause.NOT_INSPECTED:
            return  # the real run that follows says what has to be inspected
        if cause is Cause.LATE_GUARD and self.may_hold_reads(reads):
            return  # the next one has stand-ins for them
        if isinstance(error, CannotTrace) or not self.draws:
            line = "" if ".py:" in str(error) else line_of(error)
            self.refuse(f"{error}{line}" if self.draws else f"{type(error).__name__}: {error}")

    @property
    def was_recorded_too_often(self) -> bool:
        """Whether there were too many recordings for numbers that can't be inputs."""
        return bool(self.arguments.places) and len(set(self.keys)) > MOST_RECORDINGS

    @property
    def why_recorded(self) -> str:
        """Why there were too many recordings."""
        if self.refused or self.waits_for is None:
            reason = "decides by them what to compute" + (
                f" ({self.refused})" if self.refused else "")
        else:
            reason = (f"no graph can take them as inputs while the thread '{self.waits_for}' runs, "
                      f"whose changes would be undone")
        return f"it is called with other numbers again and again, and {reason}"

    def grown(self) -> dict[int, Any]:
        """The lists that have grown, by identity."""
        return {id(thing): thing for thing in (source.get() for source in self.lists.values())}

    def place(self, kind: Any, given: Sequence[Any]) -> Any:
        """The key of the graphs for such arguments; None if no argument varies."""
        varying = self.arguments.places
        if not varying:
            return None
        return kind, tuple([_compared(n) for i, n in enumerate(given) if i not in varying])

    def inputs(self, given: Sequence[Any]) -> list[Any]:
        """The arguments' numbers that vary."""
        return [given[i] for i in sorted(self.arguments.places)]


def input_kind(leaf: Any) -> Any:
    """What a graph with a number or an array as an input holds for; None for anything else."""
    if type(leaf) in NUMBERS:
        return type(leaf)
    return kind_of_array(leaf) if may_be_input(leaf) else None


def _compared(number: Any) -> Any:
    """What is compared of a number or an array."""
    return comparable(number) if isinstance(number, np.ndarray) else repr(number)


def _differ(before: Any, now: Any) -> bool:
    """Whether a number is another one of the same type."""
    return type(before) is type(now) and type(now) is not bool and repr(before) != repr(now)


def _has_grown(before: tuple[Any, int, Any], now: tuple[Any, int, Any]) -> bool:
    """Whether a list or deque, given with its length and its last element, has been appended to."""
    (thing, shorter, other), (same, length, last) = before, now
    is_full = type(same) is deque and length == same.maxlen
    return thing is same and (length > shorter or is_full and last is not other)
