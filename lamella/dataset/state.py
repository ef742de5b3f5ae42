"""One run of a pipeline: its seed, and the state of each of its operations.

The state of an iterator is the epoch, the number of rows it gave of it, the state of operations
when the epoch began, and marks: positions from which a `map` with random operations can continue
without computing the rows before. A pipeline continues from it bit for bit. What a user's own
functions keep in their closures isn't part of it.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
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


class Run:
    """One run of a pipeline, over all its epochs.

    Args:
        root: the last operation.
        seed: the seed of all random streams; default: `config`'s.
    """

    def __init__(self, root: Dataset, seed: int | None = None):
        self.seed = config.pipeline_seed() if seed is None else seed
        self.epoch = 0
        self.keys = {id(node): key for key, node in enumerate(root.tree())}
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

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state, before anything was read."""
        self.seed, self.epoch = state["seed"], state["epoch"]
        self.began = dict(state["began"])
        self.marks = dict(state["marks"])
        self.python_began = state["python_began"]
        self.behind = state["given"] > 0
        self.known = {key: _Pass(*kept) for key, kept in state.get("passes", {}).items()}
        self.python_saved = state["python"]
        _set_python_state(state["python"])

    marks: dict[int, Any] = {}
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
