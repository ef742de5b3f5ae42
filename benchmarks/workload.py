"""What is measured, and what a framework makes of it. No framework is imported here."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

SECONDS = {"s": 1.0, "ms": 1e3, "µs": 1e6}  # by unit
PIECE = 2**16  # numbers that are added up at a time: copies would count as memory of the step


@dataclass(frozen=True)
class Workload:
    """One line of the table: a program in several frameworks, and what it is run on.

    The program is a folder in `workloads`, with a file for each framework: ``in_pytorch.py``,
    ``in_mindspore.py`` (which Lamella runs as well) and ``in_jax.py``. Each has the model, its
    ``loss`` and ``optimizer``, which "train" makes a step of; or what `does` names: a function of
    (model, *data), in MindSpore a function that makes one of (*data) for a model.
    """

    name: str
    title: str
    about: str
    program: str
    data: Callable[[], tuple[np.ndarray, ...]]
    does: str = "train"
    unit: str = "ms"  # "s", "ms" or "µs"; or what there is of in a second
    parts: float = 1  # operations in one step, and the figure is for one; or how much it does
    precision: str = "float32"
    compare: int = 3  # the first results, which have to be the same in all frameworks
    agree: float = 2e-3  # how far apart they may be, relatively
    compiles: bool = True  # False: there is nothing to compile, or the program does it by itself

    @property
    def is_rate(self) -> bool:
        """Whether the figure is how much there is in a second."""
        return self.unit not in SECONDS

    def figure(self, seconds: float) -> float:
        """The figure of a step that takes so long."""
        if self.is_rate:
            return self.parts / seconds
        return seconds * SECONDS[self.unit] / self.parts

    def written_in(self, language: str) -> ModuleType:
        """The program in "pytorch", "mindspore" or "jax".

        Raises:
            LeftOut: if it isn't written in that.
        """
        name = f"benchmarks.workloads.{self.program}.in_{language}"
        try:
            program = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            raise LeftOut(f"not written in {language}") from None
        if self.does != "train" and not hasattr(program, self.does):
            raise LeftOut(f"not written in {language}")
        return program


@dataclass
class Step:
    """A workload made ready by a framework."""

    run: Callable[[], Any]  # one step; gives the loss, or the result
    wait: Callable[[Any], Any]  # until what `run` gave has been computed
    array: Callable[[Any], np.ndarray]  # of one tensor
    settled: Callable[[], bool] = lambda: True  # False while the framework still tries for speed
    limit: Callable[[], float] | None = None  # seconds that its kernels take at the machine's peaks
    device_memory: Callable[[], int] | None = None  # the most there was, in bytes

    def value(self, result: Any) -> float:
        """A number that stands for the result: the mean magnitude of everything in it."""
        total, count = 0.0, 0
        for part in _leaves(result):
            flat = self.array(part).ravel()
            for piece in np.array_split(flat, 1 + flat.size // PIECE):
                total += float(np.abs(piece).sum(dtype=np.float64))
            count += flat.size
        return total / count


def _leaves(result: Any) -> Iterator[Any]:
    if isinstance(result, dict):
        result = list(result.values())
    if not isinstance(result, (tuple, list)):
        yield result
        return
    for part in result:
        yield from _leaves(part)


class LeftOut(Exception):
    """Why a contestant doesn't take part in a workload."""


def classes(*shape: int, of: int, seed: int = 0) -> np.ndarray:
    """Labels, or tokens."""
    return np.random.default_rng(seed).integers(0, of, shape).astype(np.int32)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    """Inputs."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
