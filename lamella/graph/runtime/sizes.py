"""The sizes in which arguments come, and when one graph should stand for many of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from ..guards.reach import Reach
from ..tracing.changes import Before
from ..tracing.recorder import CannotTrace
from ..tracing.symbolic import Answers, Symbolic, record
from .replay import Path

KINDS = 3  # of sizes, the last of which is recorded with symbols; one less where sizes are declared
MOST_KINDS = 8  # of runs that differ in what values told them
OFTEN = 64  # calls with the same sizes, after which these get a graph of their own


class Sizes:
    """Of arguments that differ in nothing but sizes.

    Args:
        dynamic: for each argument the declared form (`config.declared`); empty if sizes are only
            said to vary, None if nothing was said.

    Attributes:
        expected: whether it was said that sizes vary.
        declared: for each declared Tensor, the dimensions whose size varies.
        seen: the last kinds of sizes that have come.
        refused: why no graph can stand for several sizes; empty if that isn't known.
        results: what is known of results whose shapes values decide.
    """

    def __init__(self, dynamic: list[Any] | None):
        self.declared = list(_declared(dynamic))
        self.expected = dynamic is not None
        self.seen: list[list[torch.Size]] = []
        self.calls: Counter[Any] = Counter()
        self.refused = ""
        self.results = ResultSizes()

    @property
    def are_varying(self) -> bool:
        """Whether one graph may soon have to stand for several of them."""
        return len(self.seen) > 1 - self.expected

    def note(self, shapes: list[torch.Size]) -> list[set[int]] | None:
        """The dimensions to use symbols for, now that these sizes have come; None for none."""
        if shapes not in self.seen:
            self.seen.append(shapes)
            del self.seen[:-KINDS]
        if self.refused or len(self.seen) < KINDS - self.expected:
            return None
        varying = [{d for d, sizes in enumerate(zip(*kinds, strict=True)) if len(set(sizes)) > 1}
                   for kinds in zip(*self.seen, strict=True)]
        if len(self.declared) == len(varying):
            varying = [v | d for v, d in zip(varying, self.declared, strict=True)]
        least = min((shape[d] for shape, dims in zip(shapes, varying, strict=True) for d in dims),
                    default=0)
        return varying if least > 1 else None

    def is_frequent(self, key: Any) -> bool:
        """Whether one kind of sizes comes so often that it deserves a graph of its own."""
        self.calls[key] += 1
        return self.calls[key] > OFTEN


class ResultSizes:
    """Shapes that values decided in recorded runs, for arguments that differ in nothing but sizes.

    Runs that were told the same of values but for sizes are of one kind; each kind may have a graph
    for several sizes.

    Attributes:
        refused: why no graph can stand for several of them; empty if that isn't known.
    """

    def __init__(self) -> None:
        self.refused = ""
        self._kinds: dict[Any, _Told] = {}  # the last one that has come is the last here

    def note(self, told: list[Any]) -> None:
        """Note what a recorded run was told of values (see `symbolic.Answers`)."""
        if any(isinstance(answer, tuple) for answer in told):
            kind = kind_of(told)
            self._kinds[kind] = known = self._kinds.pop(kind, None) or _Told(told)
            known.add(told)
            if len(self._kinds) > MOST_KINDS:
                del self._kinds[next(iter(self._kinds))]

    @property
    def are_varying(self) -> bool:
        """Whether they have differed."""
        return any(known.are_varying for known in self._kinds.values())

    def last(self) -> Answers | None:
        """What the last recorded run was told; None if no values decided shapes."""
        known = next(reversed(self._kinds.values()), None)
        return None if known is None else known.answers(known.last)

    def due(self) -> Answers | None:
        """What a graph for several sizes may take for granted; None if none should be recorded."""
        for known in () if self.refused else self._kinds.values():
            fit = [told for told in known.waiting if known.fits(told)]
            if known.are_varying and len(known.waiting) >= KINDS - 1 and fit:
                return known.answers(fit[-1])
        return None

    def tried(self, answers: Answers) -> None:
        """Note that such a graph is being recorded; the next comes after more runs of the kind."""
        self._kinds[kind_of(answers.told)].waiting.clear()


class _Told:
    """What runs of one kind were told of values.

    Attributes:
        last: what the last of them was told.
        waiting: what those were told that no graph for several sizes holds for.
    """

    def __init__(self, told: list[Any]):
        self.last = told
        self.waiting: list[list[Any]] = []
        self._varying = [[set() for _ in answer] if isinstance(answer, tuple) else []
                         for answer in told]

    @property
    def are_varying(self) -> bool:
        return any(dims for several in self._varying for dims in several)

    def add(self, told: list[Any]) -> None:
        for dims, shape, other in self._shapes(told, self.last):
            dims.update(d for d, size in enumerate(shape) if size != other[d])
        self.last = told
        self.waiting = [*self.waiting, told][-KINDS:]

    def fits(self, told: list[Any]) -> bool:
        """Whether no size that varies is 0 or 1, which symbols can't stand for."""
        return all(shape[d] > 1 for dims, shape, _ in self._shapes(told, told) for d in dims)

    def answers(self, told: list[Any]) -> Answers:
        varying = [[{d for d in dims if form[0][d] > 1}
                    for form, dims in zip(answer, several, strict=True)] if several else []
                   for answer, several in zip(told, self._varying, strict=True)]
        return Answers(told, varying)

    def _shapes(self, told: list[Any], other: list[Any]
                ) -> Iterator[tuple[set[int], torch.Size, torch.Size]]:
        """For each result the dimensions that vary, its shape, and that in another run."""
        for several, answer, before in zip(self._varying, told, other, strict=True):
            if several:
                for dims, form, old in zip(several, answer, before, strict=True):
                    yield dims, form[0], old[0]


def kind_of(told: list[Any]) -> tuple[Any, ...]:
    """What a run was told of values, but for sizes."""
    return tuple([tuple([(len(shape), *others) for shape, _, *others in answer])
                  if isinstance(answer, tuple) else repr(answer) for answer in told])


def symbolic_path(fn: Any, args: tuple, kwargs: dict, reach: Reach, inputs: list[torch.Tensor],
                  symbolic: Symbolic) -> Path:
    """A graph of a function for several sizes.

    Raises:
        CannotTrace: if there can't be one.
    """
    before = Before(reach)
    try:
        trace = record(fn, args, kwargs, reach, symbolic, before)
    finally:
        before.restore()
    path = Path(trace, inputs, "O0", symbolic.sizes())
    path.kind = kind_of(symbolic.answers.told)
    if path.changes_arguments:
        raise CannotTrace("changes its arguments")
    return path


def _declared(form: Any) -> Iterator[set[int]]:
    if isinstance(form, tuple):
        yield {d for d, size in enumerate(form) if size is None}
    for part in form if isinstance(form, list) else ():
        yield from _declared(part)
