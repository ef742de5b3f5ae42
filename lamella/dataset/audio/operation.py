"""The base of operations on sounds, and checks of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..transforms.operation import TensorOperation


class AudioOperation(TensorOperation):
    """The base of operations on waveforms (..., time), or spectra."""

    def accept(self, value: Any) -> np.ndarray:
        """The input as an array.

        Raises:
            TypeError: if it isn't one of numbers.
        """
        if not isinstance(value, np.ndarray):
            raise TypeError(f"Input should be NumPy audio, got {type(value)}. For "
                            f"'{type(self).__name__}', an array is expected.")
        return value

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The transformed sound."""
        name = type(self).__name__
        if value.dtype.kind not in "iuf":
            raise RuntimeError(f"{name}: the input must be numbers, but is {value.dtype}.")
        if value.ndim < self._rank:
            raise RuntimeError(f"{name}: the input must have {self._rank} dimensions or more, but "
                               f"has {value.ndim}.")
        double = value.dtype == np.float64 and not self._single
        wide = np.dtype(np.float64 if double else np.float32)
        return np.asarray(self._changed(value.astype(wide))).astype(wide)

    _rank = 1
    _single = False  # whether the result is float32 whatever the input is

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"'{type(self).__name__}' must define '_changed'.")


def flag(operation: Any, argument: str, value: Any) -> bool:
    """True or False.

    Raises:
        TypeError: if it is anything else.
    """
    if not isinstance(value, bool):
        raise TypeError(f"For '{type(operation).__name__}', '{argument}' must be a bool, but got "
                        f"{value!r}.")
    return value


def number(operation: Any, argument: str, value: Any, low: float | None = None,
           high: float | None = None, above: bool = False) -> Any:
    """A number between two others.

    Raises:
        TypeError, ValueError: if it isn't.
    """
    name = operation if isinstance(operation, str) else type(operation).__name__
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"For '{name}', '{argument}' must be a number, but got {value!r}.")
    if (low is not None and (value <= low if above else value < low)) or (
            high is not None and value > high):
        edge = "(" if above else "["
        raise ValueError(f"For '{name}', '{argument}' must be in {edge}{low}, {high}], but got "
                         f"{value}.")
    return value


def whole(operation: Any, argument: str, value: Any, low: int = 1) -> int:
    """An integer.

    Raises:
        TypeError, ValueError: if it isn't.
    """
    name = operation if isinstance(operation, str) else type(operation).__name__
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"For '{name}', '{argument}' must be an int, but got {value!r}.")
    return number(name, argument, value, low)


def choice(operation: Any, argument: str, value: Any, kind: Any) -> Any:
    """A member of an enumeration.

    Raises:
        TypeError: if it is none.
    """
    if not isinstance(value, kind):
        raise TypeError(f"For '{type(operation).__name__}', '{argument}' must be a "
                        f"{kind.__name__}, but got {value!r}.")
    return value
