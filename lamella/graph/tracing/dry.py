"""Runs code of the program's only to record its kernels, without other side effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from .changes import Snapshot
from .held import data_of
from .refusals import CannotTrace


@contextmanager
def running_dry(trace: Any, check: Callable[[CodeType], None]) -> Iterator[None]:
    """A block that is left by a `CannotTrace` before the program's code has a side effect.

    Args:
        trace: the run that it belongs to.
        check: called with each of the program's functions before it runs.
    """
    outside, before = trace.outside, trace.run_dry
    codes, meets = outside.codes, outside.meets
    outside.codes, outside.meets, trace.run_dry = {}, check, True
    try:
        yield
    finally:
        codes.update(outside.codes)
        outside.codes, outside.meets, trace.run_dry = codes, meets, before


def has_changed(before: Snapshot) -> bool:
    """Whether objects differ from what they were, or can't be compared with it."""
    try:
        return next(before.changes(), None) is not None
    except CannotTrace:
        return True


def marks(trace: Any) -> tuple[Any, ...]:
    """What a run of kernels alone leaves as it is."""
    return (len(trace.guards), len(trace.deferred), len(trace.reads), len(trace.fresh),
            len(trace.outside.queries), [id(data_of(one.tensor)) for one in trace.held])
