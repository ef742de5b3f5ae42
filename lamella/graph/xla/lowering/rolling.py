"""Finds Python's loops in a graph: repeated parts become the body of one XLA loop.

A program's loop is recorded step by step, forward and backward. XLA takes long for such a graph,
and its code is long, too. Here the steps of a graph that compute the same, in the same order, on
values that lie the same number of steps before, become a loop:

- what a step reads of steps before it is carried from one to the next;
- what differs between steps, but was computed before the loop, is an element of a stack;
- what all steps read is read from outside;
- what others read of a step is an element of a stack that the loop gives.

Numbers of the program that differ between steps are elements of stacks, too (`step_numbers`).

Candidates are found in linear time, from the distances at which the same operation comes again.
Whether the links between steps are the same as well is then checked for each.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any, NamedTuple

from .step_numbers import NUMBER, as_before, with_numbers
from .table import Step, is_tensor

FEWEST = 4  # steps of a loop
LEAST = 16  # operations that a loop saves
ENOUGH = 64  # the same for a loop that reads values which have to be stacked for it
MOST_LOOPS = 24
PERIODS = 6  # of one search that are looked at closely
ROWS = (1, 4, 16, 64)  # operations in a row that are looked for again
PARTS = ("getitem", "select.int")  # of a value: as early as possible, since loops take stacks apart
# where an operation of the body reads: a value from outside, an element of a stack, what an earlier
# step has carried, another operation of the body, or any of the first three as an input of the body
OUTSIDE, ELEMENT, CARRIED, BODY, INPUT = range(5)


class Queue(NamedTuple):
    """What steps carry: each step's value of an operation, until it is read some steps later.

    Attributes:
        of: the operation of the body.
        first: the values that the first steps read.
    """

    of: int
    first: list[int]


class Numbers(NamedTuple):
    """A stack of the numbers that the steps of a loop read one by one.

    Attributes:
        to: the numbers of its elements as values.
        of: where the search has found them.
        values, dtype: the numbers, and their type.
    """

    to: list[int]
    of: list[int]
    values: list[float]
    dtype: str


class Rolled(NamedTuple):
    """A repeated part of a graph as one step of it.

    Attributes:
        count: the number of its steps.
        reads: for each input of the body, where it is found: OUTSIDE and the number of a value, or
            ELEMENT or CARRIED and the number of a stack or a queue.
        body: the steps of the body, which may be such loops.
        queues: what steps carry.
        stacks: the values of each stack.
        last: the operations of which others read the last step's value, with their avals.
        every: those of which others read the values of other steps, too.
        to: the numbers of the values of all operations, step by step.
    """

    count: int
    reads: list[tuple[int, int]]
    body: list[Step | Numbers | Rolled]
    queues: list[Queue]
    stacks: list[list[int]]
    last: list[tuple[int, Any]]
    every: list[int]
    to: list[int]


def rolled(steps: list[Step], inputs: list[Any], results: list[int]
           ) -> list[Step | Numbers | Rolled]:
    """The steps of a graph with loops in place of repeated parts.

    Args:
        steps: operations, whose results are numbered from the number of inputs on.
        inputs: the avals of the graph's inputs.
        results: the numbers of its results.
    """
    search = _Search(with_numbers(_hoisted(steps), inputs), inputs, results)
    made: list[Step | Numbers | Rolled] = []
    position = search.first
    for loop in search.loops():
        made += search.as_before(position, loop.start)
        described = loop.described()  # which finds its numbers
        made += [*loop.numbers, described]
        position = loop.end
    return [*made, *search.as_before(position, len(search.steps))]


def references(value: Any) -> list[int]:
    """The numbers of the values in an argument, in order."""
    return [link["n"] for link in links_in(value)]


def operations_in(steps: list[Step | Numbers | Rolled]) -> int:
    """How many operations are compiled; those of a loop count once."""
    return sum(1 + operations_in(step.body) if isinstance(step, Rolled) else 1 for step in steps)


def is_part(step: Step) -> bool:
    """Whether a step takes a part of a value (see `slices`, too)."""
    return step["op"] in PARTS or "part" in step


def _hoisted(steps: list[Step]) -> list[Step]:
    """The steps with each part of a value right after the value."""
    places = {step["to"]: place for place, step in enumerate(steps)}
    keys: list[tuple[int, int]] = []
    for place, step in enumerate(steps):
        if is_part(step):
            source = places.get(step["args"][0]["n"])
            root, depth = keys[source] if source is not None else (-1, 0)
            keys.append((root, depth + 1))
        else:
            keys.append((place, 0))
    return [steps[i] for i in sorted(range(len(steps)), key=keys.__getitem__)]


class _Search:
    """The search for loops in the steps of a graph."""

    def __init__(self, steps: list[Step], inputs: list[Any], results: list[int]):
        self.steps, self.inputs = steps, len(inputs)
        self.place = {step["to"]: place for place, step in enumerate(steps)}
        self.reads = [[self.place.get(n, n - self.inputs) for n in references(step["args"])]
                      for step in steps]
        self.avals = {n - self.inputs: aval for n, aval in enumerate(inputs)}
        self.avals.update(enumerate(step["aval"] for step in steps))
        names: dict[str, int] = {}
        self.kinds = [names.setdefault(json.dumps(
            [_without_values(s["args"]), {k: v for k, v in s.items() if k not in ("to", "args")}]),
            len(names)) for s in steps]
        self.users: dict[int, list[int]] = defaultdict(list)
        for place, reads in enumerate(self.reads):
            for read in reads:
                self.users[read].append(place)
        self.wanted = {self.place[n] for n in results if n in self.place}
        self.first = sum(step["op"] == NUMBER for step in steps)  # of those that compute
        self.taken = [place < self.first for place in range(len(steps))]
        self.highest = max([self.inputs, *(step["to"] for step in steps)])

    def holds_number(self, place: int) -> bool:
        """Whether a step only holds a number of the program's; inputs have places below 0."""
        return 0 <= place < self.first

    def fresh(self, count: int) -> list[int]:
        """New numbers for values."""
        self.highest += count
        return [*range(self.highest - count + 1, self.highest + 1)]

    def as_before(self, start: int, end: int) -> list[Step]:
        """Steps that are in no loop, with the program's numbers."""
        return [{**step, "args": as_before(step["args"])} for step in self.steps[start:end]]

    def loops(self) -> list[_Loop]:
        """Loops that don't overlap, in order."""
        found: list[_Loop] = []
        while len(found) < MOST_LOOPS:
            loop = self._best()
            if loop is None:
                break
            found.append(loop)
            self.taken[loop.start:loop.end] = [True] * (loop.end - loop.start)
        return sorted(found, key=lambda loop: loop.start)

    def _best(self) -> _Loop | None:
        """The loop that saves most of those that are looked at closely.

        A run of repeated steps may hold loops that are shorter: the columns of a table repeat in
        all its rows, but the first column has no left neighbour, so it is the rows that are a loop.
        """
        candidates = []
        for period in self._periods():
            candidates += [(period * (length // period - 1), -period, start, length)
                           for start, length in self._runs(period)]
        best: _Loop | None = None
        for most, period, start, length in sorted(candidates, reverse=True)[:PERIODS]:
            if best is not None and best.saves >= most:
                break
            loop = self._within(start, -period, length)
            if loop is not None and (best is None or loop.saves > best.saves):
                best = loop
        return best

    def _periods(self) -> list[int]:
        """The distances at which operations come again, alone or several in a row.

        A part that is repeated within the body comes again at shorter distances; a longer row of
        operations tells the two apart.
        """
        found: dict[int, None] = {}
        for length in ROWS:
            last: dict[tuple[int, ...], int] = {}
            counts: Counter[int] = Counter()
            for place in range(len(self.kinds) - length + 1):
                if self.taken[place]:
                    continue
                row = tuple(self.kinds[place:place + length])
                if row in last:
                    counts[place - last[row]] += 1
                last[row] = place
            found.update(dict.fromkeys([p for p, _ in counts.most_common(PERIODS) if p > 1]))
        return list(found)

    def _runs(self, period: int) -> list[tuple[int, int]]:
        """Where the steps repeat after a period: start, and length with the first period."""
        kinds, taken, found = self.kinds, self.taken, []
        place, end = 0, len(kinds) - period
        while place < end:
            begin = place
            while (place < end and kinds[place] == kinds[place + period]
                   and not taken[place] and not taken[place + period]):
                place += 1
            length = place - begin + period
            if length >= FEWEST * period:
                found.append((begin, length))
            place += 1
        return found

    def _within(self, start: int, period: int, length: int) -> _Loop | None:
        """A loop in a run of repeated steps; its first and last steps may have other links."""
        best: _Loop | None = None
        for begin, end in self._regular(start, period, length):
            # from the start if there is no other: where links are the same, less is carried
            for first in (begin - period, begin, start):
                if first < start or first == start and best is not None:
                    continue
                for last in (end, end - period):
                    count = (last - first) // period
                    if count < FEWEST or period * (count - 1) < LEAST or begin - first > period:
                        continue
                    if best is not None and best.end - best.start >= period * count:
                        continue
                    loop = _Loop(self, first, period, count)
                    if loop.links() and (period * (count - 1) >= ENOUGH or not loop.gathers()):
                        best = loop
        return best

    def _regular(self, start: int, period: int, length: int) -> list[tuple[int, int]]:
        """The parts of a run whose links are the same one period later."""
        found, begin, reads = [], None, self.reads
        for place in range(start, start + length - period):
            now, later = reads[place], reads[place + period]
            same = all(b - a in (0, period) or a < start and b < start
                       for a, b in zip(now, later, strict=True))
            if same and begin is None:
                begin = place
            if begin is not None and (not same or place == start + length - period - 1):
                found.append((begin, place + same + period))
                begin = None
        return found


class _Loop:
    """A repeated part of a graph: `count` steps of `period` operations each, from `start` on."""

    def __init__(self, search: _Search, start: int, period: int, count: int):
        self.search, self.start, self.period, self.count = search, start, period, count
        self.end = start + period * count
        self.saves = period * (count - 1)  # operations
        self.body: list[list[tuple[int, Any]]] = []  # of each operation, where it reads
        self.numbers: list[Numbers] = []  # of which it reads one in each step

    def links(self) -> bool:
        """Find where the operations of the body read; returns whether that is the same way in
        all steps."""
        for j in range(self.period):
            rows = [self.search.reads[self.start + t * self.period + j]
                    for t in range(self.count)]
            mine = [self._link(j, [row[s] for row in rows]) for s in range(len(rows[0]))]
            if any(link is None for link in mine):
                return False
            self.body.append([link for link in mine if link is not None])
        return all(self._is_one_tensor(j) for j in self._read_later())

    def gathers(self) -> bool:
        """Whether it reads a row of values that are no parts of a stack yet."""
        steps, taken = self.search.steps, self.search.taken
        return any(kind == ELEMENT and any(
            place < 0 or not taken[place] and not is_part(steps[place]) for place in column)
            for links in self.body for kind, column in links)

    def _link(self, j: int, column: list[int]) -> tuple[int, Any] | None:
        """Where one argument comes from, given the places that it has in each step."""
        start, period, aval = self.start, self.period, self.search.avals
        ahead = [place - (start + t * period) for t, place in enumerate(column)]
        last = ahead[-1]
        if last >= 0:
            return (BODY, last) if set(ahead) == {last} else None
        if all(place < start for place in column):
            if len(set(column)) == 1:
                return OUTSIDE, column[0]
            return (ELEMENT, column) if _are_one([aval[p] for p in column]) else None
        steps = -(last // period)  # how many steps before the value is from
        if any(a != last for a in ahead[steps:]) or any(p >= start for p in column[:steps]):
            return None
        firsts = [aval[p] for p in column[:steps]]
        return (CARRIED, (last % period, column[:steps])) if _are_one(
            [aval[start + last % period], *firsts]) else None

    def _read_later(self) -> set[int]:
        """The operations of the body whose values other steps, or others, read."""
        found = {link[0] for links in self.body for kind, link in links if kind == CARRIED}
        return found | {j for j, _ in self._read_outside()}

    def _read_outside(self) -> set[tuple[int, int]]:
        """The operations of the body, with the number of the step, that others read."""
        search, found = self.search, set()
        for place in range(self.start, self.end):
            if place in search.wanted or any(
                    user >= self.end for user in search.users.get(place, ())):
                found.add(((place - self.start) % self.period,
                           (place - self.start) // self.period))
        return found

    def _is_one_tensor(self, j: int) -> bool:
        return _are_one([self.search.avals[self.start + j]])

    def described(self) -> Rolled:
        """The loop as one step of the graph: its body is a graph, which may have loops itself."""
        self.queues: list[Queue] = []
        self.stacks: list[list[int]] = []
        reads: list[Any] = []
        avals = self.search.avals
        links = [[link if link[0] == BODY or self._is_number(link) else
                  (INPUT, _place_in(reads, [*self._named(link), aval]))
                  for link, aval in zip(mine, self._avals(mine), strict=True)]
                 for mine in self.body]
        body = []
        for j, mine in enumerate(links):
            step = self.search.steps[self.start + j]
            own = links_in(step["args"])
            numbers = [was[NUMBER] if self._is_number((kind, at)) else
                       {"n": at + len(reads) * (kind == BODY)}
                       for (kind, at), was in zip(mine, own, strict=True)]
            body.append({**step, "to": len(reads) + j, "aval": avals[self.start + j],
                         "args": with_links(step["args"], numbers)})
        outside = self._read_outside()
        last = {j for j, t in outside} - {j for j, t in outside if t != self.count - 1}
        every = {j for j, _ in outside} - last
        kept = {*last, *every, *(queue.of for queue in self.queues)}
        return Rolled(
            self.count, [(kind, at) for kind, at, _ in reads],
            rolled(body, [aval for *_, aval in reads], [len(reads) + j for j in kept]),
            self.queues, self.stacks, [(j, avals[self.start + j]) for j in sorted(last)],
            sorted(every), [step["to"] for step in self.search.steps[self.start:self.end]])

    def _avals(self, links: list[tuple[int, Any]]) -> list[Any]:
        """The avals of what links read."""
        places = {BODY: lambda at: self.start + at, OUTSIDE: lambda at: at,
                  ELEMENT: lambda at: at[0], CARRIED: lambda at: self.start + at[0]}
        return [self.search.avals[places[kind](at)] for kind, at in links]

    def _named(self, link: tuple[int, Any]) -> tuple[int, int]:
        """Where an input of the body is found: a value, the number of a stack or of a queue."""
        kind, where = link
        if kind == OUTSIDE:
            return kind, self._number(where)
        if kind == ELEMENT and self.search.holds_number(where[0]):
            return kind, _place_in(self.stacks, self._stacked(where))
        if kind == ELEMENT:
            return kind, _place_in(self.stacks, [self._number(place) for place in where])
        j, first = where
        return kind, _place_in(self.queues, Queue(j, [self._number(p) for p in first]))

    def _is_number(self, link: tuple[int, Any]) -> bool:
        """Whether what is read is the same number of the program's in all steps."""
        return link[0] == OUTSIDE and self.search.holds_number(link[1])

    def _stacked(self, places: list[int]) -> list[int]:
        """The values of a stack of numbers, which is made before the loop."""
        holders = [self.search.steps[place] for place in places]
        known = [made for made in self.numbers if made.of == places]
        if not known:
            known = [Numbers(self.search.fresh(self.count), places,
                             [holder[NUMBER] for holder in holders], holders[0]["aval"][1])]
            self.numbers += known
        return known[0].to

    def _number(self, place: int) -> int:
        steps = self.search.steps
        return steps[place]["to"] if place >= 0 else place + self.search.inputs


def _are_one(avals: list[Any]) -> bool:
    """Whether avals are the same, and that of one tensor."""
    return is_tensor(avals[0]) and all(aval == avals[0] for aval in avals)


def _place_in(several: list[Any], one: Any) -> int:
    if one not in several:
        several.append(one)
    return several.index(one)


def _without_values(value: Any) -> Any:
    if isinstance(value, dict):
        return value.get("kind", "*") if "n" in value else value
    return [_without_values(v) for v in value] if isinstance(value, list) else value


def links_in(value: Any) -> list[dict[str, Any]]:
    """The values in an argument, in order."""
    if isinstance(value, dict):
        return [value] if "n" in value else []
    return [n for v in value for n in links_in(v)] if isinstance(value, list) else []


def with_links(value: Any, links: list[Any]) -> Any:
    """An argument with the links in place of its values, in order."""
    if isinstance(value, dict) and "n" in value:
        return links.pop(0)
    return [with_links(v, links) for v in value] if isinstance(value, list) else value
