"""Python's numbers that differ between the steps of a program's loop, as elements of a stack.

``for t in range(T): x = x + f(x, 0.1 * t)`` is recorded with another number in each step, so no two
steps would be the same operations, and no loop would be found. While loops are sought, such numbers
are values, computed before all steps. Those that turn out not to differ are numbers again.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from .boxes import ADD, FILL, PLACE, PUT, TAKE
from .table import Step, is_complex, is_inexact, is_tensor, wide

NUMBER = "number"  # the operation of a step that only holds a number
_COMPARED = ("lt.Scalar", "le.Scalar", "gt.Scalar", "ge.Scalar", "eq.Scalar", "ne.Scalar")
# the place of a number that the row of the table takes as a tensor, too, with the same result
_PLACES = {
    name: 1 for name in (
        "add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "rsub.Tensor", "rsub.Scalar",
        "mul.Tensor", "mul.Scalar", "div.Tensor", "div.Scalar", *_COMPARED)}
# where a box begins, or a value ends
_STARTS = {TAKE: 1, PUT: 2, PLACE: 1, ADD: 2, FILL: 1}
_INTEGERS = ("int32", "int64")


def with_numbers(steps: list[Step], inputs: list[Any]) -> list[Step]:
    """The steps with their numbers as values, after the steps that hold these.

    Args:
        steps: operations, whose results are numbered from the number of inputs on.
        inputs: the avals of the graph's inputs.
    """
    avals = {**dict(enumerate(inputs)), **{s["to"]: s.get("aval") for s in steps}}
    numbers = itertools.count(max(avals, default=-1) + 1)
    held: dict[tuple[str, str], tuple[int, float]] = {}
    found = []

    def holder(number: float, kind: str) -> dict[str, Any]:
        key = kind, repr(number)  # 0.0 and -0.0 are different
        if key not in held:
            held[key] = next(numbers), number
        return {"n": held[key][0], NUMBER: number, "kind": kind}

    for step in steps:
        kind = _kind_of(step, avals)
        if kind is not None:
            args, place = [*step["args"]], _PLACES[step["op"]]
            args[place] = holder(args[place], kind)
            step = {**step, "args": args}
        elif (place := _STARTS.get(step["op"])) is not None:
            args = [*step["args"]]
            args[place] = [holder(start, "int32") if type(start) is int and start < 2**31 else start
                           for start in args[place]]
            step = {**step, "args": args}
        found.append(step)
    return [{"op": NUMBER, "to": n, "args": [], NUMBER: value, "aval": [[], kind]}
            for (kind, _), (n, value) in held.items()] + found


def _kind_of(step: Step, avals: dict[int, Any]) -> str | None:
    """The type that a number of a step has as a tensor; None if there is no such number."""
    place = _PLACES.get(step["op"])
    if place is None:
        return None
    number, tensor = step["args"][place], step["args"][0]
    if type(number) not in (int, float) or not isinstance(tensor, dict) or "n" not in tensor:
        return None
    aval = avals.get(tensor["n"])
    if not is_tensor(aval):
        return None
    if is_inexact(aval[1]) and not is_complex(aval[1]):
        # compared in the tensor's type, but computed with in the one that kernels compute in
        kind = aval[1] if step["op"] in _COMPARED else wide(aval[1])
        return kind if math.isfinite(number) else None
    fits = type(number) is int and abs(number) < 2**31
    return aval[1] if fits and aval[1] in _INTEGERS else None


def as_before(value: Any) -> Any:
    """An argument with numbers in place of the values that hold them."""
    if isinstance(value, dict):
        return value[NUMBER] if NUMBER in value else value
    return [as_before(v) for v in value] if isinstance(value, list) else value
