"""Turns views and writes of a graph into boxes (`boxes`), so that loops over places are found."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import Any

from .boxes import ADD, PLACE, PUT, READS, TAKE, Box
from .rolling import FEWEST, references
from .table import Step, is_tensor

_COPIES = {"clone.default": 0, "copy.default": 1}  # where what is copied stands
_BACKWARD = {"select_backward.default": "select.int", "slice_backward.default": "slice.Tensor"}
_SCATTERS = {"select_scatter.default": "select.int", "slice_scatter.default": "slice.Tensor"}


def with_boxes(steps: list[Step], inputs: list[Any], results: list[int]
               ) -> tuple[list[Step], list[int]]:
    """The steps of a graph with reads and writes of boxes, and the numbers of its results.

    Copies are replaced by the values that were copied, and what nothing reads is left out.

    Args:
        steps: operations, none of which writes.
        inputs: the avals of the graph's inputs.
        results: the numbers of its results.
    """
    graph = _Graph(steps, inputs)
    made = [graph.changed(step) for step in graph.steps]
    ends = [graph.latest(n) for n in results]
    return alive(made, ends), ends


def alive(steps: list[Step], ends: list[int]) -> list[Step]:
    """The steps that something reads."""
    wanted, found = set(ends), []
    for step in reversed(steps):
        if step["to"] in wanted:
            found.append(step)
            wanted.update(references(step["args"]))
    return found[::-1]


class _Graph:
    """The steps of a graph without copies, and which boxes its views are."""

    def __init__(self, steps: list[Step], inputs: list[Any]):
        self.avals = {**dict(enumerate(inputs)), **{s["to"]: s.get("aval") for s in steps}}
        self.same: dict[int, int] = {}  # what a copy is a copy of
        self.numbers = itertools.count(max(self.avals, default=-1) + 1)
        self.boxes: dict[int, tuple[int, Box]] = {}  # of views
        self.placed: dict[int, tuple[dict[str, int], Box]] = {}  # of what is 0 outside of a box
        self.puts: dict[int, tuple[int, dict[str, int], Box]] = {}  # what is written where
        self.steps: list[Step] = []
        for step in steps:
            own = self._uncopied(step)
            if own is not None:
                self.steps.append(own)
                self._find(own)
        self.written = {s["args"][0]["n"] for s in self.steps
                        if s["op"] == "put_back" or s["op"] in _SCATTERS}
        self.rows: dict[int, set[Box]] = defaultdict(set)  # the boxes that are read of each value
        self.parents: dict[int, int] = {s["to"]: s["args"][0]["n"] for s in self.steps
                                        if s["to"] in self.boxes}
        for number, source in self.parents.items():
            whole, box = self.boxes[number]
            if source == whole:
                self.rows[source].add(box)

    def _uncopied(self, step: Step) -> Step | None:
        """A step that reads what was copied, not the copy; None if it is a copy itself."""
        args, place = self._renamed(step["args"]), _COPIES.get(step["op"])
        if place is not None and self.avals[args[place]["n"]] == step["aval"]:
            self.same[step["to"]] = args[place]["n"]
            return None
        return {**step, "args": args}

    def latest(self, number: int) -> int:
        """The number under which a value is read."""
        while number in self.same:
            number = self.same[number]
        return number

    def _renamed(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {"n": self.latest(value["n"])} if "n" in value else value
        return [self._renamed(v) for v in value] if isinstance(value, list) else value

    def _find(self, step: Step) -> None:
        """Note which box a view is, or a gradient of one, or what is written."""
        name, args, number = step["op"], step["args"], step["to"]
        if name in READS:
            source = args[0]["n"]
            whole, box = self.boxes.get(source, (source, Box.all_of(self.avals[source][0])))
            found = box.view(name, args[1:], step["aval"][0])
            if found is not None:
                self.boxes[number] = whole, found
        elif name in _BACKWARD:
            part, shape, *rest = args
            box = Box.all_of(shape).view(_BACKWARD[name], rest, self.avals[part["n"]][0])
            if box is not None:
                inner = self.placed.get(part["n"])
                self.placed[number] = (part, box) if inner is None else (
                    inner[0], box.within(inner[1]))
        elif (written := self._written_box(step)) is not None:
            self._note_written(args[0]["n"], args[1], written, number)

    def _note_written(self, whole: int, part: dict[str, int], box: Box, number: int) -> None:
        """Note a write. A write into a view counts as one into what it is a view of; then the view
        is made again."""
        inner = self.puts.get(part["n"])
        if inner is not None and self.boxes.get(inner[0]) == (whole, box):
            view = next(self.numbers)
            self.steps.append({"op": TAKE, "to": view, "args": [{"n": number}, *_place(box)],
                               "aval": self.avals[part["n"]]})
            self.avals[view] = self.avals[part["n"]]
            self.boxes[view] = number, box
            self.same[part["n"]] = view
            part, box = inner[1], box.within(inner[2])
        self.puts[number] = whole, part, box

    def changed(self, step: Step) -> Step:
        """The step in place of this one."""
        name, args, number = step["op"], step["args"], step["to"]
        if number in self.boxes and self._is_taken(number):
            source, box = self.boxes[number]
            return {**step, "op": TAKE, "args": [{"n": source}, *_place(box)]}
        if number in self.placed:
            part, box = self.placed[number]
            return {**step, "op": PLACE, "args": [part, *_place(box)]}
        if name == "add.Tensor" and args[2] == 1:
            for whole, added in (args[:2], args[1::-1]):
                if _number(added) in self.placed and all(
                        self._is_like(one, step) for one in (whole, added)):
                    part, box = self.placed[added["n"]]
                    return {**step, "op": ADD, "args": [whole, part, *_place(box)]}
        if number in self.puts:
            whole, part, box = self.puts[number]
            return {**step, "op": PUT, "args": [{"n": whole}, part, *_place(box)]}
        return step

    def _is_like(self, value: Any, step: Step) -> bool:
        return _number(value) is not None and self.avals[value["n"]] == step["aval"]

    def _is_taken(self, number: int) -> bool:
        """Whether a view is taken where it is read; others are parts of a stack (`slices`).

        That is so for what a loop writes, and for parts of many parts: ``cost[i][j]``.
        """
        (source, _), parent = self.boxes[number], self.parents[number]
        if source in self.written:
            return True
        if parent == source:
            return False
        return len(self.rows[source]) >= FEWEST

    def _written_box(self, step: Step) -> Box | None:
        """The box that a step writes, if it only does that."""
        name, args = step["op"], step["args"]
        if name not in ("put_back", *_SCATTERS):
            return None
        whole, part, *rest = args
        aval, own = self.avals[whole["n"]], self.avals[part["n"]]
        if aval[1] != own[1]:
            return None
        box: Box | None = Box.all_of(aval[0])
        views = rest[0]["by"] if name == "put_back" else [[_SCATTERS[name], rest, own]]
        for view, arguments, given in views:
            if box is None or not is_tensor(given):
                return None
            box = box.view(view, arguments, given[0])
        return box if box is not None and math.prod(box.sizes) == math.prod(own[0]) else None


def _place(box: Box) -> list[list[int]]:
    return [[*box.starts], [*box.sizes]]


def _number(value: Any) -> int | None:
    return value.get("n") if isinstance(value, dict) else None
