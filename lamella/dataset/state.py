"""The state of one run of a pipeline: its seed, and the state of each operation.

The state of an iterator is the epoch, the number of rows it gave of it, the state of operations
when the epoch began, and marks: positions from which a `map` with random operations can continue
without computing the rows before. A pipeline continues from it bit for bit. What a user's own
functions keep in their closures isn't part of it.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import config

if TYPE_CHECKING:
    from .node import Dataset


class Passes:
    """A sampler's orders, one for each epoch; its state is how many were read."""

    def __init__(self, orders: Iterator[np.ndarray]):
        self.orders, self.count = orders, 0

    def next(self) -> np.ndarray:
        """The order of the next epoch."""
        self.count += 1
        return next(self.orders)

    def state(self) -> int:
        """How many orders were read."""
        return self.count

    def restore(self, state: int) -> None:
        """Go on after so many orders."""
        while self.count < state:
            self.next()


class Turns:
    """Where a `repeat` is: which pass, and how many rows it gave before that."""

    def __init__(self, restored: tuple[int, int] | None):
        self.restored = restored
        self.done, self.before, self.rows = 0, 0, 0

    def mark(self) -> tuple[int, int]:
        """The pass and the rows before it."""
        return self.done, self.before

    def state(self) -> None:
        """Nothing: each epoch begins with the first pass."""

    def restore(self, state: None) -> None:
        """Begin an epoch."""


class _Pass:
    """One pass of a node over its rows, of which an epoch has several below a `repeat`.

    Attributes:
        number: which pass of the epoch.
        python: the state of Python's and NumPy's random numbers that it began with.
        read: how many rows it has given.
        upto: how many it had given when the state was saved, in a restored run.
    """

    def __init__(self, number: int, python: Any, read: int = 0):
        self.number, self.python, self.read = number, python, read
        self.upto: int | None = None


class Resumed:
    """What an operation says of itself, so that a run of it can go on from any row."""

    # whether it asks for rows earlier than it gives them, or for others than it gives
    _asks_others = False

    def _runs_python(self) -> bool:
        """Whether it calls functions of a user's in this process, which may draw random numbers."""
        return False

    def _draws(self) -> bool:
        """Whether its rows depend on random numbers that rows before have drawn."""
        return self._runs_python()

    def _repeats(self) -> bool:
        """Whether an epoch has several passes of what is below it."""
        return False

    def _is_passed_over(self) -> bool:
        """Whether it gets to a row of an epoch without making those before it."""
        return not self._asks_others or self._table() is not None  # type: ignore[attr-defined]


