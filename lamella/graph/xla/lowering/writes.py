"""Operations that write in place: each write becomes a new value.

A write into a view puts the new elements back into what it is a view of. Views of memory that has
changed since are made again when they are read. So the steps that follow are those of a program
without side effects, in which loops can be found.
"""

from __future__ import annotations

from typing import Any

from .later import jnp
from .table import TABLE, VIEWS, Aval, NotLowered, Step, avals_of

SAME_ORDER = ("view.default", "_reshape_alias.default", "squeeze.default", "squeeze.dim",
              "squeeze.dims", "unsqueeze.default", "alias.default", "detach.default")
NOT_ELEMENTS = ("_conj.default", "_neg_view.default", "view_as_real.default",
                "view_as_complex.default")


def without_writes(steps: list[Step], inputs: list[Any], results: list[int]
                   ) -> tuple[list[Step], list[int]]:
    """The steps of a graph with writes replaced, and the numbers of its results among theirs.

    Args:
        steps: operations, whose results are numbered from the number of inputs on.
        inputs: the avals of the graph's inputs.
        results: the numbers of its results.
    """
    if not any(step.get("writes") for step in steps):
        return steps, results
    memory = _Memory(inputs, steps)
    for step in steps:
        memory.add(step)
    return memory.steps, [memory.now(n) for n in results]


class _Memory:
    """The steps so far, and which of their values is in each place now."""

    def __init__(self, inputs: list[Any], steps: list[Step]):
        self.steps: list[Step] = []
        self._avals = dict(enumerate(inputs))
        self._next = 1 + max([len(inputs), *(step["to"] for step in steps)])
        self._latest: dict[int, int] = {}  # by the program's numbers
        self._views: dict[int, tuple[int, Step]] = {}  # what each is a view of, and its step
        self._made_from: dict[int, int] = {}  # the value that a view was made from
        self._aliases: dict[int, int] = {}  # results of writes, which are what was written

    def add(self, step: Step) -> None:
        """Add a step of the program."""
        number, args = step["to"], step["args"]
        if step.get("writes"):
            written: int = args[0]["n"]
            target = self._aliases.get(written, written)
            self._aliases[number] = target
            self._write(target, self._added(step["op"], self._read(args), step["aval"]))
            return
        source = args[0]["n"] if args and isinstance(args[0], dict) and "n" in args[0] else None
        source = self._aliases.get(source, source) if source is not None else None
        is_view = step["op"] in VIEWS or step["op"] == "getitem" and source in self._views
        read = self._read(args)
        self.steps.append({**step, "args": read})
        self._avals[number] = step["aval"]
        if is_view and source is not None:
            self._views[number] = source, step
            self._made_from[number] = read[0]["n"]

    def now(self, number: int) -> int:
        """The value that is in a place now, made again if it is a view of what has changed."""
        number = self._aliases.get(number, number)
        if number in self._views:
            source, step = self._views[number]
            latest = self.now(source)
            if self._made_from[number] != latest:
                self._latest[number] = self._added(
                    step["op"], [{"n": latest}, *self._read(step["args"][1:])], step["aval"])
                self._made_from[number] = latest
        return self._latest.get(number, number)

    def _write(self, number: int, value: int) -> None:
        """Put a new value into a place."""
        if number in self._views:
            base, views = number, []
            while base == number or views and views[0]["op"] == "getitem":
                base, step = self._views[base]
                views.insert(0, step)
            by = [[step["op"], [None if isinstance(a, dict) else a for a in step["args"][1:]],
                   step["aval"]] for step in views]
            self._write(base, self._added("put_back", [
                {"n": self.now(base)}, {"n": value}, {"by": by}], self._avals[base]))
            self._made_from[number] = self.now(self._views[number][0])
        self._latest[number] = value

    def _added(self, op: str, args: list[Any], aval: Any) -> int:
        number, self._next = self._next, self._next + 1
        self.steps.append({"op": op, "to": number, "args": args, "aval": aval})
        return number

    def _read(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {"n": self.now(value["n"])} if "n" in value else value
        return [self._read(v) for v in value] if isinstance(value, list) else value


def put_back(whole: Any, part: Any, views: list[Any]) -> Any:
    """A value with other elements in the part of it that a view, or a chain of views, selects."""
    if len(views) == 1:
        (name, rest, _), = views
        if name in ("select.int", "slice.Tensor"):
            row = TABLE[f"{name.partition('.')[0]}_scatter.default"]
            return row(Aval(whole.shape, str(whole.dtype)), whole, part, *rest)
        if name in SAME_ORDER:
            return part.reshape(whole.shape)
        if name in ("t.default", "transpose.int"):  # their own inverses
            return TABLE[name](Aval(whole.shape, str(whole.dtype)), part, *rest)
    if any(name in NOT_ELEMENTS for name, *_ in views):
        raise NotLowered("a write into other elements than those of the memory")
    places = jnp.arange(whole.size).reshape(whole.shape)
    for name, rest, aval in views:
        if name == "getitem":
            places = places[rest[0]]
        else:
            places = TABLE[name](avals_of(aval), places, *rest)
    return whole.reshape(-1).at[places.reshape(-1)].set(part.reshape(-1)).reshape(whole.shape)
