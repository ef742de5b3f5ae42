"""What a function does beside computing while it is recorded, put off until the run is over.

A graph gives Tensors; what prints them is called when the run is over, at every replay too.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...autodiff.tree import map_tensors, tensors
from ...parameter import Parameter
from ...state import state
from ...tensor import Tensor, wrap


class Later:
    """A call that has been put off, with the Tensors it was given as they were then."""

    def __init__(self, function: Callable[..., None], args: tuple, kwargs: dict):
        self.function = function
        self.args = [_kept(arg) for arg in args]
        self.kwargs = kwargs

    def __call__(self, args: list[Any]) -> None:
        self.function(*args, **self.kwargs)


def _kept(arg: Any) -> Any:
    """An argument to print later: Tensors as values of the graph, anything else as text now."""
    if isinstance(arg, Parameter) or next(tensors(arg), None) is None:
        return str(arg)
    return map_tensors(_copied, arg)


def _copied(tensor: Tensor) -> Tensor:
    return tensor if isinstance(tensor, Parameter) else wrap(tensor._raw.detach().clone())


@contextmanager
def prints_put_off(trace: Any) -> Iterator[None]:
    """A block in which `print`, called while `trace` is recorded, is put off."""
    original = builtins.print

    def printed(*args: Any, **kwargs: Any) -> None:
        if state.trace is trace:
            trace.put_off(original, args, kwargs)
        else:
            original(*args, **kwargs)

    builtins.print = printed
    try:
        yield
    finally:
        builtins.print = original
