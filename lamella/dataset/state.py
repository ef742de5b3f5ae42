"""One reading of a pipeline: its seed, and what each of its operations has to remember.

The state of an iterator is the epoch, how many rows it gave of it, what the operations remembered
when the epoch began, and marks: places from which a `map` with random operations can go on without
running what lies before. With it a pipeline goes on bit for bit. What a user's own functions keep
in their closures isn't part of it.
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
    """A sampler's orders, epoch after epoch; its state is how many were read."""

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
    """One reading of a pipeline, for as many epochs as it lasts.

    Args:
        root: the last operation.
        seed: what all random streams start from; default: `config`'s.
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
        """What `node` remembers in this reading; `make` gives it at first."""
        key = self.keys[id(node)]
        if key not in self.kept:
            self.kept[key] = make()
            if key in self.began:
                self.kept[key].restore(self.began[key])
        return self.kept[key]

    def begin(self) -> None:
        """An epoch begins: remember from what."""
        self.began.update({key: kept.state() for key, kept in self.kept.items()})
        self.python_began = _python_state()
        self.behind = False

    def state(self, given: int) -> dict[str, Any]:
        """All that is needed to go on after `given` rows of this epoch."""
        marks = {key: kept.mark() for key, kept in self.kept.items() if hasattr(kept, "mark")}
        return {"seed": self.seed, "epoch": self.epoch, "given": given, "began": dict(self.began),
                "marks": marks, "python": _python_state(), "python_began": self.python_began}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state, before anything was read."""
        self.seed, self.epoch = state["seed"], state["epoch"]
        self.began = dict(state["began"])
        self.marks = dict(state["marks"])
        self.python_began = state["python_began"]
        self.behind = state["given"] > 0
        _set_python_state(state["python"])

    marks: dict[int, Any] = {}
    behind = False  # whether it was restored in the middle of this epoch

    def rewind(self) -> None:
        """Functions are about to run again from the epoch's beginning: as then, `random` too."""
        if self.behind:
            _set_python_state(self.python_began)

    def mark(self, node: Dataset) -> Any:
        """Where `node` may go on from, if it was restored; given once."""
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
