"""The greatest elements of rows, which graphs hold as slices of sorted rows.

`ops.topk` sorts, so that equal elements come in the order of their places. XLA's own sort takes ten
times as long as its search for the greatest elements, which has the same order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from .later import jnp, lax
from .rolling import references
from .table import Step, is_complex, row

BEST = "lamella.best"
_SORTS = ("sort.stable", "sort.default")


def with_best(steps: list[Step], wanted: Collection[int]) -> list[Step]:
    """The steps of a graph in which rows are sorted only as far as they are read.

    Args:
        steps: operations, none of which writes.
        wanted: the numbers of the graph's results.
    """
    if not any(step["op"] in _SORTS for step in steps):
        return steps
    users: dict[int, list[Step]] = defaultdict(list)
    for step in steps:
        for number in references(step["args"]):
            users[number].append(step)
    found: dict[int, Step] = {}
    for step in steps:
        if step["op"] in _SORTS:
            step = _shortened(step, users, wanted)
        elif step["op"] == "getitem":
            source, which = step["args"]
            if source["n"] in found and found[source["n"]]["op"] == BEST:
                step = {**step, "aval": found[source["n"]]["aval"][which]}
        found[step["to"]] = step
    return [*found.values()]


def _shortened(step: Step, users: dict[int, list[Step]], wanted: Collection[int]) -> Step:
    """The step in place of a sort; the sort itself if more than its first elements are read."""
    x, *_, dim, descending = step["args"]
    shape, dtype = step["aval"][0]
    parts = users[step["to"]]
    if not descending or dtype == "bool" or is_complex(dtype) or not shape or any(
            part["op"] != "getitem" or part["to"] in wanted for part in parts):
        return step
    dim = dim % len(shape)
    lengths = {_length(user, dim, len(shape)) for part in parts for user in users[part["to"]]}
    if len(lengths) != 1 or (length := lengths.pop()) is None or length >= shape[dim]:
        return step
    short = [*shape[:dim], length, *shape[dim + 1:]]
    return {**step, "op": BEST, "args": [x, length, dim],
            "aval": [[short, kind] for _, kind in step["aval"]]}


def _length(step: Step, dim: int, rank: int) -> int | None:
    """How many of the first elements a step takes; None if it does something else."""
    if step["op"] != "slice.Tensor":
        return None
    _, axis, start, end, stride = step["args"]
    if axis % rank != dim or start not in (None, 0) or stride != 1 or type(end) is not int:
        return None
    return end if end > 0 else None


row(BEST)(lambda avals, x, length, dim: greatest(x, length, dim))


def greatest(x: Any, length: int, dim: int) -> list[Any]:
    """The first elements of rows that are sorted from the greatest on, and their places."""
    moved = jnp.moveaxis(x, dim, -1)
    key = moved
    if jnp.issubdtype(x.dtype, jnp.floating):  # in their order 0 is more than -0, and NaN than -NaN
        key = jnp.where(moved == 0, 0, jnp.where(jnp.isnan(moved), jnp.nan, moved)).astype(x.dtype)
    _, at = lax.top_k(key, length)
    found = jnp.take_along_axis(moved, at, -1)
    return [jnp.moveaxis(found, -1, dim), jnp.moveaxis(at.astype("int64"), -1, dim)]
