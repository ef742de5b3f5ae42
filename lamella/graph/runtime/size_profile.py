"""The sizes that arguments have had, and when one graph should serve many sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from ...core.forking import Lock
from ..guards.reachable import Reachable
from ..tracing.refusals import CannotTrace
from ..tracing.symbolic import Observed, Symbolic, record
from .profile import Profile
from .replay import Replay

KINDS = 3  # of sizes, the last of which is recorded with symbols; one less where sizes are declared
MOST_COUNTED = 256  # sizes whose calls are counted
MOST_RECORDED = 32  # graphs for one size each, if none can hold for several
MOST_KINDS = 8  # of runs whose observed values differ in more than sizes
OFTEN = 64  # calls with the same sizes, after which these get a graph of their own


class SizeProfile:
    """The sizes of arguments that differ in nothing else.

    Args:
        dynamic: for each argument the declared signature (`config.declared`); empty if sizes
            are only declared to vary, None if nothing is declared.

    Attributes:
        expected: whether sizes were declared to vary.
        declared: for each declared Tensor, the dimensions whose size varies.
        seen: the last sizes of the arguments, without repetition.
        refused: why no graph can hold for several sizes; empty if none has been tried in vain.
        results: the data-dependent shapes of results.
        recorded: how many graphs for one size have been recorded.
    """

    def __init__(self, dynamic: list[Any] | None):
        self.declared = list(_declared(dynamic))
        self.expected = dynamic is not None
        self.seen: list[list[torch.Size]] = []
        self.calls: Counter[Any] = Counter()
        self.refused = ""
        self.results = ResultProfile()
        self.recorded = 0
        self._counting = Lock()

    @property
    def are_varying(self) -> bool:
        """Whether a graph for several sizes may soon be needed."""
        return len(self.seen) > 1 - self.expected

    def note(self, shapes: list[torch.Size]) -> list[set[int]] | None:
        """Note the sizes of a call; returns the dimensions that need symbols, None for none."""
        if shapes not in self.seen:
            self.seen.append(shapes)
            del self.seen[:-KINDS]
        if self.refused or len(self.seen) < KINDS - self.expected:
            return None
        # of the last calls only, unlike a `Profile`: a size that is 1 from now on is no symbol
        varying = [{d for d, sizes in enumerate(zip(*kinds, strict=True)) if len(set(sizes)) > 1}
                   for kinds in zip(*self.seen, strict=True)]
        if len(self.declared) == len(varying):
            varying = [v | d for v, d in zip(varying, self.declared, strict=True)]
        least = min((shape[d] for shape, dims in zip(shapes, varying, strict=True) for d in dims),
                    default=0)
        return varying if least > 1 else None

    def is_frequent(self, key: Any) -> bool:
        """Whether the same sizes come so often that they should have a graph of their own."""
        with self._counting:  # threads look up graphs at once
            self.calls[key] += 1
            if len(self.calls) > MOST_COUNTED:
                self.calls = Counter(dict(self.calls.most_common(MOST_COUNTED // 2)))
            return self.calls[key] > OFTEN


class ResultProfile:
    """Data-dependent shapes in recorded runs, for arguments that differ in nothing but sizes.

    Runs whose observed values differ in sizes only are of one kind; each kind may have a graph for
    several sizes.

    Attributes:
        refused: why no graph can hold for several shapes; empty if none has been tried in vain.
    """

    def __init__(self) -> None:
        self.refused = ""
        self._kinds: dict[Any, _Kind] = {}  # the latest is last

    def note(self, observed: list[Any]) -> None:
        """Note the values that a recorded run observed (see `symbolic.Observed`)."""
        if any(isinstance(answer, tuple) for answer in observed):
            kind = kind_of(observed)
            self._kinds[kind] = known = self._kinds.pop(kind, None) or _Kind()
            known.add(observed)
            if len(self._kinds) > MOST_KINDS:
                del self._kinds[next(iter(self._kinds))]

    @property
    def are_varying(self) -> bool:
        """Whether the shapes have differed."""
        return any(known.profile.places for known in self._kinds.values())

    def last(self) -> Observed | None:
        """What the last recorded run observed; None if it had no data-dependent shapes."""
        known = next(reversed(self._kinds.values()), None)
        return None if known is None else known.with_symbols(known.last)

    def due(self) -> Observed | None:
        """The values that a graph for several sizes should assume; None if none is needed yet."""
        for known in () if self.refused else self._kinds.values():
            fit = [observed for observed in known.waiting if known.fits(observed)]
            if known.profile.places and len(known.waiting) >= KINDS - 1 and fit:
                return known.with_symbols(fit[-1])
        return None

    def tried(self, observed: Observed) -> None:
        """Note that such a graph is being recorded; the next needs more runs of this kind."""
        self._kinds[kind_of(observed.values)].waiting.clear()


class _Kind:
    """The observed values of runs of one kind.

    Attributes:
        profile: that of the sizes.
        last: the values of the last run.
        waiting: those of the last runs for which no graph for several sizes holds.
    """

    def __init__(self) -> None:
        self.profile = Profile()
        self.last: list[Any] = []
        self.waiting: list[list[Any]] = []

    def add(self, observed: list[Any]) -> None:
        self.profile.note(_sizes(observed))
        self.last = observed
        self.waiting = [*self.waiting, observed][-KINDS:]

    def fits(self, observed: list[Any]) -> bool:
        """Whether no size that varies is 0 or 1, for which symbols can't be used."""
        sizes = _sizes(observed)
        return all(sizes[place] > 1 for place in self.profile.places)

    def with_symbols(self, observed: list[Any]) -> Observed:
        varying = [[{d for d, size in enumerate(meta.shape)
                     if size > 1 and (number, result, d) in self.profile.places}
                    for result, meta in enumerate(answer)] if isinstance(answer, tuple) else []
                   for number, answer in enumerate(observed)]
        return Observed(observed, varying)


def _sizes(observed: list[Any]) -> dict[tuple[int, int, int], int]:
    """The sizes among the observed values, by value, result and dimension."""
    return {(number, result, d): size for number, answer in enumerate(observed)
            if isinstance(answer, tuple) for result, meta in enumerate(answer)
            for d, size in enumerate(meta.shape)}


def kind_of(observed: list[Any]) -> tuple[Any, ...]:
    """The observed values of a run without the sizes among them."""
    return tuple([tuple([(len(shape), *others) for shape, _, *others in answer])
                  if isinstance(answer, tuple) else repr(answer) for answer in observed])


def symbolic_replay(fn: Any, args: tuple, kwargs: dict, reach: Reachable,
                    inputs: list[torch.Tensor], symbolic: Symbolic,
                    kind: type[Replay] = Replay) -> Replay:
    """A graph of a function for several sizes, as a replay of the class `kind`.

    Raises:
        CannotTrace: if there can't be one.
    """
    trace = record(fn, args, kwargs, reach, symbolic)
    replay = kind(trace, inputs, "O0", symbolic.sizes())
    replay.kind = kind_of(symbolic.observed.values)
    if replay.inputs.changes_arguments:
        raise CannotTrace("changes its arguments")
    return replay


def _declared(signature: Any) -> Iterator[set[int]]:
    if isinstance(signature, tuple):
        yield {d for d, size in enumerate(signature) if size is None}
    for part in signature if isinstance(signature, list) else ():
        yield from _declared(part)
