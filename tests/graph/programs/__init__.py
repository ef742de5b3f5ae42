"""Small programs with state, each of which must give the same compiled and eagerly.

A program takes what compiles a function, runs one several times, changing what it depends on in
between, and gives all that it saw.
"""

import collections
from collections.abc import Callable
from typing import Any

import numpy as np

from lamella import Tensor

PROGRAMS: dict[str, Callable[[Callable], Any]] = {}


def program(run):
    """Add a program to those that are checked."""
    assert run.__name__ not in PROGRAMS
    PROGRAMS[run.__name__] = run
    return run


def X():
    return Tensor([1.0, -2.0, 3.0])


def plain(value):
    """A result as numbers and lists, for comparing."""
    if isinstance(value, (Tensor, np.ndarray)):
        return (value.asnumpy() if isinstance(value, Tensor) else value).tolist()
    if isinstance(value, (list, tuple, collections.deque)):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value
