"""Exchanges of compiled functions: recorded in graphs, and reused after a guard has failed.

A graph holds a `Repeated` for each exchange of the recorded run, in the program's order, and its
replays make the same exchanges. If a guard fails after some of them, the function runs again from
its start. The other processes don't notice this: exchanges that have been made return their logged
results, and only further ones are made.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..core.state import state


class Log:
    """The results of a call's exchanges, as long as the call may start over.

    Attributes:
        place: how many of them this run has used.
        writes: whether the current run may still be replaced by another one.
        depth: how many nested calls have started over.
    """

    def __init__(self) -> None:
        self.results: list[tuple[Any, Any]] = []
        self.place = self.depth = 0
        self.writes = False


class _Thread(threading.local):
    """For this thread: the log, if there is one, and the program's line of a replayed exchange."""

    log: Log | None = None
    line = ""


here = _Thread()


class Repeated:
    """An exchange with all its settings, called with the tensors that this process sends.

    Attributes:
        is_exchange: True, by which graphs recognize it.
        line: the line of the program where it was recorded.
    """

    is_exchange = True

    def __init__(self, make: Callable[..., Any], name: str, settings: tuple, options: dict):
        self.make, self.name, self.settings, self.options = make, name, settings, options
        self.line = ""

    def __str__(self) -> str:
        return f"exchange.{self.make.__name__}"

    def __call__(self, given: Any) -> Any:
        log = here.log
        if log is None:
            return self._made(given)
        what = self._what(given)
        if log.place < len(log.results):
            before, result = log.results[log.place]
            if before != what:
                raise RuntimeError(f"For '{self.name}', a compiled function that started over "
                                   f"exchanges something else than before: {what} and not "
                                   f"{before}.")
            log.place += 1
            return self._copy(result)
        result = self._made(given)
        if log.writes:
            log.results.append((what, self._copy(result)))
            log.place += 1
        return result

    def _made(self, given: Any) -> Any:
        before, here.line = here.line, self.line
        try:
            return self.make(self.name, given, *self.settings, **self.options)
        finally:
            here.line = before

    def _what(self, given: Any) -> Any:
        *settings, group = self.settings
        tensors = given if isinstance(given, (list, tuple)) else [given]
        return (self.make.__name__, repr(settings), getattr(group, "name", group),
                [(tuple(raw.shape), raw.dtype) for raw in tensors])

    def _copy(self, result: Any) -> Any:
        """A copy of a result; a pending one is not copied, since its data arrive in this memory."""
        if isinstance(result, list):
            return [raw.clone() for raw in result]
        if isinstance(result, torch.Tensor) and not hasattr(result, "pending"):
            return result.clone()
        return result


def repeatable(make: Callable[..., Any]) -> Callable[..., Any]:
    """Let an exchange be recorded in graphs, and be made only once if a run starts over.

    Args:
        make: a function of a name, the tensors that are given (one or a list), settings, of which
            the last is the group, and options by name.
    """
    @functools.wraps(make)
    def call(name: str, given: Any, *settings: Any, **options: Any) -> Any:
        if settings[-1].size == 1:
            return make(name, given, *settings, **options)
        exchange = Repeated(make, name, settings, options)
        return exchange(given) if state.trace is None else state.trace.exchange(exchange, given)

    return call


class Attempt:
    """A replay that communicates, and that another run may replace.

    Attributes:
        is_finished: whether it can no longer be replaced.
    """

    def __init__(self) -> None:
        log = here.log
        if log is None:
            log = here.log = Log()
        self.log, self.start, self.is_finished = log, log.place, False
        log.writes = True

    def hold(self) -> None:
        """All guards hold: the run will end, and results need no longer be logged."""
        self.is_finished = True
        self.log.writes = False

    def end(self) -> None:
        """The run has ended, or an exchange has failed."""
        self.log.writes = False
        if not self.log.depth:
            here.log = None

    def miss(self) -> None:
        """A guard has failed: another run starts over."""
        self.log.writes, self.log.place = False, self.start


@contextmanager
def started_over() -> Iterator[None]:
    """A block that runs a function again from its start, after replays whose guards failed."""
    log = here.log
    if log is None:
        yield
        return
    log.depth += 1
    try:
        yield
    finally:
        log.depth -= 1
        if not log.depth:
            here.log = None
