"""Copies that begin where machine code can read them: XLA copies other memory in each call."""

from __future__ import annotations

import numpy as np

ALIGNED = 64  # bytes
_LARGE = 2**12  # bytes: the copy of a smaller array costs less than its alignment


def dense_copy(array: np.ndarray, kind: np.dtype) -> np.ndarray:
    """A dense copy of an array in a type; a large one is aligned.

    Examples:
        >>> copy = dense_copy(np.ones((64, 32)).T, np.dtype("float32"))
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