class Run:
    """One run of a pipeline, over all its epochs.

    Args:
        root: the last operation.
        seed: the seed of all random streams; default: `config`'s.
    """

    def __init__(self, root: Dataset, seed: int | None = None):
        self.seed = config.pipeline_seed() if seed is None else seed
        self.epoch = 0
        tree = root.tree()
        self.keys = {id(node): key for key, node in enumerate(tree)}
        # several nodes that run Python code draw from the same random numbers, each in its turn
        self.is_interleaved = sum(node._runs_python() for node in tree) > 1
        self._runs_all_again = any(node._draws() for node in tree) and not all(
            node._is_passed_over() for node in tree)
        self.kept: dict[int, Any] = {}
        self.began: dict[int, Any] = {}
        self.closers: list[Callable[[], None]] = []
        self.python_began = _python_state()
        self.passes: dict[int, _Pass] = {}  # of nodes that run Python code
        self.known: dict[int, _Pass] = {}  # those that had begun when the state was saved

    def keep(self, node: Dataset, make: Callable[[], Any]) -> Any:
        """The state of `node` in this run; `make` creates it."""
        key = self.keys[id(node)]
        if key not in self.kept:
            self.kept[key] = make()
            if key in self.began:
                self.kept[key].restore(self.began[key])
        return self.kept[key]

    def begin(self) -> None:
        """Begin an epoch: save the state it begins with."""
        self.began.update(self.marks)  # of nodes that the rest of a restored epoch didn't ask
        self.marks = {}
        self.began.update({key: kept.state() for key, kept in self.kept.items()})
        self.python_began = _python_state()
        self.behind, self.passes, self.known = False, {}, {}

    def state(self, given: int) -> dict[str, Any]:
        """The state to continue from after `given` rows of this epoch."""
        marks = {key: kept.mark() for key, kept in self.kept.items() if hasattr(kept, "mark")}
        return {"seed": self.seed, "epoch": self.epoch, "given": given, "began": dict(self.began),
                "marks": marks, "python": _python_state(), "python_began": self.python_began,
                "passes": {key: (p.number, p.python, p.read) for key, p in self.passes.items()}}

    def restore(self, state: dict[str, Any]) -> int:
        """Continue from a state, before anything was read.

        Returns:
            How many rows of this epoch have to be made again, and are dropped: those that the
            iterator had given, where only that gets each user's function to the random numbers
            that it had; else 0.
        """
        self.seed, self.epoch = state["seed"], state["epoch"]
        self.began = dict(state["began"])
        self.saved_marks = state["marks"]
        self.marks = dict(state["marks"]) if state["given"] else {}
        self.python_began = state["python_began"]
        self.behind = state["given"] > 0
        self.known = {key: _Pass(*kept) for key, kept in state.get("passes", {}).items()}
        self.python_saved = state["python"]
        if self._runs_all_again and state["given"]:
            self.marks, self.known, self.behind = {}, {}, False
            _set_python_state(state["python_began"])
            return state["given"]
        _set_python_state(state["python"])
        return 0

    def caught_up(self) -> None:
        """Go on with the random state that was saved: all rows have been made again."""
        _set_python_state(self.python_saved)

    marks: dict[int, Any] = {}
    saved_marks: Mapping[int, Any] = {}
    rewound = False  # whether rows of this epoch are run again
    python_saved: Any = None
    behind = False  # whether it was restored in the middle of this epoch

    def begin_pass(self, node: Dataset, again: bool = True) -> _Pass:
        """Begin a pass of `node`, which runs Python code.

        Of a pass that had begun when the state was saved, the rows before are run `again`: with
        the random state that it began with, which isn't the epoch's below a `repeat`.
        """
        key = self.keys[id(node)]
        number = self.passes[key].number + 1 if key in self.passes else 0
        known = self.known.get(key)
        begun = _Pass(number, _python_state())
        if (self.behind and known is not None and known.python is not None
                and number <= known.number):
            if number == known.number:
                begun.python, begun.upto = known.python, known.read
                if again:
                    _set_python_state(known.python)
            elif again and not number and not self.rewound:
                _set_python_state(self.python_began)
            self.rewound = True
        self.passes[key] = begun
        return begun

    def pass_over(self, node: Dataset) -> None:
        """Leave out a pass of `node`."""
        key = self.keys[id(node)]
        number = self.passes[key].number + 1 if key in self.passes else 0
        known = self.known.get(key)
        python = known.python if known is not None and known.number == number else None
        self.passes[key] = _Pass(number, python)

    def run_again(self, begun: _Pass) -> None:
        """Go on with the random state that was saved: the rows of a pass before were run again."""
        if begun.upto is not None and begun.read == begun.upto:
            _set_python_state(self.python_saved)

    def saved(self, node: Dataset) -> Any:
        """The mark of `node` in the state that was restored; None if there is none."""
        return self.saved_marks.get(self.keys[id(node)])

    def mark(self, node: Dataset) -> Any:
        """The mark that `node` may continue from, if it was restored; given once."""
        return self.marks.pop(self.keys[id(node)], None) if self.marks else None

    def close(self) -> None:
        """End threads and processes."""
        closers, self.closers = self.closers, []
        for closer in closers:
            closer()


@contextlib.contextmanager
def kept_random_state() -> Iterator[None]:
    """Leave Python's and NumPy's random numbers as they were."""
    before = _python_state()
    try:
        yield
    finally:
        _set_python_state(before)


def _python_state() -> Any:
    return random.getstate(), np.random.get_state()


def _set_python_state(state: Any) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])
