"""Copies that begin where machine code can read them: XLA copies other memory in each call."""

from __future__ import annotations

import numpy as np

ALIGNED = 64  # bytes
_LARGE = 2**18  # bytes: of a smaller one, the alignment costs more than what it saves


def dense_copy(array: np.ndarray, kind: np.dtype) -> np.ndarray:
    """A dense copy of an array in a type; a large one is aligned.

    Examples:
        >>> copy = dense_copy(np.ones((640, 320)).T, np.dtype("float32"))
        >>> copy.flags.c_contiguous, copy.ctypes.data % ALIGNED
        (True, 0)
    """
    size = array.size * kind.itemsize
    if size < _LARGE:
        return array.astype(kind, order="C", copy=True)
    room = np.empty(size + ALIGNED, np.uint8)
    start = -room.__array_interface__["data"][0] % ALIGNED
    made = room[start:start + size].view(kind).reshape(array.shape)
    np.copyto(made, array)
    return made
