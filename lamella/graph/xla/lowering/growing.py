"""Values that grow from step to step of a program's loop, as long as they are in the end.

A decoder's cache grows by ``cat``, or a step reads ``cache[:t + 1]``: each step has other shapes,
so no two steps are the same operations, and no loop would be found (`rolling`). Here such values
get the size of the longest one. What lies beyond their length may be anything. Operations that
would read it, as sums do, get a neutral element there (`FILL`); the length is a number that differs
between steps (`step_numbers`). An operation without a rule (`growing_rules`) gets the part that
counts.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from . import growing_rules
from .boxes import FILL, PLACE, TAKE, Box
from .growing_rules import EXPANDS, Length, Lengths, Made, through_view
from .rolling import FEWEST, links_in, with_links
from .table import Step, is_tensor

_SIZED = {"zeros.default": 0, "ones.default": 0, "full.default": 0, "new_zeros.default": 1,
          "new_ones.default": 1, "new_full.default": 1}  # where the sizes of what they make are


def with_equal_sizes(steps: list[Step], inputs: list[Any], results: list[int]
                     ) -> tuple[list[Step], list[int]] | None:
    """The steps of a graph whose growing values have one size, and the numbers of its results;
    None if nothing grows.

    Args:
        steps: operations with boxes (`moving.with_boxes`), none of which writes.
        inputs: the avals of the graph's inputs.
        results: the numbers of its results.
    """
    steps = _as_chains(steps)
    found = _growing(steps, {**dict(enumerate(inputs)), **{s["to"]: s.get("aval") for s in steps}})
    if not found:
        return None
    graph = Growing(steps, inputs, found)
    for step in steps:
        graph.add(step)
    return graph.steps, [graph.cut({"n": n})["n"] for n in results]


class Growing:
    """A graph that is rewritten step by step.

    A value keeps its number. Its aval in `avals` is the recorded one; `lengths` has the dimensions
    in which it is longer now.

    Args:
        steps: of the graph as it was.
        inputs: the avals of its inputs.
        begun: the lengths of the values that begin to grow, by their numbers.
    """

    def __init__(self, steps: list[Step], inputs: list[Any], begun: Mapping[int, Lengths]):
        self.steps: list[Step] = []
        self.avals: dict[int, Any] = {**dict(enumerate(inputs)),
                                      **{s["to"]: s.get("aval") for s in steps}}
        self.lengths: dict[int, Lengths] = {}
        self.several: dict[int, list[Lengths]] = {}  # of operations with several results
        self.clean: dict[int, frozenset[int]] = {}  # dimensions beyond whose length all is 0
        self.begun = begun
        self._makers = {step["to"]: step for step in steps}
        self._numbers = itertools.count(max(self.avals, default=-1) + 1)
        self._known: dict[Any, dict[str, int]] = {}

    def add(self, step: Step) -> None:
        """Add a step, rewritten if what it reads has grown, or if its result begins to grow."""
        links, number = links_in(step["args"]), step["to"]
        if not any(self.lengths.get(n["n"]) or n["n"] in self.several for n in links) and (
                number not in self.begun):
            self.steps.append(step)
            return
        made = growing_rules.made(self, step)
        if made is None:
            self.steps.append({**step, "args": with_links(
                step["args"], [self.cut(link) for link in links])})
            return
        if made.several:
            self.several[number] = made.several
            aval = [_longer(own, its) for own, its in zip(step["aval"], made.several, strict=True)]
        else:
            self.lengths[number], self.clean[number] = made.lengths, made.clean
            aval = _longer(step["aval"], made.lengths)
        self.steps.append({**step, "op": made.op, "args": made.args, "aval": aval})

    def emit(self, made: Made, aval: Any) -> dict[str, int]:
        """Add an operation of its own; returns a link to its result, whose aval is given without
        what has grown."""
        number = next(self._numbers)
        self.avals[number], self.lengths[number] = aval, made.lengths
        self.clean[number] = made.clean
        self.steps.append({"op": made.op, "to": number, "args": made.args,
                           "aval": _longer(aval, made.lengths)})
        return {"n": number}

    def shape(self, link: dict[str, int]) -> list[int]:
        """The recorded shape of a value."""
        return self.avals[link["n"]][0]

    def longer(self, link: dict[str, int]) -> list[int]:
        """The shape that it has now."""
        return _longer(self.avals[link["n"]], self.lengths.get(link["n"], {}))[0]

    def cut(self, link: dict[str, int]) -> dict[str, int]:
        """The part of a value that counts."""
        lengths = self.lengths.get(link["n"])
        if not lengths:
            return link
        key = "cut", link["n"]
        if key not in self._known:
            aval = self.avals[link["n"]]
            split, apart = self._split(aval, lengths)
            if split != aval[0]:
                longest = [apart[d].most if d in apart else n for d, n in enumerate(split)]
                link = self.emit(Made("view.default", [link, longest], apart), [split, aval[1]])
            part = self.emit(Made(TAKE, [link, [0] * len(split), split]), [split, aval[1]])
            if split != aval[0]:
                part = self.emit(Made("view.default", [part, aval[0]]), aval)
            self._known[key] = part
        return self._known[key]

    def _split(self, aval: Any, lengths: Lengths) -> tuple[list[int], Lengths]:
        """A shape in which what grows is a dimension by itself, and its lengths."""
        shape: list[int] = []
        apart: Lengths = {}
        for dim, size in enumerate(aval[0]):
            if (own := lengths.get(dim)) is None or own.is_plain:
                if own is not None:
                    apart[len(shape)] = own
                shape.append(size)
            else:
                apart[len(shape) + 1] = Length(own.now, own.most)
                shape += [own.outer, own.now, own.inner]
        return shape, apart

    def filled(self, link: dict[str, int], dim: int, value: Any) -> dict[str, int]:
        """A value with another one beyond its length in a dimension, if it has grown there."""
        number, length = link["n"], self.lengths.get(link["n"], {}).get(dim)
        clean = self.clean.get(number, frozenset())
        is_zero = value == 0
        if length is None or is_zero and dim in clean:
            return link
        key = "filled", number, dim, repr(value)
        if key not in self._known:
            self._known[key] = self.emit(Made(
                FILL, [link, [length.now], dim, value, length.inner, length.most],
                self.lengths[number], clean | {dim} if is_zero else frozenset()),
                self.avals[number])
        return self._known[key]

    def padded(self, link: dict[str, int], lengths: Lengths) -> dict[str, int]:
        """A value that has grown in these dimensions, too."""
        number = link["n"]
        own = self.lengths.get(number, {})
        missing = {dim: its for dim, its in lengths.items() if dim not in own}
        if not missing:
            return link
        key = "padded", number, repr(sorted(missing.items()))
        if key not in self._known:
            aval, lengths = self.avals[number], {**own, **missing}
            made = self._made_longer(number, lengths, missing)
            self._known[key] = self._placed(link, lengths, missing) if made is None else (
                self.emit(made, aval))
        return self._known[key]

    def _placed(self, link: dict[str, int], lengths: Lengths, missing: Lengths) -> dict[str, int]:
        """A value with zeros beyond what counts."""
        number = link["n"]
        aval = self.avals[number]
        clean = self.clean.get(number, frozenset()) | {*missing}
        split, apart = self._split(aval, lengths)
        if split == aval[0]:
            return self.emit(Made(PLACE, [link, [0] * len(split), self.longer(link)], lengths,
                                  clean), aval)
        _, before = self._split(aval, {**lengths, **{
            dim: its._replace(most=its.now) for dim, its in missing.items()}})
        sizes = [before[d].most if d in before else n for d, n in enumerate(split)]
        part = self.emit(Made("view.default", [link, sizes], before), [split, aval[1]])
        whole = self.emit(Made(PLACE, [part, [0] * len(split), sizes], apart), [split, aval[1]])
        return self.emit(Made("view.default", [whole, _longer(aval, lengths)[0]], lengths, clean),
                         aval)

    def _made_longer(self, number: int, lengths: Lengths, missing: Lengths) -> Made | None:
        """The operation that made a value, with a longer result; None if it doesn't follow from
        its sizes alone."""
        step = self._makers.get(number)
        if step is None:
            return None
        args, (shape, _) = [*step["args"]], _longer(self.avals[number], lengths)
        if step["op"] in _SIZED:
            args[_SIZED[step["op"]]] = shape
            return Made(step["op"], args, lengths)
        if step["op"] in EXPANDS:
            before = len(shape) - len(self.shape(args[0]))
            if all(dim < before or self.shape(args[0])[dim - before] == 1 for dim in missing):
                args[1] = shape
                return Made(step["op"], args, lengths)
        if step["op"] == PLACE and all(its.is_plain for its in missing.values()):
            return Made(PLACE, args, lengths, frozenset(missing))
        if growing_rules.is_pointwise(step):
            return Made(step["op"], with_links(args, [
                growing_rules.padded_for(self, link, len(shape), lengths)
                for link in links_in(args)]), lengths)
        return None


def _longer(aval: Any, lengths: Lengths) -> Any:
    """An aval with the sizes that it has in place of those that count."""
    if not lengths:
        return aval
    return [[lengths[d].longest if d in lengths else n for d, n in enumerate(aval[0])], aval[1]]


def _as_chains(steps: list[Step]) -> list[Step]:
    """The steps in which a list that grows, joined in each step, is a chain of ``cat``."""
    known: dict[tuple[Any, ...], int] = {}
    avals: dict[int, Any] = {step["to"]: step["aval"] for step in steps}
    numbers, made = itertools.count(1 + max(avals, default=0)), []
    for step in steps:
        if step["op"] in ("cat.default", "stack.default"):
            parts, dim = step["args"]
            dim %= len(step["aval"][0])
            places = tuple(part["n"] for part in parts)
            before = known.get((step["op"], dim, places[:-1])) if len(places) > 2 else None
            known[step["op"], dim, places] = step["to"]
            if before is not None:
                last, (shape, kind) = parts[-1], step["aval"]
                if step["op"] == "stack.default":
                    number, own = next(numbers), [*shape[:dim], 1, *shape[dim + 1:]]
                    made.append({"op": "view.default", "to": number, "args": [last, own],
                                 "aval": [own, kind]})
                    last = {"n": number}
                if avals[before][1] == kind:
                    step = {**step, "op": "cat.default", "args": [[{"n": before}, last], dim]}
        made.append(step)
    return made


def _growing(steps: list[Step], avals: dict[int, Any]) -> dict[int, Lengths]:
    """The values that begin to grow: results of chains of ``cat``, and parts of a tensor that begin
    at one place and end at several."""
    found: dict[int, Lengths] = {}
    chains: dict[Any, list[int]] = defaultdict(list)
    of: dict[tuple[int, int], Any] = {}
    parts: dict[Any, list[tuple[Step, list[int]]]] = defaultdict(list)
    for step in steps:
        if step["op"] == "cat.default" and len(step["args"][0]) > 1:
            first, dim = step["args"][0][0]["n"], step["args"][1] % len(step["aval"][0])
            chain = of[step["to"], dim] = of.get((first, dim), (first, dim))
            chains[chain].append(step["to"])
        elif step["op"] in (TAKE, "slice.Tensor") and is_tensor(
                whole := avals[step["args"][0]["n"]]):
            box = Box.read_by(step, whole[0])
            if box is not None and math.prod(box.sizes):
                parts[box.whole, whole[1], box.starts].append((step, [*box.sizes]))
    for (_, dim), numbers in chains.items():
        if len(numbers) >= FEWEST:
            most = max(avals[n][0][dim] for n in numbers)
            found.update({n: {dim: Length(avals[n][0][dim], most)} for n in numbers
                          if avals[n][0][dim] > 1})
    for members in parts.values():
        if len({tuple(sizes) for _, sizes in members}) < FEWEST:
            continue
        columns = [*zip(*[sizes for _, sizes in members], strict=True)]
        grown = {dim: max(sizes) for dim, sizes in enumerate(columns) if len(set(sizes)) > 1}
        for step, sizes in members:
            lengths = through_view(sizes, {dim: Length(sizes[dim], most)
                                           for dim, most in grown.items() if sizes[dim] > 1},
                                   step["aval"][0])
            if lengths:
                found[step["to"]] = lengths
    return found
