"""Why a function is recompiled: which guard failed, and at which line."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from ...autodiff.reverse import Request
from ...core.classes import is_a
from ...core.primitive import Primitive
from ...core.structures import container_leaves as leaves
from ...core.tracebacks import user_stacklevel
from ...nn.cell_tree import CellTree
from ...tensors.tensor import Tensor
from ..guards.fingerprint import difference
from ..guards.kinds import PLAIN, has_value, is_ours_function
from ..ir import logs
from ..tracing.lines import NOWHERE, Line, line_reading
from .cache_entry import CacheEntry
from .replay import Replay

MOST_NOTED = 64  # the latest recompilations, which a report shows
_QUOTES = ("'", '"')  # a failed value that begins so is a text: `limits` counts those
OFTEN = 16  # different values of one guard that failed, before a warning


class Failure(NamedTuple):
    """A guard that failed.

    Attributes:
        guard: the name of the guarded value, with the line that reads it.
        before, now: the expected and the actual value; empty if they can't be shown.
    """

    guard: str
    before: str = ""
    now: str = ""

    def __str__(self) -> str:
        return self.guard + (f": {self.before}, now {self.now}" if self.now else "")


class _Argument(NamedTuple):
    """An argument of a recorded call.

    Attributes:
        text: a description of what is guarded.
        objects: the identities of the program's objects in it.
    """

    name: str
    text: str
    objects: list[int]


def name_of(fn: Any) -> str:
    """The name of a function in messages."""
    while is_a(fn, functools.partial):
        fn = fn.func
    request = getattr(fn, "__self__", fn)  # what `value_and_grad` gives is a method
    if is_a(request, Request):
        return f"{request.name} of {name_of(request.fn)}"
    if "<locals>" in getattr(fn, "__qualname__", "") and is_ours_function(fn):
        inner = [cell.cell_contents for cell in fn.__closure__ or () if has_value(cell)]
        inner = [getattr(thing, "fn", thing) for thing in inner if callable(thing)]
        if len(inner) == 1:  # what `grad` or `vmap` gives
            return f"{fn.__qualname__.partition('.')[0]} of {name_of(inner[0])}"
    return getattr(fn, "__qualname__", type(fn).__name__)


class Recompilations:
    """The recompilations of one function.

    Args:
        fn: the function.
        name: its name in messages.

    Attributes:
        noted: the guards that have failed.
        lines: the lines of the program where the value of a Tensor has failed as a guard, or where
            a loop asks so often that it should be an operation.
    """

    def __init__(self, fn: Any, name: str):
        self.fn, self.name = fn, name
        self.noted: deque[Failure] = deque(maxlen=MOST_NOTED)
        self.lines: set[Line] = set()
        self._values: dict[str, set[str]] = {}  # for each guard the values that made it fail
        self._pending: Failure | None = None
        self._arguments: list[_Argument] = []  # of the last recorded call
        self._now: list[_Argument] = []

    def diagnose(self, known: Sequence[CacheEntry], same_kind: bool,
                 inputs: list[torch.Tensor], args: tuple, kwargs: dict) -> None:
        """Find the guard that has failed, before a graph is recorded.

        Args:
            known: graphs that didn't apply.
            same_kind: whether they hold for arguments of this kind.
            inputs: the arguments' data.
            args, kwargs: those of the call.
        """
        self._now = self._described(args, kwargs)
        self._pending = None
        self.lines.update(*(entry.replay.failed_lines() for entry in known))
        if known:
            self._pending = (None if same_kind else self._of_arguments()) or failure(
                known, inputs)

    def recorded(self) -> None:
        """Note that a graph has been recorded; warn if one guard fails again and again."""
        failed, self._pending = self._pending, None
        self._arguments = self._now
        if failed is None:
            return
        self.noted.append(failed)
        logs.show("guards", f"{self.name} is recorded again, since a guard failed: {failed}")
        values = self._values.setdefault(failed.guard, set())
        if len(values) < OFTEN and failed.now[:1] not in _QUOTES:
            values.add(failed.now)
            if len(values) == OFTEN:
                self._warn(failed)

    def _warn(self, failed: Failure) -> None:
        warnings.warn(
            f"For 'jit', '{self.name}' is recorded again and again, for {OFTEN} values so far of "
            f"{failed}. Each recording takes longer than an eager call. "
            f"report()['recompilations'] has all of them.", stacklevel=user_stacklevel())

    def _described(self, args: tuple, kwargs: dict) -> list[_Argument]:
        """The arguments, each with a description of what is guarded."""
        try:
            bound = inspect.signature(called(self.fn)).bind(*args, **kwargs).arguments
        except (TypeError, ValueError):
            bound = {**{f"{i}": arg for i, arg in enumerate(args)}, **kwargs}
        return [_Argument(name, ", ".join(map(_described, leaves(value)))[:200],
                          [id(leaf) for leaf in leaves(value) if _is_object(leaf)])
                for name, value in bound.items()]

    def _of_arguments(self) -> Failure | None:
        before = {argument.name: argument for argument in self._arguments}
        code = getattr(inspect.unwrap(called(self.fn)), "__code__", None)
        line = Line(code.co_filename, code.co_firstlineno, "forward") if code else NOWHERE
        known = [(before[now.name], now) for now in self._now if now.name in before]
        for old, now in known:
            if old.text != now.text:
                return Failure(f"the argument '{now.name}'{line}", old.text, now.text)
        for old, now in known:
            if old.objects != now.objects:
                return Failure(f"the argument '{now.name}'{line}", now.text, f"another {now.text}")
        return None


def called(fn: Any) -> Any:
    """The program's own function that a compiled function calls."""
    if is_a(fn, functools.partial) and fn.args and is_a(fn.args[0], CellTree):
        fn = fn.args[0]  # called in GRAPH_MODE
    return fn.construct if is_a(fn, CellTree) else fn


def failure(known: Sequence[CacheEntry], inputs: list[torch.Tensor]) -> Failure:
    """The guard that failed, of the graph that passed the most guards.

    Args:
        known: graphs that didn't apply.
        inputs: the arguments' data.
    """
    begun = [entry.replay for entry in known if entry.holds()]
    if begun:
        return Failure(*max(begun, key=_last_guard).failed_guard(inputs))
    guard, seen, replay = known[0]
    now = guard.fingerprint()
    found = difference(guard.reach, seen, now)
    line = line_reading(replay.codes, found.name) if found.name else NOWHERE
    return Failure(f"{found.what}{line}", found.before, found.now)


def _last_guard(replay: Replay) -> int:
    """The number of the guard that failed last."""
    plan = replay.execution.plan
    failed = None if plan is None else plan.guards.failed
    return -1 if failed is None else failed[0]


def _is_object(value: Any) -> bool:
    """Whether a graph holds for one object, and not for those like it."""
    return not is_a(value, (*PLAIN, Tensor, np.ndarray, np.generic)) and (
        not callable(value) or is_a(value, (CellTree, Primitive)))


def _described(value: Any) -> str:
    if is_a(value, Tensor):
        return f"Tensor of shape {tuple(value._raw.shape)} and type {value.dtype}"
    return repr(value)[:60] if is_a(value, (bool, int, float, str, type(None))) else (
        type(value).__name__)
