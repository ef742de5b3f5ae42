"""The base of operations on sounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inputs import check_input
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
        if value.dtype.kind == "c":
            raise TypeError(f"Invalid user input. Got {type(value)}: {value}, cannot be converted "
                            "into tensor.")
        if not value.size:
            raise RuntimeError(f"Input Tensor has no data. For '{type(self).__name__}', the sound "
                               f"has the shape {list(value.shape)}.")
        return value

    def transform(self, value: np.ndarray) -> np.ndarray:
        """The transformed sound."""
        fits = self._fits
        if value.dtype is not fits[0] or value.shape != fits[1]:
            check_input(self, value)
        name = type(self).__name__
        if value.dtype.kind not in "iuf":
            raise RuntimeError(f"{name}: the input must be numbers, but is {value.dtype}.")
        if value.ndim < self._rank:
            raise RuntimeError(f"{name}: the input must have {self._rank} dimensions or more, but "
                               f"has {value.ndim}.")
        double = value.dtype == np.float64 and not self._single
        wide = np.dtype(np.float64 if double else np.float32)
        out = np.asarray(self._changed(value.astype(wide)))
        return out.astype(value.dtype if self._keeps else wide)

    _rank = 1
    _keeps = False  # whether the result has the type of the input, integers too
    _single = False  # whether the result is float32 whatever the input is

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"'{type(self).__name__}' must define '_changed'.")
