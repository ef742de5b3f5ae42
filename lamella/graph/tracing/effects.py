"""Printing in a recorded run: done at once, and repeated at the end of every replay.

`logged` does the same for messages to logs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ...autodiff.tree import container_tensors as tensors
from ...core.state import state
from ...tensors.parameter import Parameter
from ..guards.program_print import is_pythons, printer, replaced
from .copies import copied
from .texts import forget, parts_of_text, printing, texts_of


class DeferredCall:
    """A call that each replay makes at its end, with the values that its Tensors have then."""

    def __init__(self, function: Callable[..., None], args: tuple, kwargs: dict,
                 keep: Callable[[Any], Any] | None = None):
        self.function = function
        keep, texts = keep or kept, texts_of(function)
        self.args = [[*map(keep, arg)] if i in texts else keep(arg) for i, arg in enumerate(args)]
        self.kwargs = kwargs

    def __call__(self, args: list[Any]) -> None:
        self.function(*args, **self.kwargs)


def kept(arg: Any) -> Any:
    """An argument to print later: Tensors as values of the graph, anything else as text now."""
    if isinstance(arg, Parameter) or next(tensors(arg), None) is None:
        return str(arg)
    return copied(arg)


def _printed(*args: Any, **kwargs: Any) -> None:
    trace = state.trace
    if trace is not None:
        trace.outside.depend(printer)
    texts = {i: pieces for i, pieces in enumerate(map(parts_of_text, args)) if pieces is not None}
    function = printer()
    if texts:
        function = functools.partial(printing, function, frozenset(texts))
        args = tuple([texts.get(i, arg) for i, arg in enumerate(args)])
    if trace is None or not is_pythons():
        function(*args, **kwargs)  # a function of the program's is recorded like any other
    else:
        trace.defer(function, args, kwargs)


def prints_recorded() -> AbstractContextManager[None]:
    """A block in which `print` is deferred by the run that this thread records."""
    return replaced.by(_printed, forget)
