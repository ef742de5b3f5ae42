"""Guards on settings of NumPy's and `decimal`'s arithmetic, for runs that use such numbers."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.classes import is_a


class Arithmetic(NamedTuple):
    """The settings of one kind of numbers, in this thread.

    Attributes:
        settings: gives them as they are compared.
        held: gives, in less time, what is equal as long as they are.
    """

    settings: Callable[[], Any]
    held: Callable[[], Any]


def _of_decimals() -> tuple[Any, ...]:
    now = decimal.getcontext()
    return now.prec, now.rounding, now.Emin, now.Emax, now.capitals, now.clamp, dict(now.traps)


def signals_of_decimals() -> dict[Any, bool]:
    """The signals that decimal arithmetic has raised in this thread."""
    return dict(decimal.getcontext().flags)


def _of_numpy() -> tuple[Any, ...]:
    return np.geterr(), np.geterrcall(), np.getbufsize()


try:  # NumPy 2 keeps them in one immutable object
    from numpy._core.umath import _extobj_contextvar  # type: ignore[attr-defined]

    _held_by_numpy: Callable[[], Any] = _extobj_contextvar.get
except ImportError:
    _held_by_numpy = _of_numpy


# what a program may have of `decimal` without the module
_OF_DECIMALS = frozenset(map(id, (decimal.Decimal, decimal.Context, decimal.getcontext,
                                  decimal.setcontext, decimal.localcontext)))


def arithmetic_of(thing: Any) -> Arithmetic | None:
    """The settings on which arithmetic with an object depends (a number, an array or the module of
    such); None if there are none.
    """
    if thing is np or is_a(thing, (np.ndarray, np.generic)):
        return NUMPY
    if thing is decimal or is_a(thing, (decimal.Decimal, decimal.Context)) or (
            id(thing) in _OF_DECIMALS):
        return DECIMALS
    return None


DECIMALS = Arithmetic(_of_decimals, _of_decimals)
NUMPY = Arithmetic(_of_numpy, _held_by_numpy)
