"""Slices that a program's loop takes and puts together, as parts of a stack.

A step reads ``x[:, t:t + 1]``, or the rows ``x[t * k:t * k + k]`` of its chunk. Each such slice has
other numbers, so no two steps are the same operations, and no loop would be found. What the steps
give is concatenated in the end: a loop has it as a stack already.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from .rolling import FEWEST
from .table import Step, is_tensor


class _Kind(NamedTuple):
    """What the slices of a loop have in common."""

    source: int
    dim: int
    length: int


def with_parts(steps: list[Step], inputs: list[Any]) -> list[Step]:
    """The steps of a graph in which slices of a row are parts of a stack (`rolling.is_part`).

    Chunks that lie beside each other are selected from their stack, which is a view of the value.
    Other slices, which may overlap, are taken as they were, but next to the value. Values of one
    shape are concatenated as a stack.

    Args:
        steps: operations, none of which writes.
        inputs: the avals of the graph's inputs.
    """
    avals = {**dict(enumerate(inputs)), **{step["to"]: step.get("aval") for step in steps}}
    rows: dict[_Kind, set[int]] = defaultdict(set)
    for step in steps:
        if (found := _slice_of(step, avals)) is not None:
            rows[found[0]].add(found[1])
    rows = {kind: starts for kind, starts in rows.items() if len(starts) >= FEWEST}
    stacks: dict[_Kind, int] = {}
    numbers = itertools.count(max(avals, default=0) + 1)
    return [made for step in steps for made in (
        _stacked(step, avals, numbers) if step["op"] == "cat.default"
        else _parted(step, avals, rows, stacks, numbers))]


def _stacked(step: Step, avals: dict[int, Any], numbers: Iterator[int]) -> list[Step]:
    """The steps in place of a concatenation."""
    several, dim = step["args"]
    pieces = [avals.get(one["n"]) for one in several]
    (shape, dtype), first = step["aval"], pieces[0]
    if len(pieces) < FEWEST or first is None or first[1] != dtype or any(
            piece != first for piece in pieces):
        return [step]
    dim, stack = dim % len(shape), next(numbers)
    cut = [*shape[:dim], len(pieces), first[0][dim], *shape[dim + 1:]]
    return [{"op": "stack.default", "to": stack, "args": [several, dim], "aval": [cut, dtype]},
            {**step, "op": "view.default", "args": [{"n": stack}, shape]}]


def _parted(step: Step, avals: dict[int, Any], rows: dict[_Kind, set[int]],
            stacks: dict[_Kind, int], numbers: Iterator[int]) -> list[Step]:
    """The steps in place of this one."""
    found = _slice_of(step, avals)
    if found is None or found[0] not in rows:
        return [step]
    kind, start = found
    shape, dtype = avals[kind.source]
    if shape[kind.dim] % kind.length or any(s % kind.length for s in rows[kind]):
        return [{**step, "part": True}]
    made: list[Step] = []
    if kind not in stacks:
        stacks[kind] = next(numbers)
        count = shape[kind.dim] // kind.length
        cut = [*shape[:kind.dim], count, kind.length, *shape[kind.dim + 1:]]
        made.append({"op": "view.default", "to": stacks[kind], "part": True,
                     "args": [{"n": kind.source}, cut], "aval": [cut, dtype]})
    return [*made, {**step, "op": "select.int",
                    "args": [{"n": stacks[kind]}, kind.dim, start // kind.length]}]


def _slice_of(step: Step, avals: dict[int, Any]) -> tuple[_Kind, int] | None:
    """The row that a slice may belong to, and where it starts; None if it takes all, or not in a
    row."""
    if step["op"] != "slice.Tensor" or step["args"][4] != 1:
        return None
    (source, dim, start, *_), (shape, _) = step["args"], step["aval"]
    whole = avals.get(source["n"])
    if not is_tensor(whole):
        return None
    dim, start = dim % len(shape), start or 0
    start += whole[0][dim] * (start < 0)
    if start < 0 or not 0 < shape[dim] < whole[0][dim]:
        return None
    return _Kind(source["n"], dim, shape[dim]), start
