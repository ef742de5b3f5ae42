"""Imports of packages whose code draws random numbers when it runs for the first time."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from ..core.forking import Lock

_one_at_a_time = Lock()


def without_draws(name: str) -> ModuleType:
    """Import a module; what it draws meanwhile doesn't come from NumPy's own generator.

    A program seeds that generator, and draws from it in another thread. An import that draws, as
    JAX's does, at a moment that depends on the machine would change all numbers after it.
    """
    if name in sys.modules:
        return importlib.import_module(name)
    with _one_at_a_time, own_generator():
        return importlib.import_module(name)


@contextlib.contextmanager
def own_generator() -> Iterator[None]:
    """Let NumPy's functions (`numpy.random.rand`, ...) draw elsewhere in this thread for a while.

    In other threads they draw as before.
    """
    functions: dict[str, Any] = np.random.__dict__
    own = np.random.RandomState()
    here: list[threading.Thread | None] = [threading.current_thread()]  # no number: those return
    shared = {name: function for name, function in functions.items()
              if isinstance(getattr(function, "__self__", None), np.random.RandomState)}
    replaced = {name: _by_thread(here, getattr(own, name), function)
                for name, function in shared.items()}
    functions.update(replaced)
    try:
        yield
    finally:
        here[0] = None  # whoever has kept such a function
        for name, function in replaced.items():
            if functions.get(name) is function:
                functions[name] = shared[name]


def _by_thread(here: list[threading.Thread | None], own: Callable, shared: Callable) -> Callable:
    def draw(*args: Any, **kwargs: Any) -> Any:
        function = own if threading.current_thread() is here[0] else shared
        return function(*args, **kwargs)

    return draw
