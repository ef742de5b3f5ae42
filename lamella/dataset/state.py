"""One run of a pipeline: its seed, and the state of each of its operations.

The state of an iterator is the epoch, the number of rows it gave of it, the state of operations
when the epoch began, and marks: positions from which a `map` with random operations can continue
without computing the rows before. A pipeline continues from it bit for bit. What a user's own
functions keep in their closures isn't part of it.
"""

from __future__ import annotations

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
        self.began.update({key: kept.state() for key, kept in self.kept.items()})
        self.python_began = _python_state()
        self.behind = False

    def state(self, given: int) -> dict[str, Any]:
        """The state to continue from after `given` rows of this epoch."""
        marks = {key: kept.mark() for key, kept in self.kept.items() if hasattr(kept, "mark")}
        return {"seed": self.seed, "epoch": self.epoch, "given": given, "began": dict(self.began),
                "marks": marks, "python": _python_state(), "python_began": self.python_began}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state, before anything was read."""
        self.seed, self.epoch = state["seed"], state["epoch"]
        self.began = dict(state["began"])
        self.marks = dict(state["marks"])
        self.python_began = state["python_began"]
        self.behind = state["given"] > 0
        _set_python_state(state["python"])

    marks: dict[int, Any] = {}
    behind = False  # whether it was restored in the middle of this epoch

    def rewind(self) -> None:
        """Restore the state of `random` at the epoch's start, as functions run again from there."""
        if self.behind:
            _set_python_state(self.python_began)

    def mark(self, node: Dataset) -> Any:
        """The mark that `node` may continue from, if it was restored; given once."""
        return self.marks.pop(self.keys[id(node)], None) if self.marks else None

    def close(self) -> None:
        """End threads and processes."""
        closers, self.closers = self.closers, []
        for closer in closers:
            closer()


def _python_state() -> Any:
    return random.getstate(), np.random.get_state()


def _set_python_state(state: Any) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])
