"""Tensors over memory that others hold, and the exchange of two Tensors' contents."""

from __future__ import annotations

from typing import Any

import torch
from torch import UntypedStorage

from ..core.dtype import to_raw
from .parameter import Parameter
from .tensor import Tensor, wrap

__all__ = ["UntypedStorage", "frombuffer", "swap_tensors"]


def frombuffer(buffer: Any, dtype: Any, count: int = -1, offset: int = 0) -> Tensor:
    """A Tensor of one dimension over the memory of a buffer, which it shares.

    Args:
        buffer: an object with Python's buffer interface, as a bytearray; one that is read-only is
            copied.
        dtype: the type of the elements.
        count: how many elements; -1: as many as there are.
        offset: at which byte they begin.

    Raises:
        RuntimeError: if the buffer is empty or too small, `offset` is outside of it, `count` is 0
            or below -1, or the bytes are no whole number of elements.

    Examples:
        >>> import lamella as ms
        >>> print(ms.frombuffer(bytearray([1, 2, 3, 4]), ms.uint8, offset=1))
        [2 3 4]
    """
    kind, view = to_raw(dtype, "frombuffer"), memoryview(buffer)
    size, left = kind.itemsize, view.nbytes - offset
    if not 0 <= offset < view.nbytes:
        raise RuntimeError(f"For 'frombuffer', 'offset' must be in [0, {view.nbytes}), the length "
                           f"of the buffer, but got {offset}.")
    if count == 0 or count < -1:
        raise RuntimeError(f"For 'frombuffer', 'count' must be -1 or above 0, but got {count}.")
    if count == -1 and left % size or count * size > left:
        raise RuntimeError(f"For 'frombuffer', {left} bytes from 'offset' are not enough for "
                           f"{'whole' if count == -1 else count} elements of {size} bytes.")
    memory = bytearray(view.cast("B")) if view.readonly else buffer
    return wrap(torch.frombuffer(memory, dtype=kind, count=count, offset=offset))


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange what two Tensors hold: data and attributes; who holds either sees the other's.

    Raises:
        TypeError: if they aren't both Tensors or both Parameters.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([1]), ms.Tensor([2, 3])
        >>> ms.swap_tensors(a, b)
        >>> print(a, b)
        [2 3] [1]
    """
    for value in (t1, t2):
        if not isinstance(value, Tensor):
            raise TypeError(f"For 'swap_tensors', both must be Tensors, but got {value!r}.")
    if isinstance(t1, Parameter) != isinstance(t2, Parameter):
        raise TypeError("For 'swap_tensors', both must be Tensors or both Parameters, but got "
                        f"{type(t1).__name__} and {type(t2).__name__}.")
    slot = "_data" if isinstance(t1, Parameter) else "_raw"
    first, second = getattr(t1, slot), getattr(t2, slot)
    setattr(t1, slot, second)
    setattr(t2, slot, first)
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
